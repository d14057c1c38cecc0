"""A linear multigrid hierarchy as an inverse: `Multigrid(coarsening, smoother, cycle).setup(A)`.

The operator may be `Masked` (free set F, diagonal shift D). Clamped rows are decoupled, so the cycle
solves the free rows with x = 0 elsewhere and divides the clamped ones by their diagonal. When F or D
changed, `setup(operator, reuse)` keeps the transfers and asks the coarsening for new coarse operators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...operators.base import Operator
from ...operators.transfer import Transfer
from ..base import Inverse, Recipe
from ._dense import _factor, _substitute
from .cycles import Cycle, V
from .level import OperatorLevel
from .smoothers import RedBlack, Smoother, SmootherRecipe


class Coarsening(ABC):
    """How a hierarchy is made of an operator: parameters only."""

    def fits(self, A: Operator) -> bool:
        """Can this operator be coarsened?"""
        return True

    @abstractmethod
    def hierarchy(self, multigrid: Multigrid, operator: Operator, reuse: Any) -> Inverse:
        """The levels of an operator; `reuse` are those this made for the same operator before it changed, or None."""


class Stepwise(Coarsening):
    """A coarsening that leads from one level to the next."""

    def hierarchy(self, multigrid, operator, reuse):
        if reuse is not None and reuse.operator is operator and self.can_refresh(operator, reuse.levels):
            reuse.refresh()
            return reuse
        return MultigridInverse(multigrid, self, operator)

    @abstractmethod
    def coarsen(self, A: Operator, depth: int) -> tuple[Operator, Transfer] | None:
        """The next coarser operator and the way there; None where A cannot be coarsened further.

        At depth 0, A may be `Masked`; the transfer must then be truncated to its free set.
        """

    def require(self, A: Operator) -> None:
        """Refuse, in a sentence, an operator this cannot coarsen, however small it is."""
        return

    def refresh(self, A: Operator, depth: int, coarse: Operator, transfer: Transfer) -> tuple[Operator, Transfer]:
        """`coarsen` again after the free set or the shift changed: the same transfer, other entries.

        Optional: without it a hierarchy is rebuilt when its operator changes.
        """
        raise TypeError(f"{type(self).__name__} has no refresh")

    def can_refresh(self, operator: Operator, levels: list[OperatorLevel]) -> bool:
        """May `levels` be refreshed for the operator as it is now, or must they be built anew?"""
        return type(self).refresh is not Stepwise.refresh


@dataclass(frozen=True)
class Bottom(Recipe):
    """The coarsest level: a Cholesky factor up to `dense` unknowns, symmetric sweeps beyond.

    A singular matrix gets its pseudo-inverse, which leaves null vectors (pockets without a free
    surface, empty rows) at zero.
    """

    smoother: SmootherRecipe = field(default_factory=RedBlack)
    dense: int = 600
    sweeps: int = 30
    cutoff: float = 1e-11

    def setup(self, operator, reuse=None):
        if operator.n > self.dense:
            return _Sweeps(self.smoother.setup(operator), self.sweeps)
        M = operator.matrix().toarray().astype(np.float64)
        L = M.copy()
        if _factor(L, self.cutoff):
            return _PseudoInverse(M, self.cutoff)
        return _Cholesky(L)


class _Cholesky(Inverse):
    def __init__(self, L: np.ndarray):
        self.L = L

    def apply(self, r, out):
        _substitute(out, self.L, r)
        return out


class _PseudoInverse(Inverse):
    def __init__(self, M: np.ndarray, cutoff: float):
        live = np.abs(M).sum(axis=1) > 0
        self.inverse = np.zeros_like(M)
        if live.any():
            part = np.ix_(live, live)
            # Jacobi scaling first: a penalty row must not hide the others below the cutoff.
            s = 1 / np.sqrt(np.maximum(np.diag(M)[live], np.finfo(float).tiny))
            value, vector = np.linalg.eigh(s[:, None] * M[part] * s)
            keep = value > cutoff * max(value.max(), 1e-300)
            half = s[:, None] * (vector[:, keep] / np.sqrt(value[keep]))
            self.inverse[part] = half @ half.T

    def apply(self, r, out):
        out[:] = self.inverse @ r
        return out


class _Sweeps(Inverse):
    def __init__(self, smoother: Smoother, sweeps: int):
        self.smoother, self.sweeps = smoother, sweeps

    def apply(self, r, out):
        self.smoother.pre_from_zero(out, r)
        for _ in range(self.sweeps - 1):
            self.smoother.pre(out, r)
        for _ in range(self.sweeps):
            self.smoother.post(out, r)
        return out


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
        operators, transfers = [operator if recipe.dtype is None else operator.astype(recipe.dtype)], []
        while len(operators) < recipe.max_levels and operators[-1].n > recipe.smallest:
            step = coarsening.coarsen(operators[-1], len(operators) - 1)
            if step is None or step[0].n >= operators[-1].n:
                break
            operators.append(step[0])
            transfers.append(step[1])
        self._assemble(operators, transfers)

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
        self.levels = [recipe.smoother.setup(A).level(A) for A in operators[:-1]]
        self.levels.append(recipe.smoother.coarsest(operators[-1]))
        for level, transfer in zip(self.levels, transfers):
            level.transfer = transfer
        self.levels[-1].bottom = recipe.coarsest.setup(operators[-1], bottom)
        free = self.operator.free
        self._clamped = None if free is None else ~free

    @property
    def notes(self):
        return {"levels": len(self.levels), "unknowns": [level.A.n for level in self.levels]}

    def directions(self, A, flexible=False):
        return self.levels[0].directions(A, self)

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


@dataclass(frozen=True)
class Sweeps(Recipe):
    """Sweeps of a smoother, from zero, in the place of a solve: a bottom too large for a factor.

    Parameters
    ----------
    smoother : SmootherRecipe
        One whose sweeps are symmetric by themselves: `Chebyshev(...)`, `BandJacobi(...)`.
    sweeps : int
        How many.

    Examples
    --------
    >>> from nonstick.inverse import BandJacobi, Sweeps
    >>> Sweeps(BandJacobi(steps=0), 200).sweeps
    200
    """

    smoother: SmootherRecipe
    sweeps: int = 1

    def setup(self, operator, reuse=None):
        return _LevelSweeps(self.smoother.setup(operator).level(operator), self.sweeps)


class _LevelSweeps(Inverse):
    def __init__(self, level: OperatorLevel, sweeps: int):
        self.level, self.sweeps = level, sweeps
        level.x = level.b = level.x[:0]  # those of the caller are used

    def apply(self, r, out):
        level = self.level
        level.x, level.b = out, r
        level.smooth(self.sweeps, from_zero=True)
        if level.x is not out:  # a smoother may swap the vectors of its level
            level.r, level.x = level.x, out
            out[:] = level.r
        return out
