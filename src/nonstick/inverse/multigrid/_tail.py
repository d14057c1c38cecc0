"""Red-black relaxation of matrices stored as off-diagonal weights, and whole cycles over small levels in one call.

A row holds the weights w_ij = -a_ij of its neighbours and the inverse of its diagonal. A pass over rows that are not
coupled to one another is

    x = keep x + gain (b + sum w x)/d,    r = b + sum w x - d x;

rows without a diagonal (`dinv` = 0) have no equation: x and r stay zero.

`_run_program` executes a list of such passes over levels that lie one after the other in packed arrays. Starting
threads, or returning to Python, would cost more than the work on small levels.
"""

import numpy as np
from numba import prange

from ...kernels import inline, parallel, serial

START, ZERO, PASS, PASS_BACK, PASS_RESIDUAL, RESIDUAL, CLEAR, RESTRICT, PROLONG = range(9)


@inline
def _sum_row(i, x, b, weights, indices, indptr):
    s = b[i]
    for q in range(indptr[i], indptr[i + 1]):
        s += weights[q] * x[indices[q]]
    return s


@serial
def _run_program(program, factors, x, b, r, dinv, weights, indices, indptr, parent):
    """A step is (operation, first row, end) with the factors (keep, gain).

    START     x = gain b/d                      PASS_RESIDUAL  a pass, and the residual after it
    ZERO      x = 0                             RESIDUAL       r = b - A x
    PASS      a pass, rows ascending            CLEAR          b = 0
    PASS_BACK a pass, rows descending           RESTRICT       b[parent] += r
                                                PROLONG        x += x[parent]
    """
    none = x.dtype.type(0)
    for step in range(program.shape[0]):
        op = program[step, 0]
        low = program[step, 1]
        high = program[step, 2]
        keep = factors[step, 0]
        gain = factors[step, 1]
        if op == PASS:
            for i in range(low, high):
                s = _sum_row(i, x, b, weights, indices, indptr)
                x[i] = keep * x[i] + gain * s * dinv[i]
        elif op == RESIDUAL:
            for i in range(low, high):
                s = _sum_row(i, x, b, weights, indices, indptr)
                r[i] = s - x[i] / dinv[i] if dinv[i] > none else none
        elif op == RESTRICT:
            for i in range(low, high):
                if parent[i] >= 0:
                    b[parent[i]] += r[i]
        elif op == PROLONG:
            for i in range(low, high):
                if parent[i] >= 0 and dinv[i] > none:
                    x[i] += x[parent[i]]
        elif op == START:
            for i in range(low, high):
                x[i] = gain * b[i] * dinv[i]
        elif op == PASS_RESIDUAL:
            for i in range(low, high):
                s = _sum_row(i, x, b, weights, indices, indptr)
                x[i] = keep * x[i] + gain * s * dinv[i]
                r[i] = s - x[i] / dinv[i] if dinv[i] > none else none
        elif op == PASS_BACK:
            for i in range(high - 1, low - 1, -1):
                s = _sum_row(i, x, b, weights, indices, indptr)
                x[i] = keep * x[i] + gain * s * dinv[i]
        elif op == CLEAR:
            for i in range(low, high):
                b[i] = none
        else:
            for i in range(low, high):
                x[i] = none


@serial
def _restrict_shift(shift, parent, ends, alpha):
    """The shift of every packed level from that of the first: times alpha from level to level."""
    for k in range(ends.size - 2):
        for i in range(ends[k + 1], ends[k + 2]):
            shift[i] = 0.0
        for i in range(ends[k], ends[k + 1]):
            if parent[i] >= 0:
                shift[parent[i]] += alpha * shift[i]


# -- one large level ----------------------------------------------------------------------------------------------


@parallel
def _start_rows(x, b, dinv, first, last):
    for i in prange(first, last):
        x[i] = b[i] * dinv[i]


@parallel
def _relax_rows(x, b, dinv, weights, indices, indptr, first, last):
    """Gauss–Seidel on rows of one colour."""
    for i in prange(first, last):
        x[i] = _sum_row(i, x, b, weights, indices, indptr) * dinv[i]


@parallel
def _residual_rows(r, x, b, dinv, weights, indices, indptr, first, last):
    for i in prange(first, last):
        if dinv[i] > np.float32(0):
            r[i] = _sum_row(i, x, b, weights, indices, indptr) - x[i] / dinv[i]
        else:
            r[i] = np.float32(0)


@serial
def _sum_children(coarse, r, parent):
    coarse[:] = 0
    for i in range(r.size):
        coarse[parent[i]] += r[i]


@parallel
def _add_parents(x, dinv, coarse, parent, first, last):
    for i in prange(first, last):
        if dinv[i] > np.float32(0):
            x[i] += coarse[parent[i]]
