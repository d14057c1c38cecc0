"""One solve on many ranks."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .. import validate
from ..errors import NonstickError
from ..problem.box import BoxProblem
from ..problem.monitor import Criterion, Monitor, Start
from ..problem.solution import Solution
from ..solvers.active_set import ActiveSet
from ..solvers.pockets import ROW_SUM
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
    began = time.perf_counter()
    validate.stopping(
        rtol=rtol, atol=atol, maxiter=maxiter, callback=callback, time_limit=time_limit, criterion=criterion
    )
    refuse_pockets(problem.A)
    x = np.zeros(problem.n) if x0 is None else x0
    if active is not None:
        active = np.where(np.isfinite(problem.box.at(active)), active, 0).astype(np.int8)
    cold = active is None and not problem.A.largest(int(x.any()))
    monitor = Monitor(
        problem, rtol, atol, maxiter, callback, criterion=criterion, time_limit=time_limit, began=began
    )  # fmt: skip
    problem.box.project(x, out=x)
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # the monitor notices
            method.solve(problem, Start(x, active, cold), monitor)
    except BREAKDOWNS:
        raise NonstickError("the arithmetic of the solve broke down; check that A is positive definite") from None
    problem.A.exchange(x)  # type: ignore[attr-defined]
    return Solution.of(problem, x, "auto", monitor)


def refuse_pockets(A) -> None:
    """Parts without a free surface, which may reach over many ranks, are found but not treated yet."""
    count = closed_parts(A)
    if count:
        raise NonstickError(
            f"{count} part{'s' * (count > 1)} of the problem {'have' if count > 1 else 'has'} no free surface, where A "
            "is singular; many ranks cannot treat this yet: run it on one"
        )


def closed_parts(A) -> int:
    """The number of connected parts, over all ranks, whose rows all sum to zero."""
    piece, comm = A.piece, A.comm
    count, label = A.components()
    sums = A @ np.ones(A.n)
    is_open = np.zeros(count, bool)
    is_open[label[piece.owned[np.abs(sums[piece.owned]) > ROW_SUM * A.diagonal[piece.owned]]]] = True
    first = np.concatenate([[0], np.cumsum(comm.gathered(count))])
    name = label.astype(np.int64) + first[comm.rank]
    mine = name.copy()
    A.exchange(name)
    pairs = np.unique(np.stack([mine[piece.ghosts], name[piece.ghosts]], axis=1), axis=0)
    pairs, is_open = comm.joined(pairs), comm.joined(is_open.view(np.int8))
    graph = sp.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(first[-1], first[-1]))
    parts, of = connected_components(graph, directed=False)
    return parts - int(np.unique(of[is_open != 0]).size)
