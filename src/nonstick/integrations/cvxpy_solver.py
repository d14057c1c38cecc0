"""CVXPY: nonstick as a custom solver of quadratic programs with bounded variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.optional import need
from ..forms import qp


def cvxpy_solver() -> Any:
    """An object for `problem.solve(solver=…)` of CVXPY.

    Examples
    --------
    >>> from nonstick.integrations import cvxpy_solver
    >>> problem.solve(solver=cvxpy_solver(), rtol=1e-8)  # doctest: +SKIP
    """
    need("integrations", "cvxpy")
    import cvxpy.settings as s
    from cvxpy.reductions.solution import Solution, failure_solution
    from cvxpy.reductions.solvers import utilities
    from cvxpy.reductions.solvers.qp_solvers.qp_solver import QpSolver

    class Nonstick(QpSolver):
        MIP_CAPABLE = False
        BOUNDED_VARIABLES = True
        STATUS = {  # noqa: RUF012  # a table of CVXPY's words
            "converged": s.OPTIMAL,
            "infeasible": s.INFEASIBLE,
            "unbounded": s.UNBOUNDED,
            "maxiter": s.USER_LIMIT,
            "time": s.USER_LIMIT,
        }

        def name(self) -> str:
            return "NONSTICK"

        def import_solver(self) -> None:
            return

        def cite(self, data: Any) -> str:
            return ""

        def solve_via_data(
            self, data: Any, warm_start: bool, verbose: bool, solver_opts: Any, solver_cache: Any = None
        ) -> Any:
            options = {"rtol": 1e-8} | dict(solver_opts)
            G, h = (data[s.F], data[s.G]) if np.size(data[s.G]) else (None, None)
            A, b = (data[s.A], data[s.B]) if np.size(data[s.B]) else (None, None)
            lb, ub = data.get(s.LOWER_BOUNDS), data.get(s.UPPER_BOUNDS)
            found = qp(data[s.P], data[s.Q], G, h, A, b, lb, ub, **options)
            if verbose:
                print(found.message)
            return found

        def invert(self, solution: Any, inverse_data: Any) -> Any:
            attributes = {
                s.SOLVE_TIME: solution.seconds,
                s.NUM_ITERS: solution.iterations,
                s.EXTRA_STATS: {"solution": solution},
            }
            status = self.STATUS.get(solution.status, s.SOLVER_ERROR)
            if status != s.OPTIMAL:
                return failure_solution(status, attributes)
            duals: dict[Any, Any] = {}
            for values, rows in ((solution.y, self.EQ_CONSTR), (solution.z, self.NEQ_CONSTR)):
                duals |= utilities.get_dual_values(values, utilities.extract_dual_value, inverse_data[rows])
            value = solution.fun + inverse_data[s.OFFSET]
            return Solution(status, value, {self.VAR_ID: solution.x}, duals, attributes)

    return Nonstick()
