"""nonstick inside other packages: qpsolvers, CVXPY, scikit-fem, and anything that takes a `LinearOperator`.

- quadratic programs of CVXPY (a custom solver) and of qpsolvers (`solve_qp(…, solver="nonstick")`)
- any recipe as a preconditioner for SciPy, PyAMG's Krylov methods and others
- a `solver=` for `skfem.solve`, with or without bounds

Nothing here loads the other package before its function is called; the extra `integrations` installs all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .api import solve
from .compositions import AMG, CYCLE, MODES
from .core.optional import need
from .errors import NonstickError
from .forms import qp
from .inverse.base import Recipe
from .problem.given import Given, Modes


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
            if self.EQ_CONSTR in inverse_data:
                for values, rows in ((solution.y, self.EQ_CONSTR), (solution.z, self.NEQ_CONSTR)):
                    duals |= utilities.get_dual_values(values, utilities.extract_dual_value, inverse_data[rows])
            else:  # before CVXPY 1.8, which shares them out itself
                duals[self.DUAL_VAR_ID] = np.concatenate([solution.y, solution.z])
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

    # the module and its function share a name; in some versions its table is a copy of `solvers.solve_function`
    import_module("qpsolvers.solve_problem").solve_function["nonstick"] = nonstick_solve_problem
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


def aspreconditioner(
    A: Any,
    recipe: Recipe | None = None,
    *,
    cells: Any = None,
    near_null: Any = None,
    nodes: Any = None,
    block: int | None = None,
) -> Any:
    """A `scipy.sparse.linalg.LinearOperator` that applies one cycle, as PyAMG's method of the same name.

    Parameters
    ----------
    A : scipy.sparse matrix or 2-D array
        Symmetric and positive definite.
    recipe : Recipe, optional
        What is applied; the cycle of `auto` if not given.
    cells, near_null, nodes, block
        As for `nonstick.solve`.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        For `M=` of `scipy.sparse.linalg.cg` and of others.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from scipy.sparse.linalg import cg
    >>> from nonstick.integrations import aspreconditioner
    >>> T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(40, 40))
    >>> A = sp.csr_array(sp.kron(T, sp.eye_array(40)) + sp.kron(sp.eye_array(40), T))
    >>> steps = []
    >>> x, failed = cg(A, np.ones(1600), rtol=1e-8, M=aspreconditioner(A), callback=steps.append)
    >>> failed, len(steps) < 20
    (0, True)
    """
    from scipy.sparse.linalg import LinearOperator  # slow to load

    modes = Modes.of(near_null, nodes, block)
    given = Given(A, cells, modes=modes)
    if recipe is None:
        recipe = MODES if modes is not None else CYCLE if given.operator.stencil is not None else AMG
        recipe = recipe if recipe.fits(given.operator) else CYCLE
    inverse = recipe.setup(given.operator)

    def apply(r: np.ndarray) -> np.ndarray:
        r = given.enter(np.ascontiguousarray(np.ravel(r), dtype=np.float64))
        return given.leave(inverse.apply(r, np.empty(given.n)))

    return LinearOperator((given.n, given.n), matvec=apply, rmatvec=apply, dtype=np.float64)


def skfem_solver(lower: Any = None, upper: Any = None, **options: Any) -> Callable[..., np.ndarray]:
    """A solver for `skfem.solve(A, b, …, solver=…)`: of the linear system, or of the problem with bounds.

    Parameters
    ----------
    lower, upper : float or array_like, optional
        Bounds on the unknowns that the system which scikit-fem hands over has: after `condense`, the free ones.
    **options
        Everything else that `nonstick.solve` takes: `rtol`, `nodes`, `near_null`, …

    Returns
    -------
    callable
        (A, b) ↦ x.

    Examples
    --------
    >>> from nonstick.integrations import skfem_solver
    >>> skfem_solver(lower=0.0)([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0]).round(6)
    array([0.5, 0. ])
    """

    def solver(A: Any, b: Any, **solve_time: Any) -> np.ndarray:
        solution = solve(A, b, lower, upper, **(options | solve_time))
        if not solution.converged:
            raise NonstickError(f"the system of scikit-fem was not solved: {solution.message}")
        return np.asarray(solution.x)

    return solver
