"""`TopologyAware` in single precision, below structured levels: weights in CSR form, red unknowns first.

The patterns of the matrices are fixed; a new free set fills in their values again, or corrects them. These levels are
used if they are small, or if walls are thinner than a cell, so that blocks would join liquid across them. All except
large first levels are packed into one level, which is solved by one serial compiled call (`tail`).
"""

from __future__ import annotations

import numpy as np

from ...operators.rows import Rows
from . import _coarse_matrix as coarse_matrix
from . import _tail as kernels
from ._aggregation import _blocks_of
from ._strength import _merge_blocks
from .aggregation import TopologyAware, number_parts
from .couplings import MatrixCouplings, StencilCouplings, coarse_pattern
from .cycles import Cycle, Level
from .hierarchy import descend
from .level import RedBlackLevel
from .tail import GaussSeidelNotes, PackedTail, SequentialNotes

#: levels up to this size run in one serial compiled call
PACKED_SIZE = 5_000


class SparseLevel(RedBlackLevel):
    """Off-diagonal weights in CSR, excess and inverse diagonals; `parent` is the map to the next level."""

    def __init__(self, cells: np.ndarray, shape: np.ndarray, red: int, indices: np.ndarray, indptr: np.ndarray):
        n = cells.size
        self.cells, self.shape, self.indices, self.indptr = cells, shape, indices, indptr
        self.red, self.n, self.ends = red, n, np.array([0, red, n])
        self.weights = np.zeros(indices.size, np.float32)
        self.excess, self.dinv = np.zeros(n, np.float32), np.zeros(n, np.float32)
        self.parent = np.full(n, -1, np.int32)

    @property
    def couplings(self) -> MatrixCouplings:
        return MatrixCouplings(self.weights, self.indices, self.indptr, 1.0)

    def stand_alone(self) -> None:
        """Allocate vectors for a level that is not packed."""
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
    """Built once from the graph of a structured level; the values depend on that level's free set.

    `rule` says what merges; `largest` is the largest weight of the structured level.
    """

    def __init__(self, rows: Rows, groups: np.ndarray, matrix, largest: float, scale: float, rule: TopologyAware):
        self.rule, self.rows, self.groups = rule, rows, groups
        self.set_matrix(matrix, scale)
        root, _ = strong_parts(rows, groups, matrix[:3], rule.theta, largest)
        if rule.cut:
            self.couplings.cut(root, rule.cut)
        shape = np.array(rows.shape, np.int64)
        roots = np.flatnonzero(root == np.arange(root.size))
        self.parent, cells, red = _number(root, roots, *_blocks(rows.cells[roots], shape))
        first = SparseLevel(cells, (shape + 1) // 2, red, *coarse_pattern(self.couplings, self.parent, cells.size))
        # The first matrix is float64, because cells are added to it and subtracted from it.
        self.weights64, self.excess64 = np.zeros(first.indices.size), np.zeros(cells.size)
        self.levels = [first]
        self.set_values(np.zeros(rows.n, np.int8))
        self.levels += descend(first, self._coarser)

    def set_matrix(self, matrix, scale: float) -> None:
        """Weights and excess of the finer, structured level, times `scale`; for `set_values`."""
        *weights, self.fine_excess = matrix
        self.couplings, self.scale = StencilCouplings(self.rows, weights, self.groups), scale

    def set_values(self, closed: np.ndarray) -> None:
        """The Galerkin matrices of the fine matrix times `scale`, without the cells that are closed."""
        self.weights64[:] = 0.0
        self.excess64[:] = 0.0
        self.couplings.fill(self.weights64, self.excess64, closed, *self._how)
        self._follow()

    def toggle(self, closed: np.ndarray, toggled: np.ndarray) -> None:
        """Move cells into or out of the free set."""
        self.couplings.toggle(self.weights64, self.excess64, closed, toggled, *self._how)
        self._follow()

    @property
    def _how(self) -> tuple:
        """What the first matrix is made with: parents, excess, pattern and factor."""
        first = self.levels[0]
        return self.parent, self.fine_excess, first.indices, first.indptr, self.scale * self.rule.alpha

    def _follow(self) -> None:
        """The first matrix in single precision, and those below it."""
        first = self.levels[0]
        coarse_matrix._cast_clean(first.weights, self.weights64)
        coarse_matrix._cast_clean(first.excess, self.excess64)
        coarse_matrix._inverse_diagonals(first.dinv, first.excess, first.weights, first.indptr)
        for fine, coarse in zip(self.levels, self.levels[1:]):
            self._galerkin(fine, coarse)

    def _galerkin(self, fine: SparseLevel, coarse: SparseLevel) -> None:
        coarse.weights[:] = 0
        coarse.excess[:] = 0
        closed = (fine.dinv == 0.0).view(np.int8)  # no free cell is left there
        fine.couplings.fill(
            coarse.weights, coarse.excess, closed, fine.parent, fine.excess, coarse.indices, coarse.indptr,
            self.rule.alpha,
        )  # fmt: skip
        coarse_matrix._inverse_diagonals(coarse.dinv, coarse.excess, coarse.weights, coarse.indptr)

    def _coarser(self, fine: SparseLevel) -> SparseLevel | None:
        """Coarsen until nothing is connected: one unknown per connected part of the liquid."""
        if not fine.weights.any():
            return None
        couplings, cells, shape = fine.couplings, fine.cells, fine.shape
        strongest = couplings.strongest()
        while True:
            block, colour = _blocks(cells, shape)
            shape = (shape + 1) // 2
            whole = bool((shape == 1).all())
            root = self.rule.parts(couplings, strongest, block, whole)
            roots = np.flatnonzero(root == np.arange(root.size))
            if roots.size < fine.n or whole:
                break
            cells = block  # neighbours all lie in different blocks: larger ones
        fine.parent, cells, red = _number(root, roots, block[roots], colour[roots])
        coarse = SparseLevel(cells, shape, red, *coarse_pattern(couplings, fine.parent, cells.size))
        self._galerkin(fine, coarse)
        return coarse

    def pack(self, cycle: Cycle) -> list[Level]:
        """The levels of a cycle. Small levels move into common arrays; their fields become views of them."""
        inner = any(coarse_matrix._couples_within_blocks(v.cells, v.indices, v.indptr) for v in self.levels)
        last = len(self.levels) - 1
        first = 0 if inner else next((k for k, v in enumerate(self.levels) if v.n <= PACKED_SIZE), last)
        tail = PackedTail(self.levels[first:], cycle, SequentialNotes if inner else GaussSeidelNotes)
        for level in self.levels[:first]:
            level.stand_alone()
        return [*self.levels[:first], tail]


def strong_parts(rows: Rows, groups: np.ndarray, weights, theta: float, largest: float) -> tuple[np.ndarray, int]:
    """The first unknown of the strongly connected part of its block, and how many parts there are.

    `largest` is the largest weight.
    """
    root, parts = np.empty(rows.n, np.int32), np.zeros(groups.size - 1, np.int64)
    shape = np.array(rows.shape, np.int64)
    _merge_blocks(
        root, parts, theta, sure_weight(theta, largest), *weights, rows.cells, shape, rows.start, rows.offset, groups
    )  # fmt: skip
    return root, int(parts.sum())


def sure_weight(theta: float, largest: float) -> float:
    """A positive weight that counts as strong beside any other."""
    return max(theta * largest, float(np.finfo(np.float64).smallest_subnormal))


def _blocks(cells: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The block of each cell and its colour."""
    block, colour = np.empty(cells.size, np.int64), np.empty(cells.size, np.int8)
    _blocks_of(block, colour, cells, shape)
    return block, colour


def _number(root: np.ndarray, roots: np.ndarray, block: np.ndarray, colour: np.ndarray):
    """The aggregate of each unknown, red aggregates first; their cells, and the number of red ones."""
    parent = number_parts(root, roots, colour)
    cells = np.empty(roots.size, np.int64)
    cells[parent[roots]] = block
    return parent, cells, roots.size - int(np.count_nonzero(colour))
