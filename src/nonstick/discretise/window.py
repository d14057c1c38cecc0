"""The part of a grid in which there is liquid, so that the cost of a problem follows its liquid and not its domain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

#: cells without liquid that a window has around its liquid, where the grid goes on
MARGIN = 3
#: a window begins at a multiple of this, so that the cells of its five next coarser grids are those of the whole grid
ALIGNED = 32


@dataclass(frozen=True)
class Window:
    """The cells low <= (i, j[, k]) < high of a grid.

    Examples
    --------
    >>> import numpy as np
    >>> from nonstick.discretise.window import Window
    >>> liquid = np.zeros((100, 200), bool)
    >>> liquid[40:50, 150:160] = True
    >>> window = Window.around([liquid], liquid.shape)
    >>> window.low, window.high
    ((32, 128), (53, 163))
    >>> u = np.zeros((101, 200))
    >>> window.part(u).shape
    (22, 35)
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    #: cells of the grid
    grid: tuple[int, ...]

    @classmethod
    def whole(cls, grid: tuple[int, ...]) -> Window:
        """All cells."""
        return cls((0,) * len(grid), tuple(grid), tuple(grid))

    @classmethod
    def around(cls, fields: Iterable[np.ndarray], grid: tuple[int, ...]) -> Window:
        """The cells around all values that are not zero; fields are over cells, faces, edges or nodes."""
        boxes = [box for box in map(_box, fields) if box is not None]
        if not boxes:
            return cls((0,) * len(grid), (1,) * len(grid), tuple(grid))
        low, high = np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)
        low = np.maximum(low - MARGIN, 0) // ALIGNED * ALIGNED
        high = np.minimum(high + MARGIN, grid)
        return cls(tuple(low.tolist()), tuple(high.tolist()), tuple(grid))

    @classmethod
    def of_liquid(cls, phi: np.ndarray) -> Window:
        """The cells around the liquid of a level set at cell centres, which goes on linearly beyond the grid."""
        liquid = phi < 0.0
        axes = [axis for axis, n in enumerate(phi.shape) if n > 1]
        ends = [(axis, at, inner) for axis in axes for at, inner in ((0, 1), (-1, -2))]
        slopes = [np.abs(np.take(phi, at, axis) - np.take(phi, inner, axis)).max() for axis, at, inner in ends]
        # two layers further it may have changed by this much along every axis
        reach = 2.0 * phi.ndim * max(slopes, default=0.0)
        for axis, at, _ in ends:
            side = (slice(None),) * axis + (at,)
            liquid[side] |= phi[side] < reach
        return cls.around([liquid], phi.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along every axis."""
        return tuple(h - l for l, h in zip(self.low, self.high))

    def part(self, values: np.ndarray) -> np.ndarray:
        """A view of a field over cells, faces, edges or nodes of the grid: those of the window."""
        return values[tuple(slice(l, h + m - n) for l, h, n, m in zip(self.low, self.high, self.grid, values.shape))]

    def back(self, part: np.ndarray) -> np.ndarray:
        """The field over the whole grid of which this is the part, zero outside."""
        out = np.zeros(tuple(n + m - k for n, m, k in zip(self.grid, part.shape, self.shape)), part.dtype)
        self.part(out)[...] = part
        return out

    def widened(self, cells: int) -> Window:
        """The window with more cells on all sides, as far as the grid has them."""
        low = tuple(max(l - cells, 0) for l in self.low)
        return Window(low, tuple(min(h + cells, n) for h, n in zip(self.high, self.grid)), self.grid)


def _box(values: np.ndarray) -> tuple[list[int], list[int]] | None:
    """The corners of the box of all values that are not zero."""
    low, high = [], []
    for axis in range(values.ndim):
        there = np.flatnonzero(values.any(axis=tuple(k for k in range(values.ndim) if k != axis)))
        if not there.size:
            return None
        low.append(int(there[0]))
        high.append(int(there[-1]) + 1)
        values = values[(slice(None),) * axis + (slice(low[-1], high[-1]),)]
    return low, high
