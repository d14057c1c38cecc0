"""Projected relaxation near the constrained cells only.

After the active set has changed, the error is rough where the set changed and nowhere else: a sweep over two
cells around the constrained ones does what a full sweep would, for a fraction of its cost.
"""

from __future__ import annotations

import numpy as np

from ..kernels import _band as kernels
from ..kernels._bodies import _relax_around_bodies
from ..operators.base import Operator
from ..operators.lowrank import LowRank
from ..operators.stencil import StencilOperator
from .projected_gs import ProjectedSweeps


class Everywhere:
    """The same two verbs for operators without rows: whole sweeps, whole residuals."""

    def __init__(self, A: Operator):
        self.A = A
        self._sweeps = ProjectedSweeps(A)

    def relax(self, x, b, lower, upper, count: int) -> None:
        self._sweeps.run(x, b, lower, upper, count=count)

    def residual(self, b, x, r) -> None:
        self.A.residual(b, x, r)


class Unused:
    """Nothing is constrained, so nothing will be relaxed."""

    def __init__(self, A: Operator):
        self.A = A

    def relax(self, x, b, lower, upper, count: int) -> None:
        return

    def residual(self, b, x, r) -> None:
        self.A.residual(b, x, r)


class Band:
    """Cells within `width` of the constrained ones."""

    def __init__(self, A: StencilOperator, constrained: np.ndarray, width: int = 2):
        rows = A.rows
        self.A = A
        mask = constrained.view(np.uint8)
        for _ in range(width):
            mask = self._dilated(mask)
        self._relaxed = self._pieces(mask)
        self._touched = self._pieces(self._dilated(mask))
        self._matrix = (*A.weights, A.diagonal)
        self._table = (rows.start, rows.offset, rows.parity)

    def _dilated(self, mask: np.ndarray) -> np.ndarray:
        out = np.empty_like(mask)
        kernels._dilate(out, mask, self.A.rows.start, self.A.rows.offset)
        return out

    def _pieces(self, mask: np.ndarray):
        start = self.A.rows.start
        none = np.empty(0, np.int64)
        count = kernels._cut_pieces(none, none, none, mask, start)
        first, last, segment = (np.empty(count, np.int64) for _ in range(3))
        if count:
            kernels._cut_pieces(first, last, segment, mask, start)
        return first, last, segment

    def relax(self, x, b, lower, upper, count: int) -> None:
        """`count` projected red-black sweeps."""
        for half in range(2 * count):
            kernels._relax_pieces(x, b, lower, upper, *self._matrix, *self._relaxed, *self._table, half & 1)

    def residual(self, b, x, r) -> None:
        """r = b - A x where `relax`, or a change of constrained cells, may have changed it."""
        kernels._residual_pieces(r, b, x, *self._matrix, *self._touched, self.A.rows.offset)


class AroundBodies:
    """The band of a problem with rigid bodies: rows that touch one are relaxed after the others, one by one."""

    def __init__(self, A: LowRank, constrained: np.ndarray):
        base = A.base
        assert isinstance(base, StencilOperator)
        self.A = A
        self._band = Band(base, constrained) if constrained.any() else None
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

    def relax(self, x, b, lower, upper, count: int) -> None:
        """`count` projected sweeps, Gauss–Seidel for the whole operator."""
        A, t = self.A, self.A.touched
        held_low, held_high = lower.copy(), upper.copy()
        c = A.S @ A.gather(x)
        for _ in range(count):
            if self._band is not None:
                held_low[t] = held_high[t] = x[t]
                self._band.relax(x, b, held_low, held_high, 1)
            _relax_around_bodies(x, c, b, lower, upper, *self._tables)

    def residual(self, b, x, r) -> None:
        self.A.residual(b, x, r)


def band(A: Operator, constrained: np.ndarray) -> Band | AroundBodies | Everywhere | Unused:
    """What relaxes near the constrained rows of an operator."""
    if isinstance(A, LowRank) and isinstance(A.base, StencilOperator):
        return AroundBodies(A, constrained) if constrained.any() else Unused(A)
    return Band(A, constrained) if isinstance(A, StencilOperator) and constrained.any() else Everywhere(A)
