"""The fast cycle: a structured fine level over topology-aware coarse levels, in float32.

One application is a symmetric multigrid cycle for `F A F + (I - F)` on a stencil operator:

- fine level: red-black Gauss–Seidel, one sweep down and the reversed one up, unknowns split by colour;
- coarse levels: connected parts of 2x2x2 blocks, Galerkin matrices scaled by α (piecewise constant
  interpolation makes them too stiff; Takahashi–Batty §5), two cycles per visit;
- truncation to a free set F is a mask: cells outside it have no inverse diagonal, and coarse matrices
  are refreshed, not rebuilt.

Float32 inside a float64 CG halves the memory traffic, which is what the cycle costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from ..kernels import _aggregate as agg
from ..kernels import _coarse_cycle as cc
from ..kernels import _redblack as rb
from ..linear.base import Inverse, Recipe
from ..operators.masked import Masked
from ..operators.stencil import StencilOperator

#: levels below this size run in one serial compiled call
SMALL = 20_000


@dataclass(frozen=True)
class FastMultigrid(Recipe):
    """α scales coarse matrices; `cycles` is how many cycles a visit to a coarse level makes."""

    alpha: float = 0.65
    cycles: int = 2

    def setup(self, operator, reuse=None):
        free = None
        if isinstance(operator, Masked):
            operator, free = operator.A, operator.free
        if isinstance(reuse, FastCycle) and reuse.A is operator:
            reuse.refresh(free)
            return reuse
        cycle = FastCycle(operator, self.alpha, self.cycles)
        cycle.refresh(free)
        return cycle


@dataclass
class CoarseLevel:
    """An unstructured level: off-diagonal weights in CSR, red unknowns first."""

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
    parent: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.cells.size


class FastCycle(Inverse):
    """One cycle from a zero guess."""

    def __init__(self, A: StencilOperator, alpha: float, cycles: int):
        self.A, self.alpha, self.cycles = A, alpha, cycles
        rows = A.rows
        self.groups = balanced_groups(rows, numba.get_num_threads())
        top = float(A.diagonal.max(initial=0.0))
        self.scale = 1.0 / top if top > 0 else 1.0
        self._split()
        self._aggregate()
        self.active = np.empty(rows.n, np.int8)

    def _split(self) -> None:
        rows = self.A.rows
        segments = rows.start.size - 1
        pos = np.empty(rows.n, np.int32)
        self.rstart, self.bstart = np.empty(segments + 1, np.int64), np.empty(segments + 1, np.int64)
        rb._split_numbers(pos, self.rstart, self.bstart, rows.start, rows.parity)
        self.roff, self.boff = np.empty((segments, 6), np.int64), np.empty((segments, 6), np.int64)
        rb._split_offsets(self.roff, self.boff, rows.start, rows.offset, rows.parity, pos)
        self.red = int(self.rstart[-1])
        self.black = int(self.bstart[-1])
        m = max(self.red, self.black) + 2  # room for the neighbours that ends of runs lack
        self.w = np.zeros((8, m), np.float32)
        rb._split_weights(
            self.w,
            *self.A.weights,
            self.scale,
            rows.start,
            rows.offset,
            rows.parity,
            self.rstart,
            self.bstart,
            self.groups,
        )
        self.rx, self.rb, self.rdinv, self.bx, self.bb, self.bdinv = (np.zeros(m, np.float32) for _ in range(6))

    def _aggregate(self) -> None:
        rows, A = self.A.rows, self.A
        shape = np.array(rows.shape, np.int64)
        root = np.empty(rows.n, np.int32)
        agg._merge_blocks_stencil(root, *A.weights, rows.cells, shape, rows.start, rows.offset, self.groups)
        self.parent, cells, red = number(root, rows.cells, shape)
        slot = np.empty((cells.size, 6), np.int32)

        def graph(over_i, over_j):
            return agg._coarse_graph_stencil(
                slot, over_i, over_j, self.parent, rows.cells, shape, rows.start, rows.offset, *A.weights
            )

        self.levels = [new_level(cells, (shape + 1) // 2, red, slot, graph)]
        self.rparent = np.zeros(self.rx.size, np.int32)
        split_red(self.rparent, self.parent, rows, self.rstart)
        # coarse levels are aggregated by their unmasked matrices, so that they serve any free set
        self.active = np.zeros(rows.n, np.int8)
        self._galerkin_fine()
        while True:
            fine = self.levels[-1]
            root = np.empty(fine.n, np.int32)
            agg._merge_blocks_csr(root, fine.cells, fine.shape, fine.data, fine.indices, fine.indptr)
            parent, cells, red = number(root, fine.cells, fine.shape)
            if int(fine.shape.max()) == 1 or fine.indices.size == 0:
                break
            fine.parent = parent
            slot = np.empty((cells.size, 6), np.int32)

            def coarse_graph(over_i, over_j, slot=slot, fine=fine):
                return agg._coarse_graph_csr(slot, over_i, over_j, fine.parent, fine.data, fine.indices, fine.indptr)

            coarse = new_level(cells, (fine.shape + 1) // 2, red, slot, coarse_graph)
            self.levels.append(coarse)
            self._galerkin_coarse(fine, coarse)
        self._pack()

    def _galerkin_fine(self) -> None:
        rows, A, coarse = self.A.rows, self.A, self.levels[0]
        coarse.data[:] = 0
        coarse.excess[:] = 0
        shape = np.array(rows.shape, np.int64)
        agg._galerkin_stencil(
            coarse.data, coarse.excess, self.active, self.parent, rows.cells, shape, rows.start, rows.offset,
            *A.weights, A.diagonal, coarse.indices, coarse.indptr, self.scale * self.alpha, self.groups,
        )  # fmt: skip
        agg._inverse_diagonals(coarse.dinv, coarse.excess, coarse.data, coarse.indptr)

    def _galerkin_coarse(self, fine: CoarseLevel, coarse: CoarseLevel) -> None:
        coarse.data[:] = 0
        coarse.excess[:] = 0
        agg._galerkin_csr(
            coarse.data, coarse.excess, fine.excess, fine.dinv, fine.data, fine.indices, fine.indptr,
            fine.parent, coarse.indices, coarse.indptr, np.float32(self.alpha),
        )  # fmt: skip
        agg._inverse_diagonals(coarse.dinv, coarse.excess, coarse.data, coarse.indptr)

    def _pack(self) -> None:
        """Small levels move into packed arrays; their CoarseLevel fields become views."""
        first = next((k for k, level in enumerate(self.levels) if level.n <= SMALL), len(self.levels) - 1)
        small = self.levels[first:]
        self.first_small = first
        self.rows_ = np.array([level.n for level in small])
        self.reds_ = np.array([level.red for level in small])
        self.row0 = np.concatenate([[0], np.cumsum(self.rows_)])
        sizes = np.array([level.indices.size for level in small])
        self.nnz0 = np.concatenate([[0], np.cumsum(sizes)])
        self.packed = {}
        for name in ("x", "b", "dinv", "data", "indices", "indptr", "parent"):
            parts = [getattr(level, name) for level in small]
            if parts[-1] is None:
                parts[-1] = np.zeros(small[-1].n, np.int32)
            whole = np.concatenate(parts)
            self.packed[name] = whole
            at = 0
            for level, part in zip(small, parts):
                setattr(level, name, whole[at : at + part.size])
                at += part.size
        self.program = np.array(schedule(len(small), self.cycles), np.int64).reshape(-1, 2)

    def refresh(self, free: np.ndarray | None) -> None:
        """Truncate to a free set (None: everything is free)."""
        if free is None:
            self.active[:] = 0
        else:
            np.logical_not(free, out=self.active.view(np.bool_))
        rows = self.A.rows
        rb._split_inverse_diagonal(
            self.rdinv, self.bdinv, self.A.diagonal, self.active, self.scale, rows.start, rows.parity,
            self.rstart, self.bstart, self.groups,
        )  # fmt: skip
        self._galerkin_fine()
        for fine, coarse in zip(self.levels, self.levels[1:]):
            self._galerkin_coarse(fine, coarse)

    def apply(self, r, out):
        rows = self.A.rows
        top = float(max(r.max(initial=0.0), -r.min(initial=0.0)))
        if not 0.0 < top < np.inf:
            out[:] = 0.0
            return out
        order = (rows.start, rows.parity, self.rstart, self.bstart, self.groups)
        rb._presmooth_red(self.rx, self.rb, self.bb, r, 1.0 / top, self.rdinv, *order)
        rb._relax_black(self.bx, self.bb, self.bdinv, self.rx, self.w, self.bstart, self.boff, self.groups)
        coarse = self.levels[0]
        coarse.b[:] = 0
        rb._restrict_red(coarse.b, self.rdinv, self.bx, self.w, self.rparent, self.rstart, self.roff, self.groups)
        self._visit(0)
        rb._prolong_red(self.rx, self.rdinv, coarse.x, self.rparent, self.rstart, self.groups)
        rb._relax_black(self.bx, self.bb, self.bdinv, self.rx, self.w, self.bstart, self.boff, self.groups)
        rb._relax_red(self.rx, self.rb, self.rdinv, self.bx, self.w, self.rstart, self.roff, self.groups)
        rb._join_colours(out, self.rx, self.bx, top * self.scale, *order)
        return out

    def _visit(self, l: int) -> None:
        if l >= self.first_small:
            p = self.packed
            cc._run_program(
                self.program, p["x"], p["b"], p["dinv"], p["data"], p["indices"], p["indptr"], p["parent"],
                self.rows_, self.reds_, self.row0, self.nnz0,
            )  # fmt: skip
            return
        level, coarse = self.levels[l], self.levels[l + 1]
        matrix = (level.dinv, level.data, level.indices, level.indptr)
        for k in range(self.cycles):
            if k == 0:
                cc._csr_start_red(level.x, level.b, level.dinv, level.red)
            cc._csr_relax_rows(level.x, level.b, *matrix, level.red, level.n)
            cc._csr_red_residual(self.scratch(level.red), level.x, level.b, *matrix, level.red)
            cc._sum_children(coarse.b, self.scratch(level.red), level.parent, level.red)
            self._visit(l + 1)
            cc._csr_prolong(level.x, level.dinv, coarse.x, level.parent, level.red)
            cc._csr_relax_rows(level.x, level.b, *matrix, level.red, level.n)
            cc._csr_relax_rows(level.x, level.b, *matrix, 0, level.red)

    def scratch(self, n: int) -> np.ndarray:
        if not hasattr(self, "_scratch"):
            self._scratch = np.empty(self.levels[0].n, np.float32)
        return self._scratch[:n]


def schedule(levels: int, cycles: int, at: int = 0) -> list[tuple[int, int]]:
    """The cycle over `levels` packed levels as (operation, level) pairs."""
    if at == levels - 1:
        return [(cc.SOLVE, at)]
    below = schedule(levels, cycles, at + 1)
    steps = []
    for k in range(cycles):
        if k == 0:
            steps.append((cc.RED_FROM_ZERO, at))
        steps += [(cc.BLACK, at), (cc.RESTRICT, at), *below, (cc.PROLONG, at), (cc.BLACK, at), (cc.RED, at)]
    return steps


def number(root, cells, shape):
    parent = np.empty(root.size, np.int32)
    room = np.empty(root.size, np.int64)
    count, red = agg._number_aggregates(parent, room, root, cells, shape)
    return parent, room[:count].copy(), red


def new_level(cells, shape, red, slot, graph) -> CoarseLevel:
    n = cells.size
    room = 1024
    while True:
        over_i, over_j = np.empty(room, np.int32), np.empty(room, np.int32)
        used = graph(over_i, over_j)
        if used <= room:
            break
        room = used
    indptr = np.empty(n + 1, np.int32)
    none = np.empty(0, np.int32)
    size = agg._graph_to_csr(indptr, none, slot, over_i, over_j, used, none)
    indices = np.empty(max(size, 1), np.int32)
    size = agg._graph_to_csr(indptr, indices, slot, over_i, over_j, used, np.empty(n, np.int32)) if size else 0
    f32 = [np.zeros(k, np.float32) for k in (size, n, n, n, n)]
    return CoarseLevel(cells, shape, red, indptr, indices[:size].copy(), *f32)


def split_red(out, values, rows, rstart):
    red = (rows.coordinates_sum() & 1) == 0
    out[: rstart[-1]] = values[red]


def balanced_groups(rows, pieces: int) -> np.ndarray:
    """Segment numbers that cut the rows into pieces of about equal size, between blocks of coarse cells."""
    if rows.n == 0:
        return np.zeros(1, np.int64)
    plane = rows.shape[1] * rows.shape[2] if rows.shape[0] > 1 else rows.shape[2]
    block = rows.cells[rows.start[:-1]] // (2 * plane)
    edge = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [block.size]])
    want = np.linspace(0, rows.n, pieces + 1)
    at = np.searchsorted(rows.start[edge], want)
    return np.unique(edge[np.clip(at, 0, edge.size - 1)]).astype(np.int64)
