"""The levels of an algebraic hierarchy: a matrix sorted by colour, and interpolation from the next coarser level."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ....kernels import ONE_THREAD_BELOW
from ....operators.csr import CSROperator
from ...base import Inverse
from ..level import Level
from . import _matrix as kernels
from ._interpolation import _colour_rows


class Matrix:
    """Off-diagonal weights in CSR form, the excess of each row, and the diagonal, their sum."""

    def __init__(
        self, weights: np.ndarray, indices: np.ndarray, indptr: np.ndarray, excess: np.ndarray, symmetric: bool = True
    ):
        self.weights, self.indices, self.indptr, self.excess = weights, indices, indptr, excess
        self.symmetric = symmetric
        self.n = excess.size
        self.d, self.dinv = np.empty(self.n), np.empty(self.n, np.float32)
        self.closed = np.zeros(self.n, np.int8)
        self.find_diagonals()

    @property
    def rows(self) -> tuple[np.ndarray, ...]:
        return self.weights, self.indices, self.indptr, self.excess

    def find_diagonals(self, rows: np.ndarray | None = None) -> None:
        """The diagonals, and their inverses on rows that are not closed; of all rows, or of some."""
        chosen = np.arange(self.n) if rows is None else rows
        kernels._diagonals(self.d, self.dinv, chosen, self.closed, self.weights, self.indptr, self.excess)

    def around(self, rows: np.ndarray) -> np.ndarray:
        """The rows and their neighbours."""
        found = np.empty(self.n, np.int64)
        count = kernels._with_neighbours(found, np.zeros(self.n, np.int8), rows, self.indices, self.indptr)
        return found[:count]

    def operator(self) -> CSROperator:
        """The matrix as an operator, in double precision; rows that are closed or have no equation are those of I."""
        starts = (self.indptr + np.arange(self.n + 1)).astype(np.int32)
        data, columns = np.empty(int(starts[-1])), np.empty(int(starts[-1]), np.int32)
        matrix = self.d, self.dinv, self.weights, self.indices, self.indptr
        kernels._assemble(data, columns, starts, self.symmetric, *matrix)
        return CSROperator(sp.csr_array((data, columns, starts), shape=(self.n, self.n)), symmetric=self.symmetric)


def colours(indices: np.ndarray, indptr: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows sorted by colour, the place of each row in that order, and where colours end."""
    n = indptr.size - 1
    colour = np.empty(n, np.int32)
    count = _colour_rows(colour, indices, indptr)
    order = np.argsort(colour, kind="stable").astype(np.int32)
    place = np.empty(n, np.int32)
    place[order] = np.arange(n, dtype=np.int32)
    return order, place, np.concatenate(([0], np.cumsum(np.bincount(colour, minlength=count))))


class Interpolation:
    """P by rows, in slots, and Pᵀ; the first slot of a row holds its largest entry."""

    def __init__(self, cols: np.ndarray, vals: np.ndarray, count: int):
        self.cols, self.vals, self.n_coarse = cols, vals, count
        entries = int(np.count_nonzero(cols >= 0))
        self.first, self.row = np.empty(count + 1, np.int64), np.empty(entries, np.int32)
        self.value = np.empty(entries, np.float32)
        kernels._transpose(self.first, self.row, self.value, cols, vals)

    @property
    def parent(self) -> np.ndarray:
        """The coarse row that each row has most in common with, -1 where there is none."""
        return self.cols[:, 0]

    def renumbered(self, place: np.ndarray) -> Interpolation:
        """The same with another order of coarse unknowns."""
        self.cols[:] = np.where(self.cols >= 0, place[self.cols], -1)
        return Interpolation(self.cols, self.vals, self.n_coarse)

    def pattern(self, A: Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Columns and row starts of PᵀAP."""
        n, none = self.n_coarse, np.empty(0, np.int32)
        length, starts = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
        tables = self.cols, self.first, self.row, A.indices, A.indptr
        kernels._pattern(length, none, starts, *tables)
        np.cumsum(length, out=starts[1:])
        columns = np.empty(int(starts[-1]), np.int32)
        if columns.size:
            kernels._pattern(length, columns, starts, *tables)
        return columns, starts

    def fill(self, coarse: Matrix, A: Matrix, changed: np.ndarray | None = None) -> np.ndarray | None:
        """The values of PᵀFAFP, F the rows of A that are not closed.

        If only the rows `changed` of FAF have changed, only the coarse rows that depend on them are computed. Returns
        these; None: all.
        """
        chosen = np.arange(coarse.n) if changed is None else self._reached(changed)
        result = coarse.weights, coarse.excess, chosen, coarse.indices, coarse.indptr
        P = self.cols, self.vals, self.first, self.row, self.value
        kernels._values(*result, A.closed, A.d, *P, *A.rows)
        coarse.find_diagonals(chosen)
        return None if changed is None else chosen

    def _reached(self, rows: np.ndarray) -> np.ndarray:
        """The coarse unknowns that the rows are interpolated from."""
        found = np.empty(self.n_coarse, np.int64)
        return found[: kernels._reached(found, np.zeros(self.n_coarse, np.int8), rows, self.cols)]


class AlgebraicLevel(Level):
    """A matrix whose rows are sorted by colour; `P` leads to the next coarser level.

    `ends` are the first rows of the colours and the number of rows; `natural` lists the rows as they were before;
    `depth` is the number of finer levels.
    """

    #: to the next level, if this is not the coarsest
    P: Interpolation
    #: the rows that are the coarse ones, if this is not the coarsest
    chosen: np.ndarray

    def __init__(self, A: Matrix, ends: np.ndarray, natural: np.ndarray, depth: int = 0):
        self.A, self.ends, self.natural, self.depth = A, ends, natural, depth
        self.n = A.n
        self.bottom: Inverse | None = None
        #: positive couplings matter here
        self.mixed = False
        #: coarse rows are so far apart that some rows have none next to them
        self.sparse = False
        self.x, self.b, self.r = (np.zeros(A.n, np.float32) for _ in range(3))
        self._matrix = A.dinv, *A.rows

    def smooth(self, sweeps, from_zero):
        if from_zero:
            self.x[:] = 0.0
        for _ in range(sweeps):
            if self.n < ONE_THREAD_BELOW:
                kernels._sweep(self.x, self.b, *self._matrix)
            else:
                for c in range(self.ends.size - 1):
                    kernels._sweep_colour(self.x, self.b, *self._matrix, self.ends[c], self.ends[c + 1])

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            if self.n < ONE_THREAD_BELOW:
                kernels._sweep_back(self.x, self.b, *self._matrix)
            else:
                for c in range(self.ends.size - 2, -1, -1):
                    kernels._sweep_colour(self.x, self.b, *self._matrix, self.ends[c], self.ends[c + 1])

    def restrict_residual(self, coarse, from_zero):
        kernels._residual_rows(self.r, self.x, self.b, *self._matrix)
        kernels._restrict_rows(coarse.b, self.r, self.P.first, self.P.row, self.P.value)

    def correct(self, coarse):
        kernels._prolong_rows(self.x, self.A.dinv, coarse.x, self.P.cols, self.P.vals)

    def solve(self):
        assert self.bottom is not None
        self.x[:] = self.bottom.apply(self.b.astype(np.float64), np.empty(self.n))
        self.x[self.A.dinv == 0.0] = 0.0

    def product(self, x, out):
        kernels._product_rows(out, x, *self._matrix)
        return out
