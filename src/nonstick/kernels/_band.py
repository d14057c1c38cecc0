"""Relaxation and residuals on a part of the row layout: pieces of segments near the constrained cells."""

import numpy as np
from numba import prange

from . import parallel, serial

u64 = np.uint64


@parallel
def _dilate(out, mask, start, offset):
    """out = cells of the mask and their neighbours (and, at the ends of runs along z, perhaps one more)."""
    for s in prange(start.size - 1):
        xm, xp, ym, yp, zm, zp = offset[s]
        xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
        for t in range(u64(start[s]), u64(start[s + 1])):
            out[t] = (
                mask[t] | (mask[t + xm] | mask[t + xp]) | (mask[t + ym] | mask[t + yp]) | (mask[t + zm] | mask[t + zp])
            )


@serial
def _cut_pieces(first, last, segment, mask, start):
    """Runs of the mask inside segments; with `first` empty only counts. Returns how many there are."""
    count = 0
    write = first.size > 0
    for s in range(start.size - 1):
        t = start[s]
        while t < start[s + 1]:
            if mask[t]:
                a = t
                while t < start[s + 1] and mask[t]:
                    t += 1
                if write:
                    first[count] = a
                    last[count] = t
                    segment[count] = s
                count += 1
            else:
                t += 1
    return count


@parallel
def _relax_pieces(x, b, lower, upper, w0, w1, w2, d, first, last, segment, start, offset, parity, colour):
    """One colour of projected Gauss–Seidel on the pieces, in place."""
    for m in prange(first.size):
        s = segment[m]
        xm, xp, ym, yp, zm, zp = offset[s]
        h0 = 1.0 if xm != 0 else 0.0
        h1 = 1.0 if ym != 0 else 0.0
        h2 = 1.0 if zm != 0 else 0.0
        xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
        begin = first[m] + ((parity[s] + first[m] - start[s] + colour) & 1)
        for t in range(u64(begin), u64(last[m]), u64(2)):
            if d[t] > 0.0:
                r = (
                    b[t]
                    + (w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp])
                    + (h0 * w0[t + xm] * x[t + xm] + h1 * w1[t + ym] * x[t + ym] + h2 * w2[t + zm] * x[t + zm])
                )
                x[t] = min(max(r / d[t], lower[t]), upper[t])


@parallel
def _residual_pieces(out, b, x, w0, w1, w2, d, first, last, segment, offset):
    """out = b - A x on the pieces."""
    for m in prange(first.size):
        xm, xp, ym, yp, zm, zp = offset[segment[m]]
        h0 = 1.0 if xm != 0 else 0.0
        h1 = 1.0 if ym != 0 else 0.0
        h2 = 1.0 if zm != 0 else 0.0
        xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
        for t in range(u64(first[m]), u64(last[m])):
            out[t] = (b[t] - d[t] * x[t]) + (
                (w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp])
                + (h0 * w0[t + xm] * x[t + xm] + h1 * w1[t + ym] * x[t + ym] + h2 * w2[t + zm] * x[t + zm])
            )
