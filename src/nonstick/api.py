"""`nonstick.solve` and `nonstick.lcp`: any bound-constrained elliptic problem, any registered method."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from . import registry
from .arrays.door import is_foreign, solve_in_kind
from .core import validate
from .core.door import read_bounds, read_options
from .core.options import STOPPING, Criterion, Stopping, suggesting, unknown_option
from .errors import EntriesNeededError, NonstickError
from .inverse.base import Recipe
from .operators.base import Operator
from .problem.box import BoxProblem
from .problem.constraints import LinearConstraints
from .problem.given import Given, Modes
from .problem.monitor import FAILED, Monitor, Start
from .problem.solution import Batch, Solution, columns
from .solvers.base import Method
from .solvers.constrained import solve_constrained
from .solvers.proximal import ENDLESS, falls_for_ever
from .solvers.safeguards.definite import ZERO, indefinite, smallest_curvature
from .solvers.safeguards.pockets import IN_A_LIQUID, without_pockets
from .solvers.safeguards.refinement import refine, solve_substitute
from .solvers.sequence import on_all_cores


@suggesting
def solve(
    A: Any,
    b: Any,
    lower: Any = 0.0,
    upper: Any = np.inf,
    *,
    bounds: Any = None,
    method: str | Method = "auto",
    x0: Any = None,
    active: Any = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback: Callable[[Monitor], object] | None = None,
    cells: Any = None,
    diagonal: Any = None,
    constraints: Any = None,
    time_limit: float | None = None,
    criterion: Criterion = "rows",
    options: Mapping[str, Any] | None = None,
    near_null: Any = None,
    nodes: Any = None,
    block: int | None = None,
) -> Any:
    """Solve `min ½ xᵀA x − bᵀx` subject to `lower ≤ x ≤ upper`.

    With the default bounds this is the complementarity problem `0 ≤ x ⟂ A x − b ≥ 0`; with infinite
    bounds the linear system `A x = b`.

    Parameters
    ----------
    A : scipy.sparse matrix, 2-D array, PETSc Mat of one rank, nonstick operator or scipy.sparse.linalg.LinearOperator
        Or a matrix of PyTorch, JAX or CuPy, dense or sparse: then x and dual are arrays of that library, on the device
        of b. If that is not the processor, `auto` solves there (docs/how-to/arrays.md). A is n × n, with a positive
        diagonal. Symmetric and positive definite; or not symmetric, and an M-matrix or another P-matrix: then there is
        nothing to minimise, and x solves the complementarity problem. A LinearOperator must be symmetric and needs
        `diagonal`, and not every method can use it.
    b : array_like
        n numbers; or n × k numbers for k problems with one matrix, which are solved on all cores after one set-up.
    lower, upper : float or array_like
        Bounds on x, one for all or one each; `-inf`, `inf` or None where there is none. n × k numbers are bounds for
        each of k problems.
    bounds : scipy.optimize.Bounds, n pairs (low, high) or (lower, upper), optional
        The bounds in the forms of SciPy, in place of `lower` and `upper`. Without it the bounds are 0 and inf.
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
    options : dict, optional
        The same words in a dict, as for `scipy.optimize.minimize`: `maxiter`, `gtol` (an absolute bound on the
        residual), `tol` and ours; they win over the keywords.
    near_null : array_like, optional
        n × k: vectors that A nearly annihilates, for problems with several unknowns at a point, such as elasticity.
        `auto` then coarsens by smoothed aggregation that keeps all of them.
    nodes : array_like, optional
        The coordinates of points that have d unknowns each, (n/d) × d, stored point by point: the rigid-body modes are
        made from them.
    block : int, optional
        The number of unknowns of a point; with `nodes` it is d, and 1 if nothing is given.

    Returns
    -------
    Solution
        `x`, `dual = A x − b`, `converged`, `status`, `message` (advice if it did not converge),
        `iterations`, `outer_iterations`, `history`, `seconds`, and `kkt()` and `row_error()`, which recompute the
        residuals; also by SciPy's names: `success`, `fun`, `jac`, `nit`. For k problems a `Batch`: x is n × k, and it
        is a sequence of k solutions.

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
    if is_foreign(A, b, lower, upper):
        asked = {"lower": lower, "upper": upper, "bounds": bounds, "method": method, "x0": x0, "active": active}
        asked |= {"rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback, "cells": cells}
        asked |= {"diagonal": diagonal, "constraints": constraints, "time_limit": time_limit, "criterion": criterion}
        asked |= {"options": options, "near_null": near_null, "nodes": nodes, "block": block}
        return solve_in_kind(solve, _on_arrays, A, b, **{name: v for name, v in asked.items() if v is not None})
    words = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "time_limit": time_limit, "criterion": criterion}
    run = Run.by(method, read_options(options, words | {"callback": callback}))
    given = Given(A, cells, diagonal, modes=Modes.of(near_null, nodes, block))
    lower, upper = read_bounds(bounds, lower, upper, given.n)
    k = columns(given.n, b, lower, upper, x0, active)
    if k is None:
        return in_words_of_a_minimum(_solve(run, given, b, lower, upper, x0, active, constraints))
    if constraints is not None:
        raise NonstickError("constraints belong to one right-hand side: call solve for each column of b")
    return solve_columns(run, given, k, b, lower, upper, x0, active)


