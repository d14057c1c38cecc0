"""Preconditioners for saddle points `[A −Bᵀ; B 0]` (`operators.saddle`), from one cycle for A and one for B M⁻¹ Bᵀ.

`BlockTriangular` takes the pressure of Cahouet and Chabard (1988), then the velocity that follows from it:

    p = L̃⁻¹ g + S g;   u = Ã⁻¹ (f + Bᵀ p)          L = B M⁻¹ Bᵀ

So the momentum is in balance up to what the cycle for A leaves. A step of a projection method, whose velocity is
corrected by M⁻¹Bᵀφ at the end, is out of balance where viscosity jumps and at walls (two halves with a jump of 1e4: 33
iterations in 3D, this 26; a tank 18 and 18).

S is the part of (B A⁻¹ Bᵀ)⁻¹ that viscosity adds: 2ν in liquid, times the fraction of a cell. With d₁ = Σ B²/diag(A)
and d₀ = Σ B²/M of a constraint,

    S = κ/d₁ (1 − d₁/d₀),    κ = 4/3 in 2D, 3/2 in 3D,

is that number inside the liquid, and right at cut walls too (a disc cut out of the grid, νdt/dx² = 1e5: 30 iterations,
with 2ν 99). Where constraints are clamped by a mask, the cycle is that of the free ones: a cycle of all, masked
afterwards, takes four times as many iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...operators.base import Operator
from ...operators.masked import Masked
from ...operators.saddle import Saddle
from ..base import Inverse, Recipe

#: κ for two and three dimensions
KAPPA = {2: 4.0 / 3.0, 3: 1.5}


@dataclass(frozen=True)
class BlockTriangular(Recipe):
    """Pressure first, then velocity, for GMRES.

    Parameters
    ----------
    velocity : Recipe
        A cycle for A.
    pressure : Recipe
        A cycle for B M⁻¹ Bᵀ.
    """

    velocity: Recipe
    pressure: Recipe
    general: ClassVar[bool] = True

    def fits(self, operator):
        return isinstance(operator.core, Saddle)

    def setup(self, operator, reuse=None):
        return (reuse or self._blocks(operator)).refresh(operator)

    def _blocks(self, operator: Operator) -> SaddleBlocks:
        return _Triangular(self, operator.core)


@dataclass(frozen=True)
class BlockDiagonal(BlockTriangular):
    """`Ã⁻¹ f` and `L̃⁻¹ g + S g`, each alone: symmetric and positive, for MINRES."""

    def _blocks(self, operator):
        return _BlockDiagonal(self, operator.core)


class SaddleBlocks(Inverse):
    """The two cycles; the one of the constraints is refreshed when the mask changes."""

    def __init__(self, recipe: BlockTriangular, K: Operator):
        assert isinstance(K, Saddle)
        self.recipe, self.K = recipe, K
        self._native = K.A.native
        self._velocity = recipe.velocity.setup(self._native)
        self._schur = Masked(K.schur)
        self._pressure: Inverse | None = None
        self._clamped: np.ndarray | None = None
        d1, d0 = K.schur_diagonals
        self._S = np.zeros(K.m)
        np.divide(KAPPA[K.dimension] * np.maximum(1.0 - d1 / d0, 0.0), d1, out=self._S, where=d1 > 0.0)
        self._r, self._z = self._native.zeros(), self._native.zeros()
        self._phi = np.empty(K.m)

    def refresh(self, operator: Operator) -> SaddleBlocks:
        free = None if operator.free is None else self.K.parts(operator.free)[1]
        self._clamped = None if free is None or free.all() else ~free
        self._pressure = self.recipe.pressure.setup(self._schur.update(free), self._pressure)
        return self

    @property
    def notes(self):
        return self._velocity.notes

    def velocity(self, f: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = Ã⁻¹ f"""
        self._native.enter(f, self._r)
        self._velocity.apply(self._r, self._z)
        return self._native.leave(self._z, out)

    def pressure(self, r: np.ndarray) -> np.ndarray:
        """φ = L̃⁻¹ r, zero where constraints are clamped."""
        assert self._pressure is not None
        if self._clamped is not None:
            r[self._clamped] = 0.0
        self._pressure.apply(r, self._phi)
        if self._clamped is not None:
            self._phi[self._clamped] = 0.0
        return self._phi


class _Triangular(SaddleBlocks):
    def apply(self, r, out):
        (f, g), (u, p) = self.K.parts(r), self.K.parts(out)
        phi = self.pressure(g.copy())
        np.multiply(self._S, g, out=p)
        p += phi
        if self._clamped is not None:
            p[self._clamped] = 0.0
        self.velocity(f + self.K.Bt @ p, u)
        if self._clamped is not None:
            p[self._clamped] = g[self._clamped]
        return out


class _BlockDiagonal(SaddleBlocks):
    def apply(self, r, out):
        (f, g), (u, p) = self.K.parts(r), self.K.parts(out)
        self.velocity(f, u)
        rest = g.copy()
        np.add(self.pressure(rest), self._S * rest, out=p)
        if self._clamped is not None:
            p[self._clamped] = g[self._clamped]
        return out
