"""Projected relaxation near the constrained cells only.

After the active set has changed, the error is rough where the set changed and nowhere else: a sweep over two
cells around the constrained ones does what a full sweep would, for a fraction of its cost.
"""

from __future__ import annotations

import numpy as np

from ..kernels import _band as kernels
from ..operators.base import Operator
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
