"""Projected relaxation only near the cells whose policy has changed.

After a change of the active set, the error is rough near the changed cells. Sweeps over these cells and their
neighbours have the effect of full sweeps, at a cost that depends on the size of the change and not on the grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import merged, parallel, prange, serial
from ...kernels._blocks import _neighbour, _segment_of
from ...operators.base import Operator
from ...operators.masked import LowRank
from ...operators.stencil import StencilOperator
from ..chentanez_muller.projected_gs import ProjectedSweeps

#: a cell and its neighbours
BALL = 7


class Everywhere:
    """The same methods for operators without rows: full sweeps and full residuals."""

    def __init__(self, A: Operator):
        self.A: Any = A
        self._sweeps = ProjectedSweeps(A)

    def relax(self, x, b, lower, upper, r, count: int, around: np.ndarray | None = None) -> None:
        """Do `count` projected sweeps and compute r = b - A x; the sweeps may be restricted to cells near `around`."""
        self.sweep(x, b, lower, upper, count, around)
        self.residual(b, x, r, around)

    def sweep(self, x, b, lower, upper, count: int, around: np.ndarray | None) -> None:
        self._sweeps.run(x, b, lower, upper, count=count)

    def residual(self, b, x, r, around: np.ndarray | None) -> None:
        """r = b - A x after x has changed at `around`."""
        self.A.residual(b, x, r)


class Clipping(Everywhere):
    """The same for operators without entries, whose rows cannot be relaxed one by one: x is only clipped."""

    def __init__(self, A: Operator):
        self.A = A

    def sweep(self, x, b, lower, upper, count, around) -> None:
        np.clip(x, lower, upper, out=x)


class Nearby(Everywhere):
    """Sweeps near the cells that changed, if these are few. On many ranks every half-sweep exchanges x."""

    def __init__(self, A: StencilOperator):
        super().__init__(A)
        rows = A.rows
        self._table = (rows.start, rows.offset)
        self._matrix = (*A.weights, A.diagonal)
        self._parity = rows.parity
        self._marked = np.zeros(A.n, np.uint8)
        self._ghost = np.zeros(A.n, bool)
        self._ghost[rows.piece.ghosts] = True

    def relax(self, x, b, lower, upper, r, count, around=None) -> None:
        if self._whole(around):
            super().relax(x, b, lower, upper, r, count)
        else:
            swept, segment = self._near(around)
            self._sweep_cells(x, b, lower, upper, count, swept, segment)
            self._residual_near(b, x, r, swept)

    def sweep(self, x, b, lower, upper, count, around) -> None:
        if self._whole(around):
            super().sweep(x, b, lower, upper, count, around)
        else:
            self._sweep_cells(x, b, lower, upper, count, *self._near(around))

    def _sweep_cells(self, x, b, lower, upper, count, cells, segment) -> None:
        self._exchange(x)
        for half in range(2 * count):
            _relax_cells(x, b, lower, upper, *self._matrix, cells, segment, *self._table, self._parity, half & 1)
            self._exchange(x)

    def residual(self, b, x, r, around) -> None:
        if self._whole(around):
            super().residual(b, x, r, around)
        else:
            self._exchange(x)
            self._residual_near(b, x, r, around)

    def _residual_near(self, b, x, r, around) -> None:
        cells, segment = self._near(around)
        _residual_cells(r, b, x, *self._matrix, cells, segment, self._table[1])

    def _exchange(self, x: np.ndarray) -> None:
        self.A.rows.piece.exchange(x)

    def _whole(self, around: np.ndarray | None) -> bool:
        return around is None or self.A.comm.any(around.size * 16 > self.A.n)

    def _near(self, around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """This rank's cells within a step of `around`, and of such cells of other ranks; and their segments."""
        around = self.A.rows.piece.chosen(around)
        found = np.empty(min(self.A.n, BALL * around.size), np.int64)
        segment = np.empty(found.size, np.int64)
        end = _gather_near(found, segment, self._marked, around, *self.A.weights, *self._table)
        found, segment = found[:end], segment[:end]
        if not self.A.rows.piece.ghosts.size:
            return found, segment
        own = ~self._ghost[found]
        return found[own], segment[own]


class AroundBodies(Everywhere):
    """The same with rigid bodies: rows that touch a body are relaxed after the others, one by one."""

    def __init__(self, A: LowRank):
        base = A.base.stencil
        assert base is not None
        self.A, self._others = A, Nearby(base)
        rows, t = base.rows, A.touched
        steps = rows.offset[np.searchsorted(rows.start, t, side="right") - 1] if t.size else np.empty((0, 6), np.int64)
        near = t[:, None] + steps
        weight = np.zeros(near.shape)
        for axis, w in enumerate(base.weights):
            weight[:, 2 * axis] = np.where(steps[:, 2 * axis] != 0, w[near[:, 2 * axis]], 0.0)
            weight[:, 2 * axis + 1] = np.where(steps[:, 2 * axis + 1] != 0, w[t], 0.0)
        U = A.U
        US = U @ A.S
        row = np.repeat(np.arange(t.size), np.diff(U.indptr))
        columns = U.indices.astype(np.int64)
        self._tables = (t, near, weight, A.diagonal, U.indptr.astype(np.int64), columns, U.data, US[row, columns])

    def sweep(self, x, b, lower, upper, count, around) -> None:
        """Gauss–Seidel for the whole operator."""
        A, t = self.A, self.A.touched
        held_low, held_high = lower.copy(), upper.copy()
        c = A.S @ A.gather(x)
        for _ in range(count):
            held_low[t] = held_high[t] = x[t]
            self._others.sweep(x, b, held_low, held_high, 1, around)
            _relax_around_bodies(x, c, b, lower, upper, *self._tables)


