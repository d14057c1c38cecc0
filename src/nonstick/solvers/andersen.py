"""Minimum-map Newton for complementarity problems (Andersen, Niebe & Erleben 2017, algorithms 1 and 2).

The box problem is the root `H(x) = 0` of the minimum map (eq. 11, for two bounds and in one unit)

    H = clip(g, d(x - upper), d(x - lower)),    g = A x - b,  d = diag(A)

so for x >= 0 it is min(g, d x). There are two kinds of rows: the equation is enforced in rows `a` (the paper's active
set 𝒜, eq. 26 and 47), and rows `f` are clamped at a bound. A Newton step solves (eq. 28)

    a⊗A(Δx) = -a⊗g,    f⊗Δx = f⊗(bound - x)

by a Krylov method on the masked operator `a⊗A(a⊗v) + f⊗v` (eq. 39), and a projected Armijo search on θ = ½ HᵀH
(algorithm 1) follows. The map (§3), its sets and `minimum_map_newton` use the array API and need only products with A,
sums and masks, so `newton-array` runs it on arrays of other libraries.

Departures from the paper:
- d·x is compared with g, so that the sets do not depend on units; `d = 1` is the paper's map.
- Ties are enforced, not clamped: clamping them peels one layer of cells per step.
- The paper gives up if the search fails or θ stagnates. Here the step is then taken on the energy ½xᵀAx - bᵀx, which
  has no other minima. On the same sets, but without the coupling 𝒜–ℱ, Δx is Bertsekas' (1982) projected Newton
  direction. It is a descent direction that a projected search always accepts.
- If a step did not change the sets, the problem is linear, and the sub-solver then solves to the final tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf, isfinite, sqrt
from typing import Any, Literal

import numpy as np
from array_api_compat import array_namespace

from ..inverse.base import IterativeInverse, Recipe
from ..inverse.krylov.cg import CG
from ..inverse.precond.incomplete import ILU
from ..operators.masked import Masked
from ..problem.monitor import PATIENCE
from .base import Method
from .chentanez_muller.projected_gs import ProjectedSweeps

Array = Any  #: an array of any library that follows the array API
#: (a, rhs, goal) -> (v, iterations): v ≈ the solution of `a⊗A(a⊗v) + f⊗v = rhs`, max|residual| <= goal
SubSolver = Callable[[Array, Array, float], tuple[Array, int]]


@dataclass
class NewtonResult:
    """The result of a run: the point, the reason for its end, and the number of steps of each kind."""

    x: Array
    status: str = "maxiter"
    newton_steps: int = 0
    inner_iterations: int = 0
    line_search_steps: int = 0
    #: Newton steps taken on the energy because the search on θ had failed
    energy_steps: int = 0


@dataclass(frozen=True, kw_only=True)
class NewtonSteps:
    """How Newton's steps are made and when they end.

    `absolute`, `relative` and `stagnation` are the further termination tests of eq. 32–34; 0 switches them off.
    The sub-solver stops at a residual of ξ‖H‖ (theorem 3.2), at most `inner_atol`, plus `inner_rtol` of its
    right-hand side. `safeguarded=False` switches off the last two departures above.
    """

    xi: float = 0.01
    alpha: float = 1e-3
    beta: float = 0.5
    line_search: int = 12
    maxiter: int = 1000
    inner_rtol: float = 0.0
    inner_atol: float = inf
    absolute: float = 0.0
    relative: float = 0.0
    stagnation: float = 0.0
    safeguarded: bool = True


def minimum_map_newton(
    H_of: MinimumMap,
    x: Array | None = None,
    *,
    subsolve: SubSolver,
    check: Callable[[Array, Array, NewtonResult], bool] | None = None,
    rtol: float | Callable[[], float] = 1e-6,
    how: NewtonSteps = NewtonSteps(),  # it is frozen
    enforced: Array | None = None,
) -> NewtonResult:
    """Algorithm 2. Arrays of any array-API library; `check(x, g, outcome)` ends the run, by default at KKT <= rtol.

    `enforced` are the rows of the first step's 𝒜, where they are known from an earlier problem.
    """
    xp, b, matvec = H_of.xp, H_of.b, H_of.matvec
    scale, safeguarded = H_of.max_abs(b) or 1.0, how.safeguarded
    out = NewtonResult(H_of.project(0.0 * b if x is None else x))
    theta, g, H = H_of.merit(out.x)
    best, since, on_energy, a_old = inf, 0, False, None
    while True:
        done = check(out.x, g, out) if check else H_of.max_abs(H) <= (rtol() if callable(rtol) else rtol) * scale
        if done or not isfinite(theta):
            out.status = "converged" if done else "diverged"
            break
        if theta < how.absolute:
            out.status = "absolute"
            break
        if out.newton_steps >= how.maxiter:
            break

        a, toward = H_of.split(out.x, g)
        if enforced is not None and out.newton_steps == 0:
            a, toward = H_of.guessed(enforced, out.x)
        unchanged = a_old is not None and not bool(xp.any(a != a_old))
        a_old = a
        # ‖r‖ <= ξ‖H‖ holds if max|r| <= ξ‖H‖/√n; on sets that no longer change, the final tolerance counts.
        goal = how.xi * sqrt(2.0 * theta / b.shape[0])
        if unchanged and safeguarded:
            goal = min(goal, 0.3 * (rtol() if callable(rtol) else rtol) * scale)
        goal = min(goal, how.inner_atol)

        on_energy = on_energy or (safeguarded and since >= 10)
        x_old, theta_old, moved = out.x, theta, None
        if not on_energy:
            rhs = xp.where(a, -g - matvec(toward), 0.0 * b)  # eq. 38
            v, count = subsolve(a, rhs, goal + how.inner_rtol * H_of.max_abs(rhs))
            out.inner_iterations += count
            dx = xp.where(a, v, toward)
            slope = H_of.dot(H, H_of.derivative(a, dx, matvec(dx)))  # eq. 19
            moved = _armijo_merit(H_of, out, dx, theta, slope, how)
            if moved is None and not safeguarded:
                out.status = "line search"
                break
            on_energy = moved is None
        if moved is None:
            rhs = xp.where(a, -g, 0.0 * b)
            v, count = subsolve(a, rhs, goal + how.inner_rtol * H_of.max_abs(rhs))
            out.inner_iterations += count
            moved = _armijo_energy(H_of, out, a, v, g, how)
            if moved is None:
                out.status = "stagnated"
                break
            out.energy_steps += 1
        out.x, theta, g, H = moved
        out.newton_steps += 1

        best, since = (theta, 0) if theta < 0.5 * best else (best, since + 1)
        if abs(theta - theta_old) < how.relative * theta_old:
            out.status = "relative"
            break
        if H_of.max_abs(out.x - x_old) < how.stagnation:
            out.status = "stagnation"
            break
    return out


def _armijo_merit(H_of: MinimumMap, out: NewtonResult, dx, theta, slope, how: NewtonSteps):
    """Algorithm 1: the first τ = βʰ with θ(x_τ) <= θ(x) + ατ Bθ(x, Δx), x_τ projected; None if there is none."""
    if not slope < 0.0:
        return None
    tau = 1.0
    for _ in range(how.line_search + 1):
        x = H_of.project(out.x + tau * dx)
        value, g, H = H_of.merit(x)
        if value <= theta + how.alpha * tau * slope:
            return x, value, g, H
        tau *= how.beta
        out.line_search_steps += 1
    return None


def _armijo_energy(H_of: MinimumMap, out: NewtonResult, a, v, g, how: NewtonSteps):
    """Bertsekas' projected search on ½xᵀAx - bᵀx: v on the rows `a`, the scaled gradient on the others."""
    xp = H_of.xp
    scaled = -g / xp.where(H_of.d > 0, H_of.d, 1.0 + 0.0 * g)
    forward = H_of.dot(g, xp.where(a, v, 0.0 * g)) < 0.0
    for direction in ([v] if forward else []) + [scaled]:  # if the sub-solver failed, use the gradient
        dx = xp.where(a, direction, scaled)
        linear = H_of.dot(g, xp.where(a, dx, 0.0 * g))
        tau = 1.0
        for _ in range(60):
            s = H_of.project(out.x + tau * dx) - out.x
            change = H_of.dot(g, s) + 0.5 * H_of.dot(s, H_of.matvec(s))
            if change <= how.alpha * (tau * linear + H_of.dot(g, xp.where(a, 0.0 * g, s))) and change < 0.0:
                x = H_of.project(out.x + s)
                return x, *H_of.merit(x)
            tau *= how.beta
            out.line_search_steps += 1
    return None


