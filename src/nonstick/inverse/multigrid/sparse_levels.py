"""The unstructured tail of the fast cycle: topology-aware levels in CSR, float32, red unknowns first.

Levels are small (or there are walls thinner than a cell, which blocks would leak through), so all of them but
large first ones run in one serial compiled call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...operators.rows import Rows
from . import _aggregate as agg
from . import _coarse_cycle as cc

#: levels up to this size run in one serial compiled call
SMALL = 5_000


@dataclass
class SparseLevel:
    """Off-diagonal weights in CSR, excess and inverse diagonals; `parent` leads to the next level."""

    cells: np.ndarray
    shape: np.ndarray
    red: int
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    excess: np.ndarray
    dinv: np.ndarray
    x: np.ndarray
    b: np.ndarray
    parent: np.ndarray

    @property
    def n(self) -> int:
        return self.cells.size


class SparseLevels:
    """Built once from the graph of a structured level; values follow that level's free set."""

    def __init__(
        self, rows: Rows, groups: np.ndarray, weights, excess: np.ndarray, sure: float, scale: float, alpha: float,
        cycles: int,
    ):  # fmt: skip
        self.rows, self.groups, self.alpha, self.cycles = rows, groups, alpha, cycles
        self.set_matrix(weights, excess, scale)
        shape = np.array(rows.shape, np.int64)
        root, _ = strong_parts(rows, groups, weights, sure)
        table = (rows.start, rows.offset)
        self.parent, cells, red = _number(root, rows.cells, shape)
        slot = np.empty((cells.size, 6), np.int32)
        several = cells.size > np.unique(cells).size
        edges = (self.parent, rows.cells, shape, *table, *weights, several)
        graph = _collect(slot, lambda i, j: agg._coarse_graph_stencil(slot, i, j, *edges))
        self.levels = [_new_level(cells, (shape + 1) // 2, red, graph)]
        # The first matrix is kept in float64: cells are added to and subtracted from it.
        self.data64 = np.zeros(self.levels[0].indices.size)
        self.excess64 = np.zeros(cells.size)
        self.set_values(np.zeros(rows.n, np.int8), refresh=False)
        self._coarsen()
        self._pack()

    def set_matrix(self, weights, excess: np.ndarray, scale: float) -> None:
        """The matrix of the structured level above, times `scale`; `set_values` makes use of it."""
        self.weights, self.fine_excess, self.scale = weights, excess, scale

    def set_values(self, active: np.ndarray, refresh: bool = True) -> None:
        """The Galerkin matrices of the fine matrix times `scale`, truncated to the free set."""
        first = self.levels[0]
        self.data64[:] = 0.0
        self.excess64[:] = 0.0
        agg._galerkin_stencil(
            self.data64, self.excess64, active, self.parent, self.rows.start, self.rows.offset, *self.weights,
            self.fine_excess, first.indices, first.indptr, self.scale * self.alpha, self.groups,
        )  # fmt: skip
        self._cast()
        if refresh:
            self._refresh_below()

    def toggle(self, active: np.ndarray, toggled: np.ndarray) -> None:
        """Move cells into or out of the free set."""
        first = self.levels[0]
        agg._toggle_csr(
            self.data64, self.excess64, active, toggled, *self.weights, self.fine_excess, self.parent,
            self.rows.start, self.rows.offset, first.indices, first.indptr, self.scale * self.alpha,
        )  # fmt: skip
        self._cast()
        self._refresh_below()

    def _cast(self) -> None:
        first = self.levels[0]
        agg._cast_clean(first.data, self.data64)
        agg._cast_clean(first.excess, self.excess64)
        agg._inverse_diagonals(first.dinv, first.excess, first.data, first.indptr)

    def _refresh_below(self) -> None:
        for fine, coarse in zip(self.levels, self.levels[1:]):
            self._galerkin(fine, coarse)

    def _galerkin(self, fine: SparseLevel, coarse: SparseLevel) -> None:
        coarse.data[:] = 0
        coarse.excess[:] = 0
        agg._galerkin_csr(
            coarse.data, coarse.excess, fine.excess, fine.dinv, fine.data, fine.indices, fine.indptr,
            fine.parent, coarse.indices, coarse.indptr, np.float32(self.alpha),
        )  # fmt: skip
        agg._inverse_diagonals(coarse.dinv, coarse.excess, coarse.data, coarse.indptr)

    def _coarsen(self) -> None:
        """Until nothing is connected any more: one unknown per connected part of the liquid."""
        while self.levels[-1].indices.size:
            fine = self.levels[-1]
            root, peak = np.empty(fine.n, np.int32), np.empty(fine.n, np.float32)
            agg._merge_blocks_csr(root, peak, fine.cells, fine.shape, fine.data, fine.indices, fine.indptr)
            fine.parent, cells, red = _number(root, fine.cells, fine.shape)
            slot = np.empty((cells.size, 6), np.int32)
            edges = (fine.parent, fine.data, fine.indices, fine.indptr)
            graph = _collect(slot, lambda i, j, s=slot, e=edges: agg._coarse_graph_csr(s, i, j, *e))
            self.levels.append(_new_level(cells, (fine.shape + 1) // 2, red, graph))
            self._galerkin(fine, self.levels[-1])

    def _pack(self) -> None:
        """Small levels move into common arrays; their fields become views of them."""
        inner = sum(agg._count_inner_couplings(v.cells, v.indices, v.indptr) for v in self.levels)
        schedule = _schedule_lexicographic if inner else _schedule
        last = len(self.levels) - 1
        self.first_small = 0 if inner else next((k for k, v in enumerate(self.levels) if v.n <= SMALL), last)
        small = self.levels[self.first_small :]
        sizes = np.array([level.n for level in small])
        self._sizes = (
            sizes,
            np.array([level.red for level in small]),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([[0], np.cumsum([level.indices.size for level in small])]),
        )
        packed = []
        for name in ("x", "b", "dinv", "data", "indices", "indptr", "parent"):
            whole = np.concatenate([getattr(level, name) for level in small])
            packed.append(whole)
            at = 0
            for level in small:
                size = getattr(level, name).size
                setattr(level, name, whole[at : at + size])
                at += size
        self._packed = packed
        self._program = np.array(schedule(len(small), self.cycles), np.int64).reshape(-1, 2)
        self._residual = np.empty(max((v.red for v in self.levels[: self.first_small]), default=0), np.float32)

    @property
    def b(self) -> np.ndarray:
        """Right-hand side of the first level."""
        return self.levels[0].b

    @property
    def x(self) -> np.ndarray:
        """Correction of the first level."""
        return self.levels[0].x

    def visit(self, l: int = 0) -> None:
        """x ≈ A⁻¹ b on the first level: `cycles` symmetric cycles from zero."""
        if l >= self.first_small:
            cc._run_program(self._program, *self._packed, *self._sizes)
            return
        fine, coarse = self.levels[l], self.levels[l + 1]
        matrix = (fine.dinv, fine.data, fine.indices, fine.indptr)
        for k in range(self.cycles):
            if k == 0:
                cc._csr_start_red(fine.x, fine.b, fine.dinv, fine.red)
            cc._csr_relax_rows(fine.x, fine.b, *matrix, fine.red, fine.n)
            cc._csr_red_residual(self._residual, fine.x, fine.b, *matrix, fine.red)
            cc._sum_children(coarse.b, self._residual, fine.parent, fine.red)
            self.visit(l + 1)
            cc._csr_prolong(fine.x, fine.dinv, coarse.x, fine.parent, fine.red)
            cc._csr_relax_rows(fine.x, fine.b, *matrix, fine.red, fine.n)
            cc._csr_relax_rows(fine.x, fine.b, *matrix, 0, fine.red)


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
    return 0.05 * largest


def _schedule(levels: int, cycles: int, at: int = 0) -> list[tuple[int, int]]:
    """The cycle over `levels` packed levels as (operation, level) pairs."""
    if at == levels - 1:
        return [(cc.SOLVE, at)]
    below = _schedule(levels, cycles, at + 1)
    steps = [(cc.RED_FROM_ZERO, at)]
    for _ in range(cycles):
        steps += [(cc.BLACK, at), (cc.RESTRICT, at), *below, (cc.PROLONG, at), (cc.BLACK, at), (cc.RED, at)]
    return steps


def _schedule_lexicographic(levels: int, cycles: int, at: int = 0) -> list[tuple[int, int]]:
    """The same where unknowns of one colour are coupled: forward sweeps down, backward sweeps up."""
    if at == levels - 1:
        return [(cc.SOLVE, at)]
    below = _schedule_lexicographic(levels, cycles, at + 1)
    steps = [(cc.ZERO, at)]
    for _ in range(cycles):
        steps += [(cc.FORWARD, at), (cc.RESTRICT_ALL, at), *below, (cc.PROLONG_ALL, at), (cc.BACKWARD, at)]
    return steps


def _number(root, cells, shape):
    parent = np.empty(root.size, np.int32)
    room = np.empty(root.size, np.int64)
    count, red = agg._number_aggregates(parent, room, root, cells, shape)
    return parent, room[:count].copy(), red


def _collect(slot, graph):
    """Run a graph kernel, again with more room if its overflow list was too short."""
    room = 1024
    while True:
        over_i, over_j = np.empty(room, np.int32), np.empty(room, np.int32)
        used = graph(over_i, over_j)
        if used <= room:
            return slot, over_i, over_j, used
        room = used


def _new_level(cells, shape, red, graph) -> SparseLevel:
    n = cells.size
    indptr = np.empty(n + 1, np.int32)
    none = np.empty(0, np.int32)
    size = agg._graph_to_csr(indptr, none, *graph, none)
    indices = np.empty(size, np.int32)
    if size:
        size = agg._graph_to_csr(indptr, indices, *graph, np.empty(n, np.int32))
    data, excess, dinv, x, b = (np.zeros(k, np.float32) for k in (size, n, n, n, n))
    parent = np.zeros(n, np.int32)
    return SparseLevel(cells, shape, red, indptr, indices[:size].copy(), data, excess, dinv, x, b, parent)
