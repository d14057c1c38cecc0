"""Viscosity on many ranks: a split step by PETSc's conjugate gradients, a Stokes step by the first rank.

The split step. Every rank has discretised its own faces and those of its ghost cells. The rows of own faces are
complete; columns of ghosts get the numbers that their owners give them. The preconditioner is symmetric SOR in each
rank's rows.

The Stokes step. The cycles for velocities on faces know one process. So rank 0 puts the fields of all ranks together,
solves the problem of one process, and sends every rank its part: the motion is that of one process, for any number of
ranks. This part of a step is no faster on many ranks, and rank 0 needs the memory for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..core.options import Stopping
from ..discretise.stokes import StokesSolution
from ..discretise.viscosity import ViscosityProblem, ViscositySolution, ViscousBox
from ..grid.box import IndexBox
from ..grid.fractions import wall_cells
from ..operators.faces import ViscosityOperator
from ..parallel.comm import Comm
from ..parallel.halo import Halo
from ..parallel.partition import Partition
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


#: what a solution holds of its vectors, which stay on rank 0
VECTORS = ("problem", "x", "dual", "history", "multipliers", "constraints", "face_solver")


@dataclass(repr=False)
class StokesOfRanks(StokesSolution):
    """What a rank has of a solution: the fields over the cells that it holds."""

    #: velocities along each axis, the pressure, and the contact
    parts: list[np.ndarray] = field(default_factory=list)
    #: of the whole problem: KKT residual, the same made compatible, unknowns, whether liquid lets go of a wall
    whole: tuple[float, float, int, bool] = (0.0, 0.0, 0, False)

    velocity = property(lambda self: tuple(self.parts[:-2]))
    pressure = property(lambda self: self.parts[-2])
    contact = property(lambda self: self.parts[-1].astype(np.int8))
    bodies = property(lambda self: [])
    residual = property(lambda self: self.whole[1])
    unknowns = property(lambda self: self.whole[2])
    separates = property(lambda self: self.whole[3])

    def kkt(self) -> float:
        return self.whole[0]


def solve_on_first(
    partition: Partition, given: Mapping[str, Any], solve: Callable[[dict[str, Any]], StokesSolution]
) -> StokesOfRanks:
    """Let rank 0 solve a step of all ranks; every rank calls it.

    Parameters
    ----------
    partition : Partition
        The cells of this rank.
    given : mapping
        Arguments of `StokesProblem` over the cells that this rank holds, and other fields that `solve` needs: numbers,
        None, arrays over cells, or one array for each axis of faces or edges.
    solve : callable
        Solves the problem with these arguments over all cells.
    """
    comm, held, shape = partition.comm, partition.held, partition.boxes.shape
    given = dict(given)
    given["walls"] = wall_cells(given["walls"], given["weights"], np.ones(held.shape), held.shape)
    whole = _joined(partition, given)
    found: StokesSolution | None = None
    with comm.same_outcome():
        if comm.rank == 0:
            found = solve(whole)
    told: dict[str, Any] = {}
    pieces: dict[int, np.ndarray] = {}
    if found is not None:
        told = {f.name: getattr(found, f.name) for f in fields(Solution) if f.name not in VECTORS}
        told["whole"] = (found.kkt(), found.residual, found.unknowns, found.separates)
        arrays = [*found.velocity, found.pressure, found.contact]
        for rank, own in enumerate(partition.boxes.boxes):
            pieces[rank] = _packed(arrays, own.grown(partition.width, shape), shape)
    told = comm.shared(told)
    d = len(shape)
    staggers = [tuple(int(a == b) for b in range(d)) for a in range(d)] + [(0,) * d] * 2
    parts = _unpacked(comm.swapped(pieces)[0], [tuple(np.add(held.shape, s)) for s in staggers])
    nothing = np.zeros(0)
    return StokesOfRanks(problem=None, x=nothing, dual=nothing, history=None, parts=parts, **told)  # type: ignore[arg-type]


def _joined(partition: Partition, given: dict[str, Any]) -> dict[str, Any]:
    """On rank 0 the fields over all cells; nothing elsewhere."""
    comm, boxes, held = partition.comm, partition.boxes, partition.held
    mine = [name for name, value in given.items() if isinstance(value, np.ndarray | tuple | list)]
    names = sorted({name for theirs in comm.gathered(mine) for name in theirs})
    # a field over cells may be a number, or nothing, on ranks without such liquid
    arrays = {name: given[name] if name in mine else np.full(held.shape, given[name] or 0.0) for name in names}
    lists = {name: [a] if isinstance(a, np.ndarray) else list(a) for name, a in arrays.items()}
    flat = [a for each in lists.values() for a in each]
    inner = IndexBox(
        *(tuple(np.subtract(c, held.low).tolist()) for c in (partition.own_box.low, partition.own_box.high))
    )
    got = comm.swapped({0: _packed(flat, inner, held.shape)})
    if comm.rank:
        return {}
    more = [np.subtract(a.shape, held.shape) for a in flat]
    joined = [np.zeros(tuple(np.add(boxes.shape, m)), a.dtype) for a, m in zip(flat, more)]
    for rank, box in enumerate(boxes.boxes):
        for out, piece in zip(joined, _unpacked(got[rank], [tuple(np.add(box.shape, m)) for m in more])):
            box.part(out, boxes.shape)[...] = piece
    whole, rest = dict(given), iter(joined)
    for name, each in lists.items():
        made = tuple(next(rest) for _ in each)
        whole[name] = made[0] if isinstance(arrays[name], np.ndarray) else made
    return whole


def _packed(arrays: list[np.ndarray], box: IndexBox, shape: tuple[int, ...]) -> np.ndarray:
    """The parts of fields over cells, faces or edges that belong to a box, in one array."""
    return np.concatenate([np.asarray(box.part(a, shape), float).ravel() for a in arrays])


def _unpacked(packed: np.ndarray, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """The arrays of these shapes."""
    ends = np.cumsum([int(np.prod(s)) for s in shapes])
    return [piece.reshape(s) for piece, s in zip(np.split(packed, ends[:-1]), shapes)]
