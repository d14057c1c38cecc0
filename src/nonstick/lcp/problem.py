"""The box problem `min 1/2 x'Ax - b'x, lower <= x <= upper` and its optimality residual.

With `lower = 0, upper = inf` this is the complementarity problem `0 <= x ⟂ A x - b >= 0` of separating
walls; unconstrained rows have bounds ±inf. The gradient is `g = A x - b`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import NonstickError
from ..operators.base import Operator


@dataclass(frozen=True)
class Box:
    """Bounds, and everything a method may want to do with them."""

    lower: np.ndarray
    upper: np.ndarray

    @property
    def constrained(self) -> np.ndarray:
        """Rows with at least one finite bound."""
        return np.isfinite(self.lower) | np.isfinite(self.upper)

    @property
    def one_sided(self) -> bool:
        """True if no row has a finite upper bound."""
        return not np.isfinite(self.upper).any()

    def project(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.clip(x, self.lower, self.upper, out=out)

    def split(self, x: np.ndarray, g: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The policy of (x, g): int8 array, -1 clamped at lower, +1 clamped at upper, 0 free.

        A row is clamped where the step -g/d leads strictly out of the box. Equality is free: with
        ties clamped the active set peels one layer of cells per outer iteration.
        """
        with np.errstate(invalid="ignore"):
            low = d * (x - self.lower) < g
            high = d * (x - self.upper) > g
        return high.astype(np.int8) - low.astype(np.int8)

    def at(self, active: np.ndarray) -> np.ndarray:
        """The bound each clamped row sits on, 0 on free rows."""
        return np.where(active < 0, self.lower, np.where(active > 0, self.upper, 0.0))

    def max_step(self, x: np.ndarray, p: np.ndarray) -> float:
        """The largest alpha >= 0 for which x - alpha p stays in the box."""
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(p > 0, (x - self.lower) / p, np.where(p < 0, (x - self.upper) / p, np.inf))
        return float(step.min(initial=np.inf))


class BoxProblem:
    """Data of a bound-constrained quadratic problem. Problems know their residual, never how to solve.

    `coarser` is a function that rediscretises the same problem on a grid twice as coarse; problems
    made from geometry have one, bare matrices have not.
    """

    def __init__(
        self,
        A: Operator,
        b: np.ndarray,
        lower: np.ndarray | float = 0.0,
        upper: np.ndarray | float = np.inf,
        coarser: Callable[[], BoxProblem] | None = None,
    ):
        self.A = A
        self.b = np.ascontiguousarray(b, dtype=np.float64)
        self.box = Box(_spread(lower, A.n), _spread(upper, A.n))
        self.scale = float(np.abs(self.b).max(initial=0.0)) or 1.0
        self._coarser = coarser
        self._work = np.empty(A.n)

    @property
    def n(self) -> int:
        return self.A.n

    def gradient(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """g = A x - b"""
        out = np.empty(self.n) if out is None else out
        self.A.apply(x, out)
        out -= self.b
        return out

    def natural_residual(self, x: np.ndarray, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """d·(x - clip(x - g/d, lower, upper)), in the units of b; for x >= 0 this is min(d·x, g)."""
        # Written as clip(g, d(x - upper), d(x - lower)): the same number, and d = 0 needs no special case.
        out = np.empty(self.n) if out is None else out
        d = self.A.diagonal
        with np.errstate(invalid="ignore"):
            np.minimum(g, np.where(np.isfinite(self.box.lower), d * (x - self.box.lower), np.inf), out=out)
            np.maximum(out, np.where(np.isfinite(self.box.upper), d * (x - self.box.upper), -np.inf), out=out)
        return out

    def kkt(self, x: np.ndarray, g: np.ndarray | None = None) -> float:
        """max|natural residual| / max|b|: the number `rtol` is compared with, for every method."""
        g = self.gradient(x, self._work) if g is None else g
        return float(np.abs(self.natural_residual(x, g)).max(initial=0.0)) / self.scale

    def objective(self, x: np.ndarray) -> float:
        return float(0.5 * (x @ (self.A @ x)) - self.b @ x)

    def coarsen(self) -> BoxProblem:
        """The same problem, discretised on a grid twice as coarse."""
        if self._coarser is None:
            raise NonstickError(
                "this method discretises the problem anew on coarser grids, which a bare matrix cannot do: "
                "pass a nonstick.PressureProblem, or choose another method"
            )
        return self._coarser()


def _spread(bound: np.ndarray | float, n: int) -> np.ndarray:
    return np.ascontiguousarray(np.broadcast_to(np.asarray(bound, dtype=np.float64), (n,)))
