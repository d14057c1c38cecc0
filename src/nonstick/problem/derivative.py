"""The derivative of a solution with respect to everything it was solved from, by one linear solve on the free rows.

Near a solution where no row is at a tie, the active set does not change. With free rows F, clamped rows K on their
bounds and the linear constraints that hold with equality, `E x = e` with multipliers y, x solves the linear system

    A_FF x_F + A_FK x_K - E_Fᵀ y = b_F,    E x = e,    x_K = bound_K.

A tangent goes through this system (`tangent`), a cotangent x̄ through its transpose (`cotangent`):

    A_FFᵀ λ + E_Fᵀ μ = x̄_F,    E_F λ = 0,    b̄ = λ,  ē = μ,  bound_K = x̄_K - A_FKᵀ λ - E_Kᵀ μ,
    Ā_ij = -λ_i x_j,    Ē_kj = y_k λ_j - μ_k x_j.

At a tie (x on its bound and zero dual) the solution has different derivatives on the two sides. There the row counts as
free, as in every method (`Bounds.split`): the result is the derivative on the side where the row leaves its bound. A
constraint with equal bounds is always in E; one with an inequality is if its multiplier is not zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import validate
from ..errors import NonstickError
from ..operators.base import Operator
from ..operators.csr import CSROperator
from ..operators.masked import Masked
from .box import BoxProblem
from .constraints import LinearConstraints

#: what solves with an operator on its free rows: a function that gives a recipe for an operator
FaceSolver = Callable[[Operator], Any]


@dataclass(frozen=True)
class Gradient:
    """The gradient of a number that depends on a solution, with respect to what the solution was solved from.

    Attributes
    ----------
    b, lower, upper : ndarray
        One number for each unknown. For a bound that is one number for all rows, take the sum.
    constraint_lower, constraint_upper : ndarray
        With linear constraints: one number for each row of C. For an equation, whose bounds are one number, take the
        sum of the two.
    """

    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    constraint_lower: np.ndarray
    constraint_upper: np.ndarray
    _x: np.ndarray
    _y: np.ndarray
    _mu: np.ndarray

    def entries(self, rows: Any, columns: Any) -> np.ndarray:
        """The gradient with respect to the entries of A at these places, -λ_i x_j; each entry on its own."""
        return np.asarray(0.0 - self.b[np.asarray(rows)] * self._x[np.asarray(columns)])

    def matrix(self, A: Any) -> sp.csr_array:
        """The gradient with respect to the entries of a sparse matrix A, in its pattern."""
        out = sp.csr_array(validate.rectangle(A, self._x.size, "A", self._x.size))
        out.data = self.entries(np.repeat(np.arange(out.shape[0]), np.diff(out.indptr)), out.indices)
        return out

    def constraint_matrix(self, C: Any) -> sp.csr_array:
        """The gradient with respect to the entries of the matrix C of the linear constraints, in its pattern."""
        out = sp.csr_array(validate.rectangle(C, self._x.size, "C", self._y.size))
        row, column = np.repeat(np.arange(out.shape[0]), np.diff(out.indptr)), out.indices
        out.data = self._y[row] * self.b[column] - self._mu[row] * self._x[column]
        return out


class Derivative:
    """The linear system that a solution satisfies as long as its active set does not change."""

    def __init__(
        self,
        problem: BoxProblem,
        x: np.ndarray,
        active: np.ndarray,
        solver: FaceSolver,
        constraints: LinearConstraints | None = None,
        y: np.ndarray | None = None,
        rtol: float = 1e-10,
    ):
        if problem.edges is not None:
            raise NonstickError("the derivative of a solution with walls='edge' is not known: take walls='cut'")
        self.problem, self.x, self.active, self.solver, self.rtol = problem, x, active, solver, rtol
        self.free = active == 0
        self.y = np.zeros(0) if y is None else y
        self.C = sp.csr_array((0, problem.n)) if constraints is None else constraints.C
        equal = np.zeros(0, bool) if constraints is None else constraints.lower == constraints.upper
        self.held = np.flatnonzero((self.y != 0.0) | equal)
        self.E = sp.csr_array(self.C[self.held])
        #: iterations of all linear solves so far
        self.iterations = 0

    def cotangent(self, x_bar: np.ndarray) -> Gradient:
        """The gradient of x̄ᵀx."""
        x_bar = validate.vector(x_bar, self.problem.n, "x")
        A = self.problem.A
        transposed = A if A.symmetric else CSROperator(A.matrix().T, A.cells, symmetric=False)
        lam, mu = self._face(transposed, np.where(self.free, x_bar, 0.0), np.zeros(self.held.size), -1.0)
        bound = np.where(self.free, 0.0, x_bar - transposed @ lam - self.E.T @ mu)
        full = np.zeros(self.y.size)
        full[self.held] = mu
        low, high = self.active < 0, self.active > 0
        at_low, at_high = self._sides()
        return Gradient(
            lam,
            np.where(low, bound, 0.0),
            np.where(high, bound, 0.0),
            np.where(at_low, full, 0.0),
            np.where(at_high, full, 0.0),
            self.x,
            self.y,
            full,
        )

    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Constraints whose lower, and whose upper bound the value of their row follows."""
        held = np.zeros(self.y.size, bool)
        held[self.held] = True
        return held & (self.y >= 0.0), held & (self.y < 0.0)

    def tangent(self, b: Any = None, lower: Any = None, upper: Any = None, A: Any = None, C: Any = None) -> np.ndarray:
        """dx for changes of the right-hand side, of the bounds, of A (a matrix) and of the constraints (dC, de)."""
        n, problem = self.problem.n, self.problem
        given = [
            np.zeros(n) if v is None else validate.vector(v, n, w)
            for v, w in ((b, "b"), (lower, "lower"), (upper, "upper"))
        ]
        right, low, high = given
        if A is not None:
            right = right - validate.rectangle(A, n, "A", n) @ self.x
        side = np.zeros(self.held.size)
        if C is not None:
            if not isinstance(C, tuple) or len(C) != 2:
                raise NonstickError(
                    "C must be (dC, de): the changes of the matrix of the constraints and of their bounds"
                )
            dC, de = C
            side = side + validate.bound(de, self.y.size, "the change of the bounds of constraints")[self.held]
            if dC is not None:
                dE = sp.csr_array(validate.rectangle(dC, n, "C", self.y.size))[self.held]
                right, side = right + dE.T @ self.y[self.held], side - dE @ self.x
        clamped = np.where(self.active < 0, low, np.where(self.active > 0, high, 0.0))
        right = np.where(self.free, right - problem.A @ clamped, 0.0)
        moved, _ = self._face(problem.A, right, side - self.E @ clamped, 1.0)
        return moved + clamped

    def _face(self, A: Operator, right: np.ndarray, side: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
        """v, m of `A_FF v - sign E_Fᵀ m = right, E_F v = side`, zero on clamped rows."""
        if not self.free.any():
            return np.zeros(self.problem.n), self._least(np.zeros((self.held.size,) * 2), side)
        inverse = self.solver(A).setup(Masked(A, self.free))
        v = self._solve(inverse, right)
        if not self.held.size:
            return v, np.zeros(0)
        columns = np.where(self.free, self.E.toarray(), 0.0)
        Z = np.stack([self._solve(inverse, column) for column in columns], axis=1)
        m = self._least(columns @ Z, sign * (side - columns @ v))
        return v + sign * (Z @ m), m

    def _least(self, S: np.ndarray, right: np.ndarray) -> np.ndarray:
        """S⁻¹ right; the shortest solution if constraints depend on each other."""
        return np.asarray(np.linalg.lstsq(S, right, rcond=1e-13)[0])

    def _solve(self, inverse: Any, right: np.ndarray) -> np.ndarray:
        v = np.zeros(self.problem.n)
        if right.any():
            result = inverse.solve(right, v, rtol=self.rtol)
            self.iterations += result.iterations
            if not result.converged and not result.residual <= 1e3 * self.rtol * np.abs(right).max():
                raise NonstickError(
                    f"the linear solve of the derivative ended at {result.residual / np.abs(right).max():.1e} of its "
                    f"right-hand side, {self.rtol:.0e} is asked: raise rtol, or scale A"
                )
        v[~self.free] = 0.0
        return v
