"""Building aggregation hierarchies: which unknowns merge, and the Galerkin matrix of the merged ones.

`P` is 0/1 with one 1 per row, `parent[i]` its column, so `PᵀAP` only adds entries up. All loops are serial
scatters in a fixed order: deterministic, and a few tens of nanoseconds per unknown.
"""

from ...kernels import inline, serial


@inline
def _find(root, i):
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@inline
def _unite(root, i, j):
    i = _find(root, i)
    j = _find(root, j)
    if i < j:
        root[j] = i
    elif j < i:
        root[i] = j


@serial
def _flatten(root):
    """root[i] becomes the last of its chain."""
    for i in range(root.size):
        r = root[i]
        while root[r] != r:
            r = root[r]
        root[i] = r


@inline
def _note(strongest, i, j, a):
    """The largest coupling of each unknown; zero for one that is coupled to nothing."""
    strongest[i] = max(strongest[i], a)
    strongest[j] = max(strongest[j], a)


@inline
def _join(root, strongest, block, theta, i, j, a):
    if block[i] == block[j] and a >= theta * min(strongest[i], strongest[j]):
        _unite(root, i, j)


@serial
def _strongest_stencil(strongest, w0, w1, w2, start, offset):
    """strongest[i] = max |A_ij|, j != i."""
    strongest[:] = 0.0
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            if w0[t] != 0.0:
                _note(strongest, t, t + xp, abs(w0[t]))
            if w1[t] != 0.0:
                _note(strongest, t, t + yp, abs(w1[t]))
            if w2[t] != 0.0:
                _note(strongest, t, t + zp, abs(w2[t]))


@serial
def _strongest_csr(strongest, data, indices, indptr):
    """The same over the entries of a matrix."""
    strongest[:] = 0.0
    for i in range(strongest.size):
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] > i:
                _note(strongest, i, indices[q], abs(data[q]))


@serial
def _join_stencil(root, strongest, block, theta, w0, w1, w2, start, offset):
    """Unite face neighbours of one block: root[i] leads to the smallest unknown of i's part.

    A coupling below `theta` times the strongest one of both unknowns does not unite them.
    """
    for i in range(root.size):
        root[i] = i
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            if w0[t] != 0.0:
                _join(root, strongest, block, theta, t, t + xp, abs(w0[t]))
            if w1[t] != 0.0:
                _join(root, strongest, block, theta, t, t + yp, abs(w1[t]))
            if w2[t] != 0.0:
                _join(root, strongest, block, theta, t, t + zp, abs(w2[t]))


@serial
def _join_csr(root, strongest, block, theta, data, indices, indptr):
    """The same over the entries of a matrix."""
    for i in range(root.size):
        root[i] = i
    for i in range(root.size):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if j > i and data[q] != 0.0:
                _join(root, strongest, block, theta, i, j, abs(data[q]))


@serial
def _separate_colours(colour, data, indices, indptr):
    """Give every unknown that is coupled to a smaller one of its own colour the first colour >= 2 that is free."""
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


@inline
def _count_link(room, parent, free, i, j):
    p = parent[i]
    q = parent[j]
    if p >= 0 and q >= 0 and p != q and (free.size == 0 or (free[i] and free[j])):
        room[p + 1] += 1
        room[q + 1] += 1


@serial
def _count_links_stencil(room, parent, free, w0, w1, w2, start, offset):
    """room[p + 1] = number of fine faces that leave aggregate p: an upper bound of its neighbours."""
    room[:] = 0
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            if w0[t] != 0.0:
                _count_link(room, parent, free, t, t + xp)
            if w1[t] != 0.0:
                _count_link(room, parent, free, t, t + yp)
            if w2[t] != 0.0:
                _count_link(room, parent, free, t, t + zp)


@serial
def _count_links_csr(room, parent, free, data, indices, indptr):
    room[:] = 0
    for i in range(parent.size):
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] > i and data[q] != 0.0:
                _count_link(room, parent, free, i, indices[q])


@inline
def _insert(values, columns, first, used, row, column, value):
    """Add a value to (row, column), opening the entry if there is none yet."""
    e = first[row]
    end = e + used[row]
    while e < end and columns[e] != column:
        e += 1
    if e == end:
        columns[e] = column
        values[e] = 0.0
        used[row] += 1
    values[e] += value


