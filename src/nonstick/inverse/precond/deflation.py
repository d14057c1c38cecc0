"""Preconditioners for `A + U S Uᵀ` (rigid bodies in a liquid), from any preconditioner Z of A.

A light body (S large) gives A + U S Uᵀ as many large eigenvalues as it has degrees of freedom; Z does not treat them,
and conjugate gradients need an iteration or two for each. They are deflated (the balancing form, Mandel 1993):

    z = Y E⁻¹Yᵀr + (I - Y E⁻¹Yᵀ A_c) Z (I - A_c Y E⁻¹Yᵀ) r,    E = Yᵀ A_c Y,  A_c = A + U S Uᵀ,

symmetric and positive for every Y. The best Y is A⁻¹U, the pressures around bodies that are pushed, but an
approximation is enough. With y instead of A⁻¹u, the largest remaining eigenvalue is, for S → ∞, 1/cos² of the angle
between y and A⁻¹u in the energy norm. So a few sweeps compute Y in a few layers of cells around each body, with zero
outside, at a small part of the cost of Z. Where layers meet, a cell belongs to the nearest body. Heavy bodies need no
Y.

Pressures around rigid bodies, several columns at once: computed by relaxation, used to deflate a preconditioner.

Rows near bodies are listed body by body, `start[b] <= m < start[b + 1]`, with their number `rows[m]` among all
unknowns. near[m, q] is the place of neighbour q in the list (-1: no neighbour, or one that belongs to no body),
weight[m, q] its coupling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...core import rounding
from ...kernels import merged, parallel, prange, serial
from ...kernels._blocks import _segment_of
from ...operators.base import Operator
from ...operators.masked import LowRank, Masked
from ..base import Directions, Inverse, NoPreconditioner, Recipe


@serial
def _segment(t, s, first):
    """The segment of the row layout that holds unknown t; s is a guess."""
    return s if first[s] <= t < first[s + 1] else _segment_of(first, t)


@merged
def _coupling(t, n, q, w0, w1, w2):
    """The coupling of unknown t with its neighbour n in direction q: -x +x -y +y -z +z."""
    here = min(t, n)
    return w0[here] if q < 2 else (w1[here] if q < 4 else w2[here])


@serial
def _grow(queue, owner, count, layers, first, offset, w0, w1, w2):
    """Assign the unknowns within `layers` links of those that bodies touch; an unknown goes to the nearest body.

    queue[:count] holds the touched unknowns, whose owner is set; returns the final number.
    """
    begin, end, s = 0, count, 0
    for _ in range(layers):
        for e in range(begin, end):
            t = queue[e]
            s = _segment(t, s, first)
            for q in range(6):
                step = offset[s, q]
                n = t + step
                if step != 0 and owner[n] < 0 and _coupling(t, n, q, w0, w1, w2) > 0.0:
                    owner[n] = owner[t]
                    queue[count] = n
                    count += 1
        begin, end = end, count
    return count


@serial
def _links(near, weight, inner, rows, place, owner, first, offset, w0, w1, w2):
    """Neighbours and weights of the listed rows; inner[m] = 0 if a neighbour belongs to no body or to another body.

    place and owner map all unknowns to the list and to bodies (-1: none); `first` and `offset` are the segments of
    the row layout.
    """
    s = 0
    for m in range(rows.size):
        t = rows[m]
        s = _segment(t, s, first)
        inner[m] = 1
        for q in range(6):
            near[m, q] = -1
            weight[m, q] = 0.0
            step = offset[s, q]
            n = t + step
            if step == 0:
                continue
            w = _coupling(t, n, q, w0, w1, w2)
            if w == 0.0:
                continue
            if owner[n] != owner[t]:
                inner[m] = 0
            else:
                near[m, q] = place[n]
                weight[m, q] = w


@parallel
def _improve(Y, G, near, weight, d, live, start, omega, sweeps):
    """SOR sweeps for A Y = G on the live rows; the others stay zero. Bodies are treated independently."""
    columns = Y.shape[1]
    for b in prange(start.size - 1):
        value = np.empty(columns)
        for sweep in range(sweeps):
            for e in range(start[b + 1] - start[b]):
                # forwards and backwards, so that values spread in both directions
                m = start[b] + e if sweep % 2 == 0 else start[b + 1] - 1 - e
                if live[m] == 0 or d[m] <= 0.0:
                    for j in range(columns):
                        Y[m, j] = 0.0
                    continue
                for j in range(columns):
                    value[j] = G[m, j]
                for q in range(6):
                    n = near[m, q]
                    if n >= 0:
                        w = weight[m, q]
                        for j in range(columns):
                            value[j] += w * Y[n, j]
                scale = omega / d[m]
                for j in range(columns):
                    Y[m, j] += scale * value[j] - omega * Y[m, j]


@parallel
def _image(AY, YAY, Y, near, weight, d, free, start):
    """AY = A Y on the free rows of each body's list, and the products YAY[b] = Yᵀ A Y."""
    columns = Y.shape[1]
    for b in prange(start.size - 1):
        YAY[b] = 0.0
        for m in range(start[b], start[b + 1]):
            if free[m] == 0:
                for j in range(columns):
                    AY[m, j] = 0.0
                continue
            for j in range(columns):
                AY[m, j] = d[m] * Y[m, j]
            for q in range(6):
                n = near[m, q]
                if n >= 0:
                    for j in range(columns):
                        AY[m, j] -= weight[m, q] * Y[n, j]
            for i in range(columns):
                for j in range(columns):
                    YAY[b, i, j] += Y[m, i] * AY[m, j]


