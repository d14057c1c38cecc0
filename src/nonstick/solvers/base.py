"""The base class of methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from ..errors import NonstickError
from ..inverse.base import Recipe, label
from ..operators.base import Operator
from ..problem.box import BoxProblem
from ..problem.monitor import Monitor, Start

#: Armijo's rule: the part of the decrease that the slope promises, and how often a step is halved
SUFFICIENT, HALVINGS = 1e-4, 40
#: the part of the longest feasible step that an interior point takes, the textbook's fraction to the boundary
INSIDE = 0.995
#: features of a problem besides bounds on its unknowns, and the message for a method that cannot treat them
_REFUSED = {
    "edges": "solves problems with bounds on the unknowns; constraints on the edges of a wall (walls='edge') need "
    "'pgs', 'psor' or 'fmg'",
    "bodies": "works on stencils and coarser grids and cannot treat rigid bodies, which couple all cells around them: "
    "take 'auto', 'mg-cg', 'fas-mg', 'fmg', a 'pi-', 'pe-', 'ipm-' or '-mprgp' method",
    "saddle": "solves box problems; pressure and viscosity in one step (StokesProblem) need 'stokes-auto', "
    "'stokes-minres' or 'stokes-direct'",
    "nonsymmetric": "needs a symmetric matrix, which this one is not: take 'auto', 'pi-gmres', 'pi-bicgstab' or 'pgs'",
}


#: what arithmetic that breaks down raises: divisions by zero, singular factors, overflow
BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError, RecursionError)


class Answer(NamedTuple):
    """A solve of a sequence, with its residuals as `BoxProblem` defines them."""

    x: np.ndarray
    #: A x - b
    dual: np.ndarray
    iterations: int
    #: max|b|
    scale: float
    kkt: float
    row_error: float


class QuickSolves(ABC):
    """Many solves with one matrix that are so quick that checks and reports would take longer."""

    @abstractmethod
    def solve(
        self, policy: np.ndarray, b: np.ndarray, lower: np.ndarray, upper: np.ndarray, atol: float
    ) -> Answer | None:
        """Solve, beginning with a policy, and leave the last policy there. The vectors are not checked yet.

        None if they are no sound problem, or if it takes more than is quick.
        """


class Method(ABC):
    """Parameters of a method: a frozen dataclass. `repr` is its label in tables.

    Your own method defines `solve` and, if it cannot treat every problem, `check`.

    Examples
    --------
    Projected gradient steps of fixed length:

    >>> import numpy as np, nonstick
    >>> from dataclasses import dataclass
    >>> from nonstick.solvers import Method
    >>> @dataclass(frozen=True)
    ... class ProjectedGradient(Method):
    ...     step: float = 0.2
    ...     def solve(self, problem, start, monitor):
    ...         x = start.x
    ...         while not monitor.check(x) and monitor.iterations < monitor.limit(10_000):
    ...             problem.box.project(x - self.step * problem.gradient(x), out=x)
    ...             monitor.iterations += 1
    >>> nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method=ProjectedGradient()).x.round(5)
    array([0.5, 0. ])
    """

    #: needs a stencil: with rigid bodies it solves for the liquid alone (`bodies_apart`)
    needs_stencil: ClassVar[bool] = False

    @property
    def treats(self) -> frozenset[str]:
        """What it can treat besides bounds: "edges" (constraints at the wall, `BoxProblem.edges`), "bodies" (rigid
        bodies), "nonsymmetric" (a matrix that is not symmetric), "saddle" (a Stokes step)."""
        return frozenset({"bodies"})

    @property
    def linear(self) -> bool:
        """It solves A x = b and ignores the bounds: a baseline, judged by the linear residual."""
        return False

    @property
    def as_printed(self) -> bool:
        """A method shown as its paper prints it, or of fixed work: what it leaves is its result, even if that is worse
        than the start."""
        return False

    @property
    def preconditioner(self) -> Recipe | None:
        """What preconditions linear systems on parts of an operator of which each of many ranks has some rows."""
        return None

    @property
    def label(self) -> str:
        """A few words for the path of a solve."""
        return label(self)

    def check(self, problem: BoxProblem) -> None:
        """Raise NonstickError, with a sentence that says why, for a problem this method cannot treat."""
        self.check_traits(problem.traits)

    def chosen(self, problem: BoxProblem) -> Method:
        """The method that solves this problem; it differs from `self` if the method selects among others.

        Raises NonstickError, as `check`, if there is none.
        """
        self.check(problem)
        return self

    def check_traits(self, traits: frozenset[str]) -> None:
        """The same check from the features alone, before the problem is built."""
        for trait in sorted(traits - self.treats):
            raise NonstickError(_REFUSED[trait])

    def quick_solves(self, A: Operator) -> QuickSolves | None:
        """Quick solves with one matrix for which this method was chosen, if there is such a way."""
        return None

    @abstractmethod
    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        """Improve `start.x` in place until `monitor.check` says stop or the iteration limit is reached."""


def attempt(method: Method, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
    """Let a method solve; a breakdown of the arithmetic ends in a status."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the monitor notices
            method.solve(problem, start, monitor)
    except BREAKDOWNS as error:
        if hasattr(error, "of_callback"):
            raise
        monitor.stop("breakdown")
