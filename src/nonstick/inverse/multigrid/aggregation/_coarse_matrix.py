"""The matrix of merged unknowns, scale PᵀFAFP with a 0/1 matrix P and a free set F: its pattern, then its values.

`parent[i]` is the column of the one 1 in row i of P, or -1. The pattern is that of PᵀAP, whatever the free set, so it
stays when cells enter or leave the free set and values are filled in again, or corrected.

Values are off-diagonal *weights* w = -a and the *excess* of each row, its diagonal minus its weights. The excess
contains the couplings to Dirichlet neighbours and to cells outside the free set (`closed`). Diagonals are
excess + weights, so coarse rows have no cancellation errors, and a pure Neumann part ends as an exact zero.

The source is a stencil (face weights, `start`, `offset`) or a matrix in CSR form. `sign` times its entries are weights.
"""

import numpy as np

from ....kernels import merged, parallel, prange, serial
from ....kernels._blocks import _neighbour, _segment_of

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
