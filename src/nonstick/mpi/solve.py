"""One solve on many ranks."""

from __future__ import annotations

import time

import numpy as np

from .. import validate
from ..api import run_method
from ..problem.box import BoxProblem
from ..problem.monitor import Criterion
from ..problem.solution import Solution
from ..solvers.active_set import ActiveSet
from .method import AUTO
from .shared import Shared


def solve_shared(
    shared: Shared,
    *,
    x0: np.ndarray | None = None,
    active: np.ndarray | None = None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback=None,
    time_limit: float | None = None,
    criterion: Criterion = "rows",
    method: ActiveSet = AUTO,
) -> Solution:
    """Solve a problem of which every rank has a part, by `auto`; every rank calls it with the same options.

    Parameters
    ----------
    shared : Shared
        The problem.
    x0, active : ndarray, optional
        Where to start, as vectors of the local problem (`Shared.local`).
    rtol, atol, maxiter, callback, time_limit, criterion
        As for `nonstick.solve`.
    method : ActiveSet
        Another choice of parameters than that of `auto`.

    Returns
    -------
    Solution
        Of `shared.problem`: its vectors have this rank's rows and ghosts; `shared.leave(solution.x)` is the vector of
        the local problem.
    """
    x0 = None if x0 is None else shared.enter(np.asarray(x0, float))
    active = None if active is None else shared.enter(active)
    return solve_problem(
        shared.problem, x0=x0, active=active, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback,
        time_limit=time_limit, criterion=criterion, method=method,
    )  # fmt: skip


def solve_problem(
    problem: BoxProblem,
    *,
    x0=None,
    active=None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback=None,
    time_limit: float | None = None,
    criterion: Criterion = "rows",
    method: ActiveSet = AUTO,
) -> Solution:
    """The same for vectors of the problem itself, with ghosts."""
    stop = {
        "rtol": rtol, "atol": atol, "maxiter": maxiter, "callback": callback, "time_limit": time_limit,
        "criterion": criterion,
    }  # fmt: skip
    validate.stopping(**stop)
    return run_method(problem, method, "auto", x0, active, stop, time.perf_counter())