def solve_columns(run: Run, given: Given, k: int, *columns: Any) -> Batch:
    """Solve k problems of one matrix; `columns` are b, lower, upper, x0 and active, each for one or for k problems."""
    checked = given.columns(k, *columns)
    begun = time.perf_counter()

    def solve(method: Method, j: int) -> Solution:
        b, lower, upper, x0, active = (values[:, j] if values is not None else None for values in checked)
        assert b is not None and lower is not None and upper is not None
        problem = BoxProblem(given.operator, given.enter(b), given.enter(lower), given.enter(upper))
        x0, active = (None if values is None else given.enter(values) for values in (x0, active))
        one = replace(run, method=method, began=time.perf_counter())
        return in_words_of_a_minimum(given.solution(one.solve(problem, x0, active, given.back)))

    return Batch(on_all_cores(run.method, given.operator, solve, k), time.perf_counter() - begun)


def in_words_of_a_minimum(solution: Solution) -> Solution:
    """A minimum that does not exist, in the words of who minimises: the objective is not bounded below."""
    if solution.status != "infeasible" or "pockets" not in solution.notes:
        return solution
    message = solution.message.replace(IN_A_LIQUID, "")
    return replace(solution, status="unbounded", message=f"the objective ½xᵀA x − bᵀx falls without end: {message}")


def lcp(M: Any, q: Any, **options: Any) -> Solution:
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
    if options.keys() & {"lower", "upper", "bounds"}:
        raise NonstickError("an LCP has the bounds 0 and inf; use nonstick.solve for others")
    words = options.pop("options", None)
    matrix = {name: options.pop(name, None) for name in ("cells", "diagonal")}
    start = {name: options.pop(name, None) for name in ("x0", "active", "constraints")}
    method = options.pop("method", "auto")
    for word in options:
        if word not in STOPPING:
            unknown_option(word, [*STOPPING, *matrix, *start, "method"], "lcp")
    run = Run.by(method, read_options(words, options))
    return _solve(run, Given(M, **matrix, lcp=True), q, 0.0, np.inf, **start)


def _solve(run: Run, given: Given, b: Any, lower: Any, upper: Any, x0: Any, active: Any, constraints: Any) -> Solution:
    """Solve with a matrix that is checked."""
    problem = given.problem(b, lower, upper)
    x0, active = given.start(x0, active)
    if constraints is None:
        solution = run.solve(problem, x0, active, given.back)
    else:
        C, low, high = validate.constraints(constraints, given.n)
        limits = LinearConstraints(C if given.order is None else C[:, given.order], low, high)
        solution = _solve_with_constraints(run, problem, limits, x0, given.back)
        solution = replace(solution, constraints=LinearConstraints(C, low, high))
    return replace(given.solution(solution), seconds=time.perf_counter() - run.began)


