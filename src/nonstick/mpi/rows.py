"""`solve`: a matrix of which every rank has some rows.

The rows may be spread over the ranks in any way. They are sent to the rank whose box holds their cell, solved there,
and x is sent back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import validate
from ..errors import NonstickError
from ..parallel.boxes import Boxes
from ..parallel.comm import Comm, world
from ..problem.solution import Solution
from .levels import shared_levels
from .piece import Piece
from .shared import assembled
from .solve import solve_problem

#: entries of A and Aᵀ may differ by this part
SYMMETRIC = 1e-10


@dataclass
class Answer:
    """The answer on one rank.

    Attributes
    ----------
    x, dual : ndarray
        Of the rows that this rank gave: the solution, and A x − b.
    unknowns : int
        On all ranks.
    converged, status, message, iterations, outer_iterations, seconds, setup_seconds
        As in `Solution`; the same on all ranks, but for seconds.
    kkt, row_error : float
        Recomputed from the problem, over all ranks.
    """

    x: np.ndarray
    dual: np.ndarray
    unknowns: int
    converged: bool
    status: str
    message: str
    iterations: int
    outer_iterations: int
    seconds: float
    setup_seconds: float
    kkt: float
    row_error: float

    @classmethod
    def of(cls, solution: Solution, x: np.ndarray, dual: np.ndarray) -> Answer:
        kkt, row_error = solution.kkt(), solution.row_error()
        return cls(
            x, dual, solution.problem.A.unknowns, solution.converged, solution.status, solution.message,
            solution.iterations, solution.outer_iterations, solution.seconds, solution.setup_seconds, kkt, row_error,
        )  # fmt: skip


def solve(A, b, lower=0.0, upper=np.inf, *, cells, comm: Comm | None = None, **options: Any) -> Answer:
    """Solve `min ½ xᵀA x − bᵀx`, `lower ≤ x ≤ upper`, with the rows of A spread over the ranks; every rank calls it.

    Parameters
    ----------
    A : scipy.sparse matrix
        This rank's rows, m × n: n unknowns on all ranks, numbered rank by rank in the order in which they are given. A
        symmetric matrix of non-positive couplings between cells that share a face.
    b, lower, upper : array_like or float
        Of these rows.
    cells : array_like of int
        m × 2 or m × 3 grid coordinates of these rows.
    comm : Comm, optional
        The ranks; by default all.
    **options
        `rtol`, `atol`, `maxiter`, `time_limit`, `criterion` as for `nonstick.solve`, the same on every rank.

    Returns
    -------
    Answer
        x and dual of this rank's rows.

    Examples
    --------
    A string over a table, on as many ranks as there are:

    >>> import numpy as np, scipy.sparse as sp
    >>> from nonstick.mpi.rows import solve
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(40, 40)).tocsr()
    >>> cells = np.stack([np.arange(40), np.zeros(40, int)], axis=1)
    >>> answer = solve(A, np.linspace(-1e-3, 2e-3, 40), cells=cells)
    >>> answer.converged, answer.unknowns
    (True, 40)
    """
    comm = world() if comm is None else comm
    with comm.together():
        A, cells = sp.csr_array(A), np.asarray(cells)
        m = A.shape[0]
        if cells.ndim != 2 or len(cells) != m or cells.shape[1] not in (2, 3) or cells.dtype.kind not in "iu":
            raise NonstickError(f"cells must hold {m} rows of 2 or 3 whole numbers, one for each row of A")
        b = validate.vector(b, m)
        low, high = validate.bounds(lower, upper, m)
        low, high = (np.broadcast_to(np.asarray(v, float), (m,)) for v in (low, high))
    starts = np.concatenate([[0], np.cumsum(comm.gathered(m))])
    n, dimension = int(starts[-1]), int(comm.largest(cells.shape[1]))
    with comm.together():
        if A.shape[1] != n or cells.shape[1] != dimension:
            raise NonstickError(f"the rows of A have {A.shape[1]} columns, but all ranks together have {n} rows")
    cells = cells.astype(np.int64)
    origin = -comm.largest(-cells.min(axis=0) if m else np.full(dimension, -(2**60)))
    cells = cells - origin
    shape = tuple((comm.largest(cells.max(axis=0) if m else np.zeros(dimension, np.int64)) + 1).tolist())
    plus, minus, diagonal = _faces(comm, A, cells, starts)
    boxes = Boxes.by_cells(comm, shape, cells, align=2 ** shared_levels(n, dimension))
    owner = boxes.owner(cells)
    number = np.arange(m) + 0.0
    records = np.column_stack([cells, *plus, *minus, diagonal, b, low, high, number])
    got = comm.swapped({r: records[owner == r] for r in np.unique(owner).tolist()})
    senders = np.repeat(list(got), [len(v) for v in got.values()]).astype(np.int64)
    mine = np.concatenate([np.zeros((0, records.shape[1])), *got.values()])
    own = mine[:, :dimension].astype(np.int64)
    order = np.lexsort(own.T[::-1])
    mine, senders, own = mine[order], senders[order], own[order]
    with comm.together():
        if len(own) > 1 and (np.diff(own, axis=0) == 0).all(axis=1).any():
            raise NonstickError("two rows have the same cell; every unknown needs a cell of its own")
    piece = Piece(comm, boxes.three(), np.column_stack([np.zeros((len(own), 3 - dimension), np.int64), own]), dimension)
    w0, w1, w2, *lowers, d, rhs, low, high, back = mine[:, dimension:].T
    problem = assembled(piece, w0, w1, w2, d, rhs, low, high)
    _check_symmetric(comm, piece, problem, lowers)
    solution = solve_problem(problem, **options)
    out = np.column_stack([back, solution.x[piece.owned], solution.dual[piece.owned]])
    home = comm.swapped({r: out[senders == r] for r in np.unique(senders).tolist()})
    back, x, dual = np.concatenate([np.zeros((0, 3)), *home.values()]).T
    place = np.argsort(back)
    return Answer.of(solution, x[place], dual[place])


def _faces(comm: Comm, A: sp.csr_array, cells: np.ndarray, starts: np.ndarray):
    """Weights towards +x, +y, +z and -x, -y, -z of each row (axes that are missing come first), and its diagonal."""
    first, dimension = int(starts[comm.rank]), cells.shape[1]
    entries = sp.coo_array(A)
    row, column, value = entries.row, entries.col.astype(np.int64), entries.data
    there = _cells_of(comm, column, cells, starts)
    step = there - cells[row]
    own = column == row + first
    with comm.together():
        live = ~own & (value != 0)
        if np.any(value[live] > 0) or np.any(np.abs(step[live]).sum(axis=1) != 1):
            raise NonstickError(
                "many ranks need a matrix of non-positive couplings between cells that share a face; run others on one"
            )
    plus, minus = np.zeros((2, 3, len(cells)))
    for axis in range(dimension):
        for side, out in ((1, plus), (-1, minus)):
            hit = live & (step[:, axis] == side)
            np.add.at(out[axis + 3 - dimension], row[hit], -value[hit])
    return plus, minus, np.bincount(row[own], value[own], minlength=len(cells))


def _cells_of(comm: Comm, columns: np.ndarray, cells: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The cells of unknowns of any rank: asked from the ranks that have them."""
    wanted, at = np.unique(columns, return_inverse=True)
    holder = np.searchsorted(starts, wanted, side="right") - 1
    asked = comm.swapped({r: wanted[holder == r] for r in np.unique(holder).tolist()})
    answers = comm.swapped({r: cells[ids - starts[comm.rank]] for r, ids in asked.items()})
    found = np.zeros((wanted.size, cells.shape[1]), np.int64)
    for r, values in answers.items():
        found[holder == r] = values
    return found[at]


def _check_symmetric(comm: Comm, piece: Piece, problem, lowers: list[np.ndarray]) -> None:
    """The weight of a face must be the same in the rows on both of its sides."""
    with comm.together():
        right = piece.rows.neighbours()
        for axis, w in enumerate(problem.A.weights):
            minus = np.zeros(piece.rows.n)
            has = right[:, axis] >= 0
            minus[right[has, axis]] = w[has]
            off = np.abs(minus[piece.owned] - lowers[axis])
            if np.any(off > SYMMETRIC * problem.A.diagonal[piece.owned]):
                raise NonstickError("A is not symmetric; on many ranks it must be")
