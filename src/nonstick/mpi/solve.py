"""One solve on many ranks."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from .. import compositions
from ..api import Run
from ..core.options import Stopping
from ..inverse.cascade import Cascade
from ..inverse.precond.deflation import Deflated
from ..inverse.precond.jacobi import Jacobi
from ..problem.box import BoxProblem
from ..problem.solution import Solution
from ..solvers.auto.active_set import ActiveSet
from .shared import Shared

#: `auto`, with what needs no entries of A: a rank has only its own rows
AUTO = replace(compositions.AUTO, M=Cascade((Deflated(compositions.CYCLE), Deflated(Jacobi()))))


def solve_shared(
    shared: Shared,
    *,
    x0: np.ndarray | None = None,
    active: np.ndarray | None = None,
    method: ActiveSet = AUTO,
    **stopping,
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
    return solve_problem(shared.problem, x0=x0, active=active, method=method, **stopping)


def solve_problem(problem: BoxProblem, *, x0=None, active=None, method: ActiveSet = AUTO, **stopping) -> Solution:
    """The same for vectors of the problem itself, with ghosts."""
    return Run(method, "auto", Stopping(**stopping), time.perf_counter()).solve(problem, x0, active)
