"""A problem of which every rank has discretised its own part: put together, and solved; static cases so."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from .. import cases, compositions
from ..api import Run
from ..core.options import Stopping
from ..errors import NonstickError
from ..grid.box import IndexBox
from ..inverse.cascade import Cascade
from ..inverse.multigrid.grid.level import shared_levels
from ..inverse.precond.deflation import Deflated
from ..inverse.precond.jacobi import Jacobi
from ..operators.base import Operator
from ..operators.masked import LowRank
from ..operators.rows import SharedPiece, inside
from ..operators.stencil import StencilOperator
from ..parallel.comm import Comm
from ..parallel.halo import Boxes
from ..problem.box import BoxProblem
from ..problem.solution import Solution
from ..solvers.auto.active_set import ActiveSet

#: `auto`, with what needs no entries of A: a rank has only its own rows
AUTO = replace(compositions.AUTO, M=Cascade((Deflated(compositions.CYCLE), Deflated(Jacobi()))))


class Shared:
    """One problem on many ranks.

    Parameters
    ----------
    comm : Comm
        The ranks; every rank makes a `Shared` at the same time.
    boxes : Boxes
        The boxes of all ranks, 2D or 3D, with an `align` of at least 2.
    held : IndexBox
        The cells on which this rank has discretised: its box with one or more layers around it (where the grid has
        them), so that the rows of the box are those of the whole problem.
    local : BoxProblem
        What came out, on a stencil over `held`. Rows outside the box do not matter.

    Attributes
    ----------
    problem : BoxProblem
        The problem of all ranks; a vector of it has this rank's rows and one layer of ghosts.
    """

    def __init__(self, comm: Comm, boxes: Boxes, held: IndexBox, local: BoxProblem):
        with comm.same_outcome():
            A = _checked(local)
            if boxes.align < 2:
                raise NonstickError(
                    "boxes of a problem on many ranks are cut at multiples of 2, 4, 8, … cells: give align"
                )
        self.dimension = len(boxes.shape)
        lifted, held = boxes.three(), held.three()
        cells = np.stack(np.unravel_index(A.rows.cells, held.shape), axis=1) + np.array(held.low)
        own = np.flatnonzero(inside(cells, lifted[comm.rank]))
        self.piece = SharedPiece(comm, lifted, cells[own], self.dimension)
        #: the row of the local problem of each row of the piece; -1 for ghosts that it does not have
        number = np.full(held.size, -1, np.int64)
        number[A.rows.cells] = np.arange(A.n)
        at = np.ravel_multi_index(tuple((self.piece.cells - np.array(held.low)).T), held.shape)
        self._local, self.n = number[at], A.n
        values = (*A.weights, A.diagonal, local.b, local.box.lower, local.box.upper)
        self.problem = assembled(self.piece, *(v[own] for v in values))
        if local.A.bodies is not None:
            self.problem = self._with_bodies(local.A.bodies)

    def _with_bodies(self, local: LowRank) -> BoxProblem:
        """The problem with the term of rigid bodies; each rank has the rows of U in its box."""
        bare, piece = self.problem, self.piece
        place = np.full(self.n, -1, np.int64)
        place[self._local[piece.owned]] = piece.owned
        rows = place[local.touched]
        known = np.flatnonzero(rows >= 0)
        A = LowRank(bare.A, rows[known], local.U[known], local.S, local.light)
        return BoxProblem(A, bare.b, bare.box.lower, bare.box.upper)

    def enter(self, values: np.ndarray) -> np.ndarray:
        """A vector of the problem from one of the local problem."""
        out = np.where(self._local >= 0, values[self._local], 0).astype(values.dtype)
        self.piece.graph.exchange(out)
        return out

    def leave(self, values: np.ndarray) -> np.ndarray:
        """A vector of the local problem: the rows of the box and those next to it; zero elsewhere."""
        self.piece.graph.exchange(values)
        out = np.zeros(self.n, values.dtype)
        known = self._local >= 0
        out[self._local[known]] = values[known]
        return out


def assembled(piece: SharedPiece, w0, w1, w2, diagonal, b, lower, upper) -> BoxProblem:
    """The problem of all ranks, from vectors over the rows that this rank owns.

    The face between two ranks is known by the owner of the cell below it; ghosts get their weights from their owners.
    """

    def spread(values: np.ndarray, rest: float) -> np.ndarray:
        out = np.full(piece.rows.n, rest)
        out[piece.owned] = values
        return out

    w0, w1, w2, d = (spread(v, 0.0) for v in (w0, w1, w2, diagonal))
    piece.graph.exchange(d)
    piece.share_weights(w0, w1, w2)
    return BoxProblem(
        StencilOperator(piece.rows, (w0, w1, w2), d), spread(b, 0.0), spread(lower, -np.inf), spread(upper, np.inf)
    )


def bare(A: Operator) -> StencilOperator:
    """The operator without its bodies."""
    stencil = (A if A.bodies is None else A.bodies.base).stencil
    if stencil is None:
        raise NonstickError("many ranks need unknowns on a grid, coupled only across faces of cells: give their cells")
    return stencil


def _checked(local: BoxProblem) -> StencilOperator:
    if "edges" in local.traits:
        raise NonstickError("constraints on the edges of a wall (walls='edge') do not run on many ranks; run on one")
    return bare(local.A)


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


#: ghost layers of the fields from which a rank discretises: the rows of its box and of one layer around it are complete
WIDTH = 2


def static_case(comm: Comm, name: str, n: int, **options) -> Shared:
    """The case as a problem of all ranks; its boxes have about equal numbers of unknowns."""
    shape = (n,) * cases.dimension(name)
    first = Boxes.regular(shape, comm.size)[comm.rank]
    unknown = _unknowns(comm, name, n, first, options)
    levels = shared_levels(int(comm.total(np.count_nonzero(unknown))), len(shape))
    boxes = Boxes.by_liquid(comm, shape, first, unknown, align=2**levels)
    held = boxes[comm.rank].grown(WIDTH, shape)
    with comm.same_outcome():
        local = _build(name, n, held, options)
    return Shared(comm, boxes, held, local.problem)


def _build(name: str, n: int, held: IndexBox, options: dict) -> cases.StaticCase:
    try:
        return cases.build(name, n, window=(held.low, held.high), **options)
    except TypeError:
        raise NonstickError(
            f"the case {name!r} is not made from shapes; on many ranks take a case of a liquid"
        ) from None


def _unknowns(comm: Comm, name: str, n: int, box: IndexBox, options: dict) -> np.ndarray:
    """True in the cells of a box that are unknowns."""
    held = box.grown(WIDTH, (n,) * len(box.low))
    with comm.same_outcome():
        rows = bare(_build(name, n, held, options).problem.A).rows
    return rows.to_grid(np.ones(rows.n, bool), False)[box.within(held)]
