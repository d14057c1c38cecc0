"""Products and relaxation for a general sparse matrix in CSR form."""

from numba import prange

from . import parallel, serial


@parallel
def _csr_apply(out, x, data, indices, indptr):
    """out = A x"""
    for i in prange(out.size):
        s = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            s += data[q] * x[indices[q]]
        out[i] = s


@parallel
def _csr_residual(out, b, x, data, indices, indptr):
    """out = b - A x"""
    for i in prange(out.size):
        s = b[i]
        for q in range(indptr[i], indptr[i + 1]):
            s -= data[q] * x[indices[q]]
        out[i] = s


@serial
def _csr_relax(x, b, lower, upper, d, data, indices, indptr, order, omega, projected):
    """Lexicographic SOR over the rows listed in `order`, in place, clipped to the box if projected."""
    for q in range(order.size):
        i = order[q]
        if d[i] > 0.0:
            r = b[i]
            for e in range(indptr[i], indptr[i + 1]):
                r -= data[e] * x[indices[e]]
            new = x[i] + omega * r / d[i]
            if projected:
                new = min(max(new, lower[i]), upper[i])
            x[i] = new
