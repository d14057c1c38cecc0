"""The triple product `scale · Pᵀ (A + diag(shift)) P` in CSR form, where rows of P outside `keep` count as zero.

The pattern is computed once, for all rows; the values are refreshed whenever the free set or the shift changes. So the
arrays of a coarse matrix exist as long as its hierarchy.
"""

import numpy as np
from numba import prange

from ...kernels import parallel, serial

BLOCKS = 64


@serial
def _galerkin_pattern(indptr, indices, t_indices, t_indptr, a_indices, a_indptr, p_indices, p_indptr):
    """Rows of Pᵀ A P: counts into `indptr`; with room in `indices` also the sorted columns."""
    n = indptr.size - 1
    seen = np.full(n, -1, np.int32)
    row = np.empty(n, np.int32)
    total = 0
    indptr[0] = 0
    for c in range(n):
        count = 0
        for u in range(t_indptr[c], t_indptr[c + 1]):
            i = t_indices[u]
            for v in range(a_indptr[i], a_indptr[i + 1]):
                j = a_indices[v]
                for w in range(p_indptr[j], p_indptr[j + 1]):
                    k = p_indices[w]
                    if seen[k] != c:
                        seen[k] = c
                        row[count] = k
                        count += 1
        if indices.size:
            row[:count].sort()
            indices[total : total + count] = row[:count]
        total += count
        indptr[c + 1] = total


@parallel
def _galerkin_values(
    data, indices, indptr, t_data, t_indices, t_indptr, a_data, a_indices, a_indptr, p_data, p_indices, p_indptr,
    keep, shift, scale,
):  # fmt: skip
    """The values on a pattern made by `_galerkin_pattern`; empty `keep` or `shift`: all rows, no shift."""
    n = indptr.size - 1
    for block in prange(BLOCKS):
        work = np.zeros(n)
        for c in range(block * n // BLOCKS, (block + 1) * n // BLOCKS):
            for u in range(t_indptr[c], t_indptr[c + 1]):
                i = t_indices[u]
                if keep.size and not keep[i]:
                    continue
                for v in range(a_indptr[i], a_indptr[i + 1]):
                    j = a_indices[v]
                    if keep.size and not keep[j]:
                        continue
                    value = a_data[v]
                    if shift.size and i == j:
                        value += shift[i]
                    value *= scale * t_data[u]
                    for w in range(p_indptr[j], p_indptr[j + 1]):
                        work[p_indices[w]] += value * p_data[w]
            for q in range(indptr[c], indptr[c + 1]):
                data[q] = work[indices[q]]
                work[indices[q]] = 0.0
