"""Box problems with a few linear constraints, by Newton's method on their multipliers over any box solver.

With the constraints as `E x >= e` and multipliers w (`w >= 0`, of any sign for equations), the box problem with the
right-hand side b + Eᵀw has the solution x(w). For a symmetric A, w maximises a concave function, the dual, whose
gradient is r(w) = e - E x(w). On the free rows F of x

    dx = Z dw,    Z = A_FF⁻¹ E_Fᵀ,    dr = -S dw,    S = E_F Z

so Newton's direction takes a linear solve per constraint and a system of the size of their number. Along a direction p,
pᵀr falls monotonically, also if A is positive definite and not symmetric. Its root is bracketed, with a box solve from
the last x for every value: no step can overshoot, and the dual rises in every step. As soon as Newton's step does not
change the free rows, x + Z dw solves the whole problem.

If the free rows cannot move the constraints (S is singular, for example because all rows are clamped), a part of
`E diag(A)⁻¹ Eᵀ` is added, and the step grows until a row is released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from ..core import rounding
from ..inverse.base import Inverse, IterativeInverse, Recipe
from ..operators.masked import Masked
from ..problem.box import Bounds, BoxProblem
from ..problem.constraints import LinearConstraints
from ..problem.monitor import PATIENCE
from ..problem.solution import Solution
from .base import BREAKDOWNS
from .bodies_apart import SETTINGS

#: (problem, x0, active) -> Solution: a box solver with all its options
BoxSolver = Callable[[BoxProblem, "np.ndarray | None", "np.ndarray | None"], Solution]

#: True if x solves the box problem as well as the caller asks
Judge = Callable[[BoxProblem, np.ndarray], bool]


def solve_constrained(
    problem: BoxProblem,
    constraints: LinearConstraints,
    solve: BoxSolver,
    sound: Judge,
    inner: Recipe,
    rtol: float,
    x0=None,
) -> Solution:
    """Solve a box problem with linear constraints.

    `sound` says whether x solves a box problem, `inner` solves linear systems on the free rows, and `rtol` is how well
    each constraint must hold, relative to its own terms.
    """
    dual = _Dual(problem, constraints, solve, sound, inner, rtol)
    dual.move(dual.w, x0, None)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the box solves notice
            return _climb(dual, constraints, problem)
    except BREAKDOWNS as error:
        if hasattr(error, "of_callback"):
            raise
        return dual.finish("breakdown")


def _climb(dual: _Dual, constraints: LinearConstraints, problem: BoxProblem) -> Solution:
    """Improve the multipliers until the constraints hold or nothing is gained."""
    sentence = infeasible_row(constraints, problem.box)
    if sentence:
        return dual.finish("infeasible", sentence)
    for step in range(PATIENCE.steps):
        if step == SETTINGS.search and (sentence := jointly_infeasible(constraints, problem.box)):
            return dual.finish("infeasible", sentence)
        if not dual.solution.converged:
            return dual.finish(dual.solution.status, dual.solution.message)
        direction = dual.newton()
        if dual.holds():
            return dual.finish("converged")
        if not dual.search(direction):
            break
    sentence = jointly_infeasible(constraints, problem.box)
    return dual.finish("infeasible" if sentence else "stagnated", sentence)


class _Dual:
    """Multipliers w, the solution of the box problem for them, and the sums over all box solves."""

    def __init__(
        self, problem: BoxProblem, constraints: LinearConstraints, solve: BoxSolver, sound: Judge, inner, rtol
    ):
        self.problem, self.constraints, self.solve, self.sound = problem, constraints, solve, sound
        self.inner, self.rtol = inner, rtol
        self.E, self.e, self.equation = constraints.one_sided()
        self.w = np.zeros(self.e.size)
        self.iterations = self.outer_iterations = self.steps = self.box_solves = 0
        self.setup_seconds = 0.0
        self._masked = Masked(problem.A)
        self._inverse: Inverse | None = None
        # S if A were diagonal and every row free: the measure for S and the unit of w.
        self._plain = (self.E @ sp.diags_array(1.0 / problem.A.diagonal) @ self.E.T).toarray()

    def move(self, w: np.ndarray, x0, active) -> None:
        """x(w), from a start."""
        self.w, self.solution = w, self.solve(self._for(w), x0, active)
        self.iterations += self.solution.iterations
        self.outer_iterations += self.solution.outer_iterations
        self.setup_seconds += self.solution.setup_seconds
        self.box_solves += 1

    def _for(self, w: np.ndarray) -> BoxProblem:
        problem = self.problem
        return BoxProblem(problem.A, problem.b + self.E.T @ w, problem.box.lower, problem.box.upper)

    def residual(self) -> np.ndarray:
        """r = e - E x"""
        return self.e - self.E @ self.solution.x

    def newton(self) -> np.ndarray:
        """Newton's direction for w, cut off where a multiplier would become negative."""
        r, w = self.residual(), self.w
        free = self.equation | (w > 0) | (r > 0)
        S = self._schur(free)
        self.steps += 1
        p = np.zeros(w.size)
        while free.any():
            p[:] = 0.0
            p[free] = np.linalg.lstsq(S[np.ix_(free, free)], r[free], rcond=1e-13)[0]
            pinned = free & ~self.equation & (w <= 0) & (p < 0)  # it would have to leave zero in the wrong direction
            if not pinned.any():
                break
            free &= ~pinned
            p[:] = 0.0
        self._newton = p
        sinks = ~self.equation & (w + p < 0)
        reach = np.min(w[sinks] / -p[sinks], initial=1.0)
        return reach * p

    def _schur(self, chosen: np.ndarray) -> np.ndarray:
        """S at the present free rows for the chosen constraints, zero for others, definite; Z is kept for `holds`."""
        self._Z, S = np.zeros((self.problem.n, self.e.size)), np.zeros((self.e.size,) * 2)
        rows = np.flatnonzero(chosen)
        among, E = np.ix_(rows, rows), self.E[rows]
        self._Z[:, rows] = self._columns(E)
        size = np.sqrt(np.maximum(self._plain.diagonal()[rows], np.finfo(float).tiny))
        S[among] = E @ self._Z[:, rows]
        scaled = S[among] / np.outer(size, size)
        if not np.linalg.eigvalsh((scaled + scaled.T) / 2).min(initial=np.inf) > rounding.HALF:
            plain = self._plain[among]
            S[among] += 1e-3 * plain + 1e-9 * np.diag(plain.diagonal())
        return S

    def _columns(self, E: sp.csr_array) -> np.ndarray:
        """A_FF⁻¹ E_Fᵀ on the present free rows F: a solve for each row of E, or for each free row if they are fewer."""
        free = np.flatnonzero(self.solution.active == 0)
        n, few = self.problem.n, free.size < E.shape[0]
        Z = np.zeros((n, free.size if few else E.shape[0]))
        if free.size and E.shape[0]:
            mask = np.zeros(n, bool)
            mask[free] = True
            self._inverse = self.inner.setup(self._masked.update(mask), self._inverse)
            assert isinstance(self._inverse, IterativeInverse)
            for k in range(Z.shape[1]):
                z, right = np.zeros(n), np.zeros(n)
                if few:
                    right[free[k]] = 1.0
                else:
                    right[free] = E[[k]].toarray().ravel()[free]
                self._inverse.solve(right, z, rtol=rounding.VANISHED)
                Z[:, k] = z
        return Z @ E[:, free].T if few else Z

    def holds(self) -> bool:
        """True if the full Newton step solves the whole problem; it is then taken."""
        w = self.w + self._newton
        x = self.problem.box.project(self.solution.x + self._Z @ self._newton)
        problem, y = self._for(w), self.constraints.multipliers(w)
        if self.constraints.error(x, y, problem.scale) > self.rtol or not self.sound(problem, x):
            return False
        self.w = w
        self.solution = replace(self.solution, problem=problem, x=x, dual=problem.gradient(x))
        return True

    def search(self, p: np.ndarray) -> bool:
        """Move along p to where pᵀr has almost vanished; False if p leads nowhere."""
        slope = float(p @ self.residual())
        if not slope > 0.0:
            return False
        w, falling = self.w, np.where(~self.equation & (p < 0), p, 0.0)
        reach = np.min(w[falling < 0] / -falling[falling < 0], initial=np.inf)
        low, high, at_low, at_high = 0.0, np.inf, slope, -np.inf
        tau = min(1.0, reach)
        for _ in range(SETTINGS.search):
            last = self.solution
            x0 = self.problem.box.project(last.x + (tau - low) * (self._Z @ p)) if low == 0.0 else last.x
            self.move(np.where(self.equation, w + tau * p, np.maximum(w + tau * p, 0.0)), x0, last.active)
            if not self.solution.converged:
                return True  # the caller notices
            value = float(p @ self.residual())
            if abs(value) <= SETTINGS.flat * slope or (value > 0.0 and tau >= reach):
                return True
            if value > 0.0:
                low, at_low = tau, value
            else:
                high, at_high = tau, value
            if high == np.inf:
                tau = min(4.0 * tau, reach)
            else:  # a secant, kept away from the ends
                share = min(max(at_low / (at_low - at_high), 0.05), 0.95)
                tau = low + share * (high - low)
        return True

    def finish(self, status: str, message: str = "") -> Solution:
        solution, y = self.solution, self.constraints.multipliers(self.w)
        error = self.constraints.error(solution.x, y, solution.problem.scale)
        numbers = f"(KKT {solution.kkt():.2e}, constraints {error:.2e}, asked {self.rtol:.1e})"
        advice = {
            "converged": f"bounds and constraints hold {numbers}",
            "breakdown": f"the arithmetic broke down, as in badly scaled problems: scale A and C {numbers}",
            "stagnated": f"the multipliers of the constraints no longer improve: loosen rtol {numbers}",
        }
        return replace(
            solution,
            multipliers=y,
            converged=status == "converged",
            status=status,
            message=message or advice.get(status, solution.message),
            iterations=self.iterations,
            outer_iterations=self.outer_iterations,
            setup_seconds=self.setup_seconds,
            notes=solution.notes
            | {"objective": self.problem.objective(solution.x)}
            | {"multiplier_steps": self.steps, "box_solves": self.box_solves, "constraint_error": error},
        )


