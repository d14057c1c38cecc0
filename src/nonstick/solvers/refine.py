"""Runs a method, and continues with the correction where the method has come to the end of its arithmetic.

A method measures residuals in the max norm. If rows differ in scale by many powers of ten, rounding errors of the
largest row hide the residuals of all others, and the method cannot go on although some rows fail the row test. Then
the problem for the correction e is solved, with `x + e` in place of x:

    b - A x in place of b,   lower - x ≤ e ≤ upper - x,   residuals measured against the residual of x.

This is iterative refinement (Wilkinson 1963; Skeel 1980) for a problem with bounds. It works for every method. Interior
point methods leave rows at a small distance from their bounds, which no correction of theirs removes: policy iteration
then finds the last correction, and a remark says so.
"""

from __future__ import annotations

import numpy as np

from ..inverse.krylov.cg import CG
from ..inverse.precond.jacobi import Jacobi
from ..problem.box import BoxProblem
from ..problem.monitor import Monitor, Start
from .base import Method
from .policy import PolicyIteration

#: what arithmetic that breaks down raises: divisions by zero, singular factors, overflow
BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError, RecursionError)
#: corrections at most, and the part to which each must reduce the largest row error
PASSES = 8
PROGRESS = 0.5
#: makes the last corrections for methods that cannot; the diagonal does not mind rows of other scale
LAST = PolicyIteration(CG(Jacobi()))
#: a method that ends with one of these may be helped by a correction; none: it came to its own limit of iterations
_ENDED = ("stagnated", "breakdown", "diverged", "")


def run(method: Method, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
    """Let a method solve, and refine its answer until every row holds or nothing is gained."""
    asked = monitor.asked
    _attempt(method, problem, start, monitor)
    _refine(method, problem, start.x, asked, monitor)
    if problem.A.symmetric and not problem.A.shared and _worthwhile(problem, start.x, asked, monitor):
        _refine(LAST, problem, start.x, asked, monitor)
        if monitor.status == "converged":
            monitor.remark("policy iteration finished the rows that the method could not finish")
    monitor.asked = monitor.tolerance = asked
    if monitor.status in (*_ENDED, "maxiter", "time") and monitor.exhausted(start.x):
        monitor.stop("converged")


def _refine(method: Method, problem: BoxProblem, x: np.ndarray, asked: float, monitor: Monitor) -> None:
    """Correct x while that helps."""
    for _ in range(PASSES):
        if not _worthwhile(problem, x, asked, monitor):
            break
        before, error = x.copy(), monitor.row_error(x).value
        ended = monitor.status, monitor.message
        _correct(method, problem, x, monitor)
        monitor.notes["corrections"] = int(monitor.notes.get("corrections", 0)) + 1  # type: ignore[call-overload]
        after = monitor.row_error(x).value
        if after > PROGRESS * error:
            if after > error:
                x[:] = before
            if monitor.status not in ("time", "maxiter"):
                monitor.status, monitor.message = ended
            break


def _attempt(method: Method, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
    """A breakdown of the arithmetic ends in a status."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the monitor notices
            method.solve(problem, start, monitor)
    except BREAKDOWNS as error:
        if hasattr(error, "of_callback"):
            raise
        monitor.stop("breakdown")


def _worthwhile(problem: BoxProblem, x: np.ndarray, asked: float, monitor: Monitor) -> bool:
    if monitor.criterion == "papers" or problem.edges is not None or monitor.status not in _ENDED:
        return False
    if monitor.maxiter is not None and monitor.iterations >= monitor.maxiter:
        return False
    g = problem.gradient(x)
    residual = problem.linear_residual(x, g) if monitor.linear else problem.kkt(x, g)
    return residual <= asked and monitor.row_error(x, g, enough=monitor.row_rtol).value > monitor.row_rtol


def _correct(method: Method, problem: BoxProblem, x: np.ndarray, monitor: Monitor) -> None:
    """x += e, where e solves the problem for the correction."""
    base, box = x.copy(), problem.box
    g = problem.gradient(base)
    low, high = box.lower - base, box.upper - base
    correction = BoxProblem(problem.A, -g, low, high, problem.coarser)
    correction.may_float = problem.may_float
    left = np.abs(g if monitor.linear else problem.natural_residual(base, g)).max(initial=0.0)
    correction.scale = float(problem.A.largest(left)) or problem.scale

    def put_together(e: np.ndarray) -> np.ndarray:
        if monitor.linear:
            return base + e
        # A bound is met exactly: base + (bound - base) may differ from it in the last digit.
        total = box.project(base + e)
        return np.where(e <= low, box.lower, np.where(e >= high, box.upper, total))

    active = None if monitor.linear else box.split(base, g, problem.A.diagonal)
    e = np.zeros(problem.n)
    outside = monitor.judged
    monitor.problem, monitor.judged = correction, lambda e: (problem, put_together(e))
    monitor.outer.append(put_together)
    monitor.renew(monitor.rtol or 1e-6)
    try:
        _attempt(method, correction, Start(e, active), monitor)
    finally:
        monitor.outer.pop()
        monitor.problem, monitor.judged = problem, outside
    x[:] = put_together(e)
