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
    """An approximation of A⁻¹; vectors are of the layout of the operator it was set up for."""

    @abstractmethod
    def apply(self, r: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out ≈ A⁻¹ r; r is left alone."""

    def directions(self, A: Operator) -> Directions:
        """The view conjugate gradients take of their preconditioner."""
        return Directions(A, self)


class Directions:
    """z ≈ A⁻¹ r in the three pieces a conjugate gradient method takes it: find z, multiply by it, add it.

    This is the plain form. A cycle that keeps copies of r and z of its own, in another precision or order, has a
    subclass that spares the passes over memory in between.
    """

    def __init__(self, A: Operator, M: Inverse):
        self.A, self.M, self.z = A, M, A.zeros()

    def find(self, r: np.ndarray, size: float) -> float:
        """z ≈ A⁻¹ r; returns rᵀz. `size` is max|r| or near it."""
        self.M.apply(r, self.z)
        return self.A.dot(r, self.z)

    def along(self, q: np.ndarray) -> float:
        """qᵀz"""
        return self.A.dot(q, self.z)

    def add_to(self, p: np.ndarray, beta: float) -> None:
        """p = z + beta p"""
        self.A.combine(p, self.z, beta)


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
