"""Building the row layout: grid cells that are unknowns, in C order, cut into segments.

A segment is a run of consecutive unknowns along the last axis within which the distance (in the
numbering of unknowns) to each of the six neighbours is constant. Kernels then read memory with unit stride and never
load a neighbour index per cell. See `nonstick.operators.rows`.

Two-dimensional grids are three-dimensional ones whose first axis has one cell.
"""

import numpy as np

from ..kernels import serial


@serial
def _number_cells(number, cells):
    """number[cell] = position in `cells` (C-order linear indices); other entries are -1."""
    number[:] = -1
    for t in range(cells.size):
        number[cells[t]] = t


@serial
def _cut_segments(start, offset, parity, number, shape, cells):
    """Fill the segment tables; returns the number of segments.

    With `start.size == 0` it only counts. offset[s, f] is (neighbour - own) number, 0 for a missing neighbour, which is
    then read as the cell itself with weight zero.

    Along z the neighbours inside a run are t - 1 and t + 1; the weights at both ends of a run are zero, so segments
    need not end there. Only the first and the last unknown are segments of one cell, because their reads would go
    outside the array.
    """
    n = cells.size
    nz = shape[2]
    plane = shape[1] * nz
    write = start.size > 0
    count = 0
    t = 0
    while t < n:
        cell = cells[t]
        row = cell // nz
        i = row // shape[1]
        j = row - i * shape[1]
        k = cell - row * nz
        # the run: consecutive cells of one row
        end = t + 1
        while end < n and cells[end] == cell + (end - t) and k + (end - t) < nz:
            end += 1
        has_xm = i > 0
        has_xp = i + 1 < shape[0]
        has_ym = j > 0
        has_yp = j + 1 < shape[1]
        xm = xp = ym = yp = np.int64(0)
        for u in range(t, end):
            c = cell + (u - t)
            a = np.int64(number[c - plane]) if has_xm else np.int64(-1)
            b = np.int64(number[c + plane]) if has_xp else np.int64(-1)
            e = np.int64(number[c - nz]) if has_ym else np.int64(-1)
            f = np.int64(number[c + nz]) if has_yp else np.int64(-1)
            a = a - u if a >= 0 else np.int64(0)
            b = b - u if b >= 0 else np.int64(0)
            e = e - u if e >= 0 else np.int64(0)
            f = f - u if f >= 0 else np.int64(0)
            if u == t or a != xm or b != xp or e != ym or f != yp or u == 1 or u == n - 1:
                xm, xp, ym, yp = a, b, e, f
                if write:
                    start[count] = u
                    parity[count] = (i + j + k + u - t) & 1
                    offset[count, 0] = xm
                    offset[count, 1] = xp
                    offset[count, 2] = ym
                    offset[count, 3] = yp
                    offset[count, 4] = 0 if u == 0 else -1
                    offset[count, 5] = 0 if u == n - 1 else 1
                count += 1
        t = end
    if write:
        start[count] = n
    return count