def merit_descent(H_of: MinimumMap, x: Array, steps: int) -> Array:
    """The paper's non-smooth gradient start: projected steepest descent on θ, ∇θ = Jᵀ H."""
    xp, out, how = H_of.xp, NewtonResult(x), NewtonSteps(line_search=30)
    theta, g, H = H_of.merit(x)
    for _ in range(steps):
        a, _ = H_of.split(out.x, g)
        gradient = H_of.matvec(xp.where(a, H, 0.0 * H)) + xp.where(a, 0.0 * H, H_of.d * H)
        image = H_of.derivative(a, gradient, H_of.matvec(gradient))
        squared, length = H_of.dot(gradient, gradient), H_of.dot(image, image)
        if not length > 0.0:
            break
        # Along -∇θ this step minimises the current quadratic piece of θ, so the search begins with it.
        dx = -(squared / length) * gradient
        moved = _armijo_merit(H_of, out, dx, theta, -squared * squared / length, how)
        if moved is None:
            break
        out.x, theta, g, H = moved
    return out.x


@dataclass(frozen=True)
class MinMapNewton(Method, NewtonSteps):
    """Minimum-map Newton over `inner`, a Krylov or direct recipe with its preconditioner.

    `CG(ILU())` refreshes the factor for every free set; `CG(Reused(ILU()))` masks one factor of A (eq. 42).
    `start`: "zero" begins at the x0 of the solve, 0 by default; "psor" and "gradient" first improve it by `start_steps`
    projected SOR sweeps or steepest-descent steps.
    """

    inner: Recipe = field(default_factory=lambda: CG(ILU()))
    start: Literal["zero", "psor", "gradient"] = "zero"
    start_steps: int = 10
    inner_maxiter: int = 2000
    scaled: bool = True
    clamp_ties: bool = False

    @property
    def as_printed(self) -> bool:
        return not self.safeguarded

    @classmethod
    def paper(cls, inner: Recipe | None = None, clamp_ties: bool = False) -> MinMapNewton:
        """The setup of §6: ξ 0.01, α 1e-3, β ½, 10 Newton, 1000 PCG and 100 search steps, thresholds 1e-5.

        `clamp_ties` adds the rule of eq. 26, which clamps rows with x = 0 and g = 0.
        """
        thresholds: dict[str, Any] = dict.fromkeys(
            ("inner_rtol", "inner_atol", "absolute", "relative", "stagnation"), 1e-5
        )
        plain = cls(CG() if inner is None else inner, safeguarded=False, scaled=False, clamp_ties=clamp_ties)
        return replace(plain, line_search=100, maxiter=10, inner_maxiter=1000, **thresholds)

    def solve(self, problem, start, monitor):
        A, box = problem.A, problem.box
        d = A.diagonal if self.scaled else np.ones(problem.n)
        masked = Masked(A)
        inverse = None

        def matvec(v):
            return A.apply(v, np.empty_like(v))

        def subsolve(a, rhs, goal):
            nonlocal inverse
            with monitor.setup():
                masked.update(a)
                inverse = self.inner.setup(masked, inverse)
            assert isinstance(inverse, IterativeInverse)
            v = np.zeros(problem.n)
            left = max(budget - monitor.iterations, 1)
            result = inverse.solve(
                rhs, v, rtol=0.0, atol=goal, maxiter=min(self.inner_maxiter, left), watch=monitor.interrupted
            )
            monitor.record_curvature(result.negative)
            return v, result.iterations

        def check(x, g, outcome):
            monitor.iterations = outcome.inner_iterations + outcome.line_search_steps
            monitor.outer_iterations = outcome.newton_steps
            return monitor.check(x, g) or monitor.iterations >= budget

        budget = monitor.limit(PATIENCE.work)
        x = start.x
        H_of = MinimumMap(matvec, problem.b, box.lower, box.upper, d, self.clamp_ties)
        if self.start == "psor":
            ProjectedSweeps(A).run(x, problem.b, box.lower, box.upper, 1.0, self.start_steps)
        elif self.start == "gradient":
            x[:] = merit_descent(H_of, x, self.start_steps)
        known = None if start.active is None else start.active == 0
        stop = {"check": check, "rtol": lambda: monitor.tolerance}
        outcome = minimum_map_newton(H_of, x, subsolve=subsolve, how=self, enforced=known, **stop)
        x[:] = outcome.x
        monitor.iterations = outcome.inner_iterations + outcome.line_search_steps
        monitor.outer_iterations = outcome.newton_steps
        monitor.notes.update(
            newton_steps=outcome.newton_steps,
            inner_iterations=outcome.inner_iterations,
            line_search_steps=outcome.line_search_steps,
            energy_steps=outcome.energy_steps,
            # the monitor may also have ended the run: by a limit, or by the user's callback
            termination=(monitor.status or "maxiter") if outcome.status == "converged" else outcome.status,
        )
        if not monitor.status and outcome.status not in ("converged", "maxiter"):
            monitor.stop("diverged" if outcome.status == "diverged" else "stagnated")
            if outcome.status in ("absolute", "relative", "stagnation"):
                monitor.remark(f"the method stopped by its own test ({outcome.status})")


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
        down = self.xp.where(self._has_lower, self.d * (x - self._low), -self.lower)
        up = self.xp.where(self._has_upper, self.d * (x - self._high), -self.upper)
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
