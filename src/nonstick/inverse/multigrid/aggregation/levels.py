"""Levels of aggregates: weights in CSR form, rows sorted by colour, in single or double precision.

Below the structured levels of `Blocks` they are in float32. The patterns of the matrices are fixed; a new free set
fills in their values again, or corrects them. As the bottom of `Multigrid(TopologyAware(), RBSSOR(), Resmoothed())`
they are in float64 (`Packed`). All except large first levels are packed into one level, which is solved by one serial
compiled call (`coloured`).

Coarsening ends where nothing is connected (Takahashi–Batty §4.2). A part that becomes a 1×1 zero matrix is pure Neumann
and is skipped: its mean is not determined and stays zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ....operators.base import Operator
from ....operators.csr import CSROperator
from ....operators.rows import Rows
from ...base import Inverse, Recipe
from .. import _passes as kernels
from ..bottom import Bottom
from ..cycles import Cycle, Resmoothed
from ..hierarchy import Multigrid, descend
from ..level import ColouredLevel, Level, PackedLevels
from ..smoothers import RBSSOR, known_colours
from . import _coarse_matrix as coarse_matrix
from ._coarse_matrix import _separate_colours
from ._strength import _merge_blocks, _peaks
from .coarsening import Aggregation, Pairwise, TopologyAware, number_parts, row_excess
from .couplings import Couplings, MatrixCouplings, Product, StencilCouplings, coarse_pattern

#: levels up to this size run in one serial compiled call: a packed visit costs no calls, but uses one thread
PACKED_SIZE = 5_000


class MatrixLevel(ColouredLevel):
    """Off-diagonal weights in CSR, excess and inverse diagonals; `parent` is the map to the next level, -1 for none.

    `cells` are (n, d) grid coordinates. A few colours follow red and black if a cell holds unknowns that are coupled to
    each other. Rows are in their natural order until `sort_by_colour`.
    """

    #: colour c owns the rows from `ends[c]` to `ends[c + 1]`, once they are sorted
    ends: np.ndarray

    def __init__(self, cells: np.ndarray, colour: np.ndarray, indices: np.ndarray, indptr: np.ndarray, dtype):
        self.n = n = len(cells)
        self.cells, self.colour, self.indices, self.indptr = cells, colour, indices, indptr
        self.weights = np.zeros(indices.size, dtype)
        self.excess, self.dinv = np.zeros(n, dtype), np.zeros(n, dtype)
        self.parent = np.full(n, -1, np.int32)

    @classmethod
    def of_aggregates(cls, couplings: Couplings, parent: np.ndarray, cells: np.ndarray, dtype) -> MatrixLevel:
        """The level of some aggregates, without its values."""
        colour = (sum(cells.T) & 1).astype(np.int8)
        pattern = coarse_pattern(couplings, parent, len(cells))
        _separate_colours(colour, np.ones(pattern[0].size), *pattern)
        return cls(cells, colour, *pattern, dtype)

    @property
    def couplings(self) -> MatrixCouplings:
        return MatrixCouplings(self.weights, self.indices, self.indptr, 1.0)

    def coarser(self, rule: Aggregation) -> MatrixLevel | None:
        """The level of the aggregates of this one, and its matrix; None if nothing is connected."""
        merged = rule.merge(self.couplings, self.cells)
        if merged is None:
            return None
        self.parent, _, cells = merged
        coarse = MatrixLevel.of_aggregates(self.couplings, self.parent, cells, self.weights.dtype)
        self.fill(coarse, rule.alpha)
        return coarse

    def fill(self, coarse: MatrixLevel, alpha: float) -> None:
        """The Galerkin matrix of the next level, without the rows that have no equation."""
        coarse.weights[:] = 0
        coarse.excess[:] = 0
        closed = (self.dinv == 0.0).view(np.int8)  # no free cell is left there
        product = Product(self.parent, self.excess, coarse.indices, coarse.indptr, alpha)
        self.couplings.fill(coarse.weights, coarse.excess, closed, product)
        coarse.find_diagonals()

    def find_diagonals(self) -> None:
        """The inverse diagonals, from weights and excess."""
        coarse_matrix._inverse_diagonals(self.dinv, self.excess, self.weights, self.indptr)

    def sort(self, order: np.ndarray, place: np.ndarray) -> None:
        """Move row `order[k]` to place k."""
        M = sp.csr_array((self.weights, self.indices, self.indptr), shape=(self.n, self.n))[order]
        self.weights, self.indices, self.indptr = M.data, place[M.indices], M.indptr
        self.cells, self.excess, self.dinv = self.cells[order], self.excess[order], self.dinv[order]
        self.parent = self.parent[order]

    # -- a level that is not packed: Gauss–Seidel, on all threads -------------------------------------------------

    def stand_alone(self) -> None:
        """Allocate the vectors."""
        self.x, self.b, self._r = (np.zeros(self.n, self.weights.dtype) for _ in range(3))
        self._matrix = self.dinv, self.weights, self.indices, self.indptr

    def run(self, operation, first, end, keep=0.0, gain=1.0):
        begin, stop = self.ends[first], self.ends[end]
        if operation == kernels.PASS:
            kernels._relax_rows(self.x, self.b, *self._matrix, begin, stop)
        elif operation == kernels.START:
            kernels._start_rows(self.x, self.b, self.dinv, begin, stop)
        else:
            self.x[begin:stop] = 0.0

    def restrict_residual(self, coarse, from_zero):
        stop = self.ends[-2]
        kernels._residual_rows(self._r, self.x, self.b, *self._matrix, 0, stop)
        kernels._sum_children(coarse.b, self._r[:stop], self.parent)

    def correct(self, coarse):
        kernels._add_parents(self.x, self.dinv, coarse.x, self.parent, 0, self.ends[-2])


def sort_by_colour(levels: list[MatrixLevel]) -> np.ndarray | None:
    """Sort the rows of every level by colour, as passes need them.

    Returns the new places of the rows of the first level; None if they stay, as aggregates of two colours do.
    """
    below = None
    for level in reversed(levels):
        if below is not None:
            level.parent = np.where(level.parent < 0, -1, below[level.parent])
        below = None
        if (level.colour[1:] < level.colour[:-1]).any():
            below = np.empty(level.n, np.int32)
            order = np.argsort(level.colour, kind="stable")
            below[order] = np.arange(level.n)
            level.sort(order, below)
        level.ends = np.concatenate(([0], np.cumsum(np.bincount(level.colour, minlength=2))))
        level.colours = level.ends.size - 1
    return below


class Aggregates:
    """Built once from the graph of a structured level; the values depend on that level's free set.

    `rule` says what merges.
    """

    def __init__(self, rows: Rows, groups: np.ndarray, matrix, scale: float, rule: TopologyAware):
        self.rule, self.rows, self.groups = rule, rows, groups
        self.set_matrix(matrix, scale)
        root, *_ = strong_parts(rows, groups, matrix[:3], rule.theta)
        if rule.cut:
            StencilCouplings(rows, matrix[:3]).cut(root, rule.cut)
        roots = np.flatnonzero(root == np.arange(root.size))
        blocks = np.stack(np.unravel_index(rows.cells[roots], rows.shape), axis=1) >> 1
        self.parent = number_parts(root, roots, (sum(blocks.T) & 1).astype(np.int8))
        cells = np.empty_like(blocks)
        cells[self.parent[roots]] = blocks
        first = MatrixLevel.of_aggregates(self.couplings, self.parent, cells, np.float32)
        # The first matrix is float64, because cells are added to it and subtracted from it.
        self.weights64, self.excess64 = np.zeros(first.indices.size), np.zeros(first.n)
        self.levels = [first]
        self.set_values(np.zeros(rows.n, np.int8))
        self.levels += descend(first, lambda level: level.coarser(rule))
        place = sort_by_colour(self.levels)
        if place is not None:
            self.parent = place[self.parent]
            self.set_values(np.zeros(rows.n, np.int8))

    @property
    def n(self) -> int:
        return self.levels[0].n

    def set_matrix(self, matrix, scale: float) -> None:
        """Weights and excess of the finer, structured level, times `scale`; for `set_values`."""
        *weights, self.fine_excess = matrix
        self.couplings, self.scale = StencilCouplings(self.rows, weights, self.groups), scale

    def set_values(self, closed: np.ndarray) -> None:
        """The Galerkin matrices of the fine matrix times `scale`, without the cells that are closed."""
        self.weights64[:] = 0.0
        self.excess64[:] = 0.0
        self.couplings.fill(self.weights64, self.excess64, closed, self._product)
        self._follow()

    def toggle(self, closed: np.ndarray, toggled: np.ndarray) -> None:
        """Move cells into or out of the free set."""
        self.couplings.toggle(self.weights64, self.excess64, closed, toggled, self._product)
        self._follow()

    @property
    def _product(self) -> Product:
        """The first matrix."""
        first = self.levels[0]
        return Product(self.parent, self.fine_excess, first.indices, first.indptr, self.scale * self.rule.alpha)

    def _follow(self) -> None:
        """The first matrix in single precision, and those below it."""
        first = self.levels[0]
        coarse_matrix._cast_clean(first.weights, self.weights64)
        coarse_matrix._cast_clean(first.excess, self.excess64)
        first.find_diagonals()
        for fine, coarse in zip(self.levels, self.levels[1:]):
            fine.fill(coarse, self.rule.alpha)

    def pack(self, cycle: Cycle) -> list[Level]:
        """The levels of a cycle. Small levels move into common arrays; their fields become views of them."""
        last = len(self.levels) - 1
        first = next((k for k, v in enumerate(self.levels) if v.n <= PACKED_SIZE), last)
        for level in self.levels[:first]:
            level.stand_alone()
        return [*self.levels[:first], PackedLevels(self.levels[first:], cycle)]


def strong_parts(rows: Rows, groups: np.ndarray, weights, theta: float) -> tuple[np.ndarray, int, np.ndarray]:
    """The first unknown of the strongly connected part of its block, how many parts there are, and `_peaks`."""
    root, parts = np.empty(rows.n, np.int32), np.zeros(groups.size - 1, np.int64)
    peak, layout = np.empty(rows.n, weights[0].dtype), (rows.start, rows.offset, groups)
    _peaks(peak, *weights, *layout)
    _merge_blocks(root, parts, theta, peak, *weights, rows.cells, np.array(rows.shape, np.int64), *layout)
    return root, int(parts.sum()), peak


@dataclass(frozen=True)
class Packed(Recipe):
    """`coarsening` until nothing is connected, with RBSSOR(`omega`) and `visits` coarse corrections per level.

    It is the `coarsest` of a `Multigrid` whose large levels run one by one. Operators that have no colours (no cells,
    or wider stencils) get a pairwise hierarchy instead.
    """

    coarsening: Aggregation = field(default_factory=TopologyAware)
    omega: float = 1.2
    visits: int = 2

    def setup(self, operator, reuse=None):
        if reuse is not None and reuse.fits(operator):
            return reuse.refresh(operator)
        colour = known_colours(operator.core)
        if colour is None or isinstance(self.coarsening, Pairwise):
            return self._pairwise().setup(operator, reuse)
        return _Packed(self, operator, colour)

    def _pairwise(self) -> Multigrid:
        return Multigrid(
            Pairwise(self.coarsening.alpha),
            RBSSOR(self.omega),
            Resmoothed(visits=self.visits),
            coarsest=Bottom(dense=100),
            smallest=40,
        )


class _Packed(Inverse):
    """The packed levels of one operator; a new shift is restricted to all of them and changes no matrix."""

    def __init__(self, recipe: Packed, operator: Operator, colour: np.ndarray):
        self.recipe, self.operator = recipe, operator
        self.base, free = operator.core, operator.free
        self.free = None if free is None else free.copy()
        finest = _matrix_level(self.base, free, colour)
        self.levels = [finest, *descend(finest, lambda level: level.coarser(recipe.coarsening))]
        place = sort_by_colour(self.levels)
        self.place = np.arange(finest.n) if place is None else place
        self.packed = PackedLevels(self.levels, Resmoothed(visits=recipe.visits), recipe.omega)
        self._diagonal = np.concatenate([level.excess + _row_sums(level) for level in self.levels])
        self._shift = np.zeros_like(self._diagonal)
        self.refresh(operator)

    def fits(self, operator: Operator) -> bool:
        """Refresh for a new shift; nothing else may have changed."""
        base, free = operator.core, operator.free
        if base is not self.base or (free is None) != (self.free is None):
            return False
        return free is None or self.free is None or np.array_equal(free, self.free)

    def refresh(self, operator: Operator) -> _Packed:
        shift = operator.shift
        if self.free is not None:  # on clamped rows the masked diagonal (1 + shift) replaces that of A
            shift = operator.diagonal - self._diagonal[self.place]
        self._shift[self.place] = 0.0 if shift is None else shift
        kernels._restrict_shift(self._shift, self.packed.parent, self.packed.ends, self.recipe.coarsening.alpha)
        d = self._diagonal + self._shift
        np.divide(1.0, d, out=self.packed.dinv, where=d > 0.0)
        self.packed.dinv[~(d > 0.0)] = 0.0
        return self

    def apply(self, r, out):
        self.packed.b[self.place] = r
        self.packed.solve()
        np.take(self.packed.x, self.place, out=out)
        return out


def _row_sums(level: MatrixLevel) -> np.ndarray:
    return sp.csr_array((level.weights, level.indices, level.indptr), shape=(level.n, level.n)) @ np.ones(level.n)


def _matrix_level(A: Operator, free: np.ndarray | None, colour: np.ndarray) -> MatrixLevel:
    """The level of a matrix; clamped rows lose their couplings, and the packed cycle divides them by their diagonal."""
    M, n = A.matrix(), A.n
    row = np.repeat(np.arange(n), np.diff(M.indptr))
    others = (M.indices != row) & (M.data != 0.0)
    excess = row_excess(A)
    if free is not None:
        M = M.copy()
        M.data[(row != M.indices) & ~(free[row] & free[M.indices])] = 0.0
        others &= M.data != 0.0
        excess = row_excess(CSROperator(M))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(row[others], minlength=n)))).astype(np.int32)
    level = MatrixLevel(np.asarray(A.cells), colour, M.indices[others], indptr, np.float64)
    level.weights[:], level.excess[:] = -M.data[others], excess
    level.find_diagonals()
    return level
