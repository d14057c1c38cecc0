"""Interpolation of near-null vectors, and the coarse matrix that belongs to it, node by node.

A node has `width` unknowns, a coarse node k. P and the coarse matrix have full blocks: their patterns are those of
nodes, and the entries of a row lie one after the other as in any CSR matrix. Row r of a node begins at
`width * k * indptr[node] + r * k * (blocks of the node)`.
"""

from ....kernels import merged, serial


@serial
def _link_nodes(values, columns, indptr, seen, width, data, indices, starts):
    """The sum of the squares of the entries between any two nodes, as a matrix of nodes; it only counts its entries if
    `columns` is empty. `seen` is -1 before."""
    count = 0
    for i in range(indptr.size - 1):
        begin = count
        for row in range(i * width, (i + 1) * width):
            for q in range(starts[row], starts[row + 1]):
                j = indices[q] // width
                if seen[j] < begin:
                    seen[j] = count
                    if columns.size > 0:
                        columns[count] = j
                        values[count] = 0.0
                    count += 1
                if columns.size > 0:
                    values[seen[j]] += data[q] * data[q]
        indptr[i + 1] = count
    return count


@serial
def _make_orthonormal(T, R, rows, first, least):
    """Gram–Schmidt, twice, for the columns of T on the rows of each aggregate; T as it was is T R.

    A column of which no more than `least` is left depends on those before it and becomes zero.
    """
    k = T.shape[1]
    for a in range(first.size - 1):
        for c in range(k):
            whole = left = 0.0
            for q in range(first[a], first[a + 1]):
                whole += T[rows[q], c] ** 2
            for _ in range(2):
                for p in range(c):
                    along = 0.0
                    for q in range(first[a], first[a + 1]):
                        along += T[rows[q], p] * T[rows[q], c]
                    R[a, p, c] += along
                    for q in range(first[a], first[a + 1]):
                        T[rows[q], c] -= along * T[rows[q], p]
            for q in range(first[a], first[a + 1]):
                left += T[rows[q], c] ** 2
            kept = left > least * least * whole
            R[a, c, c] = left**0.5 if kept else 0.0
            for q in range(first[a], first[a + 1]):
                T[rows[q], c] = T[rows[q], c] / left**0.5 if kept else 0.0


@serial
def _smooth(P, columns, indptr, slot, T, parent, step, data, indices, starts):
    """P = T - diag(step) A T on the pattern of `columns`. `slot` has a place for every aggregate."""
    k = T.shape[1]
    width = step.size // parent.size
    P[:] = 0.0
    for i in range(parent.size):
        blocks = indptr[i + 1] - indptr[i]
        for s in range(blocks):
            slot[columns[indptr[i] + s]] = s
        for r in range(width):
            row = i * width + r
            base = width * k * indptr[i] + r * k * blocks
            if parent[i] >= 0:
                for c in range(k):
                    P[base + slot[parent[i]] * k + c] = T[row, c]
            for q in range(starts[row], starts[row + 1]):
                j = indices[q]
                own = parent[j // width]
                if own >= 0:
                    factor = step[row] * data[q]
                    for c in range(k):
                        P[base + slot[own] * k + c] -= factor * T[j, c]


@merged
def _find(columns, begin, end, wanted):
    """The place of a column in a sorted row."""
    while begin < end - 1:
        middle = (begin + end) // 2
        if columns[middle] <= wanted:
            begin = middle
        else:
            end = middle
    return begin


@serial
def _multiply_galerkin(C, C_columns, C_indptr, wanted, nodes, free, slot, listed, AP, A, P, P_columns, P_indptr):
    """The `wanted` rows of Pᵀ F A F P; F are free rows, all if `free` is empty. `nodes`: those that P joins to them.

    A row without anything gets a one on its diagonal. `slot` is -1 before and after; `listed` and `AP` are for the
    product of the rows of one node.
    """
    data, indices, starts = A
    _, width, k = AP.shape
    for a in range(wanted.size):
        if wanted[a]:
            C[k * k * C_indptr[a] : k * k * C_indptr[a + 1]] = 0.0
    for i in nodes:
        count = 0
        for r in range(width):
            row = i * width + r
            if free.size > 0 and not free[row]:
                continue
            for q in range(starts[row], starts[row + 1]):
                column = indices[q]
                if free.size > 0 and not free[column]:
                    continue
                j = column // width
                blocks = P_indptr[j + 1] - P_indptr[j]
                base = width * k * P_indptr[j] + (column - j * width) * k * blocks
                for s in range(blocks):
                    at = slot[P_columns[P_indptr[j] + s]]
                    if at < 0:
                        at = count
                        slot[P_columns[P_indptr[j] + s]] = at
                        listed[at] = P_columns[P_indptr[j] + s]
                        AP[at] = 0.0
                        count += 1
                    for c in range(k):
                        AP[at, r, c] += data[q] * P[base + s * k + c]
        blocks = P_indptr[i + 1] - P_indptr[i]
        for s in range(blocks):
            a = P_columns[P_indptr[i] + s]
            if not wanted[a]:
                continue
            length = k * (C_indptr[a + 1] - C_indptr[a])
            for t in range(count):
                begin = k * k * C_indptr[a] + k * (
                    _find(C_columns, C_indptr[a], C_indptr[a + 1], listed[t]) - C_indptr[a]
                )
                for r in range(width):
                    if free.size == 0 or free[i * width + r]:
                        base = width * k * P_indptr[i] + r * k * blocks + s * k
                        for p in range(k):
                            for c in range(k):
                                C[begin + p * length + c] += P[base + p] * AP[t, r, c]
        for t in range(count):
            slot[listed[t]] = -1
    for a in range(wanted.size):
        if wanted[a]:
            own = _find(C_columns, C_indptr[a], C_indptr[a + 1], a) - C_indptr[a]
            for p in range(k):
                place = k * k * C_indptr[a] + p * k * (C_indptr[a + 1] - C_indptr[a]) + own * k + p
                if not C[place] > 0.0:
                    C[place] = 1.0
