"""Andersen's two solvers in the operations of an array library, without our kernels.

The paper writes them once in a high-level library and runs them on a CPU and on a GPU (its figure 9). Here they are
written against the array API: on NumPy arrays with a SciPy matrix they are the reference for compiled kernels. They do
the same iterations as `CG()` and `newton+paper`, up to the order of sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..solvers.base import Method
from ..solvers.newton import MinMapNewton, conjugate_gradients, minimum_map_newton


@dataclass(frozen=True)
class ArrayCG(Method):
    """Conjugate gradients on A x = b, no preconditioner."""

    maxiter: int = 10_000
    linear: ClassVar[bool] = True

    def solve(self, problem, start, monitor):
        matrix, ones = problem.A.matrix(), np.ones(problem.n)
        cg = conjugate_gradients(matrix.__matmul__, ones, maxiter=monitor.limit(self.maxiter))
        start.x[:], monitor.iterations = cg(ones > 0, problem.b, 0.9 * monitor.tolerance * problem.scale)
        monitor.outer_iterations = 1
        monitor.check(start.x)


@dataclass(frozen=True)
class ArrayNewton(Method):
    """Minimum-map Newton with the parameters of `method` over conjugate gradients without a preconditioner."""

    method: MinMapNewton = field(default_factory=MinMapNewton.paper)

    def solve(self, problem, start, monitor):
        matrix, ones, box, of = problem.A.matrix(), np.ones(problem.n), problem.box, self.method

        def check(x, g, outcome):
            monitor.iterations = outcome.inner_iterations + outcome.line_search_steps
            monitor.outer_iterations = outcome.newton_steps
            return monitor.check(x, g)

        outcome = minimum_map_newton(
            matrix.__matmul__, problem.b, box.lower, box.upper, problem.A.diagonal if of.scaled else ones, start.x,
            subsolve=conjugate_gradients(matrix.__matmul__, ones, maxiter=of.inner_maxiter), check=check,
            rtol=lambda: monitor.tolerance, maxiter=min(of.maxiter, monitor.limit(of.maxiter)), xi=of.xi,
            alpha=of.alpha,
            beta=of.beta, line_search=of.line_search, safeguarded=of.safeguarded, absolute=of.absolute,
            relative=of.relative, stagnation=of.stagnation, inner_rtol=of.inner_rtol, inner_atol=of.inner_atol,
        )  # fmt: skip
        start.x[:] = outcome.x
        if not monitor.status and outcome.status not in ("converged", "maxiter"):
            monitor.stop("stagnated")
