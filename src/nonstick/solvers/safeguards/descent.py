"""Monotone methods that finish a solve whose active sets repeat: each step lowers a function that has no other minima.

`face_descent`, for any symmetric positive semidefinite matrix: each iteration lowers q(x) = ½xᵀAx - bᵀx by a scaled
projected gradient step with a backtracking search, which finds the face (Moré and Toraldo's GPCG scheme), and goes on
to the minimum of a face: a step that leaves the box is projected if that lowers q, else it ends at the first bound, and
the rows that have met a bound are held there (Lawson and Hanson). Each iteration ends at the minimum of a face, each
lower than the last, so no face comes twice, whatever the condition of A. The change of q is computed from the step
itself, so that it stays meaningful near the solution.

`fischer_newton`, damped Newton on the Fischer–Burmeister equations, for matrices that are not symmetric. Without a
symmetric matrix there is no energy to descend. The box problem is the root of the equations (Billups 1995)

    Φ = φ(x - lower, -φ(upper - x, -g/d)),    φ(p, q) = p + q - √(p² + q²),    g = A x - b,  d = diag(A)

one of each row, in the units of x; an infinite bound drops its φ. Ψ = ½ΦᵀΦ is continuously differentiable, unlike the
merit function of the minimum map, and if A is a P-matrix (all principal minors positive), Ψ has no stationary point
other than the solution (De Luca, Facchinei, Kanzow 1996). So a Newton step with Armijo's rule on Ψ, or a step along -∇Ψ
where Newton's direction does not descend, reaches the solution from everywhere, and near it Newton's steps are
accepted and converge fast.

An element of the generalised Jacobian is `diag(α) + diag(β/d) A` with α, β >= 0. With the rows where β vanishes
clamped, that is the operator `Masked` of every other method: A on the free rows plus the diagonal αd/β.
"""

from __future__ import annotations

import numpy as np

from ...core import rounding
from ...inverse.base import Inverse, Recipe
from ...operators.masked import Masked
from ...problem.box import Bounds, BoxProblem
from ...problem.monitor import PATIENCE, Monitor
from ..base import HALVINGS, SUFFICIENT
from ..cascade import accelerated, solve_inner

#: Grippo's rule: steps among which the largest Ψ is the one to be undercut, since kinks of Φ may lift Ψ for a step
MEMORY = 4


class RepeatedSets:
    """Notices active sets that repeat; the cause may be that linear systems were not solved exactly enough."""

    def __init__(self):
        #: the tolerance of the linear systems is multiplied by this
        self.sharper = 1.0
        #: True if systems should be solved to the end from now on
        self.settled = False
        self._seen: set[bytes] = set()

    def give_up(self, active: np.ndarray, inexact: bool = False) -> bool:
        """True if a set occurs again although linear systems were solved more and more exactly.

        A set that returns after an `inexact` solve has been found, as it seems, or will return for ever.
        """
        key = active.tobytes()
        repeated = key in self._seen
        self._seen.add(key)
        if repeated and inexact:
            self.settled = True
            self._seen.clear()
            return False
        if not repeated or self.sharper < 1e-3:
            return repeated
        self.sharper *= 1e-2
        self._seen.clear()
        return False

    def check(self, x: np.ndarray, g: np.ndarray | None, monitor: Monitor) -> None:
        """`monitor.check`; where some row is not accurate enough yet, a set may occur again."""
        aim = monitor.tolerance
        monitor.check(x, g)
        if monitor.tolerance < aim:
            self._seen.clear()


def descend(problem: BoxProblem, x: np.ndarray, inner: Recipe, monitor: Monitor, limit: int, reason: str) -> None:
    """Finish the solve of a method that cannot, for a reason; improves x in place."""
    monitor.hand_over("monotone descent", reason)
    (face_descent if problem.A.symmetric else fischer_newton)(problem, x, inner, monitor, limit)


