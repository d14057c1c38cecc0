"""The seven-point operator `(A x)_c = d_c x_c - sum_f w_f x_n` on the row layout.

Arguments shared by all kernels (see `nonstick.operators.rows`):
w0 w1 w2 are the weights of the faces towards +x, +y, +z of each unknown (zero where there is no
neighbouring unknown); the weight towards -x is w0 of the neighbour. `start`, `offset` and `parity`
are the segment tables. A missing neighbour has offset 0, so it reads the cell itself: harmless for
plus faces, whose weight is zero, and switched off by the factors h0 h1 h2 for minus faces.

Indices are unsigned, because a signed index makes numba test for wrap-around in the inner loop and
the loop would not vectorise.
"""

import numpy as np

from . import merged, parallel, parallel_sum, prange, serial

u64 = np.uint64


@merged
def _stencil_apply_segment(s, out, x, w0, w1, w2, d, start, offset):
    xm, xp, ym, yp, zm, zp = offset[s]
    one = x.dtype.type(1)
    zero = x.dtype.type(0)
    h0 = one if xm != 0 else zero
    h1 = one if ym != 0 else zero
    h2 = one if zm != 0 else zero
    xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
    for t in range(u64(start[s]), u64(start[s + 1])):
        out[t] = d[t] * x[t] - (
            (w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp])
            + (h0 * w0[t + xm] * x[t + xm] + h1 * w1[t + ym] * x[t + ym] + h2 * w2[t + zm] * x[t + zm])
        )


@parallel
def _stencil_apply(out, x, w0, w1, w2, d, start, offset):
    """out = A x"""
    for s in prange(0, start.size - 1, d.size):
        _stencil_apply_segment(s, out, x, w0, w1, w2, d, start, offset)


@parallel_sum
def _stencil_energy(out, energy, x, w0, w1, w2, d, start, offset):
    """out = A x, and xᵀA x segment by segment while both are in the cache."""
    for s in prange(0, start.size - 1, d.size):
        _stencil_apply_segment(s, out, x, w0, w1, w2, d, start, offset)
        v = 0.0
        for t in range(u64(start[s]), u64(start[s + 1])):
            v += out[t] * x[t]
        energy[s] = v


@merged
def _stencil_residual_segment(s, out, b, x, w0, w1, w2, d, start, offset):
    xm, xp, ym, yp, zm, zp = offset[s]
    one = x.dtype.type(1)
    zero = x.dtype.type(0)
    h0 = one if xm != 0 else zero
    h1 = one if ym != 0 else zero
    h2 = one if zm != 0 else zero
    xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
    for t in range(u64(start[s]), u64(start[s + 1])):
        out[t] = (b[t] - d[t] * x[t]) + (
            (w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp])
            + (h0 * w0[t + xm] * x[t + xm] + h1 * w1[t + ym] * x[t + ym] + h2 * w2[t + zm] * x[t + zm])
        )


@parallel
def _stencil_residual(out, b, x, w0, w1, w2, d, start, offset):
    """out = b - A x"""
    for s in prange(0, start.size - 1, d.size):
        _stencil_residual_segment(s, out, b, x, w0, w1, w2, d, start, offset)


@merged
def _stencil_relax_segment(s, x, b, lower, upper, w0, w1, w2, d, start, offset, parity, colour, omega, projected):
    xm, xp, ym, yp, zm, zp = offset[s]
    one = x.dtype.type(1)
    zero = x.dtype.type(0)
    h0 = one if xm != 0 else zero
    h1 = one if ym != 0 else zero
    h2 = one if zm != 0 else zero
    om = x.dtype.type(omega)
    xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
    for t in range(u64(start[s] + ((parity[s] + colour) & 1)), u64(start[s + 1]), u64(2)):
        if d[t] > zero:
            r = (
                b[t]
                + (w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp])
                + (h0 * w0[t + xm] * x[t + xm] + h1 * w1[t + ym] * x[t + ym] + h2 * w2[t + zm] * x[t + zm])
            )
            new = x[t] + om * (r / d[t] - x[t])
            if projected:
                new = min(max(new, lower[t]), upper[t])
            x[t] = new


@parallel
def _stencil_relax(x, b, lower, upper, w0, w1, w2, d, start, offset, parity, colour, omega, projected):
    """One colour of red-black SOR, in place: x += omega (x_GS - x), then clipped to the box if projected.

    Cells of one colour only read cells of the other, so the result does not depend on the order or on
    the number of threads. Rows with d = 0 (isolated, without an equation) are not changed.
    """
    for s in prange(0, start.size - 1, d.size):
        _stencil_relax_segment(s, x, b, lower, upper, w0, w1, w2, d, start, offset, parity, colour, omega, projected)


@serial
def _stencil_sweeps(x, b, lower, upper, w0, w1, w2, d, start, offset, parity, omega, count):
    """`count` projected sweeps over both colours, on one thread: for small levels that need many."""
    for half in range(2 * count):
        for s in range(start.size - 1):
            _stencil_relax_segment(s, x, b, lower, upper, w0, w1, w2, d, start, offset, parity, half & 1, omega, True)


@serial
def _put(indices, data, at, column, value):
    """Write one entry if there is room and it is not zero; returns the next position."""
    if value == 0.0:
        return at
    if indices.size > 0:
        indices[at] = column
        data[at] = value
    return at + 1


@serial
def _stencil_matrix(indptr, indices, data, w0, w1, w2, d, start, offset):
    """The entries in CSR form, columns ascending; with empty `indices` only the row pointers."""
    at = 0
    indptr[0] = 0
    for s in range(start.size - 1):
        xm, xp, ym, yp, zm, zp = offset[s]
        for t in range(start[s], start[s + 1]):
            if xm != 0:
                at = _put(indices, data, at, t + xm, -w0[t + xm])
            if ym != 0:
                at = _put(indices, data, at, t + ym, -w1[t + ym])
            if zm != 0:
                at = _put(indices, data, at, t + zm, -w2[t + zm])
            if indices.size > 0:  # the diagonal is stored even if it is zero
                indices[at] = t
                data[at] = d[t]
            at += 1
            if zp != 0:
                at = _put(indices, data, at, t + zp, -w2[t])
            if yp != 0:
                at = _put(indices, data, at, t + yp, -w1[t])
            if xp != 0:
                at = _put(indices, data, at, t + xp, -w0[t])
            indptr[t + 1] = at
