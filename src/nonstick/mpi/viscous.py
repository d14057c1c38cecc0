"""A viscosity step on many ranks: PETSc's conjugate gradients over the faces of all ranks.

Every rank has discretised its own faces and those of its ghost cells. The rows of own faces are complete; columns of
ghosts get the numbers that their owners give them. The preconditioner is symmetric SOR in each rank's rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..core.options import Stopping
from ..discretise.viscosity import ViscosityProblem, ViscositySolution, ViscousBox
from ..operators.faces import ViscosityOperator
from ..parallel.comm import Comm
from ..parallel.halo import Halo
from ..problem.monitor import Monitor
from ..problem.solution import Solution

METHOD = "petsc cg + sor"

#: PETSc measures residuals in the 2-norm, we in the max norm: the 2-norm asked for is lowered until the max norm holds
PASSES = 8
LOWER = 0.2
MOST = 20_000


class SharedFaces(ViscosityOperator):
    """A rank's rows of the operator: in what it returns the ghosts are zero, as in `StencilOperator`."""

    def __init__(self, comm: Comm, local: ViscosityOperator, own: np.ndarray, total: int):
        super().__init__(local.system)
        self.comm, self.own, self._total = comm, own, total

    @property
    def unknowns(self):
        return self._total

    def apply(self, x, out):
        out = super().apply(x, out)
        out[~self.own] = 0.0
        return out

    def magnitude(self, x, out):
        out = super().magnitude(x, out)
        out[~self.own] = 0.0
        return out


def solve_viscosity(
    comm: Comm,
    halos: Sequence[Halo],
    problem: ViscosityProblem,
    rtol: float,
    start: Sequence[np.ndarray] | None = None,
) -> ViscositySolution:
    """Solve a problem of which every rank has discretised its part; `halos` are those of the faces of each axis.

    `start` are face arrays near the solution; the given velocity if there are none.
    """
    faces = problem.faces
    own = np.zeros(len(faces), bool)
    for axis, halo in enumerate(halos):
        mine = faces[:, 0] == axis
        inside = [(c >= s.start) & (c < s.stop) for c, s in zip(faces[mine, 1:].T, halo.inside)]
        own[mine] = np.logical_and.reduce(inside)
    numbers, total = _numbered(comm, halos, faces, own)
    scale = comm.largest(problem.scale_of(problem.problem.b, own)) or 1.0
    shared = ViscousBox(SharedFaces(comm, problem.operator, own, total), np.where(own, problem.problem.b, 0.0), scale)
    monitor = Monitor(shared, Stopping(rtol, criterion="papers"))
    monitor.describe(METHOD)
    x = problem.advected() if start is None else problem.as_vector(tuple(start))
    x[own], monitor.iterations = _solved(comm, problem, own, numbers, total, x, rtol * scale)
    velocity = problem.with_unknowns(x)
    for halo, values in zip(halos, velocity):
        halo.exchange(values)
    solution = Solution.of(shared, problem.as_vector(velocity), METHOD, monitor)
    return problem.with_fields(solution)


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
) -> tuple[np.ndarray, int]:
    """x of the own faces, and iterations."""
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
    iterations, asked = 0, 0.1 * goal * np.sqrt(max(total, 1))
    for _ in range(PASSES):
        A.mult(x, r)
        r.axpby(1.0, -1.0, b)
        if r.norm(PETSc.NormType.INFINITY) <= goal or iterations >= MOST:
            break
        solver.setTolerances(rtol=1e-50, atol=asked, max_it=MOST)
        solver.solve(b, x)
        iterations += solver.getIterationNumber()
        asked *= LOWER
    return x.array_r.copy(), iterations
