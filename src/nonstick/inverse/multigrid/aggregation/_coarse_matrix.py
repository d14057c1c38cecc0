"""The matrix of merged unknowns, scale PᵀFAFP with a 0/1 matrix P and a free set F: its pattern, then its values.

`parent[i]` is the column of the one 1 in row i of P, or -1. The pattern is that of PᵀAP, whatever the free set, so it
stays when cells enter or leave the free set and values are filled in again, or corrected.

Values are off-diagonal *weights* w = -a and the *excess* of each row, its diagonal minus its weights. The excess
contains the couplings to Dirichlet neighbours and to cells outside the free set (`closed`). Diagonals are
excess + weights, so coarse rows have no cancellation errors, and a pure Neumann part ends as an exact zero.

The source is a stencil (face weights, `start`, `offset`) or a matrix in CSR form. `sign` times its entries are weights.

Which unknowns merge. All loops are serial and in a fixed order: a few tens of nanoseconds per unknown.

The matrix of the merged ones is in `_coarse_matrix`.
"""

import numpy as np

from ....kernels import merged, parallel, prange, serial
from ....kernels._blocks import _neighbour, _segment_of
from ....kernels._components import _unite
from ._strength import _strong

# -- the pattern ----------------------------------------------------------------------------------------------------


@serial
def _graph_of_stencil(slot, over_i, over_j, parent, w0, w1, w2, start, offset):
    """Distinct coarse neighbours of every aggregate: six slots, one per direction, and an overflow list.

    Returns the overflow used; more than `over_i.size` means: call again with a longer list.
    """
    slot[:, :6] = -1
    used = 0
    for s in range(start.size - 1):
        for t in range(start[s], start[s + 1]):
            c = parent[t]
            if c < 0:
                continue
            for f in range(6):
                o, v = _neighbour(f, t, s, offset, w0, w1, w2)
                if v != 0.0:
                    other = parent[t + o]
                    if other >= 0 and other != c:
                        if slot[c, f] < 0:
                            slot[c, f] = other
                        elif slot[c, f] != other:
                            if used < over_i.size:
                                over_i[used] = c
                                over_j[used] = other
                            used += 1
    return used


@serial
def _graph_of_csr(slot, over_i, over_j, parent, indices, indptr):
    """The same for a matrix; slots are filled in the order of the neighbours.

    Entries that are zero count: a free set may have closed them for now.
    """
    slot[:, :6] = -1
    used = 0
    for i in range(parent.size):
        c = parent[i]
        if c < 0:
            continue
        for q in range(indptr[i], indptr[i + 1]):
            other = parent[indices[q]]
            if other >= 0 and other != c:
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
    n, slots = slot.shape
    count = indices.size == 0
    if count:
        for c in range(n):
            m = 0
            for f in range(slots):
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
        for f in range(slots):
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


# -- the values -----------------------------------------------------------------------------------------------------


@merged
def _add_entry(data, indices, indptr, i, j, v):
    for q in range(indptr[i], indptr[i + 1]):  # never beyond the row, whatever the pattern
        if indices[q] == j:
            data[q] += v
            break


