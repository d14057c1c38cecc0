"""The base of all discretised problems: it takes fields, holds a `BoxProblem`, solves it, and returns fields."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from ..api import solve_problem
from ..core import validate
from ..core.options import Criterion, suggesting
from ..core.show import Shown
from ..errors import NonstickError
from ..operators.rows import Rows
from ..problem.box import BoxProblem
from ..problem.solution import Solution
from ..solvers.base import Method

S = TypeVar("S", bound=Solution)


class Discretised(Shown, ABC):
    """Base of PressureProblem, ViscosityProblem and DiffusionProblem."""

    #: the method that `solve` uses by default
    default_method: ClassVar[str] = "auto"
    #: the test by which `solve` stops by default
    default_criterion: ClassVar[Criterion] = "rows"

    #: the problem the methods see
    problem: BoxProblem

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.problem.n

    @property
    def matrix(self) -> sp.csr_array:
        """The assembled matrix, made on first use; methods work on `problem.A` and do not need it."""
        return self.problem.A.matrix()

    @property
    def rhs(self) -> np.ndarray:
        return self.problem.b

    @property
    def constrained(self) -> np.ndarray:
        """Boolean array over the unknowns: True for unknowns with a bound."""
        return self.problem.box.constrained

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        return self.problem.facts()

    @suggesting
    def solve(
        self,
        method: str | Method | None = None,
        *,
        x0: Any = None,
        active: Any = None,
        **stopping: Any,
    ) -> Any:
        """Solve, and bring the answer back to the grid.

        Parameters
        ----------
        method : str or Method, optional
            A name from `nonstick.methods()`, or a method object.
        x0 : array_like, optional
            Where to start: a vector over the unknowns, or fields as this problem takes and returns them.
        active : array_like, optional
            The `active` of an earlier solution, to warm-start methods that work with sets.
        rtol, atol, maxiter, callback, time_limit, criterion
            As for `nonstick.solve`.

        Returns
        -------
        Solution
            As from `nonstick.solve`, with the fields of this kind of problem added.
        """
        guess = self.first_guess() if x0 is None else self.as_vector(x0)
        if stopping.get("criterion") is None:
            stopping["criterion"] = self.default_criterion
        method = self.default_method if method is None else method
        solution = solve_problem(self.problem, method, x0=guess, active=active, **stopping)
        return self.with_fields(solution)

    def first_guess(self) -> np.ndarray | None:
        """The default start of a solve. None: it starts at zero, and the method may look for a better start."""
        return None

    def as_vector(self, x0: Any) -> np.ndarray:
        """A first guess as a vector over the unknowns."""
        return np.asarray(x0)

    @abstractmethod
    def with_fields(self, solution: Solution) -> Solution:
        """The solution with its fields on the grid."""


class OnCells(Discretised):
    """Base of problems whose unknowns are values of cells."""

    #: number of cells along each axis
    shape: tuple[int, ...]
    #: the unknowns among the cells
    rows: Rows

    @property
    def cells(self) -> np.ndarray:
        """(n, d) grid coordinates of the unknowns, in C order."""
        return self.rows.coordinates()

    def as_vector(self, x0: Any) -> np.ndarray:
        """A first guess may be an array over cells."""
        x0 = validate.numbers(x0, "x0")
        return self.rows.from_grid(x0.astype(float)) if x0.shape == self.shape else x0

    def per_cell(self, name: str, value: Any, finite: bool = True) -> np.ndarray:
        """A number or an array over cells, as a vector over the unknowns."""
        value = validate.numbers(value, name).astype(float, copy=False)
        if value.shape not in ((), self.shape):
            raise NonstickError(f"{name} must be a number or an array over cells of shape {self.shape}")
        if finite and not np.isfinite(value).all():
            raise NonstickError(f"{name} must not be infinite or NaN")
        return self.rows.from_grid(np.broadcast_to(value, self.shape))


def extended(kind: type[S], solution: Solution, **more: Any) -> S:
    """The solution as an object of another class, with more fields."""
    return kind(**{f.name: getattr(solution, f.name) for f in fields(Solution)}, **more)
