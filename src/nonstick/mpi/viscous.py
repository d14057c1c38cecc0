"""A viscosity step on many ranks: PETSc's conjugate gradients over the faces of all ranks.

Every rank has discretised its own faces and those of its ghost cells. The rows of own faces are complete; columns of
ghosts get the numbers that their owners give them. The preconditioner is symmetric SOR in each rank's rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..discretise.viscosity import ViscosityProblem
from ..parallel.comm import Comm
from ..parallel.halo import Halo

#: PETSc measures residuals in the 2-norm, we in the max norm: the 2-norm asked for is lowered until the max norm holds
PASSES = 8
LOWER = 0.2
MOST = 20_000


@dataclass
class Thickened:
    """The result, with the names of a `ViscositySolution`."""

    #: the problem of this rank
    source: ViscosityProblem = field(repr=False)
    velocity: tuple[np.ndarray, ...] = field(repr=False)
    iterations: int
    residual: float
    converged: bool
    method: str = "petsc cg + sor"

    @property
    def message(self) -> str:
        return "" if self.converged else f"the residual is {self.residual:.2g} after {self.iterations} iterations"

    def kkt(self) -> float:
        """max|A x - b| / max|b| over all ranks."""
        return self.residual


def solve_viscosity(
    comm: Comm,
    halos: Sequence[Halo],
    problem: ViscosityProblem,
    rtol: float,
    start: Sequence[np.ndarray] | None = None,
) -> Thickened:
    """Solve a problem of which every rank has discretised its part; `halos` are those of the faces of each axis.

    `start` are face arrays near the solution; the given velocity if there are none.
    """
    if comm.size == 1:
        alone = problem.solve(x0=start, rtol=rtol)
        return Thickened(problem, alone.velocity, alone.iterations, alone.kkt(), alone.converged, alone.method)
    faces = problem.faces
    own = np.zeros(len(faces), bool)
    for axis, halo in enumerate(halos):
        mine = faces[:, 0] == axis
        inside = [(c >= s.start) & (c < s.stop) for c, s in zip(faces[mine, 1:].T, halo.inside)]
        own[mine] = np.logical_and.reduce(inside)
    numbers, total = _numbered(comm, halos, faces, own)
    scale = comm.largest(problem.scale_of(problem.problem.b, own)) or 1.0
    full = problem.advected() if start is None else problem.as_vector(tuple(start))
    x, iterations, residual = _solved(comm, problem, own, numbers, total, full, rtol * scale)
    full[own] = x
    velocity = problem.with_unknowns(full)
    for halo, values in zip(halos, velocity):
        halo.exchange(values)
    return Thickened(problem, velocity, iterations, residual / scale, residual <= rtol * scale)


def _numbered(comm: Comm, halos: Sequence[Halo], faces: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers of the unknowns of a rank among those of all ranks, -1 for ghosts that are none; the number of all."""
    counts = comm.gathered(int(own.sum()))
    out = np.full(len(faces), -1, np.int64)
    out[own] = sum(counts[: comm.rank]) + np.arange(counts[comm.rank])
    for axis, halo in enumerate(halos):
        mine = np.flatnonzero(faces[:, 0] == axis)
        at = tuple(faces[mine, 1:].T)
        there = np.full(halo.shape, -1, np.int64)
        there[at] = out[mine]
        halo.exchange(there)
        out[mine] = there[at]
    return out, sum(counts)


def _solved(
    comm: Comm,
    problem: ViscosityProblem,
    own: np.ndarray,
    numbers: np.ndarray,
    total: int,
    start: np.ndarray,
    goal: float,
) -> tuple[np.ndarray, int, float]:
    """x of the own faces, iterations, max|A x - b| of all ranks."""
    PETSc = comm.petsc
    M = problem.operator.matrix()[np.flatnonzero(own)]
    columns = numbers[M.indices]
    assert columns.min(initial=0) >= 0, "a row of this rank is coupled to a face that is no unknown of its owner"
    M.indices = columns
    M.sort_indices()
    size = (M.shape[0], total)
    csr = (M.indptr.astype(PETSc.IntType), M.indices.astype(PETSc.IntType), M.data)
    A = PETSc.Mat().createAIJ((size, size), csr=csr, comm=comm.mpi)
    b, x, r = A.createVecLeft(), A.createVecRight(), A.createVecLeft()
    b.array[:], x.array[:] = problem.problem.b[own], start[own]
    solver = PETSc.KSP().create(comm.mpi)
    solver.setOperators(A)
    solver.setType("cg")
    solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    solver.getPC().setType("sor")
    solver.setInitialGuessNonzero(True)
    iterations, left, asked = 0, np.inf, 0.1 * goal * np.sqrt(max(total, 1))
    for _ in range(PASSES):
        A.mult(x, r)
        r.axpby(1.0, -1.0, b)
        left = float(r.norm(PETSc.NormType.INFINITY))
        if left <= goal or iterations >= MOST:
            break
        solver.setTolerances(rtol=1e-50, atol=asked, max_it=MOST)
        solver.solve(b, x)
        iterations += solver.getIterationNumber()
        asked *= LOWER
    return x.array_r.copy(), iterations, left
