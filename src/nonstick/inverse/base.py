"""Two verbs: a recipe's `setup(operator)` makes an `Inverse`; the inverse's `apply(r, out)` approximates A⁻¹ r.

Preconditioners, Krylov methods and multigrid cycles are all inverses, so they nest: `CG(MIC())`,
`CG(Multigrid(...))`, `Richardson(Multigrid(...))`. Recipes are frozen dataclasses that hold parameters
only; state is born in `setup`. `repr(recipe)` is the label in tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ..operators.base import Operator


class Inverse(ABC):
    """An approximation of A⁻¹."""

    @abstractmethod
    def apply(self, r: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out ≈ A⁻¹ r; r is left alone."""


class Recipe(ABC):
    """Parameters of an inverse."""

    @abstractmethod
    def setup(self, operator: Operator, reuse: Inverse | None = None) -> Inverse:
        """Build the inverse. `reuse` is an inverse this recipe made for the same operator before its
        free set or shift changed (`Masked.update`): refresh it if that is cheaper than building anew."""


@dataclass
class LinearResult:
    """How a linear solve went."""

    iterations: int
    residual: float
    converged: bool
    history: list[float] = field(default_factory=list, repr=False)


class IterativeInverse(Inverse):
    """An inverse that iterates to a tolerance; `solve` starts from the given x, `apply` from zero."""

    rtol: float
    maxiter: int

    @abstractmethod
    def solve(
        self,
        b: np.ndarray,
        x: np.ndarray,
        *,
        rtol: float | None = None,
        atol: float = 0.0,
        maxiter: int | None = None,
    ) -> LinearResult:
        """Improve x in place until max|b - A x| <= max(rtol max|b|, atol)."""

    def apply(self, r, out):
        out[:] = 0.0
        self.solve(r, out)
        return out


class Identity(Inverse):
    """No preconditioner."""

    def apply(self, r, out):
        out[:] = r
        return out


@dataclass(frozen=True)
class NoPreconditioner(Recipe):
    def setup(self, operator, reuse=None):
        return Identity()


def max_abs(r: np.ndarray) -> float:
    """The max norm, without a temporary; NaN if there is one."""
    return float(max(r.max(initial=0.0), -r.min(initial=0.0)))
