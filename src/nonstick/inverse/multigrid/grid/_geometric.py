"""Coarsening of cell-centred grids: which faces are open, and interpolation that does not cross walls.

`neighbour[t, 2a + 1]` and `neighbour[t, 2a]` are the unknowns across the faces of t towards +a and -a, -1 if that face
is closed; `kind` then says if air or a wall closes it. A fine cell sits in a corner of its coarse cell; the coarse
cells it interpolates from lie across that corner, one for each subset of the axes (a bit mask).

The triple product `scale · Pᵀ (A + diag(shift)) P` in CSR form, where rows of P outside `keep` count as zero.

The pattern is computed once, for all rows; the values are refreshed whenever the free set or the shift changes. So the
arrays of a coarse matrix exist as long as its hierarchy.
"""

import numpy as np

from ....kernels import parallel, prange, serial

OPEN = np.int8(0)
AIR = np.int8(1)
WALL = np.int8(2)


@serial
def _open_faces(neighbour, kind, cells, data, indices, indptr, tolerance):
    """Faces of a matrix on grid cells: open if the matrix couples the two cells that share the face.

    If the sum of a row is a large part of its largest coupling, the row is coupled to a value fixed at zero (air), and
    its closed faces count as air. All other closed faces are walls.
    """
    d = cells.shape[1]
    for t in range(neighbour.shape[0]):
        total = 0.0
        size = 0.0
        for f in range(2 * d):
            neighbour[t, f] = -1
        for q in range(indptr[t], indptr[t + 1]):
            j = indices[q]
            total += data[q]
            if data[q] != 0.0 and j != t:
                size = max(size, abs(data[q]))
                distance = 0
                face = 0
                for a in range(d):
                    step = cells[j, a] - cells[t, a]
                    distance += abs(step)
                    if step != 0:
                        face = 2 * a + (1 if step > 0 else 0)
                if distance == 1:
                    neighbour[t, face] = j
        shut = AIR if total > tolerance * size else WALL
        for f in range(2 * d):
            kind[t, f] = OPEN if neighbour[t, f] >= 0 else shut


@serial
def _find(keys, key):
    """Position of `key` in the ascending array `keys`, -1 if it is not there."""
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.size and keys[low] == key else -1


@serial
def _sides(root, home, neighbour):
    """root[t] = the first cell that open faces join to t inside the coarse cell with key home[t]."""
    for t in range(root.size):
        root[t] = t
    for t in range(root.size):
        for f in range(neighbour.shape[1]):
            j = neighbour[t, f]
            if j >= 0 and home[j] == home[t]:
                a, b = t, j
                while root[a] != a:
                    a = root[a]
                while root[b] != b:
                    b = root[b]
                root[max(a, b)] = min(a, b)
    for t in range(root.size):
        a = t
        while root[a] != a:
            a = root[a]
        root[t] = a


@serial
def _coarse_faces(neighbour, kind, parent, fine_neighbour, fine_kind):
    """A coarse face is open if any fine face in it is open; otherwise air if any child touches air, else wall."""
    neighbour[:] = -1
    kind[:] = WALL
    faces = neighbour.shape[1]
    for t in range(parent.size):
        c = parent[t]
        for f in range(faces):
            j = fine_neighbour[t, f]
            if j < 0:
                if fine_kind[t, f] == AIR and kind[c, f] == WALL:
                    kind[c, f] = AIR
            elif parent[j] != c:
                neighbour[c, f] = parent[j]
                kind[c, f] = OPEN


