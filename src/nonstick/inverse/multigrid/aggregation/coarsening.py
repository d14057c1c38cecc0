"""Aggregation coarsenings: fine unknowns merge into coarse ones, `A_c = alpha PᵀAP` with a 0/1 matrix P.

- `TopologyAware` (Takahashi–Batty §4.2): cells of one 2×2(×2) block merge if they are connected *inside* the
  block; disconnected parts become separate coarse unknowns of the same coarse cell, so no aggregate crosses a thin
  wall. Coarse matrices are small and unstructured, but keep the five/seven-point structure and so two colours. Unknowns
  without any coupling are not on coarser levels: the smoother solves them, so droplets cost nothing there.
- `GIA` (geometry-inspired aggregation): the whole block merges, for every topology. A stencil stays a stencil.
- `Pairwise`: needs no grid; every unknown merges with its strongest neighbour, `passes` times.

`alpha` < 1 compensates the stiffness of piecewise constants (over-correction) and multiplies from level to level: 0.65
for W-cycles, 0.55 for V-cycles in the paper. A diagonal shift on top of A (interior point, penalty) is only restricted
to the next level, so a refresh for a new shift changes no matrix. A free set truncates P: clamped rows are removed, and
their couplings to free rows stay in the coarse diagonal.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....core import rounding
from ....errors import NonstickError
from ....operators.base import Operator, row_sums
from ....operators.csr import CSROperator
from ....operators.masked import Masked
from ....operators.rows import Rows
from ....operators.stencil import StencilOperator
from ....operators.transfer import AggregateTransfer, Transfer
from ..grid.level import add_galerkin, coarse_rows, one_group
from ..hierarchy import Stepwise
from ._coarse_matrix import _blocks_of, _close_rows, _match_pairs, _number_parts, _separate_colours
from .couplings import Couplings, Product, coarse_pattern, couplings_of


@dataclass(frozen=True)
class Aggregation(Stepwise):
    """Base of the three aggregations: Galerkin sums over aggregates, and a cheap refresh."""

    alpha: float = 0.65

    @abstractmethod
    def aggregate(self, A: Operator) -> tuple[np.ndarray, int, np.ndarray | None] | None:
        """Parent of each unknown, number of parents, their cells; None if no unknowns would merge."""

    def merge(self, couplings: Couplings, cells: np.ndarray) -> tuple[np.ndarray, int, np.ndarray] | None:
        """`aggregate` from the couplings of a matrix and the cells of its unknowns, for aggregations on a grid."""
        raise NonstickError(f"{self!r} needs no cells, and cannot merge by them")

    def galerkin(self, A: Operator, free, transfer: AggregateTransfer, cells, old: Operator | None) -> Operator:
        """alpha PᵀAP of the base operator, without clamped rows; `old` is the same for another free set."""
        return galerkin_csr(A, free, transfer, cells, self.alpha, old)

    def coarsen(self, A, depth):
        base, free = A.core, A.free
        merged = self.aggregate(base)
        if merged is None:
            return None
        parent, count, cells = merged
        transfer = AggregateTransfer(parent, count)
        transfer.truncate(free)
        coarse = self.galerkin(base, free, transfer, cells, None)
        _remember(transfer, base, free)
        return self._shifted(A, coarse, transfer), transfer

    def refresh(self, A, depth, coarse, transfer):
        base, free = A.core, A.free
        inner = coarse.core
        if not _same(transfer, base, free):
            transfer.truncate(free)
            inner = self.galerkin(base, free, transfer, inner.cells, inner)
            _remember(transfer, base, free)
        return self._shifted(A, inner, transfer), transfer

    def _shifted(self, A: Operator, coarse: Operator, transfer: Transfer) -> Operator:
        shift = A.shift
        if shift is None:
            return coarse
        restricted = transfer.restrict(shift, np.empty(coarse.n))
        restricted *= self.alpha
        return Masked(coarse, None, restricted)


def _remember(transfer: Transfer, base: Operator, free: np.ndarray | None) -> None:
    transfer.built_for = base, None if free is None else free.copy()


def _same(transfer: Transfer, base: Operator, free: np.ndarray | None) -> bool:
    old_base, old_free = transfer.built_for
    if old_base is not base or (old_free is None) != (free is None):
        return False
    return free is None or np.array_equal(free, old_free)


@dataclass(frozen=True)
class TopologyAware(Aggregation):
    """Scan-and-merge inside 2^d blocks; without `cells` it is `Pairwise`.

    The paper merges along any coupling (theta = cut = 0). Then a layer of one room that extends into a block of the
    next room merges with that room through a door, on every level on which the door is small compared with the layer.
    These aggregates cost iterations behind narrow doors and in ragged bodies.

    Parameters
    ----------
    alpha
        Scales coarse matrices from level to level.
    theta
        Two unknowns merge only if their coupling is at least `theta` times the strongest coupling of either one
        (`_strength`).
    cut
        A part is cut again if the coupling between its halves is less than `cut` times the coupling of a half to the
        outside (`_strength`).

    Examples
    --------
    >>> from nonstick import cases
    >>> from nonstick.inverse import RBSSOR, Multigrid, Resmoothed, TopologyAware
    >>> A = cases.build("circle2d", 32).problem.A
    >>> parent, count, cells = TopologyAware(theta=0.0, cut=0.0).aggregate(A)
    >>> count < A.n / 3
    True
    >>> cycle = Multigrid(TopologyAware(0.55), RBSSOR(1.2), Resmoothed()).setup(A)
    """

    theta: float = 0.35
    cut: float = 0.25

    def aggregate(self, A):
        if A.n <= 1:
            return None
        if A.cells is None:
            return Pairwise(self.alpha).aggregate(A)
        return self.merge(couplings_of(A), np.asarray(A.cells))

    def merge(self, couplings, cells):
        if cells.min() < 0:  # halving must end in one block, but -1 and 0 would stay apart
            cells = cells - (int(cells.min()) >> 20 << 20)
        strongest = couplings.strongest()
        linked = strongest > 0.0
        # A level that is hardly smaller would double the work of a W-cycle: take larger blocks at once.
        enough = np.count_nonzero(linked) * (0.75 if self.theta or self.cut else 1.0)
        while True:
            block, colour = blocks(cells)
            cells = cells >> 1
            some = block if linked.all() else block[linked]
            whole = not (some != some[:1]).any()
            root = couplings.join(strongest, block, self.theta)
            if self.cut and not whole:
                couplings.cut(root, self.cut)
            roots = np.flatnonzero((root == np.arange(root.size)) & linked)
            parent, count = number_parts(root, roots, colour[roots]), roots.size
            if count == 0:
                return None
            if count < enough or whole:
                break
            # Neighbours all lie in different blocks (two cells across a block boundary): larger blocks.
        coarse_cells = np.empty((count, cells.shape[1]), np.int64)
        coarse_cells[parent[roots]] = cells[roots]
        return parent, count, coarse_cells


@dataclass(frozen=True)
class GIA(Aggregation):
    """2^d unknowns merge to one; walls inside a block are ignored."""

    def aggregate(self, A):
        if A.n <= 1:
            return None
        if A.cells is None:
            return Pairwise(self.alpha).aggregate(A)
        if A.stencil is not None:
            rows, parent = _coarse_rows(A.stencil)
            return parent, rows.n, None
        return self.merge(couplings_of(A), np.asarray(A.cells))

    def merge(self, couplings, cells):
        block, colour = blocks(cells)
        _, first, inverse = np.unique(block, return_index=True, return_inverse=True)
        order = np.argsort(colour[first], kind="stable")
        number = np.empty(order.size, np.int32)
        number[order] = np.arange(order.size)
        return number[inverse], order.size, cells[first[order]] >> 1

    def galerkin(self, A, free, transfer, cells, old):
        if A.stencil is not None:
            return galerkin_stencil(A.stencil, free, self.alpha)
        return galerkin_csr(A, free, transfer, cells, self.alpha, old)


@dataclass(frozen=True)
class Pairwise(Aggregation):
    """Matching along the strongest negative couplings, `passes` times (two: up to four unknowns merge)."""

    passes: int = 2

    def aggregate(self, A):
        if A.n <= 1:
            return None
        M = A.matrix()
        parent = np.arange(A.n, dtype=np.int32)
        for _ in range(self.passes):
            step = np.full(M.shape[0], -1, np.int32)
            count = _match_pairs(step, M.data, M.indices, M.indptr, _few_neighbours_first(M))
            if count == M.shape[0]:
                break
            parent = step[parent]
            P = sp.csr_array((np.ones(step.size), step, np.arange(step.size + 1)), shape=(step.size, count))
            M = sp.csr_array(P.T @ M @ P)
        count = M.shape[0]
        return None if count == A.n else (parent, count, None)


def _few_neighbours_first(M: sp.csr_array) -> np.ndarray:
    return np.argsort(np.diff(M.indptr), kind="stable")


def blocks(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number per 2^d block, ascending in C order, and the block's colour (0 red, 1 black)."""
    number, colour = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int8)
    _blocks_of(number, colour, np.ascontiguousarray(cells, np.int64))
    return number, colour


