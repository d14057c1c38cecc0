"""Chambers: the separate parts of the space outside solids, over the whole domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Chambers:
    """The chambers of a domain, numbered from 1; 0 is the inside of solids.

    `which` is the chamber of each cell of the grid, `rooms` the space of each chamber in cells: that of the whole
    domain, also if the grid covers a part of it.
    """

    which: np.ndarray
    rooms: np.ndarray

    @property
    def count(self) -> int:
        return len(self.rooms) - 1

    @classmethod
    def of(cls, which: np.ndarray, count: int, space: np.ndarray) -> Chambers:
        """From the chamber and the space of all cells of a domain."""
        if count == 1:
            return cls(which, np.array([0.0, float(space.sum())]))
        return cls(which, np.array([0.0, *(float((space * (which == c)).sum()) for c in range(1, count + 1))]))

    def part(self, space: np.ndarray, chamber: int) -> np.ndarray:
        """The space of one chamber."""
        return space * (self.which == chamber) if self.count > 1 else space
