"""Aggregation coarsenings: fine unknowns merge into coarse ones, `A_c = alpha PᵀAP` with a 0/1 matrix P.

- `TopologyAware` (Takahashi–Batty §4.2): cells of one 2×2(×2) block merge if they are connected *inside* the
  block; parts that are not become separate coarse unknowns of the same coarse cell, so a thin wall is never
  bridged. Coarse matrices are small and unstructured, but keep the five/seven-point structure, hence two colours.
  Unknowns without any coupling go no further down: the smoother solves them, and droplets cost nothing below.
- `GIA` (geometry-inspired aggregation): the whole block merges whatever its topology. A stencil stays a stencil.
- `Pairwise`: no grid needed; every unknown with its strongest neighbour, `passes` times.

`alpha` < 1 compensates the stiffness of piecewise constants (over-correction) and compounds per level: 0.65 for
W-cycles, 0.55 for V-cycles in the paper. A diagonal shift on top of A (interior point, penalty) only restricts to
the next level, so refreshing for a new shift touches no matrix. A free set truncates P: clamped rows drop out, and
their couplings to free rows stay in the coarse diagonal.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...operators.base import Operator
from ...operators.csr import CSROperator
from ...operators.masked import Masked
from ...operators.rows import Rows
from ...operators.stencil import StencilOperator
from ...operators.transfer import AggregateTransfer, Transfer
from ._aggregation import (
    _add_diagonal,
    _coarse_weights,
    _count_links_csr,
    _count_links_stencil,
    _flatten,
    _join_csr,
    _join_stencil,
    _links_csr,
    _links_stencil,
    _match_pairs,
    _pack_rows,
    _separate_colours,
    _strongest_csr,
    _strongest_stencil,
)
from ._cuts import (
    _doubtful,
    _gather_csr,
    _gather_stencil,
    _members,
    _split_parts,
    _survey_csr,
    _survey_stencil,
)
from .hierarchy import Stepwise

_ALL = np.empty(0, np.bool_)
#: a row sum below this fraction of the diagonal is rounding: the row is pure Neumann
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Aggregation(Stepwise):
    """What the three have in common: Galerkin sums over aggregates, and cheap refreshing."""

    alpha: float = 0.65

    @abstractmethod
    def aggregate(self, A: Operator) -> tuple[np.ndarray, int, np.ndarray | None] | None:
        """Parent of each unknown, number of parents, their cells; None if nothing would merge."""

    def galerkin(self, A: Operator, free, transfer: AggregateTransfer, cells) -> Operator:
        """alpha PᵀAP of the base operator, clamped rows left out."""
        return galerkin_csr(A, free, transfer, cells, self.alpha)

    def coarsen(self, A, depth):
        base, free = A.core, A.free
        merged = self.aggregate(base)
        if merged is None:
            return None
        parent, count, cells = merged
        transfer = AggregateTransfer(parent, count)
        transfer.truncate(free)
        coarse = self.galerkin(base, free, transfer, cells)
        _remember(transfer, base, free)
        return self._shifted(A, coarse, transfer), transfer

    def refresh(self, A, depth, coarse, transfer):
        base, free = A.core, A.free
        inner = coarse.core
        if not _same(transfer, base, free):
            transfer.truncate(free)
            inner = self.galerkin(base, free, transfer, inner.cells)
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
    transfer.built_for = base, None if free is None else free.copy()  # type: ignore[attr-defined]


def _same(transfer: Transfer, base: Operator, free: np.ndarray | None) -> bool:
    old_base, old_free = transfer.built_for  # type: ignore[attr-defined]
    if old_base is not base or (old_free is None) != (free is None):
        return False
    return free is None or np.array_equal(free, old_free)


@dataclass(frozen=True)
class TopologyAware(Aggregation):
    """Scan-and-merge inside 2^d blocks; without `cells` it is `Pairwise`.

    The paper merges along any coupling (theta = cut = 0). Then a layer of one room that sticks out into a block of the
    next room is merged with it through a door, on every level on which the door is small compared with the layer; such
    aggregates are what costs iterations behind narrow doors and in ragged bodies. So two unknowns merge only if their
    coupling is at least `theta` times the strongest one of either, and what is merged is cut again where it holds
    together by less than `cut` times what holds its halves from outside (`kernels._cuts`).
    """

    theta: float = 0.35
    cut: float = 0.25

    def aggregate(self, A):
        if A.n <= 1:
            return None
        if A.cells is None:
            return Pairwise(self.alpha).aggregate(A)
        cells = np.asarray(A.cells)
        if cells.min() < 0:  # halving must end in one block: -1 and 0 would never meet
            cells = cells - (int(cells.min()) >> 20 << 20)
        couplings = _Couplings(A)
        linked = couplings.strongest > 0.0
        root = np.empty(A.n, np.int32)
        # A level that hardly shrinks would double the work of a W-cycle: take larger blocks at once.
        enough = np.count_nonzero(linked) * (0.75 if self.theta or self.cut else 1.0)
        while True:
            block, colour = blocks(cells)
            cells = cells >> 1
            couplings.join(root, block, self.theta)
            whole = not (block[linked] != block[linked][:1]).any()
            if self.cut and not whole:
                couplings.cut(root, self.cut)
            _flatten(root)
            roots = np.flatnonzero((root == np.arange(A.n)) & linked)
            parent, count = number_parts(root, roots, colour[roots]), roots.size
            if count == 0:
                return None
            if count < enough or whole:
                break
            # Neighbours all lie in different blocks (two cells across a block boundary): larger blocks.
        coarse_cells = np.empty((count, cells.shape[1]), np.int32)
        coarse_cells[parent[linked]] = cells[linked]
        return parent, count, coarse_cells


class _Couplings:
    """The off-diagonals of an operator, whatever it is made of, for the merging kernels."""

    def __init__(self, A: Operator):
        self.strongest = np.empty(A.n)
        self.entries, stencil = couplings_of(A)
        if stencil:
            self._join, self._survey, self._gather = _join_stencil, _survey_stencil, _gather_stencil
            _strongest_stencil(self.strongest, *self.entries)
        else:
            self._join, self._survey, self._gather = _join_csr, _survey_csr, _gather_csr
            _strongest_csr(self.strongest, *self.entries)

    def join(self, root: np.ndarray, block: np.ndarray, theta: float) -> None:
        """Unite what is coupled inside a block."""
        self._join(root, self.strongest, block, theta, *self.entries)

    def cut(self, root: np.ndarray, cut: float) -> None:
        """Take apart what holds together by too little."""
        n = root.size
        links, weakest, outside = np.zeros(n, np.int32), np.full(n, np.inf), np.zeros(n)
        _flatten(root)
        self._survey(links, weakest, outside, root, *self.entries)
        slot = np.empty(n, np.int32)
        count = _doubtful(slot, root, links, weakest, outside, cut)
        if count == 0:
            return
        chosen = links[slot >= 0]  # members of each doubtful part
        member, place = np.empty(int(chosen.sum()), np.int64), np.empty(n, np.int32)
        first = np.empty((count + 1, 2), np.int64)
        _members(member, place, first, slot, root, links)
        inside, rim = np.zeros(first[-1, 1]), np.zeros(first[-1, 0])
        self._gather(inside, rim, slot, root, place, first, *self.entries)
        _split_parts(root, member, first, inside, rim, cut)


@dataclass(frozen=True)
class GIA(Aggregation):
    """2^d to 1, blind to walls inside a block."""

    def aggregate(self, A):
        if A.n <= 1:
            return None
        if A.cells is None:
            return Pairwise(self.alpha).aggregate(A)
        block, colour = blocks(A.cells)
        if A.stencil is not None:  # coarse unknowns in C order, as the row layout wants them
            kept, parent = np.unique(block, return_inverse=True)
            return parent.astype(np.int32), kept.size, None
        _, first, inverse = np.unique(block, return_index=True, return_inverse=True)
        order = np.argsort(colour[first], kind="stable")
        number = np.empty(order.size, np.int32)
        number[order] = np.arange(order.size)
        return number[inverse], order.size, np.asarray(A.cells)[first[order]] >> 1

    def galerkin(self, A, free, transfer, cells):
        if A.stencil is not None:
            return galerkin_stencil(A.stencil, free, transfer, self.alpha)
        return galerkin_csr(A, free, transfer, cells, self.alpha)


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
    coarse = np.asarray(cells) >> 1
    low = coarse.min(axis=0)
    extent = coarse.max(axis=0) - low + 1
    number = np.zeros(len(coarse), np.int64)
    for axis in range(coarse.shape[1]):
        number *= extent[axis]
        number += coarse[:, axis] - low[axis]
    return number, (coarse.sum(axis=1) & 1).astype(np.int8)


def number_parts(root: np.ndarray, roots: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """The number of each unknown's part: red ones (colour 0) before black ones, -1 for roots that are not listed.

    `root` leads from each unknown to the root of its part; `roots` are ascending, `colour` is theirs.
    """
    number = np.full(root.size, -1, np.int32)
    number[roots[np.argsort(colour, kind="stable")]] = np.arange(roots.size, dtype=np.int32)
    return number[root]


def coarse_excess(A: Operator, free, transfer: AggregateTransfer, alpha: float) -> np.ndarray:
    """Row sums of alpha PᵀAP as far as they come from row sums of A; rounding noise counts as zero.

    Diagonals are rebuilt from row sums, so that a pure Neumann part ends as an exact zero, not as 1e-17.
    """
    excess = A.row_sums()
    excess[np.abs(excess) <= _ROUNDING * A.diagonal] = 0.0
    out = transfer.restrict(excess, np.empty(transfer.n_coarse))
    out *= alpha
    return out


def couplings_of(A: Operator) -> tuple[tuple, bool]:
    """The off-diagonals of an operator as the kernels take them, and whether they are those of a stencil."""
    stencil = A.stencil
    if stencil is not None:
        return (*stencil.weights, stencil.rows.start, stencil.rows.offset), True
    M = A.matrix()
    return (M.data, M.indices, M.indptr), False


def galerkin_csr(A: Operator, free, transfer: AggregateTransfer, cells, alpha: float) -> CSROperator:
    """alpha PᵀAP as a sparse matrix with sorted rows, and its colours."""
    n = transfer.n_coarse
    free = _ALL if free is None else free
    excess = coarse_excess(A, free, transfer, alpha)
    data, indices, indptr = galerkin_rows(*couplings_of(A), transfer.parent, n, free, alpha, excess)
    coarse = CSROperator(sp.csr_array((data, indices, indptr), shape=(n, n)), cells)
    coarse.colour = _colours(coarse)
    return coarse


def galerkin_rows(entries: tuple, stencil: bool, parent: np.ndarray, n: int, free=_ALL, alpha=1.0, excess=None):
    """alpha PᵀAP with sorted rows: entries, columns, row starts. `excess` gets what clamped neighbours add to row sums,
    and leads to the diagonal; without it there is none.
    """
    count, links = (_count_links_stencil, _links_stencil) if stencil else (_count_links_csr, _links_csr)
    room = np.empty(n + 1, np.int64)
    count(room, parent, free, *entries)
    if excess is not None:
        room[1:] += 1
    first = np.cumsum(room)
    used = np.empty(n, np.int64)
    values, columns = np.empty(first[-1]), np.empty(first[-1], np.int32)
    links(values, columns, used, np.empty(n) if excess is None else excess, first, parent, free, alpha, *entries)
    if excess is not None:
        _add_diagonal(values, columns, used, first, excess)
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(used, out=indptr[1:])
    data, indices = np.empty(indptr[-1]), np.empty(indptr[-1], np.int32)
    _pack_rows(data, indices, indptr, values, columns, first, used)
    return data, indices, indptr


def _colours(A: CSROperator) -> np.ndarray | None:
    """Red and black by the checkerboard of cells; unknowns of one cell that are coupled get colours of their own."""
    if A.cells is None:
        return None
    M = A.matrix()
    colour = (np.asarray(A.cells).sum(axis=1) & 1).astype(np.int8)
    _separate_colours(colour, M.data, M.indices, M.indptr)
    return colour


def galerkin_stencil(A: StencilOperator, free, transfer: AggregateTransfer, alpha: float) -> StencilOperator:
    """alpha PᵀAP as a stencil operator on the grid of blocks."""
    n = transfer.n_coarse
    free = _ALL if free is None else free
    i, j, k = np.unravel_index(A.rows.cells, A.rows.shape)
    shape = tuple(-(-s // 2) for s in A.rows.shape)
    linear = np.empty(n, np.int64)
    linear[transfer.parent] = np.ravel_multi_index((i >> 1, j >> 1, k >> 1), shape)
    rows = Rows.from_cells(linear, shape, A.rows.dimension)  # type: ignore[arg-type]
    weights = np.zeros(n), np.zeros(n), np.zeros(n)
    excess = coarse_excess(A, free, transfer, alpha)
    _coarse_weights(*weights, transfer.parent, free, excess, alpha, *A.weights, A.rows.start, A.rows.offset)
    coarse = StencilOperator(rows, weights, np.zeros(n))
    coarse.diagonal = excess - coarse.row_sums()  # row sums of the off-diagonals alone
    return coarse
