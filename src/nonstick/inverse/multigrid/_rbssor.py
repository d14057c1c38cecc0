"""Red-black SSOR with the savings of Takahashi–Batty §4.4–4.8.

With A_rr and A_bb diagonal every pass over one colour is the same pointwise formula,

    x = keep x + gain (b - c)/d,    r = b - c - d x,    c = sum of off-diagonals times the other colour,

and the paper's merged operations are choices of `keep` and `gain`:
(omega from zero) 0, omega · a sweep (7, 8) 1 - omega, omega · both black sweeps of resmoothing (17)
(1 - omega)², (2 - omega) omega · residual alone (11, 20) 1, 0. With `with_r` the residual of that colour is computed
too (12, 19), from the same c. Rows with d = 0 have no equation: x = 0, r = 0.

`d` is passed separately from the matrix, because interior point and active sets change only d.
"""

import numpy as np
from numba import prange

from ...kernels import inline, parallel, serial

u64 = np.uint64


@inline
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
    for s in prange(start.size - 1):
        _stencil_segment(x, r, b, w0, w1, w2, d, start, offset, parity, colour, keep, gain, with_r, s)


@serial
def _stencil_pass_small(x, r, b, w0, w1, w2, d, start, offset, parity, colour, keep, gain, with_r):
    for s in range(start.size - 1):
        _stencil_segment(x, r, b, w0, w1, w2, d, start, offset, parity, colour, keep, gain, with_r, s)


@parallel
def _scale_start(x, b, d, omega):
    """x = omega b/d on all rows (9): right for red rows; black rows are overwritten before they are read."""
    for t in prange(x.size):
        x[t] = omega * b[t] / d[t] if d[t] > 0.0 else 0.0


@inline
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
    for k in prange(rows.size):
        _csr_row(x, r, b, data, indices, indptr, d, keep, gain, with_r, rows[k])


@serial
def _csr_pass_small(x, r, b, data, indices, indptr, d, rows, keep, gain, with_r):
    for k in range(rows.size):
        _csr_row(x, r, b, data, indices, indptr, d, keep, gain, with_r, rows[k])
