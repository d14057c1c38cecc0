"""A linear multigrid hierarchy as an inverse: `Multigrid(coarsening, smoother, cycle).setup(A)`.

The operator may be `Masked` (free set F, diagonal shift D). Clamped rows are decoupled, so the cycle solves the free
rows with x = 0 elsewhere and divides the clamped rows by their diagonal. After a change of F or D, `setup(operator,
reuse)` keeps the transfers, and the coarsening makes new coarse operators.

A `Hierarchy` is a cycle with its own copies of r and z, in another precision or order of rows:
`run` copies r in, `leave` copies z out, and `inner` multiplies by the copies. A Krylov method that uses these three
(`CopiedDirections`) saves the passes over memory that `apply` needs for vectors between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from ...operators.base import Operator
from ...operators.transfer import Transfer
from ..base import Directions, Inverse, Recipe, max_abs
from .bottom import Bottom
from .cycles import Cycle, V
from .level import OperatorLevel
from .smoothers import RedBlack, SmootherRecipe


class Sized(Protocol):
    """Anything with a number of unknowns."""

    @property
    def n(self) -> int: ...


L = TypeVar("L", bound=Sized)


def descend(level: L, step: Callable[[L], L | None], smallest: int = 0, most: int = 100) -> Iterator[L]:
    """The levels below a level, one after the other: the coarsening loop of every linear hierarchy.

    Coarsening ends where `step` finds no coarser level, where a level is small or does not shrink, and in any case
    after `most` levels.

    Parameters
    ----------
    level
        The finest level; anything that knows its number of unknowns `n`.
    step
        Makes the next coarser level of one, or returns None.
    smallest
        A level with at most this many unknowns is not coarsened.
    most
        Maximum number of levels.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from nonstick.inverse.multigrid.hierarchy import descend
    >>> half = lambda level: SimpleNamespace(n=level.n // 2)
    >>> [level.n for level in descend(SimpleNamespace(n=100), half, smallest=10)]
    [50, 25, 12, 6]
    """
    for _ in range(most):
        coarse = step(level) if level.n > smallest else None
        if coarse is None or coarse.n >= level.n:
            return
        yield coarse
        level = coarse


class Coarsening(ABC):
    """Parameters that define how a hierarchy is made from an operator."""

    def fits(self, A: Operator) -> bool:
        """True if this operator can be coarsened."""
        return True

    @abstractmethod
    def hierarchy(self, multigrid: Multigrid, operator: Operator, reuse: Any) -> Inverse:
        """The levels of an operator; `reuse` holds the levels made for the same operator before it changed, or None."""


class Stepwise(Coarsening):
    """A coarsening that makes one level from the last."""

    def fits(self, A):
        return A.has_entries

    def hierarchy(self, multigrid, operator, reuse):
        if reuse is not None and reuse.operator.core is operator.core and self.can_refresh(operator, reuse.levels):
            reuse.operator = operator
            reuse.refresh()
            return reuse
        return MultigridInverse(multigrid, self, operator)

    @abstractmethod
    def coarsen(self, A: Operator, depth: int) -> tuple[Operator, Transfer] | None:
        """The next coarser operator and the transfer to it; None if A cannot be coarsened further.

        At depth 0, A may be `Masked`; the transfer must then be truncated to its free set.
        """

    def require(self, A: Operator) -> None:
        """Raise an error for an operator that this cannot coarsen, also for a small one."""
        return

    def refresh(self, A: Operator, depth: int, coarse: Operator, transfer: Transfer) -> tuple[Operator, Transfer]:
        """`coarsen` again after the free set or the shift changed: the same transfer, other entries.

        Optional: without it a hierarchy is rebuilt when its operator changes.
        """
        raise TypeError(f"{type(self).__name__} has no refresh")

    def directions(self, A: Operator, cycle: MultigridInverse) -> Directions:
        """The cycle as conjugate gradients use it."""
        return Directions(A, cycle)

    def can_refresh(self, operator: Operator, levels: list[OperatorLevel]) -> bool:
        """True if `levels` can be refreshed for the present operator, False if they must be built again."""
        return type(self).refresh is not Stepwise.refresh


@dataclass(frozen=True)
class Multigrid(Recipe):
    """Cycles over a hierarchy; `repeat` cycles per application (the first from a zero guess)."""

    coarsening: Coarsening
    smoother: SmootherRecipe = field(default_factory=RedBlack)
    cycle: Cycle = field(default_factory=V)
    coarsest: Recipe = field(default_factory=Bottom)
    max_levels: int = 20
    #: stop coarsening at this many unknowns
    smallest: int = 50
    repeat: int = 1
    #: precision of vectors on all levels; None: that of the operator
    dtype: type | None = None

    def setup(self, operator, reuse=None):
        return self.coarsening.hierarchy(self, operator, reuse)

    def fits(self, operator):
        return self.coarsening.fits(operator)


class MultigridInverse(Inverse):
    """The hierarchy of one operator. `levels[0]` is the finest."""

    def __init__(self, recipe: Multigrid, coarsening: Stepwise, operator: Operator):
        self.recipe, self.coarsening, self.operator = recipe, coarsening, operator
        coarsening.require(operator)
        operators = [operator if recipe.dtype is None else operator.astype(recipe.dtype)]
        transfers: list[Transfer] = []

        def step(A: Operator) -> Operator | None:
            made = coarsening.coarsen(A, len(transfers))
            if made is None:
                return None
            transfers.append(made[1])
            return made[0]

        operators += descend(operators[0], step, recipe.smallest, recipe.max_levels - 1)
        self._assemble(operators, transfers[: len(operators) - 1])  # a level that did not shrink is left out

    def refresh(self) -> None:
        """New coarse operators after the free set or the shift of the operator changed."""
        operators, transfers = [self.operator], []
        for depth, level in enumerate(self.levels[:-1]):
            coarse, transfer = self.coarsening.refresh(operators[-1], depth, self.levels[depth + 1].A, level.transfer)
            operators.append(coarse)
            transfers.append(transfer)
        self._assemble(operators, transfers, self.levels[-1].bottom)

    def _assemble(self, operators: list[Operator], transfers: list[Transfer], bottom: Inverse | None = None) -> None:
        recipe = self.recipe
        self.levels = [OperatorLevel(A, recipe.smoother.setup(A)) for A in operators[:-1]]
        self.levels.append(OperatorLevel(operators[-1]))
        for level, transfer in zip(self.levels, transfers):
            level.transfer = transfer
        self.levels[-1].bottom = recipe.coarsest.setup(operators[-1], bottom)
        free = self.operator.free
        self._clamped = None if free is None else ~free

    @property
    def notes(self):
        return {"levels": len(self.levels), "unknowns": [level.A.n for level in self.levels]}

    @property
    def linear(self):
        return self.recipe.cycle.linear

    def directions(self, A, flexible=False):
        return self.coarsening.directions(A, self)

    def run(self) -> None:
        """x of the finest level for its b, from a zero guess: symmetric if the cycle is."""
        for k in range(self.recipe.repeat):
            self.recipe.cycle.run(self.levels, 0, from_zero=k == 0)

    def apply(self, r, out):
        """One application from a zero guess."""
        top = self.levels[0]
        top.b[:] = r
        if self._clamped is not None:
            top.b[self._clamped] = 0.0
        self.run()
        out[:] = top.x
        if self._clamped is not None:
            np.divide(r, self.operator.diagonal, out=out, where=self._clamped)
        return out


class Hierarchy(Inverse):
    """One cycle from a zero guess for `F A F + (I - F) + D`, with a free set F and a shift D.

    It also offers the coarse problem of nested iteration, and lends its levels to that: `below`.
    """

    #: True if coarse problems are those of a coarser grid
    on_grid: ClassVar[bool]
    #: set by a solve that takes many iterations: levels may be made anew for its free set
    slow: bool = False

    #: D, or None
    _shift: np.ndarray | None

    @property
    def hierarchy(self):
        return self

    @abstractmethod
    def below(self, A: Any) -> Hierarchy:
        """The hierarchy of a matrix on the first coarse level, on the levels of this one.

        This hierarchy restores its own matrices when it is refreshed.
        """

    @abstractmethod
    def run(self, r: np.ndarray, top: float) -> None:
        """One cycle for a right-hand side of size `top`; z stays in the copies."""

    @abstractmethod
    def inner(self, q: np.ndarray | None = None) -> tuple[float, float]:
        """rᵀz and qᵀz of the last cycle."""

    @abstractmethod
    def leave(self, out: np.ndarray, beta: float = 0.0) -> None:
        """out = z + beta out"""

    @abstractmethod
    def _outside(self) -> np.ndarray | None:
        """A mask of the rows that are not in the free set; None if all are."""

    def _size(self, r: np.ndarray) -> float:
        return max_abs(r)

    def apply(self, r, out):
        top = self._size(r)
        if 0.0 < top < np.inf:
            self.run(r, top)
            self.leave(out)
        else:
            out[:] = 0.0
        outside = self._outside()
        if outside is not None:  # F A F + (I - F) + D is diagonal there
            out[outside] = r[outside] if self._shift is None else r[outside] / (1.0 + self._shift[outside])
        return out

    def directions(self, A, flexible=False):
        # Rows outside a free set have their own equations: `apply` solves them, a bare cycle does not.
        return CopiedDirections(A, self) if A.free is None else super().directions(A, flexible)


class CopiedDirections(Directions):
    """Directions from the cycle's copies of r and z."""

    def __init__(self, A: Operator, M: Hierarchy):
        self.A, self.cycle = A, M

    @property
    def z(self):
        out = np.empty(self.A.n)
        self.cycle.leave(out)
        return out

    def hold(self, rows, policy):
        """The cycle uses the free set and keeps z zero elsewhere."""

    def find(self, r, size):
        self.cycle.run(r, size or 1.0)
        return self.cycle.inner()[0]

    def find_along(self, r, size, q):
        self.cycle.run(r, size or 1.0)
        return self.cycle.inner(q)

    def add_to(self, p, beta):
        self.cycle.leave(p, beta)
