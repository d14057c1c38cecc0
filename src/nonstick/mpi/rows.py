"""`solve`: a matrix of which every rank has some rows.

The rows may be spread over the ranks in any way. They are sent to the rank whose box holds their cell, solved there,
and x is sent back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import validate
from ..errors import NonstickError
from ..inverse.multigrid.grid.level import shared_levels
from ..operators.base import Operator
from ..operators.rows import SharedPiece
from ..parallel.comm import Comm, world
from ..parallel.halo import Boxes
from ..problem.box import BoxProblem
from ..problem.solution import Solution
from .shared import assembled, solve_problem

#: entries of A and Aᵀ may differ by this part
SYMMETRIC = 1e-10


class SpreadRows(Operator):
    """A matrix of which every rank has some rows; its vectors have the values of these rows.

    Parameters
    ----------
    A : scipy.sparse.csr_array
        This rank's rows, with a column for every unknown of all ranks.
    starts : ndarray
        The number of the first unknown of each rank, and the number of all.
    """

    has_entries = False
    diagonal: np.ndarray

    def __init__(self, comm: Comm, A: sp.csr_array, starts: np.ndarray):
        self.comm, self.n, self._starts = comm, A.shape[0], starts
        self._wanted, at = np.unique(A.indices.astype(np.int64), return_inverse=True)
        #: the rows, with a column for each of the unknowns that they need
        self.rows = sp.csr_array((A.data, at, A.indptr), (self.n, self._wanted.size))
        #: the row of each entry, and True for those of the diagonal
        self.row = np.repeat(np.arange(self.n), np.diff(A.indptr))
        self.own = A.indices == self.row + starts[comm.rank]
        self.diagonal = np.bincount(self.row[self.own], A.data[self.own], minlength=self.n)

    @property
    def unknowns(self):
        return int(self._starts[-1])

    def fetched(self, values: np.ndarray) -> np.ndarray:
        """The values at the columns of `rows`, asked from the ranks that have them."""
        holder = np.searchsorted(self._starts, self._wanted, side="right") - 1
        asked = self.comm.swapped({r: self._wanted[holder == r] for r in np.unique(holder).tolist()})
        answers = self.comm.swapped({r: values[ids - self._starts[self.comm.rank]] for r, ids in asked.items()})
        found = np.zeros((self._wanted.size, *values.shape[1:]), values.dtype)
        for r, there in answers.items():
            found[holder == r] = there
        return found

    def apply(self, x, out):
        out[:] = self.rows @ self.fetched(x)
        return out

    def magnitude(self, x, out):
        out[:] = abs(self.rows) @ np.abs(self.fetched(x))
        return out

    def matrix(self):
        raise TypeError("a rank has only its own rows of this matrix")


def solve(A, b, lower=0.0, upper=np.inf, *, cells, comm: Comm | None = None, **options: Any) -> Solution:
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
    Solution
        x and dual of this rank's rows. What it computes again, `kkt()` and `row_error()`, is over all ranks, so every
        rank calls it.

    Examples
    --------
    A string over a table, on as many ranks as there are:

    >>> import numpy as np, scipy.sparse as sp
    >>> from nonstick.mpi.rows import solve
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(40, 40)).tocsr()
    >>> cells = np.stack([np.arange(40), np.zeros(40, int)], axis=1)
    >>> solution = solve(A, np.linspace(-1e-3, 2e-3, 40), cells=cells)
    >>> solution.converged, solution.kkt() <= 1e-6
    (True, True)
    """
    comm = world() if comm is None else comm
    with comm.same_outcome():
        A, cells = sp.csr_array(validate.rectangle(A, None, "A")), np.asarray(cells)
        m = A.shape[0]
        if cells.ndim != 2 or len(cells) != m or cells.shape[1] not in (2, 3) or cells.dtype.kind not in "iu":
            raise NonstickError(f"cells must hold {m} rows of 2 or 3 whole numbers, one for each row of A")
        b = validate.vector(b, m)
        lower, upper = (np.broadcast_to(np.asarray(v, float), (m,)) for v in validate.bounds(lower, upper, m))
    starts = np.concatenate([[0], np.cumsum(comm.gathered(m))])
    n, dimension = int(starts[-1]), int(comm.largest(cells.shape[1]))
    with comm.same_outcome():
        if A.shape[1] != n or cells.shape[1] != dimension:
            raise NonstickError(f"the rows of A have {A.shape[1]} columns, but all ranks together have {n} rows")
    cells = cells.astype(np.int64)
    origin = -comm.largest(-cells.min(axis=0) if m else np.full(dimension, -(2**60)))
    cells = cells - origin
    shape = tuple((comm.largest(cells.max(axis=0) if m else np.zeros(dimension, np.int64)) + 1).tolist())
    spread = SpreadRows(comm, A, starts)
    plus, minus = _faces(spread, cells)
    boxes = Boxes.by_cells(comm, shape, cells, align=2 ** shared_levels(n, dimension))
    owner = boxes.owner(cells)
    number = np.arange(m) + 0.0
    records = np.column_stack([cells, *plus, *minus, spread.diagonal, b, lower, upper, number])
    got = comm.swapped({r: records[owner == r] for r in np.unique(owner).tolist()})
    senders = np.repeat(list(got), [len(v) for v in got.values()]).astype(np.int64)
    mine = np.concatenate([np.zeros((0, records.shape[1])), *got.values()])
    own = mine[:, :dimension].astype(np.int64)
    order = np.lexsort(own.T[::-1])
    mine, senders, own = mine[order], senders[order], own[order]
    with comm.same_outcome():
        if len(own) > 1 and (np.diff(own, axis=0) == 0).all(axis=1).any():
            raise NonstickError("two rows have the same cell; every unknown needs a cell of its own")
    piece = SharedPiece(
        comm, boxes.three(), np.column_stack([np.zeros((len(own), 3 - dimension), np.int64), own]), dimension
    )
    w0, w1, w2, *lowers, d, rhs, low, high, back = mine[:, dimension:].T
    problem = assembled(piece, w0, w1, w2, d, rhs, low, high)
    _check_symmetric(comm, piece, problem, lowers)
    solution = solve_problem(problem, **options)
    out = np.column_stack([back, solution.x[piece.owned], solution.dual[piece.owned]])
    home = comm.swapped({r: out[senders == r] for r in np.unique(senders).tolist()})
    back, x, dual = np.concatenate([np.zeros((0, 3)), *home.values()]).T
    place = np.argsort(back)
    given = BoxProblem(spread, b, lower, upper)
    return replace(solution, problem=given, x=x[place], dual=dual[place])


