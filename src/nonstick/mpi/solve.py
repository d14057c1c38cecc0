"""One solve on many ranks."""

from __future__ import annotations

import time

import numpy as np

from .. import validate
from ..errors import NonstickError
from ..problem.monitor import Criterion, Monitor, Start
from ..problem.solution import Solution
from ..solvers.refine import BREAKDOWNS
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

    Returns
    -------
    Solution
        Of `shared.problem`: its vectors have this rank's rows and ghosts; `shared.leave(solution.x)` is the vector of
        the local problem.
    """
    began = time.perf_counter()
    problem = shared.problem
    validate.stopping(
        rtol=rtol, atol=atol, maxiter=maxiter, callback=callback, time_limit=time_limit, criterion=criterion
    )
    x = np.zeros(problem.n) if x0 is None else shared.enter(np.asarray(x0, float))
    policy = None
    if active is not None:
        policy = np.where(np.isfinite(problem.box.at(active := shared.enter(active))), active, 0).astype(np.int8)
    cold = policy is None and not problem.A.largest(int(x.any()))
    monitor = Monitor(
        problem, rtol, atol, maxiter, callback, criterion=criterion, time_limit=time_limit, began=began
    )  # fmt: skip
    problem.box.project(x, out=x)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the monitor notices
            AUTO.solve(problem, Start(x, policy, cold), monitor)
    except BREAKDOWNS:
        raise NonstickError("the arithmetic of the solve broke down; check that A is positive definite") from None
    problem.A.exchange(x)  # type: ignore[attr-defined]
    return Solution.of(problem, x, "auto", monitor)
