"""The minimum map of a box problem: its value, its sets and its derivative (Andersen, Niebe & Erleben 2017, §3).

    H = clip(g, d(x - upper), d(x - lower)),    g = A x - b

for arrays of any library that follows the array API. `newton` finds its root.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from array_api_compat import array_namespace

Array = Any  #: an array of any library that follows the array API


class MinimumMap:
    """H, its sets and its B-derivative for one problem."""

    def __init__(
        self,
        matvec: Callable[[Array], Array],
        b: Array,
        lower: Array,
        upper: Array,
        diagonal: Array,
        clamp_ties: bool = False,
    ):
        self.clamp_ties = clamp_ties
        self.xp = array_namespace(b)
        self.matvec, self.b, self.lower, self.upper, self.d = matvec, b, lower, upper, diagonal
        self._has_lower, self._has_upper = self.xp.isfinite(lower), self.xp.isfinite(upper)
        # Infinite bounds are never subtracted: 0 · ∞ would not be a number.
        self._low = self.xp.where(self._has_lower, lower, 0.0 * b)
        self._high = self.xp.where(self._has_upper, upper, 0.0 * b)

    def gradient(self, x: Array) -> Array:
        return self.matvec(x) - self.b

    def gaps(self, x: Array) -> tuple[Array, Array]:
        """d(x - lower) and d(x - upper), ±∞ where there is no bound."""
        down = self.xp.where(self._has_lower, self.d * (x - self._low), inf)
        up = self.xp.where(self._has_upper, self.d * (x - self._high), -inf)
        return down, up

    def value(self, x: Array, g: Array) -> Array:
        """H(x), eq. 12"""
        down, up = self.gaps(x)
        return self.xp.maximum(self.xp.minimum(g, down), up)

    def merit(self, x: Array) -> tuple[float, Array, Array]:
        """θ(x) of eq. 15, with g and H"""
        g = self.gradient(x)
        H = self.value(x, g)
        return 0.5 * self.dot(H, H), g, H

    def split(self, x: Array, g: Array) -> tuple[Array, Array]:
        """Rows where the equation is enforced, and the step of all others to their bound (eq. 26, 47)."""
        down, up = self.gaps(x)
        low, high = (down <= g, up >= g) if self.clamp_ties else (down < g, up > g)
        zero = 0.0 * x
        toward = self.xp.where(low, self._low - x, self.xp.where(high, self._high - x, zero))
        return ~(low | high), toward

    def guessed(self, a: Array, x: Array) -> tuple[Array, Array]:
        """The same for given rows `a`: the others go to the bound that is nearer."""
        low = self._has_lower & (~self._has_upper | (x - self._low <= self._high - x))
        high = ~low & self._has_upper
        zero = 0.0 * x
        toward = self.xp.where(low, self._low - x, self.xp.where(high, self._high - x, zero))
        a = a | ~(low | high)
        return a, self.xp.where(a, zero, toward)

    def derivative(self, a: Array, dx: Array, A_dx: Array) -> Array:
        """BH(x, Δx), eq. 27"""
        return self.xp.where(a, A_dx, self.d * dx)

    def project(self, x: Array) -> Array:
        return self.xp.minimum(self.xp.maximum(x, self.lower), self.upper)

    def dot(self, x: Array, y: Array) -> float:
        return float(self.xp.sum(x * y))

    def max_abs(self, x: Array) -> float:
        return float(self.xp.max(self.xp.abs(x)))
