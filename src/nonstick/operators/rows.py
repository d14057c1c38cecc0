"""The row layout: which grid cells are unknowns, numbered in C order and cut into segments.

Air and solid cost nothing: a vector holds only the unknowns. Inside a segment the six neighbours lie at constant
distances in the vector, so kernels run with unit stride at memory bandwidth and need no index per cell. The tables take
well under two bytes per unknown on real liquids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..parallel.comm import SELF, Comm
from ._vectors import _cut_segments, _number_cells


class Piece:
    """What a process has of all rows: every one. `piece.SharedPiece` is one rank's rows, with ghosts around them.

    Ghosts are rows that other ranks own. Their values come from their owners, and what is computed there is cleared, so
    that a sum over a vector counts every row once.
    """

    comm: Comm = SELF
    #: the numbers of the rows that other ranks own, and of this rank's
    ghosts: np.ndarray = np.empty(0, np.int64)
    owned: slice | np.ndarray = slice(None)

    def unknowns(self, n: int) -> int:
        """The number of rows on all ranks; this one has n with its ghosts."""
        return n

    def exchange(self, *vectors: np.ndarray) -> None:
        """Bring the ghosts of vectors up to date."""

    def clear(self, vector: np.ndarray) -> None:
        """Make a vector zero at ghosts."""

    def share_weights(self, *weights: np.ndarray) -> None:
        """Give ghosts the weights of their faces towards +x, +y and +z."""

    def chosen(self, rows: np.ndarray) -> np.ndarray:
        """These rows, and the ghosts that are chosen on other ranks."""
        return rows

    def united(self, count: int, label: np.ndarray) -> tuple[int, np.ndarray]:
        """Connected parts over all ranks from those of this rank: their number, and labels, -1 for ghosts."""
        return count, label


#: in one process
ALL = Piece()


@dataclass(frozen=True)
class Rows:
    """Unknowns of a box grid. `shape` has three axes; a 2D grid has shape (1, nx, ny)."""

    shape: tuple[int, int, int]
    #: C-order linear index of every unknown, ascending
    cells: np.ndarray
    #: first unknown of each segment, and n at the end
    start: np.ndarray
    #: (segments, 6) distance to the -x +x -y +y -z +z neighbour, 0 where there is none
    offset: np.ndarray
    #: (i + j + k) mod 2 of each segment's first cell
    parity: np.ndarray
    #: 2 or 3: dimension of the user's grid
    dimension: int
    piece: Piece = ALL

    @property
    def n(self) -> int:
        return self.cells.size

    @classmethod
    def from_mask(cls, unknown: np.ndarray) -> Rows:
        """From a boolean array over the grid, 2D or 3D."""
        shape = (1,) * (3 - unknown.ndim) + unknown.shape
        return cls.from_cells(np.flatnonzero(unknown.ravel()), shape, unknown.ndim)

    @classmethod
    def from_cells(cls, cells: np.ndarray, shape: tuple[int, ...], dimension: int = 3) -> Rows:
        """From ascending C-order linear indices into a grid of three axes."""
        cells = np.ascontiguousarray(cells, dtype=np.int64)
        number = np.empty(int(np.prod(shape)), np.int32)
        _number_cells(number, cells)
        return cls.from_numbering(cells, shape, dimension, number)

    @classmethod
    def from_numbering(cls, cells: np.ndarray, shape: tuple, dimension: int, number: np.ndarray) -> Rows:
        """From cells and the map that numbers them: number[cell], -1 for cells that are not unknowns."""
        extent = np.array(shape, np.int64)
        none1, none2 = np.empty(0, np.int64), np.empty((0, 6), np.int64)
        count = _cut_segments(none1, none2, none1, number, extent, cells)
        start, offset, parity = np.empty(count + 1, np.int64), np.empty((count, 6), np.int64), np.empty(count, np.int64)
        _cut_segments(start, offset, parity, number, extent, cells)
        x, y, z = (int(s) for s in shape)
        return cls((x, y, z), cells, start, offset, parity, dimension)

    def coordinates(self) -> np.ndarray:
        """(n, dimension) grid coordinates of the unknowns."""
        ijk = np.stack(np.unravel_index(self.cells, self.shape), axis=1)
        return ijk[:, 3 - self.dimension :]

    def neighbours(self) -> np.ndarray:
        """(n, 3) number of the +x, +y, +z neighbour of each unknown, -1 where there is none."""
        out = np.full((self.n, 3), -1, np.int64)
        number = np.full(int(np.prod(self.shape)), -1, np.int64)
        number[self.cells] = np.arange(self.n)
        ijk = np.unravel_index(self.cells, self.shape)
        for axis, stride in enumerate((self.shape[1] * self.shape[2], self.shape[2], 1)):
            inside = np.flatnonzero(ijk[axis] + 1 < self.shape[axis])
            out[inside, axis] = number[self.cells[inside] + stride]
        return out

    def to_grid(self, x: np.ndarray, fill: float = 0.0) -> np.ndarray:
        """Scatter a vector of unknowns to the user's grid."""
        grid = np.full(int(np.prod(self.shape)), fill, x.dtype)
        grid[self.cells] = x
        return grid.reshape(self.shape[3 - self.dimension :])

    def from_grid(self, grid: np.ndarray) -> np.ndarray:
        """Gather the unknowns of a grid array."""
        return grid.ravel()[self.cells]