@parallel
def _fill_from_stencil(data, excess, closed, parent, e, indices, indptr, scale, w0, w1, w2, start, offset, groups):
    """Weights and excess; `data` and `excess` are zero on entry, and no aggregate belongs to two groups."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            for t in range(start[s], start[s + 1]):
                c = parent[t]
                if closed[t] == 0 and c >= 0:
                    own = e[t]
                    for f in range(6):
                        o, v = _neighbour(f, t, s, offset, w0, w1, w2)
                        if v == 0.0:
                            continue
                        other = parent[t + o]
                        if closed[t + o] != 0 or other < 0:
                            own += v
                        elif other != c:
                            _add_entry(data, indices, indptr, c, other, scale * v)
                    excess[c] += scale * own


@serial
def _fill_from_csr(data, excess, closed, parent, e, indices, indptr, scale, fine, fine_indices, fine_indptr, sign):
    """The same from a matrix."""
    for i in range(parent.size):
        c = parent[i]
        if closed[i] == 0 and c >= 0:
            own = e[i]
            for q in range(fine_indptr[i], fine_indptr[i + 1]):
                j = fine_indices[q]
                v = sign * fine[q]
                if v == 0.0:
                    continue
                other = parent[j]
                if closed[j] != 0 or other < 0:
                    own += v
                elif other != c:
                    _add_entry(data, indices, indptr, c, other, scale * v)
            excess[c] += scale * own


@serial
def _close_rows(data, indices, indptr, excess):
    """Entries of the matrix from weights and excess; every row has room for its diagonal."""
    for i in range(excess.size):
        d = excess[i]
        own = -1
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] == i:
                own = q
            else:
                d += data[q]
                data[q] = -data[q]
        data[own] = d


@serial
def _inverse_diagonals(dinv, excess, data, indptr):
    """1/(excess + weights); 0 where the row is empty (no free cell, or a closed pocket's last unknown)."""
    for i in range(dinv.size):
        d = excess[i]
        for q in range(indptr[i], indptr[i + 1]):
            d += data[q]
        dinv[i] = np.float32(1.0) / d if d > 0.0 else np.float32(0.0)


@serial
def _toggle(data, excess, closed, toggled, parent, e, indices, indptr, scale, w0, w1, w2, start, offset):
    """Move the cells `toggled` into or out of the free set and correct the matrix accordingly."""
    for m in range(toggled.size):
        t = toggled[m]
        c = parent[t]
        s = _segment_of(start, t)
        sign = -scale if closed[t] == 0 else scale  # the row of a cell that leaves is removed
        own = e[t]
        for f in range(6):
            o, v = _neighbour(f, t, s, offset, w0, w1, w2)
            if v == 0.0:
                continue
            if closed[t + o] != 0:
                own += v
            else:
                other = parent[t + o]
                excess[other] -= sign * v
                if other != c:
                    _add_entry(data, indices, indptr, c, other, sign * v)
                    _add_entry(data, indices, indptr, other, c, sign * v)
        excess[c] += sign * own
        closed[t] = 1 - closed[t]


@serial
def _cast_clean(out, values):
    """float64 to float32; the rounding errors of adding and subtracting cells are set to zero."""
    for q in range(out.size):
        out[q] = values[q] if abs(values[q]) > 1e-12 else 0.0


@serial
def _links_of_stencil(data, indices, indptr, w0, w1, w2, start, offset):
    """The couplings of a stencil to later unknowns, as rows of entries; returns their number."""
    count = 0
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            indptr[t] = count
            for w, o in ((w0[t], xp), (w1[t], yp), (w2[t], zp)):
                if w != 0.0:
                    data[count] = w
                    indices[count] = t + o
                    count += 1
    indptr[indptr.size - 1] = count
    return count


@serial
def _strongest(strongest, data, indices, indptr):
    """strongest[i] = max |A_ij|, j != i; zero for an unknown without couplings."""
    strongest[:] = 0.0
    for i in range(strongest.size):
        for q in range(indptr[i], indptr[i + 1]):
            j, a = indices[q], abs(data[q])
            if j > i:
                strongest[i] = max(strongest[i], a)
                strongest[j] = max(strongest[j], a)


@serial
def _join(root, strongest, block, theta, data, indices, indptr):
    """Unite neighbours of one block: following root[i] gives the smallest unknown of i's part.

    A coupling that is not strong (`_strength`) does not unite them.
    """
    for i in range(root.size):
        root[i] = i
    for i in range(root.size):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            near = j > i and data[q] != 0.0 and block[i] == block[j]
            if near and _strong(abs(data[q]), theta, strongest[i], strongest[j]):
                _unite(root, i, j)


@serial
def _blocks_of(block, colour, cells):
    """The 2^d block of each cell, numbered in C order, and the block's colour (0 red, 1 black), added to zeros."""
    for axis in range(cells.shape[1]):
        low = high = cells[0, axis] >> 1
        for t in range(block.size):
            low = min(low, cells[t, axis] >> 1)
            high = max(high, cells[t, axis] >> 1)
        for t in range(block.size):
            at = cells[t, axis] >> 1
            block[t] = block[t] * (high - low + 1) + at - low
            colour[t] ^= at & 1


@serial
def _number_parts(parent, root, roots, colour):
    """Number the roots, those of colour 0 first; every other unknown gets the number of its root."""
    count = 0
    for wanted in range(2):
        for k in range(roots.size):
            if colour[k] == wanted:
                parent[roots[k]] = count
                count += 1
    for i in range(root.size):
        parent[i] = parent[root[i]]


@serial
def _separate_colours(colour, data, indices, indptr):
    """Give every unknown that is coupled to a smaller unknown of its own colour the first free colour >= 2."""
    for i in range(colour.size):
        clash = False
        taken = 0
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if j != i and data[q] != 0.0:
                taken |= 1 << colour[j]
                clash = clash or (j < i and colour[j] == colour[i])
        if clash:
            c = 2
            while (taken >> c) & 1:
                c += 1
            colour[i] = c


@serial
def _match_pairs(parent, data, indices, indptr, order):
    """Pairwise aggregation: each unknown merges with its most negative unmatched neighbour; returns the count.

    If all neighbours of an unknown are matched, it joins the aggregate of its strongest neighbour. So no unknown with a
    negative coupling stays alone, and every connected part ends as one unknown.
    """
    count = 0
    for q in range(order.size):
        i = order[q]
        if parent[i] >= 0:
            continue
        best = -1
        strongest = 0.0
        taken = -1
        strongest_taken = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j == i or not data[e] < 0.0:
                continue
            if parent[j] < 0 and data[e] < strongest:
                best, strongest = j, data[e]
            elif parent[j] >= 0 and data[e] < strongest_taken:
                taken, strongest_taken = j, data[e]
        if best >= 0 and strongest <= 0.25 * strongest_taken:
            parent[i] = count
            parent[best] = count
            count += 1
        elif taken >= 0:
            parent[i] = parent[taken]
        else:
            parent[i] = count
            count += 1
    return count


@serial
def _drop_weak(data, indices, indptr, d, theta):
    """Zero the couplings with a_ij² <= theta² a_ii a_jj in a copy of the entries; the diagonal stays."""
    for i in range(indptr.size - 1):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if j != i and data[q] * data[q] <= theta * theta * d[i] * d[j]:
                data[q] = 0.0


@serial
def _gather_aggregates(parent, strong, indices, indptr):
    """Greedy aggregation by strong couplings (Vaněk, Mandel, Brezina 1996, algorithm 5.1); returns the count.

    First, whole unused neighbourhoods become aggregates; then single unknowns join an aggregate next to them; then the
    remaining unknowns form aggregates with each other. Unknowns without strong couplings keep -1: the smoother solves
    them.
    """
    n = parent.size
    count = 0
    parent[:] = -2
    for i in range(n):
        alone = True
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] != i and strong[q] != 0.0:
                alone = False
        if alone:
            parent[i] = -1
    for i in range(n):
        untouched = parent[i] == -2
        for q in range(indptr[i], indptr[i + 1]):
            if strong[q] != 0.0 and parent[indices[q]] >= 0:
                untouched = False
        if untouched:
            for q in range(indptr[i], indptr[i + 1]):
                if strong[q] != 0.0:
                    parent[indices[q]] = count
            parent[i] = count
            count += 1
    first_pass = count
    for i in range(n):
        if parent[i] == -2:
            best = -1
            largest = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                j = indices[q]
                if strong[q] != 0.0 and 0 <= parent[j] < first_pass and abs(strong[q]) > largest:
                    best, largest = parent[j], abs(strong[q])
            if best >= 0:
                parent[i] = -3 - best  # not yet visible to other single unknowns
    for i in range(n):
        if parent[i] <= -3:
            parent[i] = -3 - parent[i]
    for i in range(n):
        if parent[i] == -2:
            for q in range(indptr[i], indptr[i + 1]):
                if strong[q] != 0.0 and parent[indices[q]] == -2:
                    parent[indices[q]] = count
            parent[i] = count
            count += 1
    return count
