"""The linear baseline: `A x = b`, bounds ignored ("No LCP" of Lai's tables: walls that hold on to liquid).

It has converged when the linear residual meets rtol; its KKT residual as a box problem stays what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..inverse.base import IterativeInverse, Recipe
from ..inverse.krylov.cg import CG
from ..inverse.precond.ilu import ILU
from .base import Method


@dataclass(frozen=True)
class LinearSolve(Method):
    """One linear solve by `inner`: CG(ILU()), CG(MIC()), CG(Multigrid(...)), Direct(), ..."""

    inner: Recipe = field(default_factory=lambda: CG(ILU()))
    maxiter: int = 10_000
    linear: ClassVar[bool] = True

    def solve(self, problem, start, monitor):
        x = start.x
        if monitor.check(x):
            return
        with monitor.setup():
            inverse = self.inner.setup(problem.A)
        assert isinstance(inverse, IterativeInverse)
        # A recurrence drifts from the true residual by rounding: where it does, solve for the rest.
        limit = monitor.limit(self.maxiter)
        goal = monitor.tolerance * problem.scale
        while monitor.iterations < limit:
            result = inverse.solve(problem.b, x, rtol=0.0, atol=0.9 * goal, maxiter=limit - monitor.iterations)
            monitor.iterations += result.iterations
            monitor.outer_iterations += 1
            monitor.history += [r / problem.scale for r in result.history[1:-1]]
            before = monitor.kkt
            if monitor.check(x):
                return
            if not monitor.kkt < 0.5 * before:
                monitor.stop("stagnated")
                return
