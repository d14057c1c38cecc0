"""The small levels of a coloured aggregation hierarchy as one inverse, run by one compiled call.

It is the `coarsest` of a `Multigrid` whose large levels run one by one. It coarsens until every connected part is one
unknown (Takahashi–Batty §4.2). A part that becomes a 1×1 zero matrix is pure Neumann and is skipped: its mean is not
determined and stays zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...operators.base import Operator
from ...operators.csr import CSROperator
from ...operators.transfer import AggregateTransfer
from ..base import Inverse, Recipe
from ._tail import _restrict_shift
from .aggregation import Aggregation, Pairwise, TopologyAware, galerkin_csr
from .cycles import Resmoothed
from .hierarchy import Bottom, Multigrid, descend
from .rbssor import RBSSOR, known_colours
from .tail import PackedTail, SSORNotes


@dataclass(frozen=True)
class Packed(Recipe):
    """`coarsening` until nothing is connected, with RBSSOR(`omega`) and `visits` coarse corrections per level.

    Operators that have no colours (no cells, or wider stencils) get a pairwise hierarchy instead.
    """

    coarsening: Aggregation = field(default_factory=TopologyAware)
    omega: float = 1.2
    visits: int = 2

    def setup(self, operator, reuse=None):
        if reuse is not None and reuse.fits(operator):
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
        if known_colours(A) is None:
            return None
        parents: list[np.ndarray] = []

        def step(A: Operator) -> Operator | None:
            merged = self.coarsening.aggregate(A)
            if merged is None:
                return None
            parent, count, cells = merged
            parents.append(parent)
            return galerkin_csr(A, None, AggregateTransfer(parent, count), cells, self.coarsening.alpha)

        operators = [A, *descend(A, step)]
        colours = [known_colours(A) for A in operators]
        if any(colour is None for colour in colours):
            return None
        return list(zip(operators, colours, [*parents[: len(operators) - 1], None]))

    def _pairwise(self) -> Multigrid:
        return Multigrid(
            Pairwise(self.coarsening.alpha), RBSSOR(self.omega), Resmoothed(visits=self.visits),
            coarsest=Bottom(dense=100), smallest=40,
        )  # fmt: skip


def _decoupled(base: Operator, free: np.ndarray):
    M = base.matrix().copy()
    row = np.repeat(np.arange(base.n), np.diff(M.indptr))
    M.data[(row != M.indices) & ~(free[row] & free[M.indices])] = 0.0
    M.eliminate_zeros()
    return M


class SortedLevel:
    """A matrix with its rows sorted by colour, as `PackedTail` needs it; `place` is the new place of each row."""

    def __init__(self, A: Operator, colour: np.ndarray, parent: np.ndarray | None, below: SortedLevel | None):
        order = np.argsort(colour, kind="stable")
        self.place = np.empty(A.n, np.int32)
        self.place[order] = np.arange(A.n)
        self.ends = np.concatenate(([0], np.cumsum(np.bincount(colour, minlength=2))))
        M = A.matrix()[order]
        row = np.repeat(np.arange(A.n), np.diff(M.indptr))
        indices = self.place[M.indices]
        others = indices != row
        self.indices, self.weights = indices[others], -M.data[others]
        self.indptr = np.concatenate(([0], np.cumsum(np.bincount(row[others], minlength=A.n))))
        self.diagonal = A.diagonal[order]
        self.dinv = np.zeros(A.n)
        self.parent = np.full(A.n, -1, np.int32)
        if parent is not None and below is not None:
            self.parent[:] = np.where(parent < 0, -1, below.place[parent])[order]


class _Packed(Inverse):
    """The packed levels of one operator; a new shift is restricted to all of them and changes no matrix."""

    def __init__(self, recipe: Packed, operator: Operator, levels):
        self.recipe, self.operator = recipe, operator
        self.base, free = operator.core, operator.free
        self.free = None if free is None else free.copy()
        made: list[SortedLevel] = []
        for A, colour, parent in reversed(levels):
            made.insert(0, SortedLevel(A, colour, parent, made[0] if made else None))
        self.tail = PackedTail(made, Resmoothed(visits=recipe.visits), SSORNotes, recipe.omega)
        self.place = made[0].place
        self._diagonal = np.concatenate([level.diagonal for level in made])
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
        _restrict_shift(self._shift, self.tail.parent, self.tail.ends, self.recipe.coarsening.alpha)
        d = self._diagonal + self._shift
        np.divide(1.0, d, out=self.tail.dinv, where=d > 0.0)
        self.tail.dinv[~(d > 0.0)] = 0.0
        return self

    def apply(self, r, out):
        self.tail.b[self.place] = r
        self.tail.solve()
        np.take(self.tail.x, self.place, out=out)
        return out
