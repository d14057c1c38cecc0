"""Kernels of `near_null`."""

from numba import prange

from ...kernels import parallel, serial


@serial
def _relax(s, least, d, data, indices, indptr):
    """One sweep towards A s = 0; entries stay above `least`."""
    for i in range(s.size):
        if d[i] > 0.0:
            v = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                if indices[q] != i:
                    v -= data[q] * s[indices[q]]
            s[i] = max(v / d[i], least[i])


@parallel
def _count_off_diagonals(count, indices, indptr):
    for i in prange(count.size):
        m = 0
        for q in range(indptr[i], indptr[i + 1]):
            m += indices[q] != i
        count[i] = m