def _faces(A: SpreadRows, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights towards +x, +y, +z and -x, -y, -z of each row; axes that are missing come first."""
    row, value, dimension = A.row, A.rows.data, cells.shape[1]
    step = A.fetched(cells)[A.rows.indices] - cells[row]
    with A.comm.same_outcome():
        live = ~A.own & (value != 0)
        if np.any(value[live] > 0) or np.any(np.abs(step[live]).sum(axis=1) != 1):
            raise NonstickError(
                "many ranks need a matrix of non-positive couplings between cells that share a face; run others on one"
            )
    plus, minus = np.zeros((2, 3, len(cells)))
    for axis in range(dimension):
        for side, out in ((1, plus), (-1, minus)):
            hit = live & (step[:, axis] == side)
            np.add.at(out[axis + 3 - dimension], row[hit], -value[hit])
    return plus, minus


def _check_symmetric(comm: Comm, piece: SharedPiece, problem, lowers: list[np.ndarray]) -> None:
    """The weight of a face must be the same in the rows on both of its sides."""
    with comm.same_outcome():
        right = piece.rows.neighbours()
        for axis, w in enumerate(problem.A.weights):
            minus = np.zeros(piece.rows.n)
            has = right[:, axis] >= 0
            minus[right[has, axis]] = w[has]
            off = np.abs(minus[piece.owned] - lowers[axis])
            if np.any(off > SYMMETRIC * problem.A.diagonal[piece.owned]):
                raise NonstickError("A is not symmetric; on many ranks it must be")
