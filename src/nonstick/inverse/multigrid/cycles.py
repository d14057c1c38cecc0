"""Multigrid cycles for linear problems: V, W, F and full.

Every cycle improves `levels[k].x` for `A x = b`. V and W are symmetric when pre = post; F and full are
not, so they belong in `Richardson`, not in CG.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .hierarchy import Level


@dataclass(frozen=True)
class Cycle(ABC):
    """`pre` and `post` smoothing sweeps on every level."""

    pre: int = 1
    post: int = 1

    @abstractmethod
    def run(self, levels: list[Level], k: int = 0, from_zero: bool = False) -> None:
        """One cycle from level k down and back; `from_zero` starts from x = 0 whatever x holds."""

    def descend(self, levels: list[Level], k: int, from_zero: bool, *below: Cycle) -> None:
        """The textbook: smooth, restrict the residual, cycle below, correct, smooth."""
        level = levels[k]
        if k == len(levels) - 1:
            level.solve(from_zero)
            return
        coarse = levels[k + 1]
        level.presmooth(self.pre, from_zero)
        level.A.residual(level.b, level.x, level.r)
        level.transfer.restrict(level.r, coarse.b)
        for visit, cycle in enumerate(below):
            cycle.run(levels, k + 1, from_zero=visit == 0)
        level.transfer.prolong_add(coarse.x, level.x)
        level.postsmooth(self.post)


@dataclass(frozen=True)
class V(Cycle):
    """One visit to each coarser level."""

    def run(self, levels, k=0, from_zero=False):
        self.descend(levels, k, from_zero, self)


@dataclass(frozen=True)
class W(Cycle):
    """Two visits to each coarser level; the finest is visited once."""

    def run(self, levels, k=0, from_zero=False):
        # Two exact solves of the coarsest system are one.
        self.descend(levels, k, from_zero, *((self, self) if k + 2 < len(levels) else (self,)))


@dataclass(frozen=True)
class F(Cycle):
    """An F visit, then a V visit."""

    def run(self, levels, k=0, from_zero=False):
        self.descend(levels, k, from_zero, self, V(self.pre, self.post))


@dataclass(frozen=True)
class Full(Cycle):
    """Nested iteration: solve on the coarsest level, interpolate, and one V-cycle on each finer one."""

    def run(self, levels, k=0, from_zero=False):
        level = levels[k]
        if k == len(levels) - 1:
            level.solve(from_zero)
            return
        coarse, step = levels[k + 1], V(self.pre, self.post)
        if from_zero:
            level.transfer.restrict(level.b, coarse.b)
            self.run(levels, k + 1, from_zero=True)
            level.transfer.prolong(coarse.x, level.x)
            step.run(levels, k)
        else:  # the same on the residual equation
            level.A.residual(level.b, level.x, level.r)
            level.transfer.restrict(level.r, coarse.b)
            self.run(levels, k + 1, from_zero=True)
            level.transfer.prolong_add(coarse.x, level.x)
            step.run(levels, k)