@parallel
def _gather_columns(out, X, rows, x, start):
    """out[b] = Xᵀ x over the rows of body b."""
    columns = X.shape[1]
    for b in prange(start.size - 1):
        total = np.zeros(columns)
        for m in range(start[b], start[b + 1]):
            v = x[rows[m]]
            for j in range(columns):
                total[j] += v * X[m, j]
        for j in range(columns):
            out[b, j] = total[j]


@parallel
def _spread_columns(x, X, rows, c, start):
    """x[rows] += X c[b]; no row is listed twice."""
    columns = X.shape[1]
    for b in prange(start.size - 1):
        for m in range(start[b], start[b + 1]):
            v = 0.0
            for j in range(columns):
                v += X[m, j] * c[b, j]
            x[rows[m]] += v


@dataclass(frozen=True)
class DeflationSettings:
    """How Y is computed; `docs/explanation/settings.md` says what each is worth."""

    #: layers of cells around a body in which Y is not zero: as a part of its size, and the least number
    wider: float = 0.15
    layers: int = 3
    #: relaxation factor of the sweeps that compute Y
    omega: float = 1.6


SETTINGS = DeflationSettings()


@dataclass(frozen=True)
class Deflated(Recipe):
    """`M` for operators without bodies; with bodies, `M` of the operator without them and the deflation above.

    Examples
    --------
    >>> from nonstick.inverse import CG, MIC, Deflated
    >>> CG(Deflated(MIC()))  # doctest: +ELLIPSIS
    CG(M=Deflated(M=MIC(...
    """

    M: Recipe = field(default_factory=NoPreconditioner)
    wraps: ClassVar[bool] = True

    def setup(self, operator, reuse=None):
        low = operator.bodies
        if low is None:
            return self.M.setup(operator, reuse)
        if reuse is not None and reuse.operator is operator and reuse.low is low:
            return reuse.refresh(self.M)
        return DeflatedInverse(self.M, operator, low)

    def fits(self, operator):
        return self.M.fits(_bare(operator))

    def chosen(self, operator):
        return Deflated(self.M.chosen(_bare(operator)))


def _bare(operator: Operator) -> Operator:
    """The operator without its bodies and without masks."""
    return operator if operator.bodies is None else operator.bodies.base


class DeflatedInverse(Inverse):
    """Z for the operator without its bodies (`Z`), deflated by `around`."""

    def __init__(self, M: Recipe, operator: Operator, low: LowRank):
        self.operator, self.low = operator, low
        self._bare = Masked(low.base, operator.free, operator.shift)
        self.Z = M.setup(self._bare)
        self._r = np.empty(operator.n)
        # Many ranks do without: the layers around a body would reach over several of them.
        groups = [] if low.base.stencil is None or low.comm.size > 1 else light_bodies(low)
        self.around = DeflatedCells(low, groups) if groups else None
        if self.around is not None:
            self.around.adapt(operator.free, operator.shift, first=True)

    def refresh(self, M: Recipe) -> DeflatedInverse:
        """The free set or the shift of the operator has changed."""
        self._bare.update(self.operator.free, self.operator.shift)
        self.Z = M.setup(self._bare, self.Z)
        if self.around is not None:
            self.around.adapt(self.operator.free, self.operator.shift)
        return self

    def apply(self, r, out):
        around = self.around
        if around is None:
            return self.Z.apply(r, out)
        self._r[:] = r
        with np.errstate(over="ignore", invalid="ignore"):  # divergence is detected elsewhere
            c, _ = around.before(self._r)
            self.Z.apply(self._r, out)
            around.after(out, c)
        return out

    @property
    def hierarchy(self):
        """That of Z; coarse problems without a grid do not include bodies."""
        inner = self.Z.hierarchy
        return inner if inner is not None and inner.on_grid else None

    @property
    def linear(self):
        return self.Z.linear

    def directions(self, A, flexible=False):
        if flexible or A.free is not None or self.hierarchy is None:
            return Directions(A, self)
        inner = self.Z.directions(A)
        return inner if self.around is None else DeflatedDirections(inner, self.around)


