"""`nonstick.solve` and `nonstick.lcp`: any bound-constrained elliptic problem, any registered method."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import registry, validate
from .errors import EntriesNeededError, NonstickError
from .options import suggesting, unknown_option
from .problem.box import BoxProblem
from .problem.constraints import LinearConstraints
from .problem.given import Given
from .problem.monitor import Criterion, Monitor, Start, row_tolerance
from .problem.solution import Solution
from .solvers import refine
from .solvers.base import Method
from .solvers.constrained import solve_constrained
from .solvers.definite import ZERO, indefinite, smallest_curvature
from .solvers.pockets import Settled, settle


@suggesting
def solve(
    A,
    b,
    lower=0.0,
    upper=np.inf,
    *,
    method: str | Method = "auto",
    x0=None,
    active=None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback: Callable[[Monitor], object] | None = None,
    cells=None,
    diagonal=None,
    constraints=None,
    time_limit: float | None = None,
    criterion: Criterion = "rows",
) -> Solution:
    """Solve `min ½ xᵀA x − bᵀx` subject to `lower ≤ x ≤ upper`.

    With the default bounds this is the complementarity problem `0 ≤ x ⟂ A x − b ≥ 0`; with infinite
    bounds the linear system `A x = b`.

    Parameters
    ----------
    A : scipy.sparse matrix, 2-D array, nonstick operator or scipy.sparse.linalg.LinearOperator
        n × n, with a positive diagonal. Symmetric and positive definite; or not symmetric, and an M-matrix or another
        P-matrix: then there is nothing to minimise, and x solves the complementarity problem. A LinearOperator must be
        symmetric and needs `diagonal`, and not every method can use it.
    b : array_like
        n numbers.
    lower, upper : float or array_like
        Bounds on x, one for all or one each; `-inf`, `inf` or None where there is none.
    method : str
        A name from `nonstick.methods()`, or a method object.
    x0 : array_like, optional
        Where to start; it is clipped to the bounds. Zero if not given.
    active : array_like, optional
        Where the bounds are expected to hold: -1 at the lower, 1 at the upper, 0 free, as in the `active` of a
        solution. Methods that work with sets begin with it.
    rtol, atol : float
        Stop when the KKT residual `max|d·(x − clip(x − g/d, lower, upper))|`, with `g = A x − b` and
        `d = diag(A)`, is at most `max(rtol · max|b|, atol)`, and every row passes the row test: what row i of that
        residual still shows is at most 10 rtol of the terms of the row, `|A||x|`, and of its box, or at most atol.
    maxiter : int, optional
        Iteration limit, in the unit the method counts. Each method has its own default.
    callback : callable, optional
        Called as `callback(monitor)` after every outer iteration, and once in 50 iterations of a linear solve inside
        a method. `monitor.kkt` is the residual reached, `monitor.x` makes a copy of the iterate, and
        `monitor.stop("maxiter", "enough")` ends the solve.
    cells : array_like of int, optional
        n × 2 or n × 3 grid coordinates of the unknowns, in any order. Geometric methods need them, and
        every method is faster with them where A couples only cells that share a face.
    diagonal : array_like, optional
        The diagonal of A, if A is a LinearOperator.
    constraints : tuple, optional
        `(C, lower, upper)`: a few linear constraints `lower ≤ C x ≤ upper` beside the bounds on x, a row of C for each.
        Equal bounds make an equation, None or ±inf is no bound. `solution.multipliers` has one number for each.
    time_limit : float, optional
        Seconds, checks and set-up included. The solve ends at the next iteration with the status "time".
    criterion : {"rows", "papers"}
        "papers": stop on the KKT residual alone, as the tables of the papers do.

    Returns
    -------
    Solution
        `x`, `dual = A x − b`, `converged`, `status`, `message` (advice if it did not converge),
        `iterations`, `outer_iterations`, `history`, `seconds`, and `kkt()` and `row_error()`, which recompute the
        residuals.

    Raises
    ------
    NonstickError
        If the input is not a valid problem, or the method cannot treat it. The message says why.

    Examples
    --------
    A string pulled down onto a table: it lies flat in the middle and hangs free near its ends.

    >>> import numpy as np, scipy.sparse as sp, nonstick
    >>> n = 9
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    >>> b = np.full(n, -0.1)
    >>> b[[0, -1]] += 0.5  # the ends are held at height 0.5
    >>> solution = nonstick.solve(A, b, method="psor", rtol=1e-9)
    >>> solution.converged, bool(solution.kkt() < 1e-9)
    (True, True)
    >>> np.round(solution.x, 3)
    array([0.233, 0.067, 0.   , 0.   , 0.   , 0.   , 0.   , 0.067, 0.233])
    """
    stop = {
        "rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback, "time_limit": time_limit,
        "criterion": criterion,
    }  # fmt: skip
    began = _check_options(method, stop)
    return _solve(Given(A, cells, diagonal), b, lower, upper, method, x0, active, stop, began, constraints=constraints)


def lcp(M, q, **options) -> Solution:
    """Solve the linear complementarity problem `0 ≤ x ⟂ M x + q ≥ 0`.

    Parameters
    ----------
    M : scipy.sparse matrix, 2-D array, nonstick operator or scipy.sparse.linalg.LinearOperator
        Positive definite, an M-matrix or another P-matrix. It need not be symmetric.
    q : array_like
        n numbers.
    **options
        Everything `nonstick.solve` takes except the bounds.

    Returns
    -------
    Solution
        As from `nonstick.solve`; `dual` is `M x + q`.

    Examples
    --------
    >>> import nonstick
    >>> solution = nonstick.lcp([[2.0, -1.0], [-1.0, 2.0]], [-1.0, 3.0], method="psor")
    >>> solution.x.round(6), solution.dual.round(6)
    (array([0.5, 0. ]), array([0. , 2.5]))
    """
    if options.keys() & {"lower", "upper"}:
        raise NonstickError("an LCP has the bounds 0 and inf; use nonstick.solve for others")
    given = {name: options.pop(name, None) for name in ("cells", "diagonal")}
    rest = {"method": "auto"} | {name: options.pop(name) for name in _NOT_STOPPING if name in options}
    for word in options:
        if word not in _STOPPING:
            unknown_option(word, [*_STOPPING, *given, *_NOT_STOPPING], "lcp")
    began = _check_options(rest["method"], options)
    M = Given(M, **given, names=("M", "q"))
    rest = dict.fromkeys(("x0", "active")) | rest
    return _solve(M, q, 0.0, np.inf, stop=options, began=began, sign=-1.0, **rest)


#: the options that say when a solve ends, and the others that do not belong to the matrix
_STOPPING = ("rtol", "atol", "maxiter", "callback", "time_limit", "criterion")
_NOT_STOPPING = ("method", "x0", "active", "constraints")


def _check_options(method, stop: dict) -> float:
    """Report bad options before any work is done; returns the time when the work begins."""
    began = time.perf_counter()
    validate.stopping(**stop)
    registry.get(method)
    return began


def _solve(
    given: Given, b, lower, upper, method, x0, active, stop: dict, began: float, sign=1.0, constraints=None
) -> Solution:
    """Solve with a matrix that is checked; b is multiplied by `sign` first."""
    problem = given.problem(b, lower, upper, sign)
    x0 = None if x0 is None else given.vector(x0, "x0")
    active = None if active is None else given.enter(validate.active(active, given.n))
    if constraints is not None:
        C, low, high = validate.constraints(constraints, given.n)
        constraints = C if given.order is None else C[:, given.order], low, high
    solution = given.solution(_solve_problem(problem, method, x0, active, stop, began, given.back, constraints))
    return replace(solution, seconds=time.perf_counter() - began)


@suggesting
def solve_problem(
    problem: BoxProblem,
    method: str | Method = "auto",
    *,
    x0=None,
    active=None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback=None,
    time_limit: float | None = None,
    criterion: Criterion = "rows",
) -> Solution:
    """Solve a problem that is already built.

    Parameters
    ----------
    problem : BoxProblem
        What to solve.
    method : str or Method
        A name from `nonstick.methods()`, or a method object.
    x0 : array_like, optional
        Where to start.
    active : array_like, optional
        The `active` of an earlier solution: methods that work with sets begin with it.
    rtol, atol, maxiter, callback, time_limit, criterion
        As for `nonstick.solve`.

    Returns
    -------
    Solution
        As from `nonstick.solve`.

    Examples
    --------
    >>> import nonstick
    >>> problem = nonstick.cases.build("circle2d", 32).problem
    >>> first = nonstick.solve_problem(problem)
    >>> again = nonstick.solve_problem(problem, x0=first.x, active=first.active)
    >>> first.converged, again.iterations
    (True, 0)
    """
    stop = {
        "rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback, "time_limit": time_limit,
        "criterion": criterion,
    }  # fmt: skip
    validate.stopping(**stop)
    x0 = None if x0 is None else validate.vector(x0, problem.n, "x0")
    active = None if active is None else validate.active(active, problem.n)
    return _solve_problem(problem, method, x0, active, stop, time.perf_counter())


def _solve_problem(
    problem: BoxProblem, method: str | Method, x0, active, stop: dict, began: float, back: np.ndarray | None = None,
    constraints=None,
) -> Solution:  # fmt: skip
    """Solve with checked options; `back` puts the unknowns into the order of the caller."""
    if constraints is not None:
        return _solve_with_constraints(problem, constraints, method, x0, stop, began, back)
    name = registry.name_of(method) if isinstance(method, str) else repr(method)
    return run_method(problem, registry.get(method), name, x0, active, stop, began, back)


def run_method(
    problem: BoxProblem, recipe: Method, name: str, x0, active, stop: dict, began: float, back: np.ndarray | None = None
) -> Solution:
    """Solve by a method with this name; all arguments are checked."""
    try:
        recipe.check(problem)
    except NonstickError as error:
        raise NonstickError(f"method {name!r} {error}") from None
    recipe = recipe.chosen(problem)
    x = np.zeros(problem.n) if x0 is None else np.array(x0, float)
    if active is not None:  # rows that no longer have a bound (walls move) cannot be clamped
        active = np.where(np.isfinite(problem.box.at(active)), active, 0).astype(np.int8)
    cold = active is None and not problem.A.largest(int(x.any()))
    monitor = Monitor(problem, linear=recipe.linear, began=began, **stop)
    if back is not None:
        monitor.outer.append(lambda x: x[back])
    settled = settle(problem, recipe.linear, recipe.preconditioner)
    try:
        if settled is not None:
            _solve_settled(settled, recipe, x, active, cold, monitor)
        elif problem.A.unknowns:
            problem.box.project(x, out=x)
            refine.run(recipe, problem, Start(x, active, cold), monitor)
    except EntriesNeededError as error:
        raise NonstickError(f"method {name!r} {error}") from None
    if monitor.status not in ("converged", "infeasible"):
        if not recipe.as_printed:
            _no_worse(problem, x, x0, monitor)
        if not monitor.negative and monitor.gave_up and problem.A.symmetric and not problem.A.shared:
            monitor.negative = smallest_curvature(problem.A) < ZERO
    elif monitor.criterion == "rows" and not recipe.linear and indefinite(problem.A):
        monitor.remark("A is not positive definite, so there may be other solutions")
    return Solution.of(problem, x, name, monitor)


def _solve_with_constraints(problem: BoxProblem, constraints, method, x0, stop: dict, began: float, back) -> Solution:
    """Solve with linear constraints: a box problem for each guess of their multipliers."""
    from .compositions import face_solver  # which loads every solver

    limits = LinearConstraints(*validate.constraints(constraints, problem.n))
    stop = {"rtol": 1e-6, "atol": 0.0, "criterion": "rows", "time_limit": None} | stop
    asked = stop["rtol"]

    def solve(problem: BoxProblem, x0, active) -> Solution:
        # The step that meets the constraints adds an error of its own, so the box problems are solved more exactly.
        within = stop | {"rtol": 0.5 * asked}
        if stop["time_limit"] is not None:
            within["time_limit"] = max(stop["time_limit"] - (time.perf_counter() - began), 1e-9)
        return _solve_problem(problem, method, x0, active, within, time.perf_counter(), back)

    def holds(problem: BoxProblem, x: np.ndarray) -> bool:
        if problem.kkt(x) > max(asked, stop["atol"] / problem.scale):
            return False
        return stop["criterion"] == "papers" or problem.row_error(x).value <= row_tolerance(asked)

    solution = solve_constrained(problem, limits, solve, holds, face_solver(problem.A), asked, x0)
    return replace(solution, seconds=time.perf_counter() - began)


def _no_worse(problem: BoxProblem, x: np.ndarray, x0, monitor: Monitor) -> None:
    """After a solve that failed: x is the start where that was better.

    With a limit of the user's own, the last iterate is what was asked for, unless it is no number: the residual
    of a sound method may rise before it falls.
    """
    start = np.zeros(problem.n) if x0 is None else np.array(x0, float).reshape(problem.n)
    problem.box.project(start, out=start)
    before = monitor.measure(start)
    after = monitor.measure(x)
    limited = monitor.maxiter is not None or monitor.time_limit is not None
    if after <= monitor.asked or (limited and np.isfinite(after)):
        return
    if not after <= before < np.inf:
        x[:] = start
        monitor.remark("what it reached was worse than where it began, and x is the start")


def _solve_settled(settled: Settled, recipe: Method, x: np.ndarray, active, cold: bool, monitor: Monitor) -> None:
    """Solve the stand-in of a problem with pockets; the residual of x is taken from the problem itself."""
    asked, judged = monitor.asked, settled.corrected()
    for _ in range(6):
        monitor.problem = problem = settled.problem
        problem.box.project(x, out=x)
        if active is not None:  # rows without a bound in the stand-in cannot be clamped
            active = np.where(np.isfinite(problem.box.at(active)), active, 0).astype(np.int8)
        monitor.renew(monitor.tolerance)
        refine.run(recipe, problem, Start(x, active, cold), monitor)
        cold = False
        settled.restore(x)
        monitor.problem = judged
        residual = monitor.measure(x)
        sound = residual <= asked and monitor.holds(x)
        if sound or monitor.status not in ("converged", "stagnated", "diverged", "breakdown"):
            break
        # Three causes are possible: the method cannot treat a singular matrix; a ground lies in the wrong place; or the
        # ground holds the sum of the remaining residuals of its pocket.
        if settled.ground():
            x[~np.isfinite(x)] = 0.0
        elif monitor.status != "converged":
            break
        elif settled.moved(x):
            active = None
        else:
            monitor.tolerance = 0.3 * monitor.asked * min(asked / max(residual, asked), 1.0)
    monitor.asked = monitor.tolerance = asked
    if settled.infeasible:
        monitor.notes["corrected_kkt"] = residual
    if settled.infeasible and sound:
        monitor.stop("infeasible", settled.sentence)
    elif settled.infeasible:
        monitor.remark(settled.sentence)
    monitor.problem = settled.original
    kinds = [pocket.kind for pocket in settled.pockets]
    monitor.notes["pockets"] = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
