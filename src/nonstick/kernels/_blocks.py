"""Structured coarsening: 2x2x2 blocks of a row layout become the cells of a coarser row layout.

Piecewise-constant Galerkin matrices keep the seven-point form. They are stored as face weights (summed over the fine
faces between two blocks) and *excess* (diagonal minus weights: the couplings to Dirichlet neighbours and to cells
outside the free set). So coarse diagonals have no cancellation errors.

Blocks are used even if their cells are not connected. `multigrid._strength` counts the blocks that would join liquid on
two sides of a wall.
"""

from . import merged, parallel, prange, serial


@serial
def _number_blocks(number, coarse_cells, cells, shape, start):
    """number[block]: C-order number of every occupied block, -1 elsewhere; returns their count."""
    cy = (shape[1] + 1) >> 1
    cz = (shape[2] + 1) >> 1
    number[:] = -1
    for s in range(start.size - 1):
        cell = cells[start[s]]
        k = cell % shape[2]
        row = cell // shape[2]
        base = ((row // shape[1] >> 1) * cy + (row % shape[1] >> 1)) * cz
        for b in range(base + (k >> 1), base + ((k + start[s + 1] - start[s] - 1) >> 1) + 1):
            number[b] = 0
    count = 0
    for b in range(number.size):
        if number[b] == 0:
            number[b] = count
            coarse_cells[count] = b
            count += 1
    return count


@parallel
def _assign_blocks(parent, number, cells, shape, start, groups):
    """parent[t] = number of the block of unknown t."""
    cy = (shape[1] + 1) >> 1
    cz = (shape[2] + 1) >> 1
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            cell = cells[start[s]]
            k = cell % shape[2]
            row = cell // shape[2]
            base = ((row // shape[1] >> 1) * cy + (row % shape[1] >> 1)) * cz
            for t in range(start[s], start[s + 1]):
                parent[t] = number[base + ((k + t - start[s]) >> 1)]


@parallel
def _excess(e, d, w0, w1, w2, start, offset, groups):
    """Diagonal minus weights; the rounding error of a closed cell's diagonal is not an excess."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = offset[s]
            for t in range(start[s], start[s + 1]):
                v = d[t] - (w0[t] + w1[t] + w2[t])
                if xm != 0:
                    v -= w0[t + xm]
                if ym != 0:
                    v -= w1[t + ym]
                if zm != 0:
                    v -= w2[t + zm]
                e[t] = v if abs(v) > 1e-12 * d[t] else 0.0


@parallel
def _galerkin_blocks(c0, c1, c2, ce, w0, w1, w2, e, active, parent, cells, shape, start, offset, scale, groups):
    """Weights and excess of Pᵀ F A F P, scaled, accumulated into arrays that are zero on entry.

    `groups` end between blocks, so no two threads write the same coarse cell.
    """
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            cell = cells[start[s]]
            k = cell % shape[2]
            row = cell // shape[2]
            x_out = (row // shape[1]) & 1
            y_out = (row % shape[1]) & 1
            xm, xp, ym, yp, zm, zp = offset[s]
            for t in range(start[s], start[s + 1]):
                if active[t] == 0:
                    c = parent[t]
                    v = e[t]
                    # plus faces: a weight between two free cells, an excess next to a clamped cell
                    if active[t + xp] != 0:
                        v += w0[t]
                    elif x_out:
                        c0[c] += scale * w0[t]
                    if active[t + yp] != 0:
                        v += w1[t]
                    elif y_out:
                        c1[c] += scale * w1[t]
                    if active[t + zp] != 0:
                        v += w2[t]
                    elif k & 1:
                        c2[c] += scale * w2[t]
                    if xm != 0 and active[t + xm] != 0:
                        v += w0[t + xm]
                    if ym != 0 and active[t + ym] != 0:
                        v += w1[t + ym]
                    if zm != 0 and active[t + zm] != 0:
                        v += w2[t + zm]
                    ce[c] += scale * v
                k += 1


@merged
def _segment_of(start, t):
    low = 0
    high = start.size - 1
    while high - low > 1:
        mid = (low + high) >> 1
        if start[mid] <= t:
            low = mid
        else:
            high = mid
    return low


@merged
def _neighbour(f, t, s, offset, w0, w1, w2):
    """The distance to the neighbour of unknown t in direction f, and the weight of the face; zeros if there is none."""
    o = offset[s, f]
    if o == 0:
        return o, 0.0
    if f == 0:
        return o, w0[t + o]
    if f == 1:
        return o, w0[t]
    if f == 2:
        return o, w1[t + o]
    if f == 3:
        return o, w1[t]
    if f == 4:
        return o, w2[t + o]
    return o, w2[t]


@serial
def _toggle_blocks(c0, c1, c2, ce, active, toggled, w0, w1, w2, e, parent, start, offset, scale):
    """Move the cells `toggled` into or out of the free set and correct the coarse matrix accordingly."""
    for m in range(toggled.size):
        t = toggled[m]
        c = parent[t]
        s = _segment_of(start, t)
        sign = -scale if active[t] == 0 else scale  # the row of a cell that leaves is removed
        own = e[t]
        for f in range(6):
            o, v = _neighbour(f, t, s, offset, w0, w1, w2)
            if v == 0.0:
                continue
            if active[t + o] != 0:
                own += v
            else:
                other = parent[t + o]
                ce[other] -= sign * v
                if other != c:
                    low = min(c, other)
                    if f < 2:
                        c0[low] += sign * v
                    elif f < 4:
                        c1[low] += sign * v
                    else:
                        c2[low] += sign * v
        ce[c] += sign * own
        active[t] = 1 - active[t]
