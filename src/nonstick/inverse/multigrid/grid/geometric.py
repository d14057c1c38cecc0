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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....core import rounding
from ....errors import NonstickError
from ....operators.base import Operator
from ....operators.csr import CSROperator
from ....operators.transfer import MatrixTransfer
from ...base import Recipe
from ..hierarchy import Stepwise
from ._geometric import _coarse_faces, _corner_weights, _galerkin_pattern, _galerkin_values, _open_faces, _sides


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
