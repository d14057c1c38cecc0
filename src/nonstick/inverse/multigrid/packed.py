"""The small levels of a coloured aggregation hierarchy as one inverse, run by one compiled call.

It is the `coarsest` of a `Multigrid` whose large levels run level by level, and coarsens until every connected part
is one unknown (Takahashi–Batty §4.2). A part that ends as a 1×1 zero matrix is pure Neumann and is skipped: its
mean is not determined and stays zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...operators.base import Operator
from ...operators.csr import CSROperator
from ...operators.transfer import AggregateTransfer
from ..base import Inverse, Recipe
from ._packed import _packed_cycle, _packed_shift
from .aggregation import Aggregation, Pairwise, TopologyAware, galerkin_csr
from .cycles import Resmoothed
from .hierarchy import Bottom, Multigrid
from .rbssor import RBSSOR, known_colours


@dataclass(frozen=True)
class Packed(Recipe):
    """`coarsening` to the end, RBSSOR(`omega`) with `visits` coarse corrections per level.

    Operators that have no colours (no cells, or wider stencils) get a pairwise hierarchy instead.
    """

    coarsening: Aggregation = field(default_factory=TopologyAware)
    omega: float = 1.2
    visits: int = 2

    def setup(self, operator, reuse=None):
        if isinstance(reuse, _Packed) and reuse.fits(operator):
            return reuse.refresh(operator)
        levels = self.hierarchy(operator)
        if levels is None:
            return self._pairwise().setup(operator, reuse)
        return _Packed(self, operator, levels)

    def hierarchy(self, operator: Operator):
        """Operators, colours and parents of all levels, or None if the first has no colours."""
        base, free = operator.core, operator.free
        A: Operator = CSROperator(base.matrix(), base.cells)
        if free is not None:  # clamped rows lose their couplings; the packed cycle divides them by their diagonal
            A = CSROperator(_decoupled(base, free), base.cells)
        A.colour = getattr(base, "colour", None)  # type: ignore[attr-defined]
        levels = []
        while True:
            colour = known_colours(A)
            if colour is None:
                return None
            step = self.coarsening.aggregate(A)
            levels.append((A, colour, None if step is None else step[0]))
            if step is None:
                return levels
            parent, count, cells = step
            A = galerkin_csr(A, None, AggregateTransfer(parent, count), cells, self.coarsening.alpha)

    def _pairwise(self) -> Multigrid:
        return Multigrid(
            Pairwise(self.coarsening.alpha), RBSSOR(self.omega), Resmoothed(visits=self.visits),
            coarsest=Bottom(dense=100), smallest=40,
        )  # fmt: skip


def _decoupled(base: Operator, free: np.ndarray):
    M = base.matrix().copy()
    row = np.repeat(np.arange(base.n), np.diff(M.indptr))
    M.data[(row != M.indices) & ~(free[row] & free[M.indices])] = 0.0
    return M


class _Packed(Inverse):
    def __init__(self, recipe: Packed, operator: Operator, levels):
        self.recipe = recipe
        self.base, free = operator.core, operator.free
        self.free = None if free is None else free.copy()
        sizes = np.array([A.n for A, _, _ in levels])
        most = max(2, *(int(colour.max(initial=0)) + 1 for _, colour, _ in levels))
        held = np.array([np.bincount(colour, minlength=most) for _, colour, _ in levels])
        ends = np.cumsum(held.ravel()).reshape(held.shape)
        self.first = np.column_stack((ends[:, -1] - sizes, ends)).astype(np.int64)  # a row a level, a column a colour
        # place[k][i]: packed number of unknown i of level k, sorted by colour
        place = []
        for k, (A, colour, _) in enumerate(levels):
            number = np.empty(A.n, np.int32)
            number[np.argsort(colour, kind="stable")] = np.arange(A.n) + self.first[k, 0]
            place.append(number)
        total = int(self.first[-1, -1])
        self.parent = np.full(total, -1, np.int32)
        self.base_diagonal = np.empty(total)
        counts, data, indices = [], [], []
        for k, (A, _, parent) in enumerate(levels):
            order = np.argsort(place[k])
            M = A.matrix()[order]
            counts.append(np.diff(M.indptr))
            data.append(M.data)
            indices.append(place[k][M.indices])
            self.base_diagonal[place[k]] = A.diagonal
            if parent is not None:
                self.parent[place[k]] = np.where(parent < 0, -1, place[k + 1][parent])
        self.indptr = np.concatenate(([0], np.cumsum(np.concatenate(counts)))).astype(np.int64)
        self.data, self.indices = np.concatenate(data), np.concatenate(indices).astype(np.int32)
        self.place = place[0]
        self.x, self.b, self.r, self.shift, self.d = (np.zeros(total) for _ in range(5))
        self.levels = sizes
        self.refresh(operator)

    def fits(self, operator: Operator) -> bool:
        """Only the shift may have changed."""
        base, free = operator.core, operator.free
        if base is not self.base or (free is None) != (self.free is None):
            return False
        return free is None or self.free is None or np.array_equal(free, self.free)

    def refresh(self, operator: Operator) -> _Packed:
        # On clamped rows the masked diagonal (1 + shift) replaces that of A.
        self.shift[self.place] = operator.diagonal - self.base_diagonal[self.place]
        total = operator.shift
        if total is not None and self.free is None:
            self.shift[self.place] = total
        _packed_shift(self.d, self.base_diagonal, self.shift, self.parent, self.first, self.recipe.coarsening.alpha)
        return self

    def apply(self, r, out):
        self.b[self.place] = r
        _packed_cycle(
            self.x, self.b, self.r, self.d, self.data, self.indices, self.indptr, self.parent, self.first,
            self.recipe.omega, self.recipe.visits, 0,
        )  # fmt: skip
        np.take(self.x, self.place, out=out)
        return out
