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
def _csr_magnitude(out, x, data, indices, indptr):
    """out = |A||x|"""
    for i in prange(out.size):
        s = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            s += abs(data[q] * x[indices[q]])
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


@serial
def _csr_check_pairs(where, values, data, indices, indptr, root, rtol):
    """Check every pair a_ij, a_ji of a matrix with sorted rows; `root` holds sqrt(a_ii).

    Returns 0 if all pairs are valid; 1 at the first pair that differs by more than rtol root_i root_j; 2 at the
    first with |a_ij| > root_i root_j (a 2 × 2 minor that is negative). `where` gets i, j, and `values`
    a_ij with a_ji or with root_i root_j.
    """
    for i in range(indptr.size - 1):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            lo, hi = indptr[j], indptr[j + 1]
            while lo < hi:
                mid = (lo + hi) // 2
                if indices[mid] < i:
                    lo = mid + 1
                else:
                    hi = mid
            twin = 0.0
            if lo < indptr[j + 1] and indices[lo] == i:
                twin = data[lo]
            scale = root[i] * root[j]
            kind = 0
            if abs(data[q] - twin) > rtol * scale:
                kind = 1
                values[1] = twin
            elif i != j and abs(data[q]) > (1.0 + rtol) * scale:
                kind = 2
                values[1] = scale
            if kind != 0:
                where[0], where[1] = i, j
                values[0] = data[q]
                return kind
    return 0
