"""One level of an algebraic cycle: Gauss–Seidel in the order of the rows, residuals and transfers, in single precision.

Rows are sorted by colour, and rows of one colour are not coupled. So a pass over one colour may run in parallel and has
the same result as a serial pass over all rows. The residual of a row is

    r_i = b_i - e_i x_i + Σ_j w_ij (x_j - x_i)

with weights w and excess e: differences keep float32 accurate where excesses are small compared with weights. Rows that
are closed, or have no equation, have `dinv` = 0: x stays zero and r is zero.
"""

import numpy as np
from numba import prange

from ...kernels import merged, parallel, parallel_sum, serial
from ...kernels._vector import BLOCK


@merged
def _defect(i, x, b, weights, indices, indptr, excess):
    own = x[i]
    s = b[i] - excess[i] * own
    for q in range(indptr[i], indptr[i + 1]):
        s += weights[q] * (x[indices[q]] - own)
    return s


@parallel
def _sweep_colour(x, b, dinv, weights, indices, indptr, excess, first, last):
    """Gauss–Seidel on the rows of one colour."""
    for i in prange(first, last):
        if dinv[i] > np.float32(0):
            x[i] += dinv[i] * _defect(i, x, b, weights, indices, indptr, excess)


@serial
def _sweep(x, b, dinv, weights, indices, indptr, excess):
    """Gauss–Seidel on all rows, ascending."""
    for i in range(x.size):
        if dinv[i] > np.float32(0):
            x[i] += dinv[i] * _defect(i, x, b, weights, indices, indptr, excess)


@serial
def _sweep_back(x, b, dinv, weights, indices, indptr, excess):
    """The same, descending."""
    for i in range(x.size - 1, -1, -1):
        if dinv[i] > np.float32(0):
            x[i] += dinv[i] * _defect(i, x, b, weights, indices, indptr, excess)


@parallel
def _residual_rows(r, x, b, dinv, weights, indices, indptr, excess):
    for i in prange(x.size):
        r[i] = np.float32(0)
        if dinv[i] > np.float32(0):
            r[i] = _defect(i, x, b, weights, indices, indptr, excess)


@parallel
def _product_rows(out, x, dinv, weights, indices, indptr, excess):
    """out = A x on rows with an equation, zero elsewhere"""
    for i in prange(x.size):
        out[i] = np.float32(0)
        if dinv[i] > np.float32(0):
            own = x[i]
            s = excess[i] * own
            for q in range(indptr[i], indptr[i + 1]):
                s += weights[q] * (own - x[indices[q]])
            out[i] = s


@parallel
def _restrict_rows(coarse, r, first, row, value):
    """coarse = Pᵀ r"""
    for c in prange(coarse.size):
        s = np.float32(0)
        for m in range(first[c], first[c + 1]):
            s += value[m] * r[row[m]]
        coarse[c] = s


@parallel
def _prolong_rows(x, dinv, coarse, cols, vals):
    """x += P coarse on rows with an equation"""
    for i in prange(x.size):
        if dinv[i] > np.float32(0):
            for s in range(cols.shape[1]):
                if cols[i, s] < 0:
                    break
                x[i] += vals[i, s] * coarse[cols[i, s]]


# -- the way in and out: float64 vectors in the order of the user -----------------------------------------------------


@parallel
def _enter(b, r, order, scale, factor):
    """b = factor S r, in the order of the level."""
    for k in prange(b.size):
        b[k] = factor * scale[order[k]] * r[order[k]]


@parallel
def _leave(out, x, order, scale, factor, beta):
    """out = factor S x + beta out"""
    for k in prange(x.size):
        i = order[k]
        out[i] = factor * scale[i] * x[k] + (beta * out[i] if beta != 0.0 else 0.0)


@parallel_sum
def _inner_blocks(partial, b, x, q, order, scale):
    """Blocks of bᵀx and of qᵀS x; the second is left out for an empty q."""
    for k in prange(partial.shape[1]):
        s = 0.0
        t = 0.0
        for m in range(k * BLOCK, min(x.size, (k + 1) * BLOCK)):
            s += np.float64(b[m]) * np.float64(x[m])
            if q.size:
                t += q[order[m]] * scale[order[m]] * np.float64(x[m])
        partial[0, k] = s
        partial[1, k] = t
