"""Projected relaxation only near the cells whose policy has changed.

After a change of the active set, the error is rough near the changed cells. Sweeps over these cells and their
neighbours have the effect of full sweeps, at a cost that depends on the size of the change and not on the grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels._bodies import _relax_around_bodies
from ...operators.base import Operator
from ...operators.lowrank import LowRank
from ...operators.stencil import StencilOperator
from ..chentanez_muller.projected_gs import ProjectedSweeps
from . import _nearby as kernels

#: sweeps include cells up to this many steps from the cells that changed
SWEEP_RADIUS = 1
#: cells within 0, 1, 2, 3 steps of a cell of the grid
BALL = (1, 7, 25, 63)


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
    """Sweeps near the cells that changed, if these are few."""

    def __init__(self, A: StencilOperator):
        super().__init__(A)
        rows = A.rows
        self._table = (rows.start, rows.offset)
        self._matrix = (*A.weights, A.diagonal)
        self._parity = rows.parity
        self._marked = np.zeros(A.n, np.uint8)

    def relax(self, x, b, lower, upper, r, count, around=None) -> None:
        if self._whole(around):
            super().relax(x, b, lower, upper, r, count)
            return
        cells, segment, within = self._ball(around, SWEEP_RADIUS + 1)
        swept = within[SWEEP_RADIUS]
        self._sweep_cells(x, b, lower, upper, count, cells[:swept], segment[:swept])
        kernels._residual_cells(r, b, x, *self._matrix, cells, segment, self._table[1])

    def sweep(self, x, b, lower, upper, count, around) -> None:
        if self._whole(around):
            super().sweep(x, b, lower, upper, count, around)
            return
        cells, segment, _ = self._ball(around, SWEEP_RADIUS)
        self._sweep_cells(x, b, lower, upper, count, cells, segment)

    def _sweep_cells(self, x, b, lower, upper, count, cells, segment) -> None:
        for half in range(2 * count):
            kernels._relax_cells(
                x, b, lower, upper, *self._matrix, cells, segment, *self._table, self._parity, half & 1
            )

    def residual(self, b, x, r, around) -> None:
        if self._whole(around):
            super().residual(b, x, r, around)
            return
        cells, segment, _ = self._ball(around, 1)
        kernels._residual_cells(r, b, x, *self._matrix, cells, segment, self._table[1])

    def _whole(self, around: np.ndarray | None) -> bool:
        return around is None or around.size * 16 > self.A.n

    def _ball(self, around: np.ndarray, radius: int):
        """Cells within `radius` steps, their segments, and the number of cells within 0, 1, ... steps."""
        found = np.empty(min(self.A.n, BALL[radius] * around.size), np.int64)
        segment = np.empty(found.size, np.int64)
        within = np.empty(radius + 1, np.int64)
        kernels._gather_ball(found, segment, within, self._marked, around, *self.A.weights, *self._table)
        return found[: within[-1]], segment[: within[-1]], within


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


def nearby(A: Operator) -> Everywhere:
    """The object that relaxes near the changed rows of an operator."""
    if not A.has_entries:
        return Clipping(A)
    bodies = A.bodies
    if bodies is not None:
        return Everywhere(A) if bodies.base.stencil is None else AroundBodies(bodies)
    return Everywhere(A) if A.stencil is None else Nearby(A.stencil)