def infeasible_row(constraints: LinearConstraints, box: Bounds) -> str:
    """A sentence on the first constraint that no x inside the box meets, or nothing."""
    least, most = constraints.reach(box)
    low, high = constraints.lower, constraints.upper
    for k in np.flatnonzero((most < low) | (least > high)):
        short = max(low[k] - most[k], least[k] - high[k])
        if short <= rounding.SUM * max(abs(v) for v in (least[k], most[k], low[k], high[k]) if np.isfinite(v)):
            continue  # only rounding
        if most[k] < low[k]:
            side = f"at most {most[k]:g}, and at least {low[k]:g} is asked"
        else:
            side = f"at least {least[k]:g}, and at most {high[k]:g} is asked"
        return f"constraint {k} cannot be met: between the bounds of x its row of C x is {side}; change one of them"
    return ""


def jointly_infeasible(constraints: LinearConstraints, box: Bounds) -> str:
    """A sentence if no x inside the box meets all constraints, or nothing; a linear program decides."""
    from scipy.optimize import linprog  # slow to load, rarely needed

    E, e, _ = constraints.one_sided()
    equal = constraints.lower == constraints.upper
    found = linprog(
        np.zeros(box.lower.size),
        -E,
        -e,
        constraints.C[equal] if equal.any() else None,
        constraints.lower[equal] if equal.any() else None,
        bounds=np.stack([box.lower, box.upper], axis=1),
    )
    if found.status != 2:
        return ""
    return "the constraints cannot be met together: no x between its bounds satisfies every row; remove or relax one"
