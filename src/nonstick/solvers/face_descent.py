"""A monotone method for any symmetric positive semidefinite matrix: the last safeguard of active-set iterations.

Each iteration lowers q(x) = ½xᵀAx - bᵀx twice: a scaled projected gradient step, which finds the face, and a step to
the minimiser of that face, both with a projected backtracking search (Moré and Toraldo's GPCG scheme). The change
of q is computed from the step itself, so that it stays meaningful near the solution.
"""

from __future__ import annotations

import numpy as np

from ..inverse.base import Inverse, Recipe
from ..operators.masked import Masked
from ..problem.box import BoxProblem
from ..problem.monitor import Monitor
from .cascade import accelerated, solve_inner

SUFFICIENT = 1e-4
HALVINGS = 40


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
        if A.comm.largest(int(free.any())):
            with monitor.setup():
                inverse = inner.setup(masked.update(free), inverse)
            np.multiply(g, -1.0, out=rhs)
            rhs[~free] = 0.0
            step = np.zeros(problem.n)
            goal = 0.1 * monitor.tolerance * problem.scale
            solve_inner(inverse, masked, rhs, step, goal, limit - monitor.iterations, monitor)
            moved |= _projected_search(problem, x, g, step, monitor)
        if not moved:
            monitor.check(x, g)
            if not monitor.status:
                monitor.give_up(x, g)
            return


def _projected_search(problem: BoxProblem, x: np.ndarray, g: np.ndarray, p: np.ndarray, monitor: Monitor) -> bool:
    """Search along the projection of x + αp, α = 1, ½, ¼, …, for a sufficient decrease; updates x and g."""
    step, image = np.empty_like(x), np.empty_like(x)
    alpha = 1.0
    for _ in range(HALVINGS):  # q may overflow far from x: this step is not a decrease and is halved
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
