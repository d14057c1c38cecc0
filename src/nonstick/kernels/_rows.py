"""Building the row layout: grid cells that are unknowns, in C order, cut into segments.

A segment is a run of consecutive unknowns along the last axis within which the distance (in the
numbering of unknowns) to each of the six neighbours is constant. Kernels then walk unit-stride
streams and never load a neighbour index per cell. See `nonstick.operators.rows`.

Two-dimensional grids are three-dimensional ones whose first axis has one cell.
"""

import numpy as np

from . import serial

ABSENT = np.int32(-1)


@serial
def _number_cells(number, cells):
    """number[cell] = position in `cells` (C-order linear indices); other entries are -1."""
    number[:] = -1
    for t in range(cells.size):
        number[cells[t]] = t


@serial
def _neighbours(number, shape, cell, out):
    """Unknown numbers of the neighbours of a linear cell: -x +x -y +y -z +z, -1 where absent."""
    ny, nz = shape[1], shape[2]
    k = cell % nz
    j = (cell // nz) % ny
    i = cell // (nz * ny)
    out[0] = number[cell - ny * nz] if i > 0 else -1
    out[1] = number[cell + ny * nz] if i + 1 < shape[0] else -1
    out[2] = number[cell - nz] if j > 0 else -1
    out[3] = number[cell + nz] if j + 1 < ny else -1
    out[4] = number[cell - 1] if k > 0 else -1
    out[5] = number[cell + 1] if k + 1 < nz else -1


@serial
def _cut_segments(start, offset, parity, number, shape, cells):
    """Fill the segment tables; returns the number of segments.

    With `start.size == 0` only counts. offset[s, f] is (neighbour - own) number, 0 where absent:
    an absent neighbour is then read as the cell itself, with weight zero.
    """
    count = 0
    write = start.size > 0
    now = np.empty(6, np.int64)
    own = np.empty(6, np.int64)
    for f in range(6):
        own[f] = 0
    ny, nz = shape[1], shape[2]
    for t in range(cells.size):
        cell = cells[t]
        _neighbours(number, shape, cell, now)
        k = cell % nz
        for f in range(6):
            now[f] = now[f] - t if now[f] >= 0 else 0
        new = t == 0 or cells[t - 1] != cell - 1 or k == 0
        if not new:
            for f in range(4):
                if now[f] != own[f]:
                    new = True
        # Inside a run the left and right neighbours are t - 1 and t + 1; the weights at both ends of a
        # run are zero, so ends need no cut. Only the first and the last unknown stand alone, because
        # their reads would leave the array.
        if t == 1 or t == cells.size - 1:
            new = True
        if new:
            if write:
                start[count] = t
                parity[count] = (cell // (nz * ny) + (cell // nz) % ny + k) & 1
                for f in range(4):
                    offset[count, f] = now[f]
                offset[count, 4] = 0 if t == 0 else -1
                offset[count, 5] = 0 if t == cells.size - 1 else 1
            for f in range(6):
                own[f] = now[f]
            count += 1
    if write:
        start[count] = cells.size
    return count
