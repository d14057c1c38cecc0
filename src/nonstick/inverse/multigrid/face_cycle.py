"""A symmetric V-cycle over face velocities, one level at a time.

`FaceCycle` owns the levels, their vectors and the transfers; a smoother (`Smoother`) improves `level.x` for the
right-hand side `level.b`, before the coarse correction from zero and after it as the adjoint of the first; the
bottom is solved by `Bottom`. Recipes are frozen dataclasses, as everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...discretise.viscosity import ViscousBox
from ...operators.faces import FaceSystem
from .faces import FaceTransfer


class FaceLevel:
    """One grid: its system and three vectors; `x` and `spare` change places as smoothers please."""

    def __init__(self, system: FaceSystem, dtype):
        self.system = system
        self.x, self.spare, self.b = (system.zeros(dtype) for _ in range(3))

    def residual(self) -> np.ndarray:
        """spare = b - A x"""
        return self.system.residual(self.b, self.x, self.spare)


class Smoother(ABC):
    """`before` starts from zero and overwrites `level.x`; `after` improves it, adjoint to `before`."""

    @abstractmethod
    def before(self, level: FaceLevel) -> None: ...

    @abstractmethod
    def after(self, level: FaceLevel) -> None: ...


class Bottom(ABC):
    @abstractmethod
    def solve(self, level: FaceLevel) -> None:
        """level.x ≈ A⁻¹ level.b, symmetric."""


@dataclass
class FaceCycle:
    """Levels from fine to coarse, a smoother for each but the last, and the bottom's solver."""

    levels: list[FaceLevel]
    transfers: list[FaceTransfer]
    smoothers: list[Smoother]
    bottom: Bottom

    def apply(self) -> np.ndarray:
        """The correction for the right-hand side in `levels[0].b`; the array belongs to the cycle."""
        self._visit(0)
        return self.levels[0].x

    def _visit(self, depth: int) -> None:
        level = self.levels[depth]
        if depth == len(self.levels) - 1:
            self.bottom.solve(level)
            return
        smoother, transfer, below = self.smoothers[depth], self.transfers[depth], self.levels[depth + 1]
        smoother.before(level)
        transfer.restrict(level.residual(), below.b)
        self._visit(depth + 1)
        transfer.prolong(below.x, level.x)
        smoother.after(level)


class FaceMultigrid(ABC):
    """Parameters of a cycle."""

    @abstractmethod
    def setup(self, problem: ViscousBox) -> FaceCycle: ...
