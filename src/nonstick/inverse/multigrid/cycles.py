"""Multigrid cycles for linear problems: V, W, F, full and resmoothed; the one recursion of this package.

A cycle improves x for `A x = b` on a list of levels, the finest first, and uses only the verbs of `Level`. V, W
and resmoothed cycles are symmetric if smoothing after the correction is the adjoint of smoothing before it; F and full
are not, so use them in `Richardson`, not in CG.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from .level import Level

Levels = Sequence[Level]


@dataclass(frozen=True)
class Cycle(ABC):
    """`pre` and `post` smoothing sweeps on every level."""

    pre: int = 1
    post: int = 1

    @property
    @abstractmethod
    def below(self) -> Sequence[Cycle]:
        """The cycles of one visit to a coarser level."""

    @property
    def corrections(self) -> int:
        """Visits to the next level in one cycle, with resmoothing in between."""
        return 1

    def stronger(self) -> Cycle:
        """The same cycle with one more visit to coarser levels, if their number can be chosen."""
        return self

    #: False if the cycle is not a fixed linear map: conjugate gradients must then be flexible
    linear: ClassVar[bool] = True

    def visit(self, levels: Levels, k: int) -> None:
        """x ≈ A⁻¹ b on level k, from zero: the visit that a finer level makes."""
        if k == len(levels) - 1:  # a second exact solve of the coarsest system would change nothing
            levels[k].solve()
            return
        for visit, cycle in enumerate(self.below):
            cycle.run(levels, k, from_zero=visit == 0)

    def run(self, levels: Levels, k: int = 0, from_zero: bool = False) -> None:
        """One cycle from level k down and back; `from_zero` starts from x = 0 and ignores the present x.

        The textbook: smooth, restrict the residual, visit the next level, correct, smooth back.
        """
        if k == len(levels) - 1:
            levels[k].solve()
            return
        level, coarse = levels[k], levels[k + 1]
        for correction in range(self.corrections):
            if correction == 0:
                level.smooth(self.pre, from_zero)
            else:
                level.resmooth(self.pre)
            level.restrict_residual(coarse, from_zero and correction == 0)
            self.visit(levels, k + 1)
            level.correct(coarse)
        level.smooth_back(self.post)


@dataclass(frozen=True)
class V(Cycle):
    """One visit to each coarser level."""

    @property
    def below(self):
        return (self,)

    def stronger(self):
        return W(self.pre, self.post, deep=2)


@dataclass(frozen=True)
class W(Cycle):
    """`visits` cycles on each coarser level; the finest level is visited once, levels below level `deep` as by V."""

    visits: int = 2
    deep: int = 100

    @property
    def below(self):
        return (self,) * self.visits

    def visit(self, levels, k):
        if k > self.deep:
            V(self.pre, self.post).visit(levels, k)
        else:
            super().visit(levels, k)

    def stronger(self):
        return replace(self, visits=self.visits + 1)


@dataclass(frozen=True)
class K(Cycle):
    """Two cycles per visit, combined as conjugate gradients would (Notay and Vassilevski 2008).

    The combination depends on the right-hand side, so the cycle is not linear: use it in flexible methods. Levels below
    level `deep` get one plain cycle per visit.
    """

    deep: int = 4
    linear: ClassVar[bool] = False

    @property
    def below(self):
        return (self,)

    def visit(self, levels, k):
        if k == len(levels) - 1 or k > self.deep:
            super().visit(levels, k)
            return
        self.run(levels, k, from_zero=True)
        levels[k].keep()
        self.run(levels, k, from_zero=True)
        levels[k].combine()


@dataclass(frozen=True)
class F(Cycle):
    """An F visit, then a V visit."""

    @property
    def below(self):
        return self, V(self.pre, self.post)


@dataclass(frozen=True)
class Resmoothed(Cycle):
    """Takahashi–Batty, algorithm 1: `visits` coarse corrections per level, resmoothed in between.

    2 is the paper's W-cycle, 1 its V-cycle; every visit to a coarser level starts from zero.
    """

    visits: int = 2

    @property
    def below(self):
        return (self,)

    @property
    def corrections(self):
        return self.visits


@dataclass(frozen=True)
class Full(Cycle):
    """Nested iteration on the residual equation: solve the coarsest level, then one V-cycle on each finer one."""

    @property
    def below(self):
        return (self,)

    def run(self, levels, k=0, from_zero=False):
        if k == len(levels) - 1:
            levels[k].solve()
            return
        level, coarse = levels[k], levels[k + 1]
        if from_zero:
            level.smooth(0, True)
        level.restrict_residual(coarse, False)
        self.run(levels, k + 1, from_zero=True)
        level.correct(coarse)
        V(self.pre, self.post).run(levels, k)
