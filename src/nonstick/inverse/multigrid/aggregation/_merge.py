"""Which unknowns merge. All loops are serial and in a fixed order: a few tens of nanoseconds per unknown.

The matrix of the merged ones is in `_coarse_matrix`.
"""

from ....kernels import serial
from ....kernels._components import _unite
from ._strength import _strong


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
