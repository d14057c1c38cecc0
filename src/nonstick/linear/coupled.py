"""Preconditioners for `A + U S Uᵀ` (rigid bodies in a liquid), from any preconditioner Z of A.

A light body (S large) gives A + U S Uᵀ as many large eigenvalues as it has degrees of freedom; Z knows none of them
and conjugate gradients spend an iteration or two on each. They are deflated (the balancing form, Mandel 1993):

    z = Y E⁻¹Yᵀr + (I - Y E⁻¹Yᵀ A_c) Z (I - A_c Y E⁻¹Yᵀ) r,    E = Yᵀ A_c Y,  A_c = A + U S Uᵀ,

symmetric and positive for every Y. The best Y is A⁻¹U, the pressures around bodies that are pushed; but a rough one
serves: with y for A⁻¹u the largest eigenvalue left is, for S → ∞, 1/cos² of the angle between the two in the energy
norm. So Y is found in a box around each body, zero at its edge, by a few conjugate gradient steps, for a small part
of the price of Z. Heavy bodies need no Y, and get none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..lcp.projected_gs import ProjectedSweeps
from ..operators.base import Operator
from ..operators.csr import CSROperator
from ..operators.lowrank import LowRank, find_low_rank
from ..operators.masked import Masked
from ..operators.rows import Rows
from ..operators.stencil import StencilOperator
from .base import Inverse, NoPreconditioner, Recipe

#: the box around a body is wider than the body by this part of its size on every side, and by MARGIN cells at least
WIDER = 0.2
MARGIN = 3
#: sweeps that adapt Y to a free set
SWEEPS = 2
#: bodies whose largest eigenvalue is below 1 + LIGHT are left to the iteration
LIGHT = 0.5


@dataclass(frozen=True)
class Coupled(Recipe):
    """`M` for operators without bodies; with bodies, `M` of the rest and the deflation above."""

    M: Recipe = field(default_factory=NoPreconditioner)

    def setup(self, operator, reuse=None):
        low = find_low_rank(operator)
        if low is None:
            return self.M.setup(operator, reuse)
        if isinstance(reuse, CoupledInverse) and reuse.operator is operator and reuse.low is low:
            return reuse.refresh(self.M)
        return CoupledInverse(self.M, operator, low)


class CoupledInverse(Inverse):
    """Z for the operator without its bodies (`Z`), deflated."""

    def __init__(self, M: Recipe, operator: Operator, low: LowRank):
        self.operator, self.low = operator, low
        self._bare = _mirror(operator)
        self.Z = M.setup(self._bare)
        self._r = np.empty(operator.n)
        bodies = [_Surroundings(low, columns, _rough(low)) for columns in _groups(low)]
        self._bodies = [body for body in bodies if body.weight > LIGHT]
        self._deflate(0 if all(s is None for s in _state(operator)) else SWEEPS)

    def refresh(self, M: Recipe) -> CoupledInverse:
        """The free set or the shift of the operator has changed."""
        _update(self._bare, self.operator)
        self.Z = M.setup(self._bare, self.Z)
        self._deflate(SWEEPS)
        return self

    def _deflate(self, sweeps: int) -> None:
        low = self.low
        free, shift = _state(self.operator)
        for body in self._bodies:
            body.adapt(free, shift, sweeps)
        n = low.n
        #: Y and A Y (without bodies) over all rows, and U restricted to the free ones
        self._Y = sp.csr_array(sp.hstack([b.spread(b.Y, n) for b in self._bodies])) if self._bodies else None
        if self._Y is None:
            return
        AY = sp.csr_array(sp.hstack([b.spread(b.AY, n) for b in self._bodies]))
        mask = np.ones(low.touched.size) if free is None else free[low.touched].astype(float)
        self._U = sp.csr_array(sp.diags_array(mask) @ low.U)
        UY = self._U.T @ self._Y[low.touched]
        UY = UY.toarray()
        E = (self._Y.T @ AY).toarray() + UY.T @ low.S @ UY
        value, vector = np.linalg.eigh(0.5 * (E + E.T))
        keep = value > 1e-12 * max(value.max(initial=0.0), np.finfo(float).tiny)
        self._E = (vector[:, keep] / value[keep]) @ vector[:, keep].T
        self._C = low.S @ UY
        self._rows = np.flatnonzero(np.diff(self._Y.indptr) + np.diff(AY.indptr))
        self._Y, self._AY = self._Y[self._rows], AY[self._rows]
        self._Yt, self._AYt, self._Ut = (sp.csr_array(X.T) for X in (self._Y, self._AY, self._U))

    def apply(self, r, out):
        if self._Y is None:
            return self.Z.apply(r, out)
        rows, touched = self._rows, self.low.touched
        a = self._E @ (self._Yt @ r[rows])
        self._r[:] = r
        self._r[rows] -= self._AY @ a
        self._r[touched] -= self._U @ (self._C @ a)
        self.Z.apply(self._r, out)
        a -= self._E @ (self._AYt @ out[rows] + self._C.T @ (self._Ut @ out[touched]))
        out[rows] += self._Y @ a
        return out


class _Surroundings:
    """A box of unknowns around one body: the operator there, and Y."""

    def __init__(self, low: LowRank, columns: np.ndarray, rough: Recipe):
        U = sp.csc_array(low.U)[:, columns]
        mine = np.unique(U.indices)
        base = low.base
        if isinstance(base, StencilOperator):
            self.rows, self.A, self.inner = _box(base, low.touched[mine])
        else:
            self.rows, self.A, self.inner = _neighbourhood(base, low.touched[mine])
        n = self.rows.size
        G = np.zeros((columns.size, n))
        G[:, np.searchsorted(self.rows, low.touched[mine])] = sp.csr_array(U)[mine].toarray().T
        self.G = G
        self.Y, self.AY = np.empty_like(G), np.empty_like(G)
        inverse = rough.setup(Masked(self.A, self.inner))
        for g, y in zip(G, self.Y):
            inverse.apply(g * self.inner, y)
        self.Y *= self.inner
        self.S = low.S[np.ix_(columns, columns)]
        value = np.linalg.eigvals(self.S @ (G @ self.Y.T))
        #: the eigenvalue of the body beyond 1, from below
        self.weight = float(np.abs(value).max(initial=0.0))

    def adapt(self, free: np.ndarray | None, shift: np.ndarray | None, sweeps: int) -> None:
        """Relax Y under the free set and the shift, and find A Y."""
        live = self.inner if free is None else self.inner & free[self.rows]
        A = self.A if shift is None else _shifted(self.A, shift[self.rows])
        if sweeps:
            relax = ProjectedSweeps(A)
            low, high = np.where(live, -np.inf, 0.0), np.where(live, np.inf, 0.0)
        for g, y, image in zip(self.G, self.Y, self.AY):
            y *= live
            if sweeps:
                relax.run(y, g, low, high, count=sweeps)
            A.apply(y, image)
        if free is not None:
            self.AY *= free[self.rows]

    def spread(self, X: np.ndarray, n: int) -> sp.csr_array:
        """Columns over the box as sparse columns over all unknowns."""
        k, m = X.shape
        count = np.zeros(n + 1, np.int64)
        count[self.rows + 1] = k
        return sp.csr_array((X.T.ravel(), np.tile(np.arange(k), m), np.cumsum(count)), shape=(n, k))


def _shifted(A: Operator, shift: np.ndarray) -> Operator:
    if isinstance(A, StencilOperator):
        return StencilOperator(A.rows, A.weights, A.diagonal + shift)
    return CSROperator(A.matrix() + sp.diags_array(shift))


def _box(base: StencilOperator, touched: np.ndarray):
    """Unknowns in a box around some, the operator among them, and which do not lie at the edge of the box."""
    grid = base.rows
    shape = np.array(grid.shape)
    ijk = np.stack(np.unravel_index(grid.cells[touched], grid.shape))
    low, high = ijk.min(axis=1), ijk.max(axis=1) + 1
    wide = np.maximum(MARGIN, np.ceil(WIDER * (high - low)).astype(int)) + 1
    wide[: 3 - grid.dimension] = 0
    low, high = np.maximum(low - wide, 0), np.minimum(high + wide, shape)
    # lines of cells along the last axis are ranges of the ascending cell numbers
    i, j = np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]), indexing="ij")
    line = ((i * shape[1] + j) * shape[2]).ravel()
    first, last = np.searchsorted(grid.cells, line + low[2]), np.searchsorted(grid.cells, line + high[2])
    count = last - first
    rows = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count) + np.arange(count.sum())
    size = high - low
    at = np.stack(np.unravel_index(grid.cells[rows], grid.shape)) - low[:, None]
    inner = np.ones(rows.size, bool)
    weights = []
    for axis in range(3):
        w = base.weights[axis][rows]
        w[at[axis] == size[axis] - 1] = 0.0
        weights.append(w)
        # at an edge of the box that is not an edge of the grid, cells have neighbours the box does not know
        inner &= (at[axis] > 0) | (low[axis] == 0)
        inner &= (at[axis] < size[axis] - 1) | (high[axis] == shape[axis])
    local = Rows.from_cells(np.ravel_multi_index(tuple(at), tuple(size)), tuple(size), grid.dimension)
    return rows, StencilOperator(local, tuple(weights), base.diagonal[rows]), inner  # type: ignore[arg-type]


def _neighbourhood(base: Operator, touched: np.ndarray):
    """The same for a bare matrix: unknowns within MARGIN links."""
    A = base.matrix()
    near = np.zeros(base.n)
    near[touched] = 1.0
    pattern = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    inner = near > 0
    for _ in range(MARGIN):
        inner = near > 0
        near = (pattern @ near + near > 0).astype(float)
    rows = np.flatnonzero(near)
    return rows, CSROperator(A[rows][:, rows]), inner[rows]


def _rough(low: LowRank) -> Recipe:
    """What finds Y: one multigrid cycle on grids."""
    from ..multigrid.fast import FastMultigrid
    from ..precond.mic import MIC

    return FastMultigrid() if isinstance(low.base, StencilOperator) else MIC()


def _groups(low: LowRank) -> list[np.ndarray]:
    """Columns of U that belong together: those of one body."""
    if not low.touched.size or not low.rank:
        return []
    count, label = connected_components(sp.csr_array(low.S != 0), directed=False)
    used = np.diff(sp.csc_array(low.U).indptr) > 0
    groups = [np.flatnonzero((label == g) & used) for g in range(count)]
    return [g for g in groups if g.size]


def _mirror(operator: Operator) -> Operator:
    """The operator without its bodies, under masks of its own."""
    if isinstance(operator, Masked):
        return Masked(_mirror(operator.A), operator.free, operator.shift)
    assert isinstance(operator, LowRank)
    return operator.base


def _update(mirror: Operator, operator: Operator) -> None:
    while isinstance(operator, Masked):
        assert isinstance(mirror, Masked)
        mirror.update(operator.free, operator.shift)
        operator, mirror = operator.A, mirror.A


def _state(operator: Operator) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Free rows and shift of all masks together."""
    free = shift = None
    while isinstance(operator, Masked):
        if operator.free is not None:
            free = operator.free if free is None else free & operator.free
        if operator.shift is not None:
            shift = operator.shift if shift is None else shift + operator.shift
        operator = operator.A
    return free, shift