@inline
def _link(values, columns, first, used, excess, parent, free, alpha, i, j, a):
    """One fine off-diagonal pair a = A_ij = A_ji; a clamped neighbour leaves its coupling in the excess."""
    open_i = free.size == 0 or free[i]
    open_j = free.size == 0 or free[j]
    p = parent[i]
    q = parent[j]
    if open_i and open_j and p >= 0 and q >= 0:
        if p != q:
            _insert(values, columns, first, used, p, q, alpha * a)
            _insert(values, columns, first, used, q, p, alpha * a)
    else:
        if open_i and p >= 0:
            excess[p] -= alpha * a
        if open_j and q >= 0:
            excess[q] -= alpha * a


@serial
def _links_stencil(values, columns, used, excess, first, parent, free, alpha, w0, w1, w2, start, offset):
    """Off-diagonals of alpha PᵀAP and what clamped neighbours add to its row sums."""
    used[:] = 0
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            if w0[t] != 0.0:
                _link(values, columns, first, used, excess, parent, free, alpha, t, t + xp, -w0[t])
            if w1[t] != 0.0:
                _link(values, columns, first, used, excess, parent, free, alpha, t, t + yp, -w1[t])
            if w2[t] != 0.0:
                _link(values, columns, first, used, excess, parent, free, alpha, t, t + zp, -w2[t])


@serial
def _links_csr(values, columns, used, excess, first, parent, free, alpha, data, indices, indptr):
    used[:] = 0
    for i in range(parent.size):
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] > i and data[q] != 0.0:
                _link(values, columns, first, used, excess, parent, free, alpha, i, indices[q], data[q])


@serial
def _add_diagonal(values, columns, used, first, excess):
    """Give every row its diagonal, `excess - sum of off-diagonals`; rows have room for it."""
    for p in range(used.size):
        total = 0.0
        end = first[p] + used[p]
        for e in range(first[p], end):
            total += values[e]
        values[end] = excess[p] - total
        columns[end] = p
        used[p] += 1


@serial
def _pack_rows(data, indices, indptr, values, columns, first, used):
    """CSR with sorted columns from rows with spare room."""
    for p in range(used.size):
        top = indptr[p]
        filled = top
        for e in range(first[p], first[p] + used[p]):
            k = filled
            while k > top and indices[k - 1] > columns[e]:
                indices[k] = indices[k - 1]
                data[k] = data[k - 1]
                k -= 1
            indices[k] = columns[e]
            data[k] = values[e]
            filled += 1


@serial
def _coarse_weights(v0, v1, v2, parent, free, excess, alpha, w0, w1, w2, start, offset):
    """Weights of the piecewise-constant Galerkin stencil: faces between two coarse cells, added up."""
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            for axis in range(3):
                if axis == 0:
                    w, j = w0[t], t + xp
                elif axis == 1:
                    w, j = w1[t], t + yp
                else:
                    w, j = w2[t], t + zp
                if w != 0.0:
                    p, q = parent[t], parent[j]
                    open_t = free.size == 0 or free[t]
                    open_j = free.size == 0 or free[j]
                    if open_t and open_j:
                        if p != q:
                            if axis == 0:
                                v0[p] += alpha * w
                            elif axis == 1:
                                v1[p] += alpha * w
                            else:
                                v2[p] += alpha * w
                    elif open_t:
                        excess[p] += alpha * w
                    elif open_j:
                        excess[q] += alpha * w


@serial
def _match_pairs(parent, data, indices, indptr, order):
    """Pairwise aggregation: each unknown with its most negative unmatched neighbour; returns the count.

    Unknowns whose neighbours are all taken join the aggregate of the strongest one, so that no unknown
    with a negative coupling stays alone and every connected part ends as one unknown.
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
def _strong(data, indices, indptr, d, theta):
    """Zero the couplings with a_ij² <= theta² a_ii a_jj in a copy of the entries; the diagonal stays."""
    for i in range(indptr.size - 1):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if j != i and data[q] * data[q] <= theta * theta * d[i] * d[j]:
                data[q] = 0.0


@serial
def _gather_aggregates(parent, strong, indices, indptr):
    """Greedy aggregation by strong couplings (Vaněk, Mandel, Brezina 1996, algorithm 5.1); returns the count.

    First whole untouched neighbourhoods, then stragglers to an aggregate next to them, then what is left
    among itself. Unknowns without strong couplings keep -1: the smoother solves them.
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
                parent[i] = -3 - best  # not yet visible to other stragglers
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
