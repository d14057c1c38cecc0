"""Two verbs: a recipe's `setup(operator)` makes an `Inverse`; the inverse's `apply(r, out)` approximates A⁻¹ r.

Preconditioners, Krylov methods and multigrid cycles are all inverses, so they nest: `CG(MIC())`,
`CG(Multigrid(...))`, `Richardson(Multigrid(...))`. Recipes are frozen dataclasses that hold parameters
only; state is born in `setup`. `repr(recipe)` is the label in tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..kernels._active_set import _zero_clamped
from ..operators.base import Operator

if TYPE_CHECKING:
    from .multigrid.blocks import BlockHierarchy


class Inverse(ABC):
    """An approximation of A⁻¹; vectors are of the layout of the operator it was set up for."""

    @abstractmethod
    def apply(self, r: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out ≈ A⁻¹ r; r is left alone."""

    def fits(self, operator: Operator) -> bool:
        """Can this be refreshed for the operator as it is now, whatever changed?"""
        return False

    def directions(self, A: Operator, flexible: bool = False) -> Directions:
        """The view conjugate gradients take of their preconditioner; flexible ones ask for qᵀz too (`find_along`)."""
        return Directions(A, self)

    @property
    def blocks(self) -> BlockHierarchy | None:
        """The hierarchy of blocks this is or rests on: nested iteration takes its coarse grids from there."""
        return None


class Directions:
    """z ≈ A⁻¹ r in the three pieces a conjugate gradient method takes it: find z, multiply by it, add it.

    This is the plain form. A cycle that keeps copies of r and z of its own, in another precision or order, has a
    subclass that spares the passes over memory in between.
    """

    def __init__(self, A: Operator, M: Inverse):
        self.A, self.M, self.z = A, M, A.zeros()
        self._held: tuple[np.ndarray, np.ndarray] | None = None

    def hold(self, rows: np.ndarray, policy: np.ndarray) -> None:
        """z stays zero on those of `rows` whose policy is not 0, whatever the preconditioner makes of them."""
        self._held = rows, policy

    def find(self, r: np.ndarray, size: float) -> float:
        """z ≈ A⁻¹ r; returns rᵀz. `size` is max|r| or near it."""
        self.M.apply(r, self.z)
        if self._held is not None:
            _zero_clamped(self.z, *self._held)
        return self.A.dot(r, self.z)

    def find_along(self, r: np.ndarray, size: float, q: np.ndarray) -> tuple[float, float]:
        """z ≈ A⁻¹ r; returns rᵀz and qᵀz."""
        return self.find(r, size), self.A.dot(self.z, q)

    def add_to(self, p: np.ndarray, beta: float) -> None:
        """p = z + beta p"""
        self.A.combine(p, self.z, beta)


class Recipe(ABC):
    """Parameters of an inverse."""

    @abstractmethod
    def setup(self, operator: Operator, reuse: Inverse | None = None) -> Inverse:
        """Build the inverse. `reuse` is an inverse this recipe made for the same operator before its
        free set or shift changed (`Masked.update`): refresh it if that is cheaper than building it again."""

    def fits(self, operator: Operator) -> bool:
        """Can this recipe be set up for the operator?"""
        return True

    def chosen(self, operator: Operator) -> Recipe:
        """The recipe that `setup` uses for this operator: another one where recipes choose."""
        return self


@dataclass(frozen=True)
class FirstThatFits(Recipe):
    """`first` where it can be set up, and `otherwise` where it cannot.

    Examples
    --------
    Blocks of cells on grids, smoothed aggregation for bare matrices:

    >>> from nonstick.compositions import SAAMG
    >>> from nonstick.inverse import Blocks, FirstThatFits, Multigrid
    >>> from nonstick.operators.csr import CSROperator
    >>> cycle = FirstThatFits(Multigrid(Blocks()), SAAMG)
    >>> cycle.chosen(CSROperator([[2.0, -1.0], [-1.0, 2.0]])) == SAAMG
    True
    """

    first: Recipe
    otherwise: Recipe

    def setup(self, operator, reuse=None):
        return self.chosen(operator).setup(operator, reuse)

    def fits(self, operator):
        return self.first.fits(operator) or self.otherwise.fits(operator)

    def chosen(self, operator):
        return (self.first if self.first.fits(operator) else self.otherwise).chosen(operator)


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
