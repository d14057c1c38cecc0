"""Two verbs: a recipe's `setup(operator)` makes an `Inverse`; the inverse's `apply(r, out)` approximates A⁻¹ r.

Preconditioners, Krylov methods and multigrid cycles are all inverses, so they nest: `CG(MIC())`,
`CG(Multigrid(...))`, `Richardson(Multigrid(...))`. Recipes are frozen dataclasses that hold parameters only; `setup`
makes the state. `repr(recipe)` is the label in tables.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..kernels._active_set import _zero_clamped
from ..operators.base import Operator

if TYPE_CHECKING:
    from .cascade import Within
    from .multigrid.hierarchy import Hierarchy


class Inverse(ABC):
    """An approximation of A⁻¹; vectors have the layout of the operator it was set up for."""

    #: data for tables: levels and their unknowns
    notes: Mapping[str, object] = MappingProxyType({})
    #: the step of the cascade that made it, the words for it, and when it is to be left
    step: int = 0
    label: str = ""
    patience: Within | None = None

    @property
    def linear(self) -> bool:
        """True if `apply` is a fixed linear map; conjugate gradients must be flexible for any other."""
        return True

    @abstractmethod
    def apply(self, r: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out ≈ A⁻¹ r; r is not changed."""

    def fits(self, operator: Operator) -> bool:
        """True if this can be refreshed for the present operator after any change."""
        return False

    def directions(self, A: Operator, flexible: bool = False) -> Directions:
        """The preconditioner as conjugate gradients use it; flexible methods also need qᵀz (`find_along`)."""
        return Directions(A, self)

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy that this is or contains, if nested iteration can take coarse problems from it."""
        return None


class Directions:
    """z ≈ A⁻¹ r in the pieces that a conjugate gradient method needs: find z, multiply by it, add it, step along p.

    This is the plain form. A cycle that has its own copies of r and z, in another precision or order, has a subclass
    that saves the passes over memory between them. Its z may be A⁻¹ r times a number, `scale`, which is constant from
    one `begin` to the next: this does not change conjugate gradients.
    """

    scale: float = 1.0
    _held: tuple[np.ndarray, np.ndarray] | None = None

    def __init__(self, A: Operator, M: Inverse):
        self.A, self.M = A, M
        self._z = A.zeros()

    @property
    def z(self) -> np.ndarray:
        """The vector itself, valid until the next `find`."""
        return self._z

    def hold(self, rows: np.ndarray, policy: np.ndarray) -> None:
        """Keep z zero on the `rows` whose policy is not 0, for every result of the preconditioner."""
        self._held = rows, policy

    def begin(self, r: np.ndarray, size: float) -> float:
        """Start a solve from the residual r; `size` is max|b|. Returns max|r|."""
        return self.A.peak(r)

    def find(self, r: np.ndarray, size: float) -> float:
        """z ≈ A⁻¹ r; returns rᵀz. `size` is approximately max|r|."""
        self.M.apply(r, self._z)
        if self._held is not None:
            _zero_clamped(self._z, *self._held)
        return self.A.dot(r, self._z)

    def along(self, q: np.ndarray) -> float:
        """qᵀz"""
        return self.A.dot(q, self.z)

    def find_along(self, r: np.ndarray, size: float, q: np.ndarray) -> tuple[float, float]:
        """z ≈ A⁻¹ r; returns rᵀz and qᵀz."""
        return self.find(r, size), self.along(q)

    def add_to(self, p: np.ndarray, beta: float) -> None:
        """p = z + beta p"""
        self.A.combine(p, self.z, beta)

    def step(self, x: np.ndarray, r: np.ndarray, p: np.ndarray, q: np.ndarray, alpha: float) -> float:
        """x += alpha p and r -= alpha q; returns max|r|."""
        return self.A.step(x, r, p, q, alpha)


class Recipe(ABC):
    """Parameters of an inverse."""

    #: True if it only adapts the recipe in it: labels leave it out
    wraps: ClassVar[bool] = False

    @property
    def general(self) -> bool:
        """True if it also solves with a matrix that is not symmetric."""
        return False

    @property
    def label(self) -> str:
        """A few words for the path of a solve."""
        return label(self)

    @abstractmethod
    def setup(self, operator: Operator, reuse: Inverse | None = None) -> Inverse:
        """Build the inverse. `reuse` is an inverse this recipe made for the same operator before its
        free set or shift changed (`Masked.update`): refresh it if that is cheaper than building it again."""

    def fits(self, operator: Operator) -> bool:
        """True if this recipe can be set up for the operator."""
        return True

    def chosen(self, operator: Operator) -> Recipe:
        """The recipe that `setup` uses for this operator; it differs from `self` if the recipe selects among others."""
        return self

    def following(self, operator: Operator, step: int) -> Inverse | None:
        """The inverse that takes over from that of a step of a cascade, which has failed; None if there is none."""
        return None


def label(part: object) -> str:
    """A recipe or a method in a few words: "CG over algebraic multigrid", "policy iteration over CG"."""
    coarsening = getattr(part, "coarsening", None)
    inner = next((getattr(part, name) for name in ("M", "inner", "recipe") if hasattr(part, name)), None)
    grid = isinstance(part, Recipe) and coarsening
    words = f"{_words(type(coarsening).__name__)} multigrid" if grid else _words(type(part).__name__)
    if isinstance(inner, Recipe) and not isinstance(inner, NoPreconditioner):
        return inner.label if getattr(part, "wraps", False) else f"{words} over {inner.label}"
    return words


@cache
def _words(name: str) -> str:
    """The name of a class, in words."""
    words = re.sub(r"(?<=[a-z]{2})(?=[A-Z])", " ", name).split()
    return " ".join(word if re.search("[A-Z].*[A-Z]", word) else word.lower() for word in words)


@dataclass
class LinearResult:
    """The result of a linear solve."""

    iterations: int
    residual: float
    converged: bool
    history: list[float] = field(default_factory=list, repr=False)
    #: a direction p with pᵀA p < 0 was met: A is not positive definite
    negative: bool = False


#: called with max|b - A x| at the start of a solve and after every iteration; True ends the solve
Watch = Callable[[float], bool]


class Course:
    """The residuals of one solve, and the decision whether it continues."""

    def __init__(self, goal: float, maxiter: int, watch: Watch | None = None, patience: float = np.inf):
        self.goal, self.maxiter, self.watch, self.patience = goal, maxiter, watch, patience
        self.history: list[float] = []
        self.stopped = self.negative = False
        self._best, self._since = np.inf, 0

    @property
    def residual(self) -> float:
        return self.history[-1]

    @property
    def unfinished(self) -> bool:
        """True if an iteration should follow. A solve that diverges ends at infinity."""
        return not self.stopped and self.goal < self.residual < np.inf and len(self.history) <= self.maxiter

    def goes_on(self, residual: float) -> bool:
        """Record max|b - A x|; returns `unfinished`."""
        self.history.append(residual)
        self.stopped = self.watch is not None and self.watch(residual)
        if residual < self._best:
            self._best, self._since = residual, 0
        else:
            self._since += 1
            self.stopped |= self._since > self.patience
        return self.unfinished

    def result(self) -> LinearResult:
        converged = self.residual <= self.goal
        return LinearResult(len(self.history) - 1, self.residual, converged, self.history, self.negative)


class IterativeInverse(Inverse):
    """An inverse that iterates to a tolerance; `solve` starts from the given x, `apply` from zero."""

    A: Operator
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
        watch: Watch | None = None,
    ) -> LinearResult:
        """Improve x in place until max|b - A x| <= max(rtol max|b|, atol)."""

    def remainder(self, b: np.ndarray, x: np.ndarray) -> np.ndarray:
        """b - A x after `solve(b, x)`; it may be a vector that the next solve overwrites."""
        return self.A.residual(b, x, np.empty_like(b))

    def course(self, size: float, rtol: float | None, atol: float, maxiter: int | None, watch: Watch | None) -> Course:
        """The record of a solve with these arguments; `size` is max|b|."""
        goal = max((self.rtol if rtol is None else rtol) * size, atol)
        # In exact arithmetic a Krylov method ends after n iterations; one that gains nothing in many more is lost.
        patience = max(1000, 4 * self.A.n)
        return Course(goal, self.maxiter if maxiter is None else maxiter, watch, patience)

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
    """The max norm, without a temporary array; NaN if an entry is NaN."""
    return float(max(r.max(initial=0.0), -r.min(initial=0.0)))
