"""Quadratic programs of CVXPY (a custom solver) and of qpsolvers (`solve_qp(…, solver="nonstick")`)."""

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


def register_qpsolvers() -> None:
    """Add `"nonstick"` to the solvers of qpsolvers, in this process.

    Examples
    --------
    >>> import nonstick.integrations
    >>> nonstick.integrations.register_qpsolvers()  # doctest: +SKIP
    >>> qpsolvers.solve_qp(P, q, lb=lb, solver="nonstick")  # doctest: +SKIP
    """
    need("integrations", "qpsolvers")
    import qpsolvers
    from qpsolvers import solvers

    solvers.solve_function["nonstick"] = nonstick_solve_problem
    for names in (solvers.available_solvers, qpsolvers.available_solvers, solvers.sparse_solvers):
        if "nonstick" not in names:
            names.append("nonstick")


def nonstick_solve_problem(problem: Any, initvals: Any = None, verbose: bool = False, **options: Any) -> Any:
    """Solve a `qpsolvers.Problem`; options are those of `nonstick.qp`.

    Parameters
    ----------
    problem : qpsolvers.Problem
        The quadratic program.
    initvals : array_like, optional
        Where to start, if there are bounds only.
    verbose : bool
        Print the message of the solution.

    Returns
    -------
    qpsolvers.Solution
        x, the multipliers and whether it was found.
    """
    from qpsolvers import Solution

    P, q, G, h, A, b, lb, ub = problem.unpack()
    options.setdefault("rtol", 1e-9)
    found = qp(P, q, G, h, A, b, lb, ub, x0=initvals, **options)
    if verbose:
        print(found.message)
    bounded = lb is not None or ub is not None
    out = Solution(problem)
    out.found = found.success
    out.x, out.obj = (found.x, found.fun) if found.success else (None, None)
    out.y = found.y if b is not None else np.empty(0)
    out.z = found.z if h is not None else np.empty(0)
    out.z_box = found.z_box if bounded else np.empty(0)
    out.extras = {"iterations": found.iterations, "status": found.status, "message": found.message}
    return out
