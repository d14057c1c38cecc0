"""Structured coarsening: 2x2x2 blocks of a row layout become the cells of a coarser row layout.

Piecewise-constant Galerkin matrices keep the seven-point form. They are kept as face weights (summed over
the fine faces between two blocks) and *excess* (diagonal minus weights: Dirichlet neighbours and cells
outside the free set end up there), so that no cancellation spoils coarse diagonals.

Blocks are taken whether or not their cells are connected. `_count_torn_blocks` says where that would glue
together liquid on two sides of a wall; a hierarchy with such blocks goes on with `multigrid.sparse_levels`.
"""

import numpy as np
from numba import prange

from . import inline, parallel, serial

#: a face is strong if it has this part of the largest weight of either cell
STRONG = 0.05


@serial
def _number_blocks(number, coarse_cells, cells, shape, start):
    """number[block]: C-order number of every occupied block, -1 elsewhere; returns how many there are."""
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
def _excess(e, top, d, w0, w1, w2, start, offset, groups):
    """Diagonal minus weights; the rounding of a closed cell's diagonal is not an excess.

    top[g] is the largest weight of group g.
    """
    for g in prange(groups.size - 1):
        largest = 0.0
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
                largest = max(largest, w0[t], w1[t], w2[t])
        top[g] = largest


@parallel
def _galerkin_blocks(c0, c1, c2, ce, w0, w1, w2, e, active, parent, cells, shape, start, offset, scale, groups):
    """Weights and excess of Pᵀ F A F P, scaled, accumulated into arrays that come in as zero.

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
                    # plus faces: a weight between two free cells, an excess next to a clamped one
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


@inline
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


@inline
def _face(f, t, o, w0, w1, w2):
    """Weight of face f of unknown t whose neighbour is at distance o."""
    if f == 0:
        return w0[t + o]
    if f == 1:
        return w0[t]
    if f == 2:
        return w1[t + o]
    if f == 3:
        return w1[t]
    if f == 4:
        return w2[t + o]
    return w2[t]


@serial
def _toggle_blocks(c0, c1, c2, ce, active, toggled, w0, w1, w2, e, parent, start, offset, scale):
    """Move the cells `toggled` into or out of the free set and correct the coarse matrix accordingly."""
    for m in range(toggled.size):
        t = toggled[m]
        c = parent[t]
        s = _segment_of(start, t)
        sign = -scale if active[t] == 0 else scale  # a cell that leaves takes its row along
        own = e[t]
        for f in range(6):
            o = offset[s, f]
            if o != 0:
                v = _face(f, t, o, w0, w1, w2)
                u = t + o
                if v == 0.0:
                    continue
                if active[u] != 0:
                    own += v
                else:
                    other = parent[u]
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


@inline
def _strong(w, peak, other):
    """Is a face strong for the cell that has less to hold on to? A cut cell follows its only neighbour."""
    return w > 0.0 and w >= STRONG * min(peak, other)


@serial
def _peak(t, w0, w1, w2, start, offset):
    """The largest weight of a face of unknown t."""
    s = _segment_of(start, t)
    v = 0.0
    for f in range(6):
        if offset[s, f] != 0:
            v = max(v, _face(f, t, offset[s, f], w0, w1, w2))
    return v


@serial
def _holds(w, sure, t, u, w0, w1, w2, start, offset):
    """Is the face of weight w between unknowns t and u strong? Whatever is at least `sure` is."""
    if w >= sure:
        return True
    if w <= 0.0:
        return False
    return _strong(w, _peak(t, w0, w1, w2, start, offset), _peak(u, w0, w1, w2, start, offset))


@serial
def _count_torn_blocks(first, sure, cells, shape, parent, root, e, start, offset, w0, w1, w2, limit):
    """Blocks whose cells fall into parts that meet nowhere within one cell around the block.

    `root` comes from `_sparse_levels._merge_blocks_stencil`; `first` is work space, one entry per block. Parts that
    touch air nearby do not count: their error is anchored and needs no coarse grid. Stops counting at `limit`.
    """
    first[:] = -1
    torn = 0
    window = np.empty(64, np.int64)
    seen = np.empty(64, np.int64)
    stack = np.empty(64, np.int64)
    for t in range(cells.size):
        if root[t] != t:
            continue
        if first[parent[t]] < 0:
            first[parent[t]] = t
            continue
        # a second part of this block: flood from it through the 4x4x4 cells around
        cell = cells[t]
        k = cell % shape[2]
        j = (cell // shape[2]) % shape[1]
        i = cell // (shape[2] * shape[1])
        i0 = (i & ~1) - 1
        j0 = (j & ~1) - 1
        k0 = (k & ~1) - 1
        for q in range(64):
            ii = i0 + (q >> 4)
            jj = j0 + ((q >> 2) & 3)
            kk = k0 + (q & 3)
            seen[q] = 0
            window[q] = -1
            if 0 <= ii < shape[0] and 0 <= jj < shape[1] and 0 <= kk < shape[2]:
                window[q] = _find_cell(cells, (ii * shape[1] + jj) * shape[2] + kk)
        here = ((i - i0) << 4) + ((j - j0) << 2) + (k - k0)
        seen[here] = 1
        stack[0] = here
        depth = 1
        joined = False
        while depth > 0:
            depth -= 1
            q = stack[depth]
            u = window[q]
            if u == first[parent[t]] or e[u] > STRONG * _peak(u, w0, w1, w2, start, offset):
                joined = True
                break
            s = _segment_of(start, u)
            for f in range(6):
                shift = 16 >> (2 * (f >> 1))
                digit = (q // shift) & 3
                if digit == (3 if f & 1 else 0):
                    continue
                p = q + shift if f & 1 else q - shift
                o = offset[s, f]
                if o == 0 or window[p] != u + o or seen[p] != 0:
                    continue
                if _holds(_face(f, u, o, w0, w1, w2), sure, u, u + o, w0, w1, w2, start, offset):
                    seen[p] = 1
                    stack[depth] = p
                    depth += 1
        if not joined:
            torn += 1
            if torn >= limit:
                return torn
    return torn


@inline
def _find_cell(cells, cell):
    """Number of a linear cell, -1 if it is no unknown."""
    low = 0
    high = cells.size
    while low < high:
        mid = (low + high) >> 1
        if cells[mid] < cell:
            low = mid + 1
        else:
            high = mid
    return low if low < cells.size and cells[low] == cell else -1