def face_descent(
    problem: BoxProblem, x: np.ndarray, inner: Recipe, monitor: Monitor, limit: int, inverse: Inverse | None = None
) -> None:
    """Improve x in place until the monitor or the iteration limit stops it.

    `inverse` was made by `inner`, or has its preconditioner, for another free set.
    """
    A, box = problem.A, problem.box
    d = np.where(A.diagonal > 0, A.diagonal, 1.0)
    g, rhs = np.empty(problem.n), np.empty(problem.n)
    masked, inner = Masked(A), accelerated(inner)
    box.project(x, out=x)
    problem.gradient(x, g)
    while not monitor.check(x, g) and monitor.iterations < limit:
        monitor.outer_iterations += 1
        monitor.iterations += 1
        moved = _projected_search(problem, x, g, -g / d, monitor)
        free = ((x > box.lower) | (g < 0)) & ((x < box.upper) | (g > 0))
        while A.comm.largest(int(free.any())) and monitor.iterations < limit and not monitor.status:
            with monitor.setup():
                inverse = inner.setup(masked.update(free), inverse)
            np.multiply(g, -1.0, out=rhs)
            rhs[~free] = 0.0
            step = np.zeros(problem.n)
            # Where only rows of a small scale are left, the residual may be small enough and the face unsolved.
            goal = 0.1 * min(monitor.tolerance * problem.scale, A.comm.largest(np.abs(rhs).max(initial=0.0)))
            solve_inner(inverse, masked, rhs, step, goal, limit - monitor.iterations, monitor)
            if _projected_search(problem, x, g, step, monitor, halvings=1):
                moved = True
            else:
                _go_to_bound(problem, x, g, step)
            held = free & ((x <= box.lower) | (x >= box.upper))
            if not A.comm.largest(int(held.any())):
                break
            free = free & ~held
        if not moved:
            monitor.check(x, g)
            if not monitor.status:
                monitor.give_up(x, g)
            return


def _go_to_bound(problem: BoxProblem, x: np.ndarray, g: np.ndarray, p: np.ndarray) -> None:
    """x + αp with the largest α up to 1 in the box. p leads to the minimum of a face: the objective does not rise."""
    alpha = min(problem.box.max_step(x, -p), 1.0)
    np.clip(x + alpha * p, problem.box.lower, problem.box.upper, out=x)
    problem.gradient(x, g)


def _projected_search(
    problem: BoxProblem, x: np.ndarray, g: np.ndarray, p: np.ndarray, monitor: Monitor, halvings: int = HALVINGS
) -> bool:
    """Search along the projection of x + αp, α = 1, ½, ¼, …, for a sufficient decrease; updates x and g."""
    step, image = np.empty_like(x), np.empty_like(x)
    alpha = 1.0
    for _ in range(halvings):  # q may overflow far from x: this step is not a decrease and is halved
        problem.box.project(x + alpha * p, out=step)
        step -= x
        problem.A.apply(step, image)
        with np.errstate(over="ignore", invalid="ignore"):
            slope, curvature = problem.A.dot(g, step), problem.A.dot(step, image)
            if curvature < 0.0:
                monitor.record_curvature(problem.A.negative(curvature, step, image))
        if slope < 0.0 and slope + 0.5 * curvature <= SUFFICIENT * slope:
            x += step
            problem.box.project(x, out=x)
            problem.gradient(x, g)
            return True
        alpha *= 0.5
    return False


