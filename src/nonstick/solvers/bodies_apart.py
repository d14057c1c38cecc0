"""Rigid bodies for methods that need a stencil: the method solves for the liquid, Newton's method for the bodies.

With bodies A = B + U S Uᵀ, where B is the liquid's stencil and U has three or six columns a body. For a given `y`, the
method solves the problem of the liquid alone,

    min ½ xᵀB x − (b − U S y)ᵀx,   lower ≤ x ≤ upper,

and x solves the whole problem if `F(y) = Uᵀx(y) − y` is zero. In the metric of S, −F is the gradient of a strongly
convex function of y, quadratic as long as the set of free rows stays the same. Newton's method is

    y += (I + G S)⁻¹ F,   G = Uᵀ (B on the free rows)⁻¹ U,

one linear solve for each column, by CG over multigrid. A step that neither lowers this function enough nor makes F
smaller is halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core import rounding
from ..core.options import Stopping
from ..inverse.krylov.cg import CG
from ..inverse.multigrid.cycles import V
from ..inverse.multigrid.grid.geometric import Geometric
from ..inverse.multigrid.hierarchy import Multigrid
from ..inverse.multigrid.smoothers import RedBlack
from ..operators.masked import LowRank, Masked
from ..problem.box import BoxProblem
from ..problem.monitor import PATIENCE, Monitor, Start
from .base import HALVINGS, SUFFICIENT, Method

#: solves for the columns of G
COLUMNS = CG(Multigrid(Geometric(), RedBlack(), V(1, 1)))


@dataclass(frozen=True)
class NewtonSettings:
    """Newton's method on a few unknowns over a solver of boxes: the bodies here, multipliers in `constrained`."""

    #: accuracy of the columns of G: each Newton step gains about as many digits
    columns: float = 1e-4
    #: the solves for the liquid aim at this part of the tolerance, and at a tenth of that each time it was not enough:
    #: light bodies multiply its error
    sharper: float = 0.1
    #: a search for multipliers ends where pᵀr has fallen to this part, or after so many box solves; after as many steps
    #: a linear program decides whether the constraints have a solution, because most problems take fewer
    flat: float = 0.2
    search: int = 12


SETTINGS = NewtonSettings()


def solve_apart(method: Method, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
    """Solve a problem with bodies by a method that cannot treat bodies."""
    low = problem.A.bodies
    assert low is not None
    x, bodies = start.x, BodyResponse(low, problem)
    y = low.gather(x)
    step, slope, halved = np.zeros_like(y), 0.0, 0
    missed = lowest = np.inf
    sharper = SETTINGS.sharper
    for _ in range(PATIENCE.steps):
        if monitor.check(x) or not _liquid(method, problem, low, y, x, sharper * monitor.tolerance, monitor):
            break
        monitor.outer_iterations += 1
        F = low.gather(x) - y
        size, value = float(F @ low.S @ F), bodies.value(x, y)
        if size > missed and value > lowest - SUFFICIENT * slope and halved < HALVINGS:
            step, slope, halved = 0.5 * step, 0.5 * slope, halved + 1
            y -= step
            continue
        missed, lowest, halved = size, value, 0
        with monitor.setup():
            G, same = bodies.response(x, y)
        sharper *= 0.1 if same else 1.0
        step = np.linalg.solve(np.eye(low.rank) + G @ low.S, F)
        slope = float(F @ low.S @ step)
        y += step


def _liquid(
    method: Method, problem: BoxProblem, low: LowRank, y: np.ndarray, x: np.ndarray, aim: float, monitor: Monitor
) -> bool:
    """Improve x for given y; False if the whole solve should end."""
    alone = _alone(problem, low, y)
    limit, left = monitor.stopping.maxiter, monitor.stopping.time_limit
    if left is not None:
        left = max(left - monitor.seconds, 0.0)
    if limit is not None:
        limit -= monitor.iterations
        if limit < 1:
            monitor.stop("maxiter")
            return False
    inside = Monitor(alone, Stopping(max(aim, rounding.DIGITS), maxiter=limit, time_limit=left, criterion="papers"))
    method.solve(alone, Start(x), inside)
    monitor.iterations += inside.iterations
    monitor.progress.setup_seconds += inside.progress.setup_seconds
    for note in ("levels", "finished_by"):
        if note in inside.notes:
            monitor.notes[note] = inside.notes[note]
    monitor.progress.path += [line for line in inside.progress.path if line not in monitor.progress.path]
    for remark in inside.progress.remarks:
        monitor.remark(remark)
    if inside.status in ("converged", "stagnated") or (not inside.status and limit is None):
        return True  # whether it was good enough is seen in the whole problem
    if inside.status == "indefinite":  # a closed part of the liquid that a piston squeezes
        monitor.stop("breakdown", "without its bodies the liquid has no pressure, so they cannot be apart: take 'auto'")
    else:
        monitor.stop(inside.status or "maxiter", inside.message)
    return False


def _alone(problem: BoxProblem, low: LowRank, y: np.ndarray) -> BoxProblem:
    """The problem of the liquid, pushed by the bodies."""
    b = problem.b.copy()
    low.spread(-(low.S @ y), b)
    alone = _bare(problem)
    alone.b, alone.scale, alone.may_float = b, problem.scale, problem.may_float
    return alone


def _bare(problem: BoxProblem) -> BoxProblem:
    """The problem without its bodies; so are its coarser problems."""
    A = problem.A if problem.A.bodies is None else problem.A.bodies.base
    coarser = (lambda: _bare(problem.coarsen())) if problem.can_coarsen else None
    return BoxProblem(A, problem.b, problem.box.lower, problem.box.upper, coarser)


class BodyResponse:
    """How the pressure around bodies answers to their motion."""

    def __init__(self, low: LowRank, problem: BoxProblem):
        self.low, self.problem = low, problem
        self.columns = np.zeros((low.rank, problem.n))
        self.masked = Masked(low.base)
        self.inverse = None
        self._set: np.ndarray | None = None
        self._G = np.zeros((low.rank, low.rank))

    def value(self, x: np.ndarray, y: np.ndarray) -> float:
        """The convex function of y that Newton's method minimises."""
        push = self.low.S @ y
        return 0.5 * float(y @ push) - _bare(self.problem).objective(x) - float(push @ self.low.gather(x))

    def response(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, bool]:
        """G for the free rows of x, and True if it is the last one; earlier columns are the start of new ones."""
        alone = _alone(self.problem, self.low, y)
        free = alone.box.split(x, alone.gradient(x), alone.A.diagonal) == 0
        if self._set is not None and np.array_equal(free, self._set):
            return self._G, True
        self._set = free
        inverse = self.inverse = COLUMNS.setup(self.masked.update(free, None), self.inverse)
        for k, column in enumerate(self.columns):
            push = np.zeros(self.problem.n)
            self.low.spread(np.eye(self.low.rank)[k], push)
            push[~free] = 0.0
            column[~free] = 0.0
            inverse.solve(push, column, rtol=SETTINGS.columns, maxiter=200)
            self._G[:, k] = self.low.gather(column)
        self._G[:] = 0.5 * (self._G + self._G.T)
        return self._G, False