@serial
def _corner_weights(index, weight, cells, parent, home, neighbour, kind, keys, strides, table, one_sided, normalise):
    """Interpolation of each fine cell from the coarse cells across its corner.

    table[m] is the weight of the coarse cell across the axes in the bit mask m (0: the cell's own coarse cell).
    One-sided: a coarse cell counts if open faces lead from the fine cell to a fine cell inside it. With `normalise`,
    weights lost to walls are spread over the others; weights lost to air are not (the value there is 0). If not
    one-sided, every coarse cell that exists counts: its key is home[t] plus strides. index is -1 for a coarse cell that
    does not count.
    """
    n, d = cells.shape
    masks = 1 << d
    reach = np.empty(masks, np.int64)
    seen = np.empty(masks, np.int8)
    for t in range(n):
        index[t, 0] = parent[t]
        weight[t, 0] = table[0]
        reach[0] = t
        seen[0] = OPEN
        lost = 0.0
        for m in range(1, masks):
            reach[m] = -1
            seen[m] = WALL
            index[t, m] = -1
            weight[t, m] = 0.0
            if not one_sided:
                key = home[t]
                for a in range(d):
                    if m >> a & 1:
                        key += strides[a] if cells[t, a] & 1 else -strides[a]
                index[t, m] = _find(keys, key)
            else:
                for a in range(d):
                    if m >> a & 1:
                        before = m ^ (1 << a)
                        if reach[before] >= 0:
                            f = 2 * a + (cells[t, a] & 1)
                            if neighbour[reach[before], f] >= 0:
                                reach[m] = neighbour[reach[before], f]
                                seen[m] = OPEN
                            elif seen[m] == WALL:
                                seen[m] = kind[reach[before], f]
                        elif seen[m] == WALL:
                            seen[m] = seen[before]
                if reach[m] >= 0:
                    index[t, m] = parent[reach[m]]
                elif seen[m] == WALL:
                    lost += table[m]
            if index[t, m] >= 0:
                weight[t, m] = table[m]
        if normalise and lost > 0.0:
            for m in range(masks):
                weight[t, m] /= 1.0 - lost


BLOCKS = 64


@serial
def _galerkin_pattern(indptr, indices, t_indices, t_indptr, a_indices, a_indptr, p_indices, p_indptr):
    """Rows of Pᵀ A P: counts into `indptr`; with room in `indices` also the sorted columns."""
    n = indptr.size - 1
    seen = np.full(n, -1, np.int32)
    row = np.empty(n, np.int32)
    total = 0
    indptr[0] = 0
    for c in range(n):
        count = 0
        for u in range(t_indptr[c], t_indptr[c + 1]):
            i = t_indices[u]
            for v in range(a_indptr[i], a_indptr[i + 1]):
                j = a_indices[v]
                for w in range(p_indptr[j], p_indptr[j + 1]):
                    k = p_indices[w]
                    if seen[k] != c:
                        seen[k] = c
                        row[count] = k
                        count += 1
        if indices.size:
            row[:count].sort()
            indices[total : total + count] = row[:count]
        total += count
        indptr[c + 1] = total


@parallel
def _galerkin_values(
    data, indices, indptr, t_data, t_indices, t_indptr, a_data, a_indices, a_indptr, p_data, p_indices, p_indptr,
    keep, shift, scale,
):  # fmt: skip
    """The values on a pattern made by `_galerkin_pattern`; empty `keep` or `shift`: all rows, no shift."""
    n = indptr.size - 1
    for block in prange(BLOCKS):
        work = np.zeros(n)
        for c in range(block * n // BLOCKS, (block + 1) * n // BLOCKS):
            for u in range(t_indptr[c], t_indptr[c + 1]):
                i = t_indices[u]
                if keep.size and not keep[i]:
                    continue
                for v in range(a_indptr[i], a_indptr[i + 1]):
                    j = a_indices[v]
                    if keep.size and not keep[j]:
                        continue
                    value = a_data[v]
                    if shift.size and i == j:
                        value += shift[i]
                    value *= scale * t_data[u]
                    for w in range(p_indptr[j], p_indptr[j + 1]):
                        work[p_indices[w]] += value * p_data[w]
            for q in range(indptr[c], indptr[c + 1]):
                data[q] = work[indices[q]]
                work[indices[q]] = 0.0
