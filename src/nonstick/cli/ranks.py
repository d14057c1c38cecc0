"""A problem from a file on many ranks: by `auto`, or by PETSc's solvers for bounds to compare with."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from ..core.options import Stopping
from ..errors import NonstickError
from ..files.atomic import replacing
from ..files.problem_file import ProblemFile, read_problem, read_rows
from ..mpi import petsc_driver, rows
from ..parallel.comm import Comm, world
from ..problem.given import Given
from ..problem.monitor import Monitor
from ..problem.solution import Solution


def solve_on_ranks(file: Path, method: str, given: dict, target: Path, stop: dict) -> dict:
    """Every rank solves for its share of the rows, and rank 0 writes x and the dual; returns the row of results.

    `given` has vectors or numbers that replace those of the file: b, lower, upper.
    """
    comm = world()
    if method != "auto" and method not in petsc_driver.PEERS:
        known = ", ".join(name for name, (kind, _) in petsc_driver.PEERS.items() if kind != "ksp")
        raise NonstickError(f"method {method!r} does not run on many ranks; take 'auto', or to compare {known}")
    if petsc_driver.PEERS.get(method, ("",))[0] == "ksp":
        raise NonstickError(f"{method!r} solves linear systems and knows no bounds; take 'auto'")
    found = _by_auto(comm, file, given, stop) if method == "auto" else _by_petsc(comm, file, method, given, stop)
    n = found.problem.A.unknowns
    # PETSc's solution is whole on every rank
    mine = slice(None) if found.problem.A.comm is comm else slice(*_share(comm, n))
    facts = {"kkt": found.kkt(), "converged": found.converged, "status": found.status, "method": method}
    _write(comm, target, {"x": found.x[mine], "dual": found.dual[mine]}, n, facts)
    return {
        "file": str(file), "unknowns": n, "method": method, "iterations": found.iterations,
        "outer_iterations": found.outer_iterations, "seconds": found.seconds, "setup_seconds": found.setup_seconds,
        "kkt": facts["kkt"], "row_error": found.row_error(), "converged": found.converged, "status": found.status,
        "message": found.message, "solution": str(target), "ranks": comm.size,
    }  # fmt: skip


def _share(comm: Comm, n: int) -> tuple[int, int]:
    """The rows of this rank."""
    return n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size


def _by_auto(comm: Comm, file: Path, given: dict, stop: dict) -> Solution:
    """Each rank reads its own rows of the file."""
    with comm.same_outcome():
        part = read_rows(file, lambda n: _share(comm, n))
        if part.cells is None:
            raise NonstickError("many ranks need the cells of the unknowns: give `cells` in the file")
        low, high = _share(comm, part.A.shape[1])
        for name, values in given.items():
            if np.ndim(values) and len(values) != part.A.shape[1]:
                raise NonstickError(f"{name} has {len(values)} entries, but A has {part.A.shape[1]} rows")
            setattr(part, name, values[low:high] if np.ndim(values) else values)
    return rows.solve(part.A, part.b, part.lower, part.upper, cells=part.cells, **stop)


def _by_petsc(comm: Comm, file: Path, method: str, given: dict, stop: dict) -> Solution:
    """SNESVI or TAO; every rank reads the whole file, and `maxiter` and `time_limit` do not apply."""
    problem: ProblemFile = read_problem(file)
    for name, values in given.items():
        setattr(problem, name, values)
    whole = Given(problem.A, None)
    box = whole.problem(problem.b, problem.lower, problem.upper)
    peer = petsc_driver.Peer(comm.petsc, petsc_driver.arrays(box), stop["rtol"])
    kind, options = petsc_driver.PEERS[method]
    y, seconds, _ = petsc_driver.timed(comm.petsc, peer, kind, options)
    monitor = Monitor(box, Stopping(stop["rtol"]))
    monitor.iterations, monitor.outer_iterations = peer.iterations, peer.outer
    solution = whole.solution(Solution.of(box, comm.joined(y.array_r.copy()) * (peer.t / peer.s), method, monitor))
    solution.seconds = seconds
    return solution


def _write(comm: Comm, target: Path, vectors: dict[str, np.ndarray], n: int, facts: dict) -> None:
    """Rank 0 writes vectors to an `.npz`, one rank's piece after the other: it never holds a whole one."""
    if comm.rank == 0:
        with (
            replacing(target) as partial,
            zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive,
        ):
            for name, own in vectors.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    npy.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (n,)})
                    stream.write(own.astype("<f8").tobytes())
                    for r in range(1, comm.size):
                        piece = comm.swapped({}).get(r)
                        stream.write(b"" if piece is None else piece.astype("<f8").tobytes())
            for name, value in facts.items():
                with archive.open(f"{name}.npy", "w") as stream:
                    npy.write_array(stream, np.asarray(value))
        return
    for own in vectors.values():
        for r in range(1, comm.size):
            comm.swapped({0: own} if r == comm.rank else {})