@suggesting
def solve_problem(
    problem: BoxProblem,
    method: str | Method = "auto",
    *,
    x0: Any = None,
    active: Any = None,
    **stopping: Any,
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
    run = Run.by(method, Stopping(**stopping))
    return run.solve(problem, *Given(problem.A).start(x0, active))


@dataclass(frozen=True)
class Run:
    """How a problem is solved: by which method, when it stops, and when its clock began."""

    method: Method
    name: str
    stopping: Stopping
    began: float
    #: what the method selects for the problem, if that is known
    chosen: Method | None = None

    @classmethod
    def by(cls, method: str | Method, stopping: Stopping) -> Run:
        """A run of a method or of the name of one; the clock begins now."""
        began = time.perf_counter()
        return cls(*registry.named(method), stopping, began)

    def choose(self, problem: BoxProblem) -> Method:
        """What the method selects for a problem."""
        try:
            return self.method.chosen(problem)
        except NonstickError as error:
            raise NonstickError(f"method {self.name!r} {error}") from None

    def solve(
        self, problem: BoxProblem, x0: Any = None, active: Any = None, back: np.ndarray | None = None
    ) -> Solution:
        """Solve a problem; all arguments are checked, and `back` puts the unknowns into the order of the caller."""
        method = self.chosen or self.choose(problem)
        x = np.zeros(problem.n) if x0 is None else np.array(x0, float)
        cold = active is None and not problem.A.comm.largest(int(x.any()))
        start = Start(x, None if active is None else problem.box.clampable(active), cold)
        monitor = Monitor(problem, self.stopping, method.linear, self.began)
        if back is not None:
            monitor = monitor.within(lift=lambda x: x[back])
        monitor.progress.path.append(method.label)
        try:
            _solve_all(method, problem, start, monitor)
        except EntriesNeededError as error:
            raise NonstickError(f"method {self.name!r} {error}") from None
        _judge(method, problem, x, x0, monitor)
        return replace(Solution.of(problem, x, self.name, monitor), face_solver=_face_solver)


def _on_arrays(name: str, array: str, device: str | None, dtype: str) -> Method:
    """The method for arrays on a device; `compositions` loads every solver, so it is imported when asked."""
    from .compositions import device_first, on_arrays

    return device_first(array, device, dtype) if name == "auto" else on_arrays(name, array, device, dtype)


def _face_solver(A: Operator) -> Recipe:
    """What solves linear systems on the free rows; `compositions` loads every solver, so it is imported when asked."""
    from .compositions import face_solver

    return face_solver(A)


def _solve_all(method: Method, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
    """Solve, by way of a problem without pockets if there are some."""
    substitute = without_pockets(problem, method.linear, method.preconditioner)
    if substitute is None:
        if problem.A.unknowns:
            problem.box.project(start.x, out=start.x)
            refine(method, problem, start, monitor)
        return
    sound = solve_substitute(substitute, partial(refine, method), start, monitor)
    kinds = [pocket.kind for pocket in substitute.pockets]
    monitor.notes["pockets"] = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    if not substitute.infeasible:
        return
    monitor.notes["corrected_kkt"] = monitor.within(substitute.judge).measure(start.x)
    if sound:
        monitor.stop("infeasible", substitute.sentence)
    else:
        monitor.remark(substitute.sentence)


def _judge(method: Method, problem: BoxProblem, x: np.ndarray, x0: Any, monitor: Monitor) -> None:
    """Keep the start if it was better, and look for the reason of a failure in the matrix."""
    A, stopping, status, progress = problem.A, monitor.stopping, monitor.status, monitor.progress
    if status in ("converged", "infeasible"):
        if stopping.criterion == "rows" and not method.linear and indefinite(A, monitor.iterations):
            monitor.remark("A is not positive definite, so there may be other solutions")
        return
    if not method.as_printed:
        _no_worse(problem, x, x0, monitor)
    limited = stopping.maxiter is not None and status in ("", "maxiter")
    failed = status in (*FAILED, "maxiter") and not limited
    if failed and not progress.negative and A.symmetric and A.comm.size == 1:
        progress.negative = smallest_curvature(A) < ZERO
    explained = progress.negative or method.linear or stopping.time_limit is not None
    if failed and not explained and falls_for_ever(problem):
        monitor.stop("unbounded", ENDLESS)


def _solve_with_constraints(
    run: Run, problem: BoxProblem, limits: LinearConstraints, x0: Any, back: np.ndarray | None
) -> Solution:
    """Solve with linear constraints: a box problem for each guess of their multipliers."""
    stopping = run.stopping

    def solve(problem: BoxProblem, x0: Any, active: Any) -> Solution:
        # The step that meets the constraints adds an error of its own, so the box problems are solved more exactly.
        left = stopping.time_limit
        if left is not None:
            left = max(left - (time.perf_counter() - run.began), 1e-9)
        within = replace(stopping, rtol=0.5 * stopping.rtol, time_limit=left)
        return replace(run, stopping=within, began=time.perf_counter()).solve(problem, x0, active, back)

    def holds(problem: BoxProblem, x: np.ndarray) -> bool:
        if problem.kkt(x) > max(stopping.rtol, stopping.atol / problem.scale):
            return False
        return stopping.criterion == "papers" or problem.row_error(x).value <= stopping.row_rtol

    return solve_constrained(problem, limits, solve, holds, _face_solver(problem.A), stopping.rtol, x0)


def _no_worse(problem: BoxProblem, x: np.ndarray, x0: Any, monitor: Monitor) -> None:
    """After a solve that failed: x is the start where that was better.

    With a limit of the user's own, the last iterate is what was asked for, unless it is not finite: the residual
    of a sound method may rise before it falls.
    """
    start = np.zeros(problem.n) if x0 is None else np.array(x0, float).reshape(problem.n)
    problem.box.project(start, out=start)
    before = monitor.measure(start)
    after = monitor.measure(x)
    if after <= monitor.asked or (monitor.stopping.limited and np.isfinite(after)):
        return
    if not after <= before < np.inf:
        x[:] = start
        monitor.remark("what it reached was worse than where it began, and x is the start")
