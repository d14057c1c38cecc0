"""Conductances on faces plus a diagonal: `(A x)_c = d_c x_c - sum_f w_f x_n`, never assembled.

On many ranks a vector of a rank has its own rows and its ghosts (`Rows.piece`). `apply` and `residual` bring the ghosts
of x up to date first; in what they return the ghosts are zero.

`as_operator` makes an operator of anything matrix-like.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..kernels import ONE_THREAD_BELOW
from ..kernels._components import _stencil_components
from ..kernels._csr import _csr_distances
from ..kernels._stencil import (
    _stencil_apply,
    _stencil_energy,
    _stencil_matrix,
    _stencil_residual,
)
from .base import Operator, row_sums
from .csr import CSROperator
from .rows import Rows

#: the largest coupling over the smallest one with which blocks of cells are good coarse unknowns
MILD = 100.0


class StencilOperator(Operator):
    """`weights[a][t] >= 0` couples unknown t with its neighbour in direction +a; zero if there is none.

    The first of the three axes has extent 1 on a 2D grid, and its weights are zero.
    """

    diagonal: np.ndarray

    def __init__(self, rows: Rows, weights: tuple[np.ndarray, np.ndarray, np.ndarray], diagonal: np.ndarray):
        self.rows = rows
        self.weights = weights
        self.diagonal = diagonal
        self.n, self.comm = rows.n, rows.piece.comm
        self.has_entries = self.comm.size == 1
        self._matrix: sp.csr_array | None = None
        self._parts: np.ndarray | None = None

    @property
    def dtype(self):
        return self.diagonal.dtype

    @cached_property
    def cells(self) -> np.ndarray:
        return self.rows.coordinates()

    @property
    def unknowns(self):
        return self.rows.piece.unknowns(self.n)

    def apply(self, x, out):
        self.rows.piece.exchange(x)
        _stencil_apply(out, x, *self.weights, self.diagonal, self.rows.start, self.rows.offset)
        self.rows.piece.clear(out)
        return out

    def energy(self, x, out):
        if self.n < ONE_THREAD_BELOW or self.comm.size > 1:
            return super().energy(x, out)
        if self._parts is None:
            self._parts = np.empty(self.rows.start.size - 1)
        parts = self._parts
        _stencil_energy(out, parts, x, *self.weights, self.diagonal, self.rows.start, self.rows.offset)
        return float(parts.sum())

    def residual(self, b, x, out):
        self.rows.piece.exchange(x)
        _stencil_residual(out, b, x, *self.weights, self.diagonal, self.rows.start, self.rows.offset)
        self.rows.piece.clear(out)
        return out

    def astype(self, dtype) -> StencilOperator:
        w0, w1, w2 = (w.astype(dtype) for w in self.weights)
        return StencilOperator(self.rows, (w0, w1, w2), self.diagonal.astype(dtype))

    def matrix(self) -> sp.csr_array:
        if not self.has_entries:
            raise TypeError("a rank has only its own rows of this matrix")
        if self._matrix is None:
            tables = *self.weights, self.diagonal, self.rows.start, self.rows.offset
            indptr, none = np.empty(self.n + 1, np.int32), np.empty(0, np.int32)
            _stencil_matrix(indptr, none, np.empty(0, self.dtype), *tables)
            indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], self.dtype)
            _stencil_matrix(indptr, indices, data, *tables)
            self._matrix = sp.csr_array((data, indices, indptr), shape=self.shape)
        return self._matrix

    def magnitude(self, x, out):
        # off-diagonals are not positive
        size = np.abs(x)
        self.apply(size, out)
        size *= 2.0 * self.diagonal
        np.subtract(size, out, out=out)
        self.rows.piece.clear(out)
        return out

    @property
    def stencil(self):
        return self

    def part(self, rows):
        small = Rows.from_cells(self.rows.cells[rows], self.rows.shape, self.rows.dimension)
        right = small.neighbours()
        w0, w1, w2 = (np.where(right[:, axis] >= 0, w[rows], 0.0) for axis, w in enumerate(self.weights))
        return StencilOperator(small, (w0, w1, w2), self.diagonal[rows])

    def plus_diagonal(self, shift):
        diagonal = self.diagonal + shift
        self.rows.piece.exchange(diagonal)
        return StencilOperator(self.rows, self.weights, diagonal)

    def components(self):
        label, work = np.empty(self.n, np.int32), np.empty(self.n, np.int32)
        count = _stencil_components(label, work, *self.weights, self.rows.start, self.rows.offset)
        return self.rows.piece.united(count, label)

    @classmethod
    def of_excess(cls, rows: Rows, weights: tuple[np.ndarray, np.ndarray, np.ndarray], excess: np.ndarray):
        """The operator whose rows sum to `excess`: its diagonal is that plus all weights of the row."""
        A = cls(rows, weights, np.zeros(rows.n))
        A.diagonal = excess - row_sums(A)
        rows.piece.exchange(A.diagonal)
        return A

    @classmethod
    def from_matrix(cls, A, cells: np.ndarray) -> StencilOperator | None:
        """The stencil form of a sparse matrix whose unknown i sits at grid cell `cells[i]`.

        None if the matrix couples cells that do not share a face, has a positive off-diagonal, or if
        `cells` is not in C order (vectors would have to be permuted).
        """
        A = sp.csr_array(A)
        cells = np.asarray(cells)
        low = cells.min(axis=0) if len(cells) else np.zeros(cells.shape[1], int)
        local = cells - low
        dimension = cells.shape[1]
        extent = tuple(int(e) for e in (local.max(axis=0) + 1 if len(cells) else np.ones(dimension, int)))
        shape = (1,) * (3 - dimension) + extent
        linear = np.ravel_multi_index(tuple(local.T), extent)
        if np.any(np.diff(linear) <= 0):
            return None
        upper = sp.coo_array(sp.triu(A, k=1))
        step = local[upper.col] - local[upper.row]
        live = upper.data != 0
        if np.any(upper.data > 0) or np.any(np.abs(step[live]).sum(axis=1) != 1):
            return None
        weights = np.zeros(len(linear)), np.zeros(len(linear)), np.zeros(len(linear))
        for axis in range(dimension):
            hit = live & (step[:, axis] == 1)
            weights[axis + 3 - dimension][upper.row[hit]] = -upper.data[hit]
        return cls(Rows.from_cells(linear, shape, dimension), weights, A.diagonal().astype(float))


def whole_box(A: sp.csr_array) -> np.ndarray | None:
    """The cells of a matrix whose unknowns are a whole box of cells in C order, coupled across faces; None for others.

    Such a matrix has couplings at two or three distances, 1, m and m k: a row and a layer of cells. Coefficients that
    jump are left to coarse rows that follow them, which are made without a grid.
    """
    distances, sizes = np.empty(3, np.int64), np.empty(2)
    count = _csr_distances(distances, sizes, A.data, A.indices, A.indptr)
    if sizes[1] > MILD * sizes[0]:
        return None
    n, steps = A.shape[0], distances[: max(count, 0)].tolist()
    if count < 2 or steps[0] != 1 or any(large % small for small, large in zip(steps, [*steps[1:], n])):
        return None
    shape = (n // steps[-1], *(large // small for small, large in zip(steps[-2::-1], steps[:0:-1])))
    return np.stack(np.unravel_index(np.arange(n), shape), axis=1) if min(shape) > 1 else None


def as_operator(A, cells=None, symmetric: bool = True) -> Operator:
    """Anything matrix-like as an operator; with `cells` it is a stencil operator if the matrix allows it."""
    if isinstance(A, Operator):
        return A
    A = A if isinstance(A, sp.csr_array) and A.dtype == float else sp.csr_array(A, dtype=float)
    if cells is not None:
        cells = np.asarray(cells)
        stencil = StencilOperator.from_matrix(A, cells) if symmetric else None
        if stencil is not None:
            return stencil
    return CSROperator(A, cells, symmetric)
