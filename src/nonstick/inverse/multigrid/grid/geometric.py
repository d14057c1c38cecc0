"""Lai's transfers on cell-centred grids: barycentric, trilinear or piecewise constant, with Galerkin levels.

`A_H = R A P`, `R = Pᵀ/2ᵈ` (Lai 2020 §4.3). A fine cell lies in a corner of its coarse cell and interpolates from
the coarse cells across that corner: barycentric takes the cells across one face (2D ½ ¼ ¼, 3D ¼ ¼ ¼ ¼), trilinear also
the diagonal cells (27/64 9/64 3/64 1/64). Interpolation is one-sided: coarse cells on the other side of a wall are
dropped, and the other weights are rescaled to sum to one.

All data come from the grid coordinates of the unknowns and the graph of the matrix: a face is open if A couples the two
cells. A row of A with a sum well above 0 is next to the free surface, whose pressure is 0: its missing points are
dropped without rescaling.

There are two departures from the paper, and both can be switched off. The paper's linear multigrid is not normalised
(`normalise=False`). It also interpolates into clamped rows; `truncate=True` treats the rows of P outside the free set
as zero instead.

Coarsening of cell-centred grids: which faces are open, and interpolation that does not cross walls.

`neighbour[t, 2a + 1]` and `neighbour[t, 2a]` are the unknowns across the faces of t towards +a and -a, -1 if that face
is closed; `kind` then says if air or a wall closes it. A fine cell sits in a corner of its coarse cell; the coarse
cells it interpolates from lie across that corner, one for each subset of the axes (a bit mask).

The triple product `scale · Pᵀ (A + diag(shift)) P` in CSR form, where rows of P outside `keep` count as zero.

The pattern is computed once, for all rows; the values are refreshed whenever the free set or the shift changes. So the
arrays of a coarse matrix exist as long as its hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....core import rounding
from ....errors import NonstickError
from ....kernels import parallel, prange, serial
from ....operators.base import Operator
from ....operators.csr import CSROperator
from ....operators.transfer import MatrixTransfer
from ...base import Recipe
from ..hierarchy import Stepwise

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


@dataclass(frozen=True)
class GeometricSettings:
    """How the graph of a matrix tells where the liquid ends."""

    #: a row whose sum exceeds this part of its largest coupling is coupled to air
    air: float = 0.1


SETTINGS = GeometricSettings()

_ALL, _NONE = np.empty(0, np.bool_), np.empty(0)

SCHEMES = ("barycentric", "trilinear", "constant")


def _require_cells(A: Operator) -> None:
    if not A.has_entries:
        A.matrix()  # says which methods need products only
    if A.core.cells is None:
        raise NonstickError(
            "this method coarsens the grid and needs the position of the unknowns: pass cells=(n, d) integer "
            "grid coordinates, or take a method for bare matrices ('pi-pcg', 'pe-pcg', 'newton', 'psor')"
        )


@dataclass(frozen=True)
class CellFaces:
    """The neighbours across the faces of the cells of one level (see `_geometric`)."""

    cells: np.ndarray
    neighbour: np.ndarray
    kind: np.ndarray

    @classmethod
    def of(cls, A: Operator) -> CellFaces:
        """The faces of the operator under any mask: clamping a cell does not move a wall."""
        if isinstance(A, GridMatrix):
            return A.faces
        _require_cells(A)
        base = A.core
        cells = np.ascontiguousarray(base.cells, dtype=np.int64)
        neighbour = np.empty((base.n, 2 * cells.shape[1]), np.int32)
        kind = np.empty(neighbour.shape, np.int8)
        M = base.matrix()
        _open_faces(neighbour, kind, cells, M.data, M.indices, M.indptr, SETTINGS.air)
        return cls(cells, neighbour, kind)


class GridMatrix(CSROperator):
    """A CSR operator that remembers its faces: a coarse level, or an assembled fine one."""

    def __init__(self, A, faces: CellFaces):
        super().__init__(A, faces.cells)
        self.faces = faces


@dataclass(frozen=True)
class Geometric(Stepwise):
    """Halve the grid along every axis."""

    scheme: str = "barycentric"
    one_sided: bool = True
    normalise: bool = True
    truncate: bool = True
    #: True if a coarse cell cut by a wall holds one unknown for each side
    split: bool = True

    def fits(self, A):
        return A.has_entries and A.core.cells is not None

    def require(self, A):
        _require_cells(A)

    def coarsen(self, A, depth):
        faces = CellFaces.of(A)
        half = Halved.of(faces, self.one_sided and self.split)
        P = self.interpolation(faces, half)
        transfer = MatrixTransfer(P, 0.5 ** faces.cells.shape[1], half.parent)
        pattern = galerkin_pattern(A.core.matrix(), P)
        return self.refresh(A, depth, GridMatrix(pattern, half.faces), transfer)

    def between(self, fine: Operator, coarse: Operator) -> MatrixTransfer:
        """The transfer to a coarse level discretised on its own; fine cells outside its liquid have no parent there."""
        faces, cells = CellFaces.of(fine), np.asarray(coarse.cells)
        half = Halved.of(faces, split=False)
        low = (faces.cells >> 1).min(axis=0) - 1
        inside = ((cells >= low) & (cells <= half.faces.cells.max(axis=0) + 1)).all(axis=1)
        number = np.full(int(half.strides[0]) * (int(np.ptp(half.faces.cells[:, 0])) + 3), -1, np.int32)
        number[(cells[inside] - low) @ half.strides] = np.flatnonzero(inside)
        # Interpolate from all coarse cells that contain liquid cells, then keep those that are on the coarse level.
        known = number[half.keys]
        P = self.interpolation(faces, half).tocoo()
        live = known[P.col] >= 0
        entries = (P.data[live], (P.row[live], known[P.col[live]]))
        P = sp.csr_array(sp.coo_array(entries, shape=(fine.n, coarse.n)))
        return MatrixTransfer(P, 0.5 ** faces.cells.shape[1], known[half.parent])

    def refresh(self, A, depth, coarse, transfer):
        """R A P into the arrays of `coarse`; with `truncate` on the free rows only."""
        keep, shift = _ALL, _NONE
        base, free = A.core, A.free
        if self.truncate and base is not A:
            M, shift = base.matrix(), A.diagonal - base.diagonal  # the shift is read on free rows only
            keep = shift <= rounding.HELD * base.diagonal
            keep = keep if free is None else keep & free
            transfer.truncate(keep)
        else:
            M = A.matrix()
        C, (P, Pt) = coarse.matrix(), transfer.whole()
        entries = [part for matrix in (C, Pt, M, P) for part in (matrix.data, matrix.indices, matrix.indptr)]
        _galerkin_values(*entries, keep, shift, transfer.scale)
        coarse.diagonal[:] = C.diagonal()
        return coarse, transfer

    def interpolation(self, faces: CellFaces, half: Halved) -> sp.csr_array:
        """P, one row for each fine cell."""
        n, d = faces.cells.shape
        index = np.empty((n, 1 << d), np.int32)
        weight = np.empty((n, 1 << d))
        fine = faces.cells, half.parent, half.home, faces.neighbour, faces.kind
        how = corner_table(self.scheme, d), self.one_sided, self.normalise
        _corner_weights(index, weight, *fine, half.keys, half.strides, *how)
        used = (index >= 0) & (weight > 0)
        indptr = np.zeros(n + 1, np.int32)
        np.cumsum(used.sum(axis=1), out=indptr[1:])
        return sp.csr_array((weight[used], index[used], indptr), shape=(n, half.keys.size))


def galerkin_pattern(A: sp.csr_array, P: sp.csr_array) -> sp.csr_array:
    """A matrix of zeros with the pattern of Pᵀ A P."""
    Pt = sp.csr_array(P.T)
    n = P.shape[1]
    indptr = np.empty(n + 1, np.int32)
    parts = Pt.indices, Pt.indptr, A.indices, A.indptr, P.indices, P.indptr
    _galerkin_pattern(indptr, np.empty(0, np.int32), *parts)
    indices = np.empty(indptr[-1], np.int32)
    _galerkin_pattern(indptr, indices, *parts)
    return sp.csr_array((np.zeros(indices.size), indices, indptr), shape=(n, n))


@dataclass(frozen=True)
class Halved:
    """A coarse level: its faces, the coarse unknown of each fine unknown, and keys that identify coarse cells."""

    faces: CellFaces
    parent: np.ndarray
    #: key of the coarse cell around each fine cell, and of each coarse unknown
    home: np.ndarray
    keys: np.ndarray
    strides: np.ndarray

    @classmethod
    def of(cls, faces: CellFaces, split: bool) -> Halved:
        """The coarse cells with at least one unknown in them; split: one unknown for each side of a wall."""
        half = faces.cells >> 1
        # One empty layer around the box, so that keys of neighbours do not wrap into the next row.
        extent = np.ptp(half, axis=0) + 3
        strides = np.append(np.cumprod(extent[:0:-1])[::-1], 1).astype(np.int64)
        home = (half - half.min(axis=0) + 1) @ strides
        member = home
        if split:
            root = np.empty(len(home), np.int64)
            _sides(root, home, faces.neighbour)
            member = home * len(home) + root
        _, first, parent = np.unique(member, return_index=True, return_inverse=True)
        parent = parent.ravel().astype(np.int32)
        neighbour = np.empty((first.size, faces.neighbour.shape[1]), np.int32)
        kind = np.empty(neighbour.shape, np.int8)
        _coarse_faces(neighbour, kind, parent, faces.neighbour, faces.kind)
        coarse = CellFaces(np.ascontiguousarray(half[first]), neighbour, kind)
        return cls(coarse, parent, home, home[first], strides)


def corner_table(scheme: str, d: int) -> np.ndarray:
    """Weight of the coarse cell across each subset of axes, the subset as a bit mask."""
    axes = np.array([m.bit_count() for m in range(1 << d)])
    if scheme == "trilinear":
        return 0.75 ** (d - axes) * 0.25**axes
    if scheme == "barycentric":
        return np.choose(np.minimum(axes, 2), [1 - d / 4, 0.25, 0.0])
    if scheme == "constant":
        return np.where(axes == 0, 1.0, 0.0)
    raise NonstickError(f"unknown interpolation {scheme!r}; known are {', '.join(SCHEMES)}")


@dataclass(frozen=True)
class Assembled(Recipe):
    """Lai's literal linear systems: assemble the masked matrix, including clamped rows, and pass it to `recipe`.

    A clamped row says x = bound. It is scaled like the rows of A, because coarse matrices add it to free rows: with the
    plain identity the counts would depend on the units of A.
    """

    recipe: Recipe

    def setup(self, operator, reuse=None):
        matrix, free = operator.matrix(), operator.free
        if free is not None:
            matrix = matrix + sp.diags_array(np.where(free, 0.0, operator.core.diagonal - 1.0))
        return self.recipe.setup(GridMatrix(sp.csr_array(matrix), CellFaces.of(operator)))
