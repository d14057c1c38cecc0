"""`nonstick.solve` and `nonstick.lcp`: any bound-constrained elliptic problem, any registered method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import registry, validate
from .errors import EntriesNeededError, NonstickError
from .problem.box import BoxProblem
from .problem.given import Given
from .problem.monitor import Monitor, Start
from .problem.solution import Solution
from .solvers.base import Method
from .solvers.pockets import Settled, settle


@validate.suggesting
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
) -> Solution:
    """Solve `min ½ xᵀA x − bᵀx` subject to `lower ≤ x ≤ upper`.

    With the default bounds this is the complementarity problem `0 ≤ x ⟂ A x − b ≥ 0`; with infinite
    bounds the linear system `A x = b`.

    Parameters
    ----------
    A : scipy.sparse matrix, 2-D array, nonstick operator or scipy.sparse.linalg.LinearOperator
        Symmetric and positive definite, n × n. A LinearOperator needs `diagonal`, and not every method can use it.
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
        `d = diag(A)`, is at most `max(rtol · max|b|, atol)`.
    maxiter : int, optional
        Iteration limit, in the unit the method counts. Each method has its own default.
    callback : callable, optional
        Called as `callback(monitor)` after every outer iteration; `monitor.kkt` is the residual reached,
        and `monitor.stop("maxiter", "enough")` ends the solve.
    cells : array_like of int, optional
        n × 2 or n × 3 grid coordinates of the unknowns, in any order. Geometric methods need them, and
        every method is faster with them where A couples only cells that share a face.
    diagonal : array_like, optional
        The diagonal of A, if A is a LinearOperator.

    Returns
    -------
    Solution
        `x`, `dual = A x − b`, `converged`, `status`, `message` (advice if it did not converge),
        `iterations`, `outer_iterations`, `history`, `seconds`, and `kkt()`, which recomputes the residual.

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
    stop: dict[str, Any] = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback}
    validate.stopping(**stop)
    registry.get(method)  # report an unknown name before any work is done
    return _solve(Given(A, cells, diagonal), b, lower, upper, method, x0, active, stop)


def lcp(M, q, **options) -> Solution:
    """Solve the linear complementarity problem `0 ≤ x ⟂ M x + q ≥ 0`.

    Parameters
    ----------
    M : scipy.sparse matrix, 2-D array, nonstick operator or scipy.sparse.linalg.LinearOperator
        Symmetric and positive definite.
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
    method, x0, active = options.pop("method", "auto"), options.pop("x0", None), options.pop("active", None)
    cells, diagonal = options.pop("cells", None), options.pop("diagonal", None)
    for word in options:
        if word not in _STOPPING:
            validate.unknown_option(word, [*_STOPPING, "method", "x0", "active", "cells", "diagonal"], "lcp")
    validate.stopping(**options)
    registry.get(method)
    given = Given(M, cells, diagonal, names=("M", "q"))
    return _solve(given, q, 0.0, np.inf, method, x0, active, options, sign=-1.0)


#: the options that say when a solve ends
_STOPPING = ("rtol", "atol", "maxiter", "callback")


def _solve(given: Given, b, lower, upper, method, x0, active, stop, sign=1.0) -> Solution:
    """Solve with a matrix that is checked; b is multiplied by `sign` first."""
    problem = given.problem(b, lower, upper, sign)
    x0 = None if x0 is None else given.vector(x0, "x0")
    active = None if active is None else given.enter(validate.active(active, given.n))
    return given.solution(solve_problem(problem, method, x0=x0, active=active, **stop))


@validate.suggesting
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
    rtol, atol, maxiter, callback
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
    stop: dict[str, Any] = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback}
    validate.stopping(**stop)
    name = registry.name_of(method) if isinstance(method, str) else repr(method)
    if x0 is not None:
        x0 = validate.vector(x0, problem.n, "x0")
    if active is not None:
        active = validate.active(active, problem.n)
    return run_method(problem, registry.get(method), name, x0, active, stop)


def run_method(problem: BoxProblem, recipe: Method, name: str, x0, active, stop: dict) -> Solution:
    """Solve by a method with this name; all arguments are checked."""
    try:
        recipe.check(problem)
    except NonstickError as error:
        raise NonstickError(f"method {name!r} {error}") from None
    x = np.zeros(problem.n) if x0 is None else x0.copy()
    if active is not None:  # rows that no longer have a bound (walls move) cannot be clamped
        active = np.where(np.isfinite(problem.box.at(active)), active, 0).astype(np.int8)
    cold = active is None and not x.any()
    monitor = Monitor(problem, **stop, linear=recipe.linear)
    settled = settle(problem, recipe.linear)
    try:
        if settled is not None:
            _solve_settled(settled, recipe, x, active, cold, monitor)
        elif problem.n:
            problem.box.project(x, out=x)
            _attempt(recipe, problem, Start(x, active, cold), monitor)
    except EntriesNeededError as error:
        raise NonstickError(f"method {name!r} {error}") from None
    if monitor.status not in ("converged", "infeasible"):
        _no_worse(problem, x, x0, monitor)
    return Solution.of(problem, x, name, monitor)


#: what arithmetic that breaks down raises: divisions by zero, singular factors, overflow
_BREAKDOWNS = (ArithmeticError, np.linalg.LinAlgError, RecursionError)


def _attempt(recipe: Method, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
    """Let a method solve; a breakdown ends in a status."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the monitor notices
            recipe.solve(problem, start, monitor)
    except _BREAKDOWNS:
        monitor.stop("breakdown")


def _no_worse(problem: BoxProblem, x: np.ndarray, x0, monitor: Monitor) -> None:
    """After a solve that failed: x is the start where that was better.

    With a `maxiter` of the user's own, the last iterate is what was asked for, unless it is no number: the residual
    of a sound method may rise before it falls.
    """
    start = np.zeros(problem.n) if x0 is None else np.array(x0, float).reshape(problem.n)
    problem.box.project(start, out=start)
    before = monitor.measure(start)
    after = monitor.measure(x)
    if monitor.maxiter is not None and np.isfinite(after):
        return
    if not after <= before < np.inf:
        x[:] = start
        monitor.remark("what it reached was worse than where it began, and x is the start")


def _solve_settled(settled: Settled, recipe: Method, x: np.ndarray, active, cold: bool, monitor: Monitor) -> None:
    """Solve the stand-in of a problem with pockets; the residual of x is taken from the problem itself."""
    asked, judged = monitor.tolerance, settled.corrected()
    for _ in range(6):
        monitor.problem = problem = settled.problem
        problem.box.project(x, out=x)
        if active is not None:  # rows without a bound in the stand-in cannot be clamped
            active = np.where(np.isfinite(problem.box.at(active)), active, 0).astype(np.int8)
        monitor.status = monitor.message = ""
        _attempt(recipe, problem, Start(x, active, cold), monitor)
        cold = False
        settled.restore(x)
        monitor.problem = judged
        residual = monitor.measure(x)
        if residual <= asked or monitor.status not in ("converged", "stagnated", "diverged", "breakdown"):
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
            monitor.tolerance *= 0.3 * asked / residual
    monitor.tolerance = asked
    if settled.infeasible:
        monitor.notes["corrected_kkt"] = residual
    if settled.infeasible and residual <= asked:
        monitor.stop("infeasible", settled.sentence)
    elif settled.infeasible:
        monitor.remark(settled.sentence)
    monitor.problem = settled.original
    kinds = [pocket.kind for pocket in settled.pockets]
    monitor.notes["pockets"] = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
