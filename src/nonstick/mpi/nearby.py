"""Projected relaxation near cells whose policy has changed, on many ranks."""

from __future__ import annotations

import numpy as np

from ..kernels._stencil import _stencil_relax
from ..operators.lowrank import LowRank
from ..solvers import _nearby as kernels
from ..solvers.nearby import Everywhere, Nearby
from .stencil import SharedStencil


class SharedNearby(Nearby):
    """The cells to treat are marked, and marks near the border are exchanged; every half-sweep exchanges x."""

    A: SharedStencil

    def __init__(self, A: SharedStencil):
        super().__init__(A)
        self._mark = np.zeros(A.n, np.int8)

    def relax(self, x, b, lower, upper, r, count, around=None):
        self.A.exchange(x)
        if around is None:
            rows = self.A.rows
            for half in range(2 * count):
                _stencil_relax(
                    x, b, lower, upper, *self._matrix, rows.start, rows.offset, rows.parity, half & 1, 1.0, True
                )  # fmt: skip
                self.A.exchange(x)
            self.A.residual(b, x, r)
            return
        cells, segment = self._own_ball(around)
        for half in range(2 * count):
            self._sweep_half(x, b, lower, upper, cells, segment, half)
            self.A.exchange(x)
        self._residual_near(b, x, r, cells)

    def _sweep_half(self, x, b, lower, upper, cells, segment, half):
        kernels._relax_cells(x, b, lower, upper, *self._matrix, cells, segment, *self._table, self._parity, half & 1)

    def residual(self, b, x, r, around):
        self.A.exchange(x)
        self._residual_near(b, x, r, around)

    def _residual_near(self, b, x, r, around) -> None:
        cells, segment = self._own_ball(around)
        kernels._residual_cells(r, b, x, *self._matrix, cells, segment, self._table[1])

    def _own_ball(self, around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """This rank's cells within one step of `around`, and of such cells of other ranks; and their segments."""
        mark, ghosts = self._mark, self.A.piece.ghosts
        mark[:] = 0
        mark[around] = 1
        self.A.exchange(mark)
        cells, segment, _ = self._ball(np.flatnonzero(mark), 1)
        mark[:] = 0
        mark[ghosts] = 1
        own = mark[cells] == 0
        return cells[own], segment[own]


class SharedAroundBodies(Everywhere):
    """The same with rigid bodies: rows that touch a body keep their values, because a change moves the body."""

    def __init__(self, A: LowRank):
        assert isinstance(A.base, SharedStencil)
        self.A, self._others, self._r = A, SharedNearby(A.base), np.empty(A.n)

    def sweep(self, x, b, lower, upper, count, around):
        low, high, t = lower.copy(), upper.copy(), self.A.touched
        low[t] = high[t] = x[t] = np.clip(x[t], lower[t], upper[t])
        self._others.relax(x, b, low, high, self._r, count, around)
