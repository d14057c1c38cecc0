"""Red-black relaxation of matrices stored as off-diagonal weights, and whole cycles over small levels in one call.

A row holds the weights w_ij = -a_ij of its neighbours and the inverse of its diagonal. A pass over rows that are not
coupled to one another is

    x = keep x + gain (b + sum w x)/d,    r = b + sum w x - d x;

rows without a diagonal (`dinv` = 0) have no equation: x and r stay zero.

`_run_program` executes a list of such passes over levels that lie one after the other in packed arrays. Starting
threads, or returning to Python, would cost more than the work on small levels.
"""

import numpy as np

from ...kernels import merged, parallel, prange, serial

START, ZERO, PASS, PASS_RESIDUAL, RESIDUAL, CLEAR, RESTRICT, PROLONG = range(8)


@merged
def _sum_row(i, x, b, weights, indices, indptr):
    s = b[i]
    for q in range(indptr[i], indptr[i + 1]):
        s += weights[q] * x[indices[q]]
    return s


@serial
def _run_program(program, factors, x, b, r, dinv, weights, indices, indptr, parent):
    """A step is (operation, first row, end) with the factors (keep, gain).

    START          x = gain b/d                       RESIDUAL   r = b - A x
    ZERO           x = 0                              CLEAR      b = 0
    PASS           a pass over rows of one colour     RESTRICT   b[parent] += r
    PASS_RESIDUAL  a pass, and the residual after it  PROLONG    x += x[parent]
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
        if parent[i] >= 0:
            coarse[parent[i]] += r[i]


@parallel
def _add_parents(x, dinv, coarse, parent, first, last):
    for i in prange(first, last):
        if parent[i] >= 0 and dinv[i] > np.float32(0):
            x[i] += coarse[parent[i]]


# -- red-black SSOR on one level ------------------------------------------------------------------------------------
#
# With A_rr and A_bb diagonal every pass over one colour is the same pointwise formula, and the merged operations of
# Takahashi–Batty §4.4–4.8 are choices of `keep` and `gain`:
# (omega from zero) 0, omega · a sweep (7, 8) 1 - omega, omega · both black sweeps of resmoothing (17)
# (1 - omega)², (2 - omega) omega · residual alone (11, 20) 1, 0. With `with_r` the residual of that colour is computed
# too (12, 19), from the same sum. `d` is passed separately from the matrix, because interior point and active sets
# change only d.

u64 = np.uint64


@merged
def _stencil_segment(x, r, b, w0, w1, w2, d, start, offset, parity, colour, keep, gain, with_r, s):
    xm, xp, ym, yp, zm, zp = offset[s]
    h0 = 1.0 if xm != 0 else 0.0
    h1 = 1.0 if ym != 0 else 0.0
    h2 = 1.0 if zm != 0 else 0.0
    xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
    for t in range(u64(start[s] + ((parity[s] + colour) & 1)), u64(start[s + 1]), u64(2)):
        e = (
            b[t]
            + (w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp])
            + (h0 * w0[t + xm] * x[t + xm] + h1 * w1[t + ym] * x[t + ym] + h2 * w2[t + zm] * x[t + zm])
        )
        live = d[t] > 0.0
        new = keep * x[t] + gain * e / d[t] if live else 0.0
        x[t] = new
        if with_r:
            r[t] = e - d[t] * new if live else 0.0


@parallel
def _stencil_pass(x, r, b, w0, w1, w2, d, start, offset, parity, colour, keep, gain, with_r):
    """One colour of a stencil operator."""
    for s in prange(0, start.size - 1, d.size):
        _stencil_segment(x, r, b, w0, w1, w2, d, start, offset, parity, colour, keep, gain, with_r, s)


@parallel
def _scale_start(x, b, d, omega):
    """x = omega b/d on all rows (9): right for red rows; black rows are overwritten before they are read."""
    for t in prange(x.size):
        x[t] = omega * b[t] / d[t] if d[t] > 0.0 else 0.0


@merged
def _csr_row(x, r, b, data, indices, indptr, d, keep, gain, with_r, i):
    e = b[i]
    for q in range(indptr[i], indptr[i + 1]):
        j = indices[q]
        if j != i:
            e -= data[q] * x[j]
    live = d[i] > 0.0
    new = keep * x[i] + gain * e / d[i] if live else 0.0
    x[i] = new
    if with_r:
        r[i] = e - d[i] * new if live else 0.0


@parallel
def _csr_pass(x, r, b, data, indices, indptr, d, rows, keep, gain, with_r):
    """One colour (`rows`) of a matrix whose rows of one colour are not coupled."""
    for k in prange(0, rows.size, d.size):
        _csr_row(x, r, b, data, indices, indptr, d, keep, gain, with_r, rows[k])