def number_parts(root: np.ndarray, roots: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """The number of each unknown's part: red parts (colour 0) before black parts, -1 for roots that are not listed.

    `root` leads from each unknown to the root of its part; `roots` are ascending, `colour` is theirs.
    """
    parent = np.full(root.size, -1, np.int32)
    _number_parts(parent, root, roots, colour)
    return parent


def row_excess(A: Operator) -> np.ndarray:
    """Row sums of A; rounding errors count as zero.

    Coarse diagonals are rebuilt from row sums, so that a pure Neumann part ends as an exact zero, not as 1e-17.
    """
    excess = row_sums(A)
    # what is left of a row sum is a rounding error: the row is pure Neumann
    excess[np.abs(excess) <= rounding.SUM * A.diagonal] = 0.0
    return excess


def _closed(A: Operator, free: np.ndarray | None) -> np.ndarray:
    return np.zeros(A.n, np.int8) if free is None else np.logical_not(free).view(np.int8)


def galerkin_csr(
    A: Operator, free, transfer: AggregateTransfer, cells, alpha: float, old: Operator | None = None
) -> CSROperator:
    """alpha PᵀAP as a sparse matrix, and its colours; `old` is one made for another free set, whose pattern stays."""
    n, couplings = transfer.n_coarse, couplings_of(A)
    if old is None:
        indices, indptr = coarse_pattern(couplings, transfer.parent, n, diagonal=True)
    else:
        M = old.matrix()
        indices, indptr = M.indices, M.indptr
    data, excess = np.zeros(indices.size), np.zeros(n)
    product = Product(transfer.parent, row_excess(A), indices, indptr, alpha)
    couplings.fill(data, excess, _closed(A, free), product)
    _close_rows(data, indices, indptr, excess)
    coarse = CSROperator(sp.csr_array((data, indices, indptr), shape=(n, n)), cells)
    coarse.colour = _colours(coarse)
    return coarse


def _colours(A: CSROperator) -> np.ndarray | None:
    """Red and black by the checkerboard of cells; coupled unknowns of one cell get different, additional colours."""
    if A.cells is None:
        return None
    M = A.matrix()
    colour = (np.asarray(A.cells).sum(axis=1) & 1).astype(np.int8)
    _separate_colours(colour, M.data, M.indices, M.indptr)
    return colour


def _coarse_rows(A: StencilOperator) -> tuple[Rows, np.ndarray]:
    return coarse_rows(A.rows, one_group(A.rows))


def galerkin_stencil(A: StencilOperator, free, alpha: float) -> StencilOperator:
    """alpha PᵀAP as a stencil operator on the grid of blocks."""
    fine, (rows, parent) = A.rows, _coarse_rows(A)
    weights, excess = (np.zeros(rows.n), np.zeros(rows.n), np.zeros(rows.n)), np.zeros(rows.n)
    matrix = *A.weights, row_excess(A)
    add_galerkin((*weights, excess), matrix, _closed(A, free), parent, fine, alpha, one_group(fine))
    return StencilOperator.of_excess(rows, weights, excess)
