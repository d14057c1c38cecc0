"""A problem from a file on many ranks: by `auto`, or by PETSc's solvers for bounds to compare with."""

from __future__ import annotations

import time

import numpy as np

from ..bench import petsc_driver
from ..errors import NonstickError
from ..mpi import rows
from ..mpi.comm import world
from ..problem.box import BoxProblem
from ..problem.given import Given
from ..problem.monitor import Monitor
from ..problem.solution import Solution


def solve_on_ranks(problem, method: str, **stop) -> Solution:
    """Every rank has read the file. Each gives its share of the rows; x is put together on all of them."""
    comm = world()
    if method != "auto" and method not in petsc_driver.PEERS:
        known = ", ".join(name for name, (kind, _) in petsc_driver.PEERS.items() if kind != "ksp")
        raise NonstickError(f"method {method!r} does not run on many ranks; take 'auto', or to compare {known}")
    if petsc_driver.PEERS.get(method, ("",))[0] == "ksp":
        raise NonstickError(f"{method!r} solves linear systems and knows no bounds; take 'auto'")
    given = Given(problem.A, problem.cells)
    box = given.problem(problem.b, problem.lower, problem.upper)
    began = time.perf_counter()
    solve = _by_petsc if method != "auto" else _by_auto
    x, iterations, outer, status, seconds, setup = solve(comm, given, box, method, stop)
    monitor = Monitor(box, stop["rtol"], began=began)
    monitor.iterations, monitor.outer_iterations, monitor.setup_seconds = iterations, outer, setup
    if status not in ("converged", ""):
        monitor.stop(status)
    solution = given.solution(Solution.of(box, x, method, monitor))
    solution.seconds = seconds
    solution.notes.update(rank=comm.rank, ranks=comm.size)
    return solution


def _by_auto(comm, given: Given, box: BoxProblem, method: str, stop: dict):
    if given.operator.cells is None:
        raise NonstickError("many ranks need the cells of the unknowns: give `cells` in the file")
    share = slice(*(box.n * r // comm.size for r in (comm.rank, comm.rank + 1)))
    A, cells = box.A.matrix()[share], np.asarray(given.operator.cells)[share]
    answer = rows.solve(A, box.b[share], box.box.lower[share], box.box.upper[share], cells=cells, **stop)
    x = comm.joined(answer.x)
    return x, answer.iterations, answer.outer_iterations, answer.status, answer.seconds, answer.setup_seconds


def _by_petsc(comm, given: Given, box: BoxProblem, method: str, stop: dict):
    """SNESVI or TAO; `maxiter` and `time_limit` do not apply."""
    import petsc4py

    petsc4py.init([])
    from petsc4py import PETSc

    M = box.A.matrix()
    data = {
        "A_data": M.data, "A_indices": M.indices, "A_indptr": M.indptr, "b": box.b, "lower": box.box.lower,
        "upper": box.box.upper, "diagonal": box.A.diagonal,
    }  # fmt: skip
    peer = petsc_driver.Peer(PETSc, data, stop["rtol"])
    kind, options = petsc_driver.PEERS[method]
    y, seconds = petsc_driver._timed(PETSc, peer, kind, options)
    x = comm.joined(y.array_r.copy()) * (peer.t / peer.s)
    return x, peer.iterations, peer.outer, "", seconds, 0.0
