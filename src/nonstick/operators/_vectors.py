"""Building the row layout: grid cells that are unknowns, in C order, cut into segments.

A segment is a run of consecutive unknowns along the last axis within which the distance (in the
numbering of unknowns) to each of the six neighbours is constant. Kernels then read memory with unit stride and never
load a neighbour index per cell. See `nonstick.operators.rows`.

Two-dimensional grids are three-dimensional ones whose first axis has one cell.

The second part transfers vectors and bounds between a fine and a coarse level.

A transfer is either a sparse interpolation matrix P in CSR form or a list of parents (one coarse
unknown for each fine one, -1 for none). `first` and `child` list the children of each coarse unknown
in ascending order, so restriction gathers instead of scattering: parallel and deterministic.
"""

import numpy as np

from ..kernels import parallel, prange, serial


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


@serial
def _children(first, child, parent):
    """Counting sort of the fine unknowns by parent; `first` has one more entry than there are parents."""
    first[:] = 0
    for t in range(parent.size):
        if parent[t] >= 0:
            first[parent[t] + 1] += 1
    for c in range(first.size - 1):
        first[c + 1] += first[c]
    for t in range(parent.size):
        if parent[t] >= 0:
            child[first[parent[t]]] = t
            first[parent[t]] += 1
    for c in range(first.size - 1, 0, -1):
        first[c] = first[c - 1]
    first[0] = 0


@parallel
def _sum_children(out, fine, first, child, free, scale):
    """out_c = scale * sum of fine over the free children of c; an empty `free` means all are."""
    for c in prange(out.size):
        s = 0.0
        for q in range(first[c], first[c + 1]):
            t = child[q]
            if free.size == 0 or free[t]:
                s += fine[t]
        out[c] = scale * s


@parallel
def _copy_parent(out, coarse, parent, free, keep):
    """out_t = keep * out_t + coarse[parent_t] where t is free and has a parent."""
    zero = out.dtype.type(0)
    for t in prange(out.size):
        old = out[t] if keep else zero
        if parent[t] >= 0 and (free.size == 0 or free[t]):
            old += coarse[parent[t]]
        out[t] = old


@serial
def _restrict_bounds(out_lower, out_upper, lower, upper, x, parent):
    """Bounds on a coarse correction: the tightest that keep every child of a coarse unknown in its box."""
    out_lower[:] = -np.inf
    out_upper[:] = np.inf
    for t in range(parent.size):
        c = parent[t]
        if c >= 0:
            out_lower[c] = max(out_lower[c], lower[t] - x[t])
            out_upper[c] = min(out_upper[c], upper[t] - x[t])


@parallel
def _interpolate(out, coarse, data, indices, indptr, free, keep):
    """out = keep * out + P coarse on free rows; out = keep * out on the other rows."""
    zero = out.dtype.type(0)
    for t in prange(out.size):
        s = out[t] if keep else zero
        if free.size == 0 or free[t]:
            for q in range(indptr[t], indptr[t + 1]):
                s += data[q] * coarse[indices[q]]
        out[t] = s


@parallel
def _gather(out, fine, data, indices, indptr, free, scale):
    """out = scale * Pᵀ (free * fine), given Pᵀ in CSR form."""
    for c in prange(out.size):
        s = 0.0
        for q in range(indptr[c], indptr[c + 1]):
            t = indices[q]
            if free.size == 0 or free[t]:
                s += data[q] * fine[t]
        out[c] = scale * s
