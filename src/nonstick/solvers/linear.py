"""`A x = b` by one linear solver, or by several in turn (`Cascade`).

For a problem with bounds this is a baseline that ignores them ("No LCP" of Lai's tables: walls that hold on to liquid).
It has converged when the linear residual meets rtol; its KKT residual as a box problem may stay large. For a problem
without bounds, such as a viscosity step, it is the usual method.

A Krylov method updates its residual by a recurrence, which drifts from the true residual by rounding. So another solve
follows every solve: it begins with the true residual and ends at once if that is small enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..errors import NonstickError
from ..inverse.base import IterativeInverse, Recipe
from ..inverse.cascade import InTurn
from ..inverse.krylov.cg import CG
from ..inverse.precond.incomplete import ILU
from ..problem.box import BoxProblem
from ..problem.monitor import Monitor
from .base import Method


@dataclass(frozen=True)
class LinearSolve(Method):
    """A linear solve by `inner`: CG(ILU()), CG(MIC()), CG(Multigrid(...)), Direct(), ...

    Parameters
    ----------
    inner : Recipe
        Makes an iterative inverse.
    maxiter : int
        Limit of its iterations.
    baseline : bool
        True: bounds are allowed but ignored, and an outer iteration is a whole solve. False: only for problems without
        bounds; every iteration is an outer iteration and is reported to the monitor.
    aim : float
        The part of the tolerance that a solve aims at. With a value below 1, rounding seldom makes a second solve
        necessary.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, Jacobi
    >>> from nonstick.solvers import LinearSolve
    >>> nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method=LinearSolve(CG(Jacobi()))).x.round(6)
    array([-0.333333, -1.666667])
    """

    inner: Recipe = field(default_factory=lambda: CG(ILU()))
    maxiter: int = 10_000
    baseline: bool = True
    aim: float = 0.9

    @property
    def linear(self) -> bool:
        return self.baseline

    def check(self, problem):
        super().check(problem)
        if not self.baseline and problem.box.constrained.any():
            raise NonstickError(
                "solves only linear systems without bounds, such as a nonstick.ViscosityProblem; for a baseline that "
                "ignores bounds take 'no-lcp'"
            )

    def solve(self, problem, start, monitor):
        A = problem.A if self.baseline else problem.A.native
        b, x = A.right_hand_side(problem.b), A.enter(start.x)
        with monitor.setup():
            inverse = self.inner.setup(A)
        assert isinstance(inverse, IterativeInverse)
        progress = _Progress(self, problem, lambda: A.leave(x, np.empty(problem.n)), monitor)
        if isinstance(inverse, InTurn):
            inverse.report = progress.start_again
        while not monitor.status:
            result = inverse.solve(
                b,
                x,
                rtol=0.0,
                atol=self.aim * progress.goal,
                maxiter=progress.limit - monitor.iterations,
                watch=progress,
            )
            monitor.record_curvature(result.negative)
            progress.end_pass()
            if not progress.stuck or monitor.status:
                continue
            if not (isinstance(inverse, InTurn) and inverse.advance("the residual no longer falls")):
                monitor.stop("stagnated")
        monitor.notes.update(inverse.notes)
        del inverse, result  # free their memory before x is written
        A.leave(x, start.x)


class _Progress:
    """Watches the passes of a linear solve, and reports to the monitor.

    A pass is one call of an inverse's `solve`; the first residual it reports is a true residual.
    """

    def __init__(self, method: LinearSolve, problem: BoxProblem, x: Callable[[], np.ndarray], monitor: Monitor):
        self.method, self.scale, self.x, self.monitor = method, problem.scale, x, monitor
        self.limit = monitor.limit(method.maxiter)
        #: True if another pass of this inverse will not help
        self.stuck = False
        self._iterating = False
        self._passes = self._entries = 0
        self._first = np.inf

    @property
    def goal(self) -> float:
        return self.monitor.tolerance * self.scale

    def __call__(self, residual: float) -> bool:
        """True if the pass should end."""
        self._entries += 1
        if self._entries == 1:
            self._iterating = self._begin_pass(residual)
            return not self._iterating
        return not self._iterated(residual)

    def _begin_pass(self, residual: float) -> bool:
        monitor = self.monitor
        self._record(residual, again=self._passes > 0, tell=self.method.baseline or self._passes == 0)
        if residual <= monitor.asked * self.scale and monitor.rows_converged(self.x):
            monitor.stop("converged")
        if monitor.status:
            return False
        if monitor.iterations >= self.limit:
            monitor.stop("maxiter")
        else:
            self.stuck = not residual <= 0.5 * self._first
        self._first = residual
        return not monitor.status and not self.stuck

    def _iterated(self, residual: float) -> bool:
        method, monitor = self.method, self.monitor
        monitor.iterations += 1
        monitor.outer_iterations += not method.baseline
        self._record(residual, again=False, tell=not method.baseline)
        return not monitor.status

    def _record(self, residual: float, again: bool, tell: bool) -> None:
        """Enter a residual, or correct the last one."""
        self.monitor.record(residual / self.scale, self.x, again, tell)

    def end_pass(self) -> None:
        """A pass ends: it has converged, broke down, or reached the limit."""
        self.monitor.outer_iterations += self.method.baseline and self._iterating
        self._passes += 1
        self._entries = 0

    def start_again(self, following: str, reason: str) -> None:
        """Another inverse takes over."""
        self.monitor.leave(following, reason)
        self.monitor.notes["switched_at"] = self.monitor.iterations
        self.stuck, self._first = False, np.inf
