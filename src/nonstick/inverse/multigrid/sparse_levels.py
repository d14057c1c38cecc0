"""Topology-aware levels below structured ones: CSR matrices in float32, red unknowns first.

Levels are small (or there are walls thinner than a cell, which blocks would leak through), so all of them but
large first ones are packed into one level that is solved by one serial compiled call (`tail`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...kernels._blocks import STRONG
from ...operators.rows import Rows
from . import _sparse_levels as agg
from . import _tail as kernels
from ._aggregation import _flatten, _join_csr, _strongest_csr
from .aggregation import number_parts
from .cycles import Cycle, Level
from .level import RedBlackLevel
from .tail import GaussSeidelNotes, PackedTail, SequentialNotes

#: levels up to this size run in one serial compiled call
SMALL = 5_000


class SparseLevel(RedBlackLevel):
    """Off-diagonal weights in CSR, excess and inverse diagonals; `parent` leads to the next level."""

    def __init__(self, cells: np.ndarray, shape: np.ndarray, red: int, indptr: np.ndarray, indices: np.ndarray):
        n = cells.size
        self.cells, self.shape, self.indptr, self.indices = cells, shape, indptr, indices
        self.red, self.n, self.ends = red, n, np.array([0, red, n])
        self.weights = np.zeros(indices.size, np.float32)
        self.excess, self.dinv = np.zeros(n, np.float32), np.zeros(n, np.float32)
        self.parent = np.full(n, -1, np.int32)

    def stand_alone(self) -> None:
        """Make room for vectors: this level is not packed."""
        self.x, self.b = np.zeros(self.n, np.float32), np.zeros(self.n, np.float32)
        self._r = np.empty(self.red, np.float32)
        self._matrix = self.dinv, self.weights, self.indices, self.indptr

    def start_red(self) -> None:
        kernels._start_rows(self.x, self.b, self.dinv, 0, self.red)

    def relax_red(self) -> None:
        kernels._relax_rows(self.x, self.b, *self._matrix, 0, self.red)

    def relax_black(self) -> None:
        kernels._relax_rows(self.x, self.b, *self._matrix, self.red, self.n)

    def restrict_residual(self, coarse, from_zero):
        kernels._residual_rows(self._r, self.x, self.b, *self._matrix, 0, self.red)
        kernels._sum_children(coarse.b, self._r, self.parent)

    def correct(self, coarse):
        kernels._add_parents(self.x, self.dinv, coarse.x, self.parent, 0, self.red)


class SparseLevels:
    """Built once from the graph of a structured level; values follow that level's free set."""

    def __init__(
        self, rows: Rows, groups: np.ndarray, weights, excess: np.ndarray, sure: float, scale: float, alpha: float,
        cycle: Cycle,
    ):  # fmt: skip
        self.rows, self.groups, self.alpha = rows, groups, alpha
        self.set_matrix(weights, excess, scale)
        shape = np.array(rows.shape, np.int64)
        root, _ = strong_parts(rows, groups, weights, sure)
        roots = np.flatnonzero(root == np.arange(root.size))
        self.parent, cells, red = _number(root, roots, *_blocks_of(rows.cells[roots], shape))
        slot = np.empty((cells.size, 6), np.int32)
        several = cells.size > np.unique(cells).size
        edges = (self.parent, rows.cells, shape, rows.start, rows.offset, *weights, several)
        graph = _coarse_graph(slot, agg._coarse_graph_stencil, edges)
        self.levels = [SparseLevel(cells, (shape + 1) // 2, red, *graph)]
        # The first matrix is kept in float64: cells are added to and subtracted from it.
        self.weights64 = np.zeros(self.levels[0].indices.size)
        self.excess64 = np.zeros(cells.size)
        self.set_values(np.zeros(rows.n, np.int8), refresh=False)
        self._coarsen()
        self._pack(cycle)

    def set_matrix(self, weights, excess: np.ndarray, scale: float) -> None:
        """The matrix of the structured level above, times `scale`; `set_values` makes use of it."""
        self.weights, self.fine_excess, self.scale = weights, excess, scale

    def set_values(self, active: np.ndarray, refresh: bool = True) -> None:
        """The Galerkin matrices of the fine matrix times `scale`, truncated to the free set."""
        first = self.levels[0]
        self.weights64[:] = 0.0
        self.excess64[:] = 0.0
        agg._galerkin_stencil(
            self.weights64, self.excess64, active, self.parent, self.rows.start, self.rows.offset, *self.weights,
            self.fine_excess, first.indices, first.indptr, self.scale * self.alpha, self.groups,
        )  # fmt: skip
        self._cast()
        if refresh:
            self._refresh_below()

    def toggle(self, active: np.ndarray, toggled: np.ndarray) -> None:
        """Move cells into or out of the free set."""
        first = self.levels[0]
        agg._toggle_csr(
            self.weights64, self.excess64, active, toggled, *self.weights, self.fine_excess, self.parent,
            self.rows.start, self.rows.offset, first.indices, first.indptr, self.scale * self.alpha,
        )  # fmt: skip
        self._cast()
        self._refresh_below()

    def _cast(self) -> None:
        first = self.levels[0]
        agg._cast_clean(first.weights, self.weights64)
        agg._cast_clean(first.excess, self.excess64)
        agg._inverse_diagonals(first.dinv, first.excess, first.weights, first.indptr)

    def _refresh_below(self) -> None:
        for fine, coarse in zip(self.levels, self.levels[1:]):
            self._galerkin(fine, coarse)

    def _galerkin(self, fine: SparseLevel, coarse: SparseLevel) -> None:
        coarse.weights[:] = 0
        coarse.excess[:] = 0
        agg._galerkin_csr(
            coarse.weights, coarse.excess, fine.excess, fine.dinv, fine.weights, fine.indices, fine.indptr,
            fine.parent, coarse.indices, coarse.indptr, np.float32(self.alpha),
        )  # fmt: skip
        agg._inverse_diagonals(coarse.dinv, coarse.excess, coarse.weights, coarse.indptr)

    def _coarsen(self) -> None:
        """Until nothing is connected any more: one unknown per connected part of the liquid."""
        while self.levels[-1].indices.size:
            fine = self.levels[-1]
            entries = fine.weights, fine.indices, fine.indptr
            block, colour = _blocks_of(fine.cells, fine.shape)
            root, strongest = np.empty(fine.n, np.int32), np.empty(fine.n, np.float32)
            _strongest_csr(strongest, *entries)
            _join_csr(root, strongest, block, STRONG, *entries)
            _flatten(root)
            roots = np.flatnonzero(root == np.arange(root.size))
            if roots.size == fine.n and fine.shape.max() == 1:  # what is left is weak, and no larger block will come
                root = _joined(fine)
                roots = np.flatnonzero(root == np.arange(root.size))
            fine.parent, cells, red = _number(root, roots, block[roots], colour[roots])
            slot, edges = np.empty((cells.size, 6), np.int32), (fine.parent, *entries)
            graph = _coarse_graph(slot, agg._coarse_graph_csr, edges)
            self.levels.append(SparseLevel(cells, (fine.shape + 1) // 2, red, *graph))
            self._galerkin(fine, self.levels[-1])

    def _pack(self, cycle: Cycle) -> None:
        """Small levels move into common arrays; their fields become views of them."""
        inner = sum(agg._count_inner_couplings(v.cells, v.indices, v.indptr) for v in self.levels)
        last = len(self.levels) - 1
        first = 0 if inner else next((k for k, v in enumerate(self.levels) if v.n <= SMALL), last)
        tail = PackedTail(self.levels[first:], cycle, SequentialNotes if inner else GaussSeidelNotes)
        for level in self.levels[:first]:
            level.stand_alone()
        #: what a cycle runs through
        self.visited: list[Level] = [*self.levels[:first], tail]


def strong_parts(rows: Rows, groups: np.ndarray, weights, sure: float) -> tuple[np.ndarray, int]:
    """The first unknown of the strongly connected part of its block, and how many parts there are.

    Weights from `sure` on are strong anywhere.
    """
    root, parts = np.empty(rows.n, np.int32), np.zeros(groups.size - 1, np.int64)
    shape = np.array(rows.shape, np.int64)
    agg._merge_blocks_stencil(root, parts, sure, *weights, rows.cells, shape, rows.start, rows.offset, groups)
    return root, int(parts.sum())


def sure_weight(largest: float) -> float:
    """A weight that counts as strong next to any other."""
    return STRONG * largest


def _blocks_of(cells: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The block of each cell and its colour."""
    block, colour = np.empty(cells.size, np.int64), np.empty(cells.size, np.int8)
    agg._blocks_of(block, colour, cells, shape)
    return block, colour


def _joined(level: SparseLevel) -> np.ndarray:
    """The first unknown connected with each, by couplings of any strength and either direction."""
    graph = sp.csr_array((np.ones(level.indices.size, np.int8), level.indices, level.indptr), shape=(level.n, level.n))
    _, first, part = np.unique(connected_components(graph, directed=False)[1], return_index=True, return_inverse=True)
    return first[part].astype(np.int32)


def _number(root: np.ndarray, roots: np.ndarray, block: np.ndarray, colour: np.ndarray):
    """The aggregate of each unknown, red ones first; the cells of the aggregates, and how many are red."""
    parent = number_parts(root, roots, colour)
    cells = np.empty(roots.size, np.int64)
    cells[parent[roots]] = block
    return parent, cells, roots.size - int(np.count_nonzero(colour))


def _coarse_graph(slot: np.ndarray, collect: Callable[..., int], edges: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Row starts and columns of a coarse matrix: most neighbours fit into six slots, the others into a list."""
    room, n, none = 1024, len(slot), np.empty(0, np.int32)
    while True:
        more = np.empty(room, np.int32), np.empty(room, np.int32)
        used = collect(slot, *more, *edges)
        if used <= room:
            break
        room = used
    indptr = np.empty(n + 1, np.int32)
    size = agg._graph_to_csr(indptr, none, slot, *more, used, none)
    indices = np.empty(size, np.int32)
    if size:
        size = agg._graph_to_csr(indptr, indices, slot, *more, used, np.empty(n, np.int32))
    return indptr, indices[:size].copy()
