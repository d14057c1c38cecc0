"""A problem solved by way of others: the problem of the correction, the problem in better units, a problem that is
not singular. A method sees only the other problem; x is judged by the problem as it was given.

Iterative refinement
--------------------
A method measures residuals in the max norm. If rows differ in scale by many powers of ten, rounding errors of the
largest row hide the residuals of all others, and the method cannot continue although some rows fail the row test. Then
the problem for the correction e is solved, with `x + e` in place of x:

    b - A x in place of b,   lower - x ≤ e ≤ upper - x,   residuals measured against the residual of x.

This is iterative refinement (Wilkinson 1963; Skeel 1980) for a problem with bounds. It works for every method. Interior
point methods leave rows at a small distance from their bounds, which no correction of theirs removes: policy iteration
then finds the last correction, and a remark says so.

Better units
------------
y = S⁻¹x solves the problem of S A S, S b and bounds S⁻¹lower, S⁻¹upper. Policies change where a residual exceeds a part
of max|b|. If units differ by powers of ten from row to row, as in D·A·D, small rows would change last, one after the
other. The scaling of the algebraic hierarchy makes rows comparable (`near_null`).

If A jumps too, sweeps carry the scale of one region to the next over some ten unknowns only. Then S is corrected once
by y with S A S y = diag(S A S), solved roughly by multigrid CG: one step of inverse iteration, on all levels. A
positive y makes all row sums of the new matrix positive. (D·A·D with jumps of 1e6 in blocks of 20 × 20, at 200²: 11
iterations of a linear solve in place of 65.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...core import rounding
from ...inverse.krylov.cg import CG
from ...inverse.multigrid.algebraic.coarsening import Algebraic
from ...inverse.multigrid.algebraic.near_null import in_other_units, near_null
from ...inverse.multigrid.hierarchy import Multigrid
from ...inverse.precond.jacobi import Jacobi
from ...operators.base import Operator
from ...operators.csr import CSROperator
from ...operators.stencil import StencilOperator
from ...problem.box import BoxProblem
from ...problem.monitor import FAILED, Monitor, Start
from ..base import Method, attempt
from ..lai.policy import PolicyIteration

#: makes the last corrections for methods that cannot; the diagonal does not mind rows of other scale
LAST = PolicyIteration(CG(Jacobi()))
#: solves for the correction of the units
LEVELS = CG(Multigrid(Algebraic(), smallest=100), maxiter=60)


@dataclass(frozen=True)
class RefinementSettings:
    """How often a problem is solved anew."""

    #: corrections at most, each of which must halve the largest row error, and solves of a substitute, each of which is
    #: followed by one with a smaller tolerance if it was not exact enough
    solves: int = 8
    #: accuracy of the correction of the units
    units_rtol: float = 0.01


SETTINGS = RefinementSettings()


# -- iterative refinement -------------------------------------------------------------------------------------


def refine(method: Method, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
    """Let a method solve, and correct its answer until every row holds or nothing is gained."""
    attempt(method, problem, start, monitor)
    _correct_rows(method, start.x, monitor)
    alone = problem.A.symmetric and problem.A.comm.size == 1
    if alone and _correct_rows(LAST, start.x, monitor) and monitor.status == "converged":
        monitor.remark("policy iteration finished the rows that the method could not finish")
    if monitor.status in (*FAILED, "maxiter", "time") and monitor.exhausted(start.x):
        monitor.stop("converged")


def _correct_rows(method: Method, x: np.ndarray, monitor: Monitor) -> bool:
    """Correct x while that helps; False if there was nothing to correct."""
    for count in range(SETTINGS.solves):
        error = _error_of_rows(x, monitor)
        if not error:
            return count > 0
        before, part = x.copy(), _correct(method, x, monitor)
        monitor.notes["corrections"] = int(monitor.notes.get("corrections", 0)) + 1
        after = monitor.row_error(x).value
        if after > error:
            x[:] = before
        if after <= 0.5 * error or part.status in ("time", "maxiter"):
            monitor.stop(part.status, part.message)
        if after > 0.5 * error:
            break
    return True


def _error_of_rows(x: np.ndarray, monitor: Monitor) -> float:
    """The row error of x if a correction may help: the method has failed, and the KKT residual is small enough."""
    problem, stopping = monitor.problem, monitor.stopping
    if stopping.criterion == "papers" or problem.edges is not None or monitor.status not in FAILED:
        return 0.0
    if stopping.maxiter is not None and monitor.iterations >= stopping.maxiter:
        return 0.0
    g = problem.gradient(x)
    error = monitor.row_error(x, g).value if monitor.measure(x, g) <= monitor.asked else 0.0
    return error if error > stopping.row_rtol else 0.0


def _correct(method: Method, x: np.ndarray, monitor: Monitor) -> Monitor:
    """x += e, where e solves the problem for the correction; returns the monitor of that solve."""
    problem, linear = monitor.problem, monitor.linear
    base, box = x.copy(), problem.box
    g = problem.gradient(base)
    low, high = box.lower - base, box.upper - base
    correction = BoxProblem(problem.A, -g, low, high, problem.coarser)
    correction.may_float = problem.may_float
    left = np.abs(g if linear else problem.natural_residual(base, g)).max(initial=0.0)
    correction.scale = float(problem.A.comm.largest(left)) or problem.scale

    def corrected(e: np.ndarray) -> np.ndarray:
        if linear:
            return base + e
        # A bound is met exactly: base + (bound - base) may differ from it in the last digit.
        total = box.project(base + e)
        return np.where(e <= low, box.lower, np.where(e >= high, box.upper, total))

    active = None if linear else box.split(base, g, problem.A.diagonal)
    start = Start(np.zeros(problem.n), active)
    part = monitor.within(correction, monitor.stopping.rtol or 1e-6, corrected, judged=True)
    attempt(method, correction, start, part)
    x[:] = corrected(start.x)
    return part


# -- substitutes ----------------------------------------------------------------------------------------------


class Substitute:
    """A problem that is solved in place of another one, and the way from its solution back."""

    #: what methods see
    problem: BoxProblem
    #: what x is judged by
    judge: BoxProblem

    def enter(self, start: Start) -> Start:
        """The start as a start of the substitute."""
        return start

    def leave(self, x: np.ndarray) -> np.ndarray:
        """A point of the substitute as a point of the problem."""
        return x

    def change(self, start: Start, status: str) -> bool:
        """Change the substitute after a solve that was not good enough; False if there is nothing to change."""
        return False


def solve_substitute(
    substitute: Substitute, solve: Callable[[BoxProblem, Start, Monitor], None], start: Start, monitor: Monitor
) -> bool:
    """Solve a substitute, more and more exactly, until x solves the problem itself; True if it does.

    The status of the last solve becomes the status of the monitor.
    """
    asked = tolerance = monitor.asked
    judge = monitor.within(substitute.judge)
    for _ in range(SETTINGS.solves):
        # Ranks look at an iterate one by one, but the way back may need them all.
        lift = None if substitute.judge.A.comm.size > 1 else substitute.leave
        part = monitor.within(substitute.problem, tolerance, lift)
        inner = substitute.enter(start)
        solve(substitute.problem, inner, part)
        start.x[:] = substitute.leave(inner.x)
        start.cold = False
        monitor.stop(part.status, part.message)
        residual = judge.measure(start.x)
        if residual <= asked and judge.rows_converged(start.x):
            monitor.stop("converged")
            return True
        if part.status not in ("converged", "stagnated", "diverged", "breakdown"):
            break
        if substitute.change(start, part.status):
            continue
        if part.status != "converged" or judge.exhausted(start.x):
            break
        tolerance *= 0.3 * min(asked / residual, 1.0)
    if monitor.status == "converged":  # the substitute, but not the problem
        monitor.stop("stagnated")
    return False


class Rescaled(Substitute):
    """The problem in other units, as a bare matrix."""

    def __init__(self, problem: BoxProblem, units: np.ndarray):
        self.judge, self.units = problem, units
        M = problem.A.matrix()
        row = np.repeat(units, np.diff(M.indptr))
        A = sp.csr_array((row * M.data * units[M.indices], M.indices, M.indptr), shape=M.shape)
        box = problem.box
        scaled = CSROperator(A)
        scaled.share_pattern(problem.A)
        self.problem = BoxProblem(scaled, units * problem.b, box.lower / units, box.upper / units)

    def enter(self, start):
        return Start(start.x / self.units, start.active, start.cold)

    def leave(self, x):
        return self.judge.box.project(self.units * x)


def rescaled(problem: BoxProblem) -> Rescaled | None:
    """The problem in better units; None if those it has are good."""
    A = problem.A
    if not (isinstance(A, CSROperator) or (isinstance(A, StencilOperator) and in_other_units(A))):
        return None
    if isinstance(A, CSROperator) and A.near_null is not None:  # the caller knows what is smooth
        return None
    units = near_null(A)
    if units.size == 0 or units.min() == units.max():
        return None
    scaled = Rescaled(problem, units)
    y = _correction_of_units(scaled.problem.A)
    return scaled if y is None else Rescaled(problem, units * y)


def _correction_of_units(A: Operator) -> np.ndarray | None:
    """y with A y ≈ diag(A), of size 1; None if it is not positive, or if a constant diagonal shows no need for it."""
    d = A.diagonal
    if d.max() < 1.001 * d.min() or not LEVELS.M.fits(A):
        return None
    y = np.zeros(A.n)
    LEVELS.setup(A).solve(d, y, rtol=SETTINGS.units_rtol)
    top = y.max()
    return y / top if 0.0 < top < np.inf and y.min() > rounding.SUM * top else None