class DeflatedDirections(Directions):
    """The same as `apply` for a Z that has its own directions, in fewer passes.

    With c = E⁻¹Yᵀr and r' = r - A_c Y c, rᵀMr = r'ᵀZr' + cᵀYᵀr. Z r' is added to p without projection, so its
    projection is that of the new p minus that of the old p.
    """

    def __init__(self, inner: Directions, around: DeflatedCells):
        self.A, self.inner, self.around = inner.A, inner, around

    def hold(self, rows, policy):
        self.inner.hold(rows, policy)

    def find(self, r, size):
        around = self.around
        saved = r[around.changed]
        self.c, gained = around.before(r)
        rho = self.inner.find(r, size)
        r[around.changed] = saved
        return rho + gained

    def add_to(self, p, beta):
        old = 0.0 if beta == 0.0 else beta * self.around.image_of(p)
        self.inner.add_to(p, beta)
        self.around.after(p, self.c, old)


class DeflatedCells:
    """Cells around light bodies, Y and A Y there, and the two projections of the preconditioner."""

    def __init__(self, low: LowRank, groups: list[np.ndarray]):
        base = low.base.stencil
        assert base is not None
        self.low = low
        k = max(g.size for g in groups)
        grid = base.rows
        table = (grid.start, grid.offset, *base.weights)
        # entries of U that belong to these bodies: row, body, column within its body
        body, column = np.full(low.rank, -1), np.zeros(low.rank, np.int64)
        for b, g in enumerate(groups):
            body[g], column[g] = b, np.arange(g.size)
        row = np.repeat(low.touched, np.diff(low.U.indptr))
        mine = body[low.U.indices]
        owner = np.full(base.n, -1, np.int16)
        owner[row[mine >= 0]] = mine[mine >= 0]
        claimed = low.touched[owner[low.touched] >= 0]
        # cells around the first body; it has none if all cells it touches belong to another body
        cells = grid.cells[claimed[owner[claimed] == 0]]
        size = np.ptp(np.stack(np.unravel_index(cells, grid.shape)), axis=1).max() if cells.size else 0
        queue = np.empty(base.n, np.int32)
        queue[: claimed.size] = claimed
        layers = max(SETTINGS.layers, int(np.ceil(SETTINGS.wider * size)))
        count = _grow(queue, owner, claimed.size, layers, *table)
        rows = np.sort(queue[:count])
        rows = rows[np.argsort(owner[rows], kind="stable")]
        self.rows = rows
        self.start = np.searchsorted(owner[rows], np.arange(len(groups) + 1)).astype(np.int64)
        place = np.empty(base.n, np.int32)
        place[rows] = np.arange(rows.size)
        self.near, self.weight = np.empty((rows.size, 6), np.int32), np.empty((rows.size, 6), np.float32)
        self.inner = np.empty(rows.size, np.int8)
        _links(self.near, self.weight, self.inner, rows, place, owner, *table)
        self.diagonal = base.diagonal[rows]
        # float32 like the cycles they are used with: this halves the memory traffic, and Y need not be accurate
        self.G, self.Y, self.AY = (np.zeros((rows.size, k), np.float32) for _ in range(3))
        own = (mine >= 0) & (owner[row] == mine)
        self.G[place[row[own]], column[low.U.indices[own]]] = low.U.data[own]
        self._touched = place[low.touched], owner[low.touched]
        #: rows that `before` changes
        self.changed = np.concatenate([rows, low.touched[owner[low.touched] < 0]])
        #: to and fro through the layers; one sweep adapts Y to another free set
        self._sweeps = 2 * layers
        self._YAY = np.empty((len(groups), k, k))
        self._c = np.empty((len(groups), k))
        self._all = np.ones(rows.size, np.int8)
        self._mask, self._steady = self._all, False

    def adapt(self, free: np.ndarray | None, shift: np.ndarray | None, first: bool = False) -> None:
        """Compute Y for the free set and the shift, and all data that depend on it."""
        low, rows = self.low, self.rows
        mask = self._all if free is None else free[rows].view(np.int8)
        if not first and shift is None and self._steady and np.array_equal(mask, self._mask):
            return  # every row that touches a body is in the list, so nothing has changed around the bodies
        self._mask, self._steady = mask, shift is None
        d = self.diagonal if shift is None else self.diagonal + shift[rows]
        live = self.inner * mask
        omega, sweeps = (SETTINGS.omega, self._sweeps) if first else (1.0, 1)
        _improve(self.Y, self.G, self.near, self.weight, d, live, self.start, omega, sweeps)
        _image(self.AY, self._YAY, self.Y, self.near, self.weight, d, mask, self.start)
        self._U = low.U
        if free is not None:
            keep = np.repeat(free[low.touched], np.diff(low.U.indptr))
            self._U = sp.csr_array((low.U.data * keep, low.U.indices, low.U.indptr), shape=low.U.shape)
        self._Ut = sp.csr_array(self._U.T)
        Y = self._spread_over_touched()
        UY = self._Ut @ Y
        bodies, k = self._c.shape
        E = np.zeros((bodies * k,) * 2)
        for b in range(bodies):
            E[b * k : (b + 1) * k, b * k : (b + 1) * k] = 0.5 * (self._YAY[b] + self._YAY[b].T)
        self._C = low.S @ UY
        E += UY.T @ self._C
        self._E = _pseudo_inverse(0.5 * (E + E.T))

    def _spread_over_touched(self) -> np.ndarray:
        """Y at the rows that touch bodies: one block of columns for every body."""
        bodies, k = self._c.shape
        at, owner = self._touched
        out = np.zeros((at.size, bodies, k))
        own = np.flatnonzero(owner >= 0)
        out[own, owner[own]] = self.Y[at[own]]
        return out.reshape(at.size, bodies * k)

    def before(self, r: np.ndarray) -> tuple[np.ndarray, float]:
        """c = E⁻¹Yᵀr and cᵀYᵀr; r -= A_c Y c."""
        _gather_columns(self._c, self.Y, self.rows, r, self.start)
        c = self._E @ self._c.ravel()
        gained = float(c @ self._c.ravel())
        _spread_columns(r, self.AY, self.rows, -c.reshape(self._c.shape), self.start)
        r[self.low.touched] -= self._U @ (self._C @ c)
        return c, gained

    def image_of(self, z: np.ndarray) -> np.ndarray:
        """(A_c Y)ᵀ z"""
        _gather_columns(self._c, self.AY, self.rows, z, self.start)
        return self._c.ravel() + self._C.T @ (self._Ut @ z[self.low.touched])

    def after(self, z: np.ndarray, c: np.ndarray, known: np.ndarray | float = 0.0) -> None:
        """z += Y (c - E⁻¹ ((A_c Y)ᵀ z - known))"""
        c = c - self._E @ (self.image_of(z) - known)
        _spread_columns(z, self.Y, self.rows, c.reshape(self._c.shape), self.start)


def light_bodies(low: LowRank) -> list[np.ndarray]:
    """The columns of U of each body that is lighter than the liquid in its place: its eigenvalue is above 2."""
    if not low.touched.size or not low.rank:
        return []
    from scipy.sparse.csgraph import connected_components  # slow to load, rarely needed

    count, label = connected_components(sp.csr_array(low.S != 0), directed=False)
    used = np.diff(sp.csc_array(low.U).indptr) > 0
    groups = [np.flatnonzero((label == g) & used) for g in range(count)]
    return [g for g in groups if g.size and (low.light is None or low.light[g].max() > 1.0)]


def _pseudo_inverse(E: np.ndarray) -> np.ndarray:
    """The pseudo-inverse of a symmetric semidefinite matrix, with its diagonal scaled to one, as units differ."""
    d = np.diag(E)
    scale = np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0.0)
    value, vector = np.linalg.eigh(scale[:, None] * E * scale)
    keep = value > rounding.PIVOT
    half = scale[:, None] * (vector[:, keep] / np.sqrt(value[keep]))
    return half @ half.T