class FischerBurmeister:
    """Φ with the coefficients α, β of its generalised Jacobian for one problem."""

    def __init__(self, box: Bounds, diagonal: np.ndarray):
        self.box, self.d = box, diagonal
        self._low, self._high = np.isfinite(box.lower), np.isfinite(box.upper)

    def __call__(self, x: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ, α and β at x, with g = A x - b."""
        phi, alpha, beta = g / self.d, np.zeros(x.size), np.ones(x.size)
        high, low = self._high, self._low
        value, over, along = _phi(self.box.upper[high] - x[high], -phi[high])
        phi[high], alpha[high], beta[high] = -value, over, along
        value, over, along = _phi(x[low] - self.box.lower[low], phi[low])
        alpha[low], beta[low] = over + along * alpha[low], along * beta[low]
        phi[low] = value
        return phi, alpha, beta


def _phi(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """φ and its derivatives by p and q; at the kink p = q = 0, those along p = q > 0."""
    root = np.hypot(p, q)
    kink = root == 0.0
    safe = np.where(kink, 1.0, root)
    slope_p = np.where(kink, 1.0 - np.sqrt(0.5), 1.0 - p / safe)
    slope_q = np.where(kink, 1.0 - np.sqrt(0.5), 1.0 - q / safe)
    # p + q - root loses all digits where p and q are positive and one is much smaller; 2pq/(p + q + root) does not.
    both = (p > 0.0) & (q > 0.0)
    value = np.where(both, 2.0 * p * q / np.where(both, p + q + root, 1.0), p + q - root)
    return value, slope_p, slope_q


def fischer_newton(problem: BoxProblem, x: np.ndarray, inner: Recipe, monitor: Monitor, limit: int) -> None:
    """Improve x in place until the monitor or the iteration limit stops it."""
    A, n, d = problem.A, problem.n, problem.A.diagonal
    equations = FischerBurmeister(problem.box, d)
    masked, inner, inverse = Masked(A), accelerated(inner), None
    transposed = A.matrix().T
    g, rhs = problem.gradient(x), np.empty(n)
    phi, alpha, beta = equations(x, g)
    recent = [0.5 * float(phi @ phi)]
    best, since = recent[0], 0
    while not monitor.check(problem.box.project(x)) and monitor.iterations < limit:
        monitor.outer_iterations += 1
        free = beta > rounding.VANISHED  # else its equation is that of its bound
        step = np.where(free, 0.0, -phi / np.where(free, 1.0, alpha))
        weight = d / np.where(free, beta, 1.0)
        A.apply(step, rhs)
        rhs += weight * phi
        rhs *= -1.0
        rhs[~free] = 0.0
        with monitor.setup():
            inverse = inner.setup(masked.update(free, np.where(free, alpha * weight, 0.0)), inverse)
        newton = np.zeros(n)
        goal = 1e-3 * min(1.0, np.sqrt(2.0 * recent[-1] / n)) * float(np.abs(rhs).max(initial=0.0))
        solve_inner(inverse, masked, rhs, newton, goal, limit - monitor.iterations, monitor)
        step += newton
        downhill = alpha * phi + transposed @ (beta / d * phi)
        trial = None
        for direction in (step, -downhill):
            slope = float(downhill @ direction)
            size = float(np.linalg.norm(direction) * np.linalg.norm(downhill))
            if np.isfinite(slope) and slope < -rounding.SUM * size:
                trial = _armijo(problem, equations, x, direction, slope, max(recent))
            if trial is not None:
                break
        monitor.iterations += 1
        if trial is None or since > PATIENCE.steps:
            monitor.stop("stagnated")
            monitor.remark("the merit function no longer falls: A is not a P-matrix, or badly conditioned")
            break
        x[:], g, phi, alpha, beta = trial
        recent = [*recent[1 - MEMORY :], 0.5 * float(phi @ phi)]
        best, since = (recent[-1], 0) if recent[-1] < 0.5 * best else (best, since + 1)
    problem.box.project(x, out=x)


def _armijo(problem, equations, x, direction, slope, reference):
    """The first of the steps 1, ½, ¼, … along the direction that lowers Ψ enough, with all that is known there."""
    tau = 1.0
    for _ in range(HALVINGS):
        y = x + tau * direction
        g = problem.gradient(y)
        phi, alpha, beta = equations(y, g)
        psi = 0.5 * float(phi @ phi)
        if psi <= reference + SUFFICIENT * tau * slope:
            return y, g, phi, alpha, beta
        tau *= 0.5
    return None
