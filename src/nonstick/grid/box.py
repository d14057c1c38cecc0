"""`IndexBox`: a box of cells of a grid, by the indices of its corners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class IndexBox:
    """The cells `low <= cell < high` of a grid.

    Examples
    --------
    >>> liquid = np.zeros((100, 200), bool)
    >>> liquid[40:50, 150:160] = True
    >>> box = IndexBox.around(liquid).grown(3, liquid.shape)
    >>> box
    IndexBox(low=(37, 147), high=(53, 163))
    >>> u = np.zeros((101, 200))
    >>> box.part(u, liquid.shape).shape
    (17, 16)
    """

    low: tuple[int, ...]
    high: tuple[int, ...]

    @classmethod
    def whole(cls, shape: Sequence[int]) -> IndexBox:
        """All cells of a grid."""
        return cls((0,) * len(shape), tuple(int(n) for n in shape))

    @classmethod
    def around(cls, values: np.ndarray) -> IndexBox | None:
        """The smallest box that holds all values which are not zero; None if there are none."""
        low, high = [], []
        for axis in range(values.ndim):
            there = np.flatnonzero(values.any(axis=tuple(k for k in range(values.ndim) if k != axis)))
            if not there.size:
                return None
            low.append(int(there[0]))
            high.append(int(there[-1]) + 1)
            values = values[(slice(None),) * axis + (slice(low[-1], high[-1]),)]
        return cls(tuple(low), tuple(high))

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along every axis."""
        return tuple(max(0, h - l) for l, h in zip(self.low, self.high))

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(np.prod(self.shape))

    def intersection(self, other: IndexBox) -> IndexBox:
        """The cells of both; its size is 0 if there are none."""
        return IndexBox(tuple(map(max, self.low, other.low)), tuple(map(min, self.high, other.high)))

    def union(self, other: IndexBox) -> IndexBox:
        """The smallest box that holds both."""
        return IndexBox(tuple(map(min, self.low, other.low)), tuple(map(max, self.high, other.high)))

    def grown(self, width: int, shape: Sequence[int]) -> IndexBox:
        """With `width` more layers on every side, but not beyond a grid of this shape."""
        return IndexBox(
            tuple(max(0, l - width) for l in self.low), tuple(min(n, h + width) for h, n in zip(self.high, shape))
        )

    @property
    def slices(self) -> tuple[slice, ...]:
        """The position of these cells in an array over the grid."""
        return tuple(map(slice, self.low, self.high))

    def within(self, outer: IndexBox) -> tuple[slice, ...]:
        """The position of these cells in an array over `outer`."""
        return tuple(slice(l - o, h - o) for l, h, o in zip(self.low, self.high, outer.low))

    def numbers(self, outer: IndexBox) -> np.ndarray:
        """The C-order numbers of these cells in an array over `outer`, in C order."""
        ranges = [np.arange(l - o, h - o) for l, h, o in zip(self.low, self.high, outer.low)]
        return np.ravel_multi_index(np.ix_(*ranges), outer.shape).ravel()

    def three(self) -> IndexBox:
        """The same box with three axes; the first one is one cell thick if there were two."""
        extra = 3 - len(self.low)
        return IndexBox((0,) * extra + self.low, (1,) * extra + self.high)

    def moved(self, values: np.ndarray, to: IndexBox, outside: float = 0.0) -> np.ndarray:
        """A field over cells, faces or nodes of this box as one over another box, with one value where it was not."""
        more = [m - n for m, n in zip(values.shape, self.shape)]
        out = np.full(tuple(n + k for n, k in zip(to.shape, more)), outside, values.dtype)
        both = self.intersection(to)
        if both.size:
            here, there = (
                tuple(slice(s.start, s.stop + k) for s, k in zip(both.within(box), more)) for box in (self, to)
            )
            out[there] = values[here]
        return out

    def part(self, values: np.ndarray, grid: Sequence[int]) -> np.ndarray:
        """A view of a field over cells, faces, edges or nodes of a grid of this shape: those of the box."""
        return values[tuple(slice(l, h + m - n) for l, h, n, m in zip(self.low, self.high, grid, values.shape))]

    def back(self, part: np.ndarray, grid: Sequence[int]) -> np.ndarray:
        """The field over the whole grid of which this is the part, zero outside."""
        out = np.zeros(tuple(n + m - k for n, m, k in zip(grid, part.shape, self.shape)), part.dtype)
        self.part(out, grid)[...] = part
        return out