class HoldingBodies(Everywhere):
    """The same on many ranks: rows that touch a body keep their values, because a change moves the body."""

    def __init__(self, A: LowRank):
        assert A.base.stencil is not None
        self.A, self._others = A, Nearby(A.base.stencil)

    def sweep(self, x, b, lower, upper, count, around) -> None:
        low, high, t = lower.copy(), upper.copy(), self.A.touched
        low[t] = high[t] = x[t] = np.clip(x[t], lower[t], upper[t])
        self._others.sweep(x, b, low, high, count, around)


def nearby(A: Operator) -> Everywhere:
    """The object that relaxes near the changed rows of an operator."""
    bodies = A.bodies
    if A.comm.size > 1 and bodies is not None:
        return HoldingBodies(bodies)
    if not A.has_entries and A.comm.size == 1:
        return Clipping(A)
    if bodies is not None:
        return Everywhere(A) if bodies.base.stencil is None else AroundBodies(bodies)
    return Everywhere(A) if A.stencil is None else Nearby(A.stencil)


@serial
def _gather_near(found, segment, marked, around, w0, w1, w2, start, offset):
    """List the cells `around` and those one step from them, and their segments; returns their number.

    `marked` is zero before and after. A step goes through a face with a positive weight: along z the distance alone
    does not show if there is a neighbour.
    """
    end = 0
    for m in range(around.size):
        if marked[around[m]] == 0:
            marked[around[m]] = 1
            found[end] = around[m]
            end += 1
    for m in range(end):
        t = found[m]
        s = _segment_of(start, t)
        for f in range(6):
            o, w = _neighbour(f, t, s, offset, w0, w1, w2)
            if w > 0.0 and marked[t + o] == 0:
                marked[t + o] = 1
                found[end] = t + o
                end += 1
    for m in range(end):
        segment[m] = _segment_of(start, found[m])
        marked[found[m]] = 0
    return end


@merged
def _neighbour_sum(t, x, w0, w1, w2, offsets):
    """Weights times neighbours of unknown t."""
    xm, xp, ym, yp, zm, zp = offsets
    v = w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp]
    if xm != 0:
        v += w0[t + xm] * x[t + xm]
    if ym != 0:
        v += w1[t + ym] * x[t + ym]
    if zm != 0:
        v += w2[t + zm] * x[t + zm]
    return v


@parallel
def _relax_cells(x, b, lower, upper, w0, w1, w2, d, cells, segment, start, offset, parity, colour):
    """One colour of projected Gauss–Seidel on the cells, in place."""
    for m in prange(cells.size):
        t = cells[m]
        s = segment[m]
        if (parity[s] + t - start[s] + colour) & 1 == 0 and d[t] > 0.0:
            v = b[t] + _neighbour_sum(t, x, w0, w1, w2, offset[s])
            x[t] = min(max(v / d[t], lower[t]), upper[t])


@parallel
def _residual_cells(r, b, x, w0, w1, w2, d, cells, segment, offset):
    """r = b - A x on the cells."""
    for m in prange(cells.size):
        t = cells[m]
        r[t] = (b[t] - d[t] * x[t]) + _neighbour_sum(t, x, w0, w1, w2, offset[segment[m]])


@serial
def _relax_around_bodies(x, c, b, lower, upper, rows, near, weight, d, indptr, column, entry, image):
    """One projected sweep over `rows` of `B + U S Uᵀ`, where every row of a body is coupled to every other.

    c = S Uᵀ x is kept up to date. near, weight: (rows, 6) neighbours of each row and their couplings (0 if there is no
    neighbour); d the diagonal of the whole operator; indptr, column, entry: U by rows; image: U S, entry by entry.
    """
    for e in range(rows.size):
        t = rows[e]
        s = b[t]
        for q in range(6):
            s += weight[e, q] * x[near[e, q]]
        own = 0.0
        for p in range(indptr[e], indptr[e + 1]):
            s -= entry[p] * c[column[p]]
            own += entry[p] * image[p]
        # the effect of the row's own x through the body is part of its diagonal
        new = x[t] if d[t] <= 0.0 else (s + own * x[t]) / d[t]
        new = min(max(new, lower[t]), upper[t])
        step = new - x[t]
        if step != 0.0:
            for p in range(indptr[e], indptr[e + 1]):
                c[column[p]] += image[p] * step
            x[t] = new
