"""Kernels of topology-aware levels below structured ones: aggregates of cells, and matrices that follow a free set.

Two cells of a block that a wall separates never share a coarse unknown (Takahashi–Batty §4.2): coarse grids then cannot
leak through walls thinner than their cells. Nor do cells joined by weak faces only: across a strong anisotropy errors
are not smooth. What holds for any aggregation is in `_aggregation`; here is what needs rows or must be fast when cells
enter and leave the free set.
"""

import numpy as np
from numba import prange

from ...kernels import inline, parallel, serial
from ...kernels._blocks import _face, _holds, _segment_of
from ._aggregation import _find, _unite


@parallel
def _merge_blocks_stencil(root, parts, sure, w0, w1, w2, cells, shape, start, offset, groups):
    """root[t] = smallest unknown strongly connected with t inside its 2x2x2 block.

    Inside a block a cell mostly has the roots of its three predecessors, which are one: only where they differ
    are sets united. `sure` is a weight that is strong anywhere; parts[g] counts the roots of group g.
    """
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = offset[s]
            cell = cells[start[s]]
            k = cell % shape[2]
            j = (cell // shape[2]) % shape[1]
            i = cell // (shape[2] * shape[1])
            x_inside = (i & 1) == 1 and xm != 0
            y_inside = (j & 1) == 1 and ym != 0
            for t in range(start[s], start[s + 1]):
                r = np.int64(t)
                root[t] = t
                # sure weights are told apart here: calls for the few others cost less than code for all
                if x_inside and (w0[t + xm] >= sure or _holds(w0[t + xm], sure, t, t + xm, w0, w1, w2, start, offset)):
                    r = np.int64(root[t + xm])
                    root[t] = r
                if y_inside and (w1[t + ym] >= sure or _holds(w1[t + ym], sure, t, t + ym, w0, w1, w2, start, offset)):
                    if r == t:
                        r = np.int64(root[t + ym])
                        root[t] = r
                    elif root[t + ym] != r:
                        _unite(root, t, t + ym)
                if (
                    (k & 1) == 1
                    and zm != 0
                    and (w2[t + zm] >= sure or _holds(w2[t + zm], sure, t, t + zm, w0, w1, w2, start, offset))
                ):
                    if r == t:
                        root[t] = root[t + zm]
                    elif root[t + zm] != r:
                        _unite(root, t, t + zm)
                k += 1
        count = 0
        for t in range(start[groups[g]], start[groups[g + 1]]):
            root[t] = _find(root, t)
            count += root[t] == t
        parts[g] = count


@serial
def _blocks_of(block, colour, cells, shape):
    """The 2x2x2 block of each cell, numbered in C order, and the block's colour (0 red, 1 black)."""
    cy = (shape[1] + 1) >> 1
    cz = (shape[2] + 1) >> 1
    for t in range(cells.size):
        row = cells[t] // shape[2]
        i = row // shape[1] >> 1
        j = row % shape[1] >> 1
        k = cells[t] % shape[2] >> 1
        block[t] = (i * cy + j) * cz + k
        colour[t] = (i + j + k) & 1


@serial
def _coarse_graph_stencil(slot, over_i, over_j, parent, cells, shape, start, offset, w0, w1, w2, inner):
    """Distinct coarse neighbours of every aggregate: six slots, one per direction, and an overflow list.

    A cell has one face per axis that leads out of its block; the others matter only if some block holds
    several aggregates (`inner`). Returns the overflow used; more than `over_i.size` means: call again with
    a longer list.
    """
    slot[:] = -1
    used = 0
    for s in range(start.size - 1):
        xm, xp, ym, yp, zm, zp = offset[s]
        cell = cells[start[s]]
        k = cell % shape[2]
        i = (cell // (shape[2] * shape[1])) & 1
        j = ((cell // shape[2]) % shape[1]) & 1
        for t in range(start[s], start[s + 1]):
            c = parent[t]
            for f in range(6):
                o = np.int64(0)
                if f == 0:
                    if (i == 0 or inner) and xm != 0 and w0[t + xm] > 0.0:
                        o = xm
                elif f == 1:
                    if (i == 1 or inner) and w0[t] > 0.0:
                        o = xp
                elif f == 2:
                    if (j == 0 or inner) and ym != 0 and w1[t + ym] > 0.0:
                        o = ym
                elif f == 3:
                    if (j == 1 or inner) and w1[t] > 0.0:
                        o = yp
                elif f == 4:
                    if (k & 1 == 0 or inner) and zm != 0 and w2[t + zm] > 0.0:
                        o = zm
                else:
                    if (k & 1 == 1 or inner) and w2[t] > 0.0:
                        o = zp
                if o != 0:
                    other = parent[t + o]
                    if other != c:
                        if slot[c, f] < 0:
                            slot[c, f] = other
                        elif slot[c, f] != other:
                            if used < over_i.size:
                                over_i[used] = c
                                over_j[used] = other
                            used += 1
            k += 1
    return used


@serial
def _coarse_graph_csr(slot, over_i, over_j, parent, data, indices, indptr):
    """The same for a CSR level; slots are filled in the order neighbours are met."""
    slot[:] = -1
    used = 0
    for i in range(parent.size):
        c = parent[i]
        for q in range(indptr[i], indptr[i + 1]):
            other = parent[indices[q]]
            if other != c and data[q] > 0.0:
                for f in range(6):
                    if slot[c, f] == other:
                        break
                    if slot[c, f] < 0:
                        slot[c, f] = other
                        break
                else:
                    if used < over_i.size:
                        over_i[used] = c
                        over_j[used] = other
                    used += 1
    return used


@serial
def _graph_to_csr(indptr, indices, slot, over_i, over_j, used, cursor):
    """Rows from slots and overflow, without repeats; with `indices` empty only counts. Returns the size."""
    n = slot.shape[0]
    count = indices.size == 0
    if count:
        for c in range(n):
            m = 0
            for f in range(6):
                if slot[c, f] >= 0:
                    m += 1
            indptr[c + 1] = m
        for e in range(used):
            indptr[over_i[e] + 1] += 1
        indptr[0] = 0
        for c in range(n):
            indptr[c + 1] += indptr[c]
        return indptr[n]
    # A row has room for its overflow with repeats; compact afterwards.
    for c in range(n):
        m = indptr[c]
        for f in range(6):
            known = slot[c, f] < 0
            for q in range(indptr[c], m):
                known = known or indices[q] == slot[c, f]
            if not known:
                indices[m] = slot[c, f]
                m += 1
        cursor[c] = m
    for e in range(used):
        c = over_i[e]
        known = False
        for q in range(indptr[c], cursor[c]):
            known = known or indices[q] == over_j[e]
        if not known:
            indices[cursor[c]] = over_j[e]
            cursor[c] += 1
    m = 0
    for c in range(n):
        a = indptr[c]
        indptr[c] = m
        for q in range(a, cursor[c]):
            indices[m] = indices[q]
            m += 1
    indptr[n] = m
    return m


@serial
def _count_inner_couplings(cells, indices, indptr):
    """Entries between unknowns of one block: weak faces inside a block, which two colours cannot part."""
    count = 0
    for i in range(cells.size):
        for q in range(indptr[i], indptr[i + 1]):
            count += cells[indices[q]] == cells[i]
    return count


@parallel
def _galerkin_stencil(data, excess, active, parent, start, offset, w0, w1, w2, e, indices, indptr, scale, groups):
    """Off-diagonals and row excess of Pᵀ F A F P, scaled; `data` and `excess` come in as zero.

    A row's excess is its diagonal minus its off-diagonal weights: Dirichlet neighbours, and cells outside
    the free set, end up there. Diagonals are excess + weights, so no cancellation spoils coarse rows.
    """
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            for t in range(start[s], start[s + 1]):
                if active[t] == 0:
                    c = parent[t]
                    own = e[t]
                    for f in range(6):
                        o = offset[s, f]
                        if o != 0:
                            v = _face(f, t, o, w0, w1, w2)
                            if v == 0.0:
                                continue
                            if active[t + o] != 0:
                                own += v
                            else:
                                other = parent[t + o]
                                if other != c:
                                    _add_entry(data, indices, indptr, c, other, scale * v)
                    excess[c] += scale * own


@serial
def _galerkin_csr(cdata, cexcess, excess, dinv, data, indices, indptr, parent, cindices, cindptr, scale):
    """The same from a CSR level; rows without an inverse diagonal have no free cell below them."""
    for i in range(parent.size):
        if dinv[i] > 0.0:
            c = parent[i]
            cexcess[c] += scale * excess[i]
            for q in range(indptr[i], indptr[i + 1]):
                other = parent[indices[q]]
                if other != c and data[q] > 0.0:
                    p = cindptr[c]
                    while p < cindptr[c + 1] and cindices[p] != other:
                        p += 1
                    if p < cindptr[c + 1]:
                        cdata[p] += scale * data[q]
                    else:  # it was too small to be seen when the graph was made
                        cexcess[c] += scale * data[q]


@serial
def _inverse_diagonals(dinv, excess, data, indptr):
    """1/(excess + weights); 0 where the row is empty (no free cell, or a closed pocket's last unknown)."""
    for i in range(dinv.size):
        d = excess[i]
        for q in range(indptr[i], indptr[i + 1]):
            d += data[q]
        dinv[i] = np.float32(1.0) / d if d > 0.0 else np.float32(0.0)


@serial
def _toggle_csr(data, excess, active, toggled, w0, w1, w2, e, parent, start, offset, indices, indptr, scale):
    """Move the cells `toggled` into or out of the free set and correct the first coarse matrix accordingly."""
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
                    excess[other] -= sign * v
                    if other != c:
                        _add_entry(data, indices, indptr, c, other, sign * v)
                        _add_entry(data, indices, indptr, other, c, sign * v)
        excess[c] += sign * own
        active[t] = 1 - active[t]


@inline
def _add_entry(data, indices, indptr, i, j, v):
    for q in range(indptr[i], indptr[i + 1]):
        if indices[q] == j:
            data[q] += v
            break


@serial
def _cast_clean(out, values):
    """float64 to float32; what adding and subtracting cells leaves behind is rounding, not a value."""
    for q in range(out.size):
        out[q] = values[q] if abs(values[q]) > 1e-12 else 0.0
