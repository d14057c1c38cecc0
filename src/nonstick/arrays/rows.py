"""A sparse matrix in arrays, and an algebraic multigrid cycle for it: the preconditioner where there is no grid.

Rows are in groups of like length, filled up to a power of two, with the entries of a row along the first axis:

    (A x)_i = sum_k values[k, i] x[columns[k, i]]

A product is one gather, one product and one sum for each group. Nothing is scattered, so sums have a fixed order.

The processor chooses the levels, once for a matrix, by Ruge and Stüben (`inverse.multigrid.algebraic`). The unknowns of
a coarse level are some of the rows of the finer one, so a free set F restricts itself: a coarse unknown is free where
its row is. Masks then take the place of new coarse matrices. They do not see a single clamped row between coarse ones,
so the diagonal of a coarse matrix is raised until its row sums are those of the Galerkin product PᵀF A F P.

Smoothing is a Chebyshev polynomial, as on grids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..inverse.multigrid.aggregation.near_null import spectral_radius
from ..inverse.multigrid.algebraic.coarsening import Algebraic, AlgebraicHierarchy
from ..inverse.multigrid.algebraic.level import AlgebraicLevel
from ..inverse.multigrid.hierarchy import Multigrid
from ..operators.base import Operator, once_for_an_operator
from .library import Array, namespace
from .multigrid import chebyshev, in_cycle
from .problem import SETTINGS, Fields, scale_of

#: an array of NumPy as one on a device, in the precision of a name or in its own
Enter = Callable[..., Array]


@dataclass(frozen=True)
class SparseProduct:
    """A sparse matrix that multiplies vectors along their last axis."""

    columns: tuple[Array, ...]
    values: tuple[Array, ...]
    #: where each row is in the groups
    place: Array

    @classmethod
    def of(cls, M: sp.csr_array, enter: Enter) -> SparseProduct:
        """The matrix on a device."""
        length = np.diff(M.indptr)
        width = 2 ** np.ceil(np.log2(np.maximum(length, 1))).astype(int)
        groups = [np.flatnonzero(width == w) for w in np.unique(width)]
        column, value = np.append(M.indices, 0).astype(np.int64), np.append(M.data, 0.0)  # the last one fills up
        columns, values = [], []
        for rows in groups:
            k = np.arange(width[rows[0]])[:, None]
            at = np.where(k < length[rows], M.indptr[rows] + k, M.nnz)
            columns.append(enter(column[at].ravel()))
            values.append(enter(value[at]))
        return cls(tuple(columns), tuple(values), enter(np.argsort(np.concatenate(groups)).astype(np.int64)))

    def __matmul__(self, x: Array) -> Array:
        xp, sums = namespace(x), []
        for columns, values in zip(self.columns, self.values):
            there = xp.reshape(xp.take(x, columns, axis=-1), (*x.shape[:-1], *values.shape))
            sums.append(xp.sum(values * there, axis=-2))
        return xp.take(xp.concat(sums, axis=-1), self.place, axis=-1)


@dataclass(frozen=True)
class SparseRows:
    """A symmetric sparse matrix."""

    #: without the diagonal
    couplings: SparseProduct
    diagonal: Array
    #: the inverse diagonal, scaled so that its product with the matrix has no eigenvalue above 2, as on grids; 0 in
    #: rows that have no equation
    inverse: Array

    @classmethod
    def of(cls, M: sp.csr_array, enter: Enter) -> SparseRows:
        d = M.diagonal()
        inverse = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0.0)
        off = sp.csr_array(M - sp.diags_array(d))
        off.eliminate_zeros()
        return cls(SparseProduct.of(off, enter), enter(d), enter(2.0 / spectral_radius(M, inverse) * inverse))

    def __matmul__(self, x: Array) -> Array:
        return self.diagonal * x + self.couplings @ x

    def residual(self, b: Array, x: Array) -> Array:
        """b - A x"""
        return b - self.diagonal * x - self.couplings @ x

    def with_more(self, shift: Array) -> SparseRows:
        """The matrix with a nonnegative shift of its diagonal."""
        xp, d = namespace(shift), self.diagonal + shift
        part = xp.where(d > 0, self.diagonal / xp.where(d > 0, d, xp.ones_like(d)), xp.zeros_like(d))
        return replace(self, diagonal=d, inverse=part * self.inverse)

    def sweep(self) -> tuple[Array]:
        """A damped Jacobi sweep."""
        return (2 / 3 * self.inverse,)


@dataclass(frozen=True)
class RowLevel:
    """One level: its matrix, `A.inverse` on the free rows, and the way to the next coarser level."""

    A: SparseRows
    inverse: Array
    #: interpolation, its transpose, and the rows that are the coarse ones; None on the coarsest level
    up: SparseProduct | None = None
    down: SparseProduct | None = None
    coarse: Array | None = None

    def smoothed(self, b: Array, x: Array | None = None) -> Array:
        return chebyshev(self, b, x, SETTINGS.degree, (SETTINGS.damped, 2.0))

    def solved(self, b: Array) -> Array:
        return chebyshev(self, b, None, round(6 * SETTINGS.lowest**-0.5), (SETTINGS.lowest, 2.0))

    def restricted(self, r: Array) -> Array:
        return self.down @ (r * self._free())

    def corrected(self, x: Array, coarse: Array) -> Array:
        return x + self._free() * (self.up @ coarse)

    def _free(self) -> Array:
        xp = namespace(self.inverse)
        return xp.astype(self.inverse > 0, self.inverse.dtype)


@dataclass(frozen=True)
class RowCycle:
    """The cycle of a sparse matrix for any free rows: z = S cycle(S r), S the diagonal that makes constants smooth."""

    grids: tuple[RowLevel, ...]
    scale: Array

    def levels(self, free: Array) -> tuple[RowLevel, ...]:
        xp, A, out = namespace(free), self.grids[0].A, []
        free = xp.astype(free, A.inverse.dtype)
        for level, below in zip(self.grids, (*self.grids[1:], None)):
            out.append(replace(level, A=A, inverse=free * A.inverse))
            if below is not None:
                sums = level.down @ (free * (A @ free))
                free = xp.take(free, level.coarse, axis=-1)
                missing = sums - below.A @ free
                A = below.A.with_more(free * xp.where(missing > 0, missing, xp.zeros_like(missing)))
        return tuple(out)

    def apply(self, levels: tuple[RowLevel, ...], free: Array, r: Array) -> Array:
        finest = self.grids[0]
        top = replace(finest, inverse=finest.inverse * namespace(r).astype(free, finest.inverse.dtype))
        return self.scale * in_cycle((top, *levels[1:]), self.scale * free * r)

    def below(self, problem: Fields) -> tuple[Fields, RowCycle] | None:
        """The problem of the coarse rows, with their bounds."""
        xp, (finest, *rest) = namespace(problem.b), self.grids
        if finest.coarse is None or finest.coarse.shape[0] <= SETTINGS.small:
            return None
        coarse = rest[0].A
        there = xp.astype(coarse.diagonal > 0, problem.b.dtype)
        b = there * (finest.down @ (self.scale * problem.b))
        lower, upper = (xp.take(v / self.scale, finest.coarse, axis=-1) for v in (problem.lower, problem.upper))
        lower, upper = (xp.where(there > 0, v, xp.zeros_like(v)) for v in (lower, upper))
        own = RowCycle(tuple(rest), xp.ones_like(there))
        return Fields(coarse, b, lower, upper, there, scale_of(coarse, b, lower, upper)), own

    def interpolated(self, x: Array) -> Array:
        return self.scale * (self.grids[0].up @ x)


@once_for_an_operator
def in_rows(A: Operator) -> InRows:
    """Where the unknowns of a matrix are on a device, and the levels of its cycle, which are chosen once."""
    return InRows(A)


class InRows:
    """Where the unknowns of a matrix are on a device: in the order of the rows of its hierarchy."""

    def __init__(self, A: Operator):
        recipe = Multigrid(Algebraic(), smallest=SETTINGS.bottom)
        self.operator = A
        self.hierarchy = AlgebraicHierarchy(recipe, Algebraic(), A)
        self.index = self.hierarchy.order

    def field(self, values: np.ndarray | float, elsewhere: float = 0.0) -> np.ndarray:
        """A vector in the order of the device."""
        return np.broadcast_to(np.asarray(values, float), self.index.shape)[self.index]

    def vector(self, field: np.ndarray) -> np.ndarray:
        """A vector of the device in the order of the operator."""
        out = np.empty_like(field)
        out[self.index] = field
        return out

    def matrix(self, unit: float, enter: Enter) -> SparseRows:
        """A / unit on the device."""
        M = sp.csr_array(self.operator.matrix()[self.index][:, self.index])
        return SparseRows.of(M / unit, enter)

    def cycle(self, enter: Enter) -> RowCycle:
        """The cycle on the device; `enter` brings arrays there in single precision."""
        levels = self.hierarchy.levels
        grids = [_on_device(level, last=level is levels[-1], enter=enter) for level in levels]
        return RowCycle(tuple(grids), enter(self.hierarchy.scale[self.index]))


def _on_device(level: AlgebraicLevel, last: bool, enter: Enter) -> RowLevel:
    n, A = level.n, level.A
    couplings = sp.csr_array((A.weights, A.indices, A.indptr), shape=(n, n))
    rows = SparseRows.of(sp.csr_array(sp.diags_array(A.d) - couplings), enter)
    if last:
        return RowLevel(rows, rows.inverse)
    P = level.P
    row, slot = np.nonzero(P.cols >= 0)
    up = sp.csr_array((P.vals[row, slot].astype(float), (row, P.cols[row, slot])), shape=(n, P.n_coarse))
    coarse = np.empty(P.n_coarse, np.int64)
    coarse[P.cols[level.chosen, 0]] = level.chosen
    there, back = (SparseProduct.of(sp.csr_array(M), enter) for M in (up, up.T))
    return RowLevel(rows, rows.inverse, there, back, enter(coarse))
