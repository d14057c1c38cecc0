"""The row layout: which grid cells are unknowns, numbered in C order and cut into segments.

Air and solid cost nothing: a vector holds only the unknowns. Inside a segment the six neighbours lie at constant
distances in the vector, so kernels run with unit stride at memory bandwidth and need no index per cell. The tables take
well under two bytes per unknown on real liquids.

One rank's piece is the unknowns of its box and, around them, one layer that other ranks own. All are rows of one row
layout, so the operators, cycles and loops of a single process serve a rank. The layout's own grid begins at an even
cell on every level that is shared, so colours and 2×2×2 blocks are the same as without ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..grid.box import IndexBox
from ..parallel.comm import SELF, Comm
from ..parallel.halo import Boxes, Graph, Halo
from ..parallel.partition import united
from ._vectors import _cut_segments, _number_cells


class Piece:
    """What a process has of all rows: every one. `SharedPiece` is one rank's rows, with ghosts around them.

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


class SharedPiece(Piece):
    """The rows of one rank on one level.

    Parameters
    ----------
    boxes : Boxes
        The boxes of all ranks on this level, over three axes.
    own : ndarray
        (n, 3) grid coordinates of this rank's unknowns, in C order.
    dimension : int
        Of the user's grid, 2 or 3.

    Attributes
    ----------
    rows : Rows
        Own unknowns and ghosts, in C order, on the cells of `frame`.
    ghosts, owned : ndarray
        Numbers of the rows of other ranks, and of this rank.
    graph : Graph
        Brings ghosts up to date in vectors over the rows.
    count : int
        Unknowns on all ranks.
    """

    owned: np.ndarray
    _colours: tuple[Graph, Graph] | None = None

    def __init__(self, comm: Comm, boxes: Boxes, own: np.ndarray, dimension: int):
        self.comm, self.boxes, self.dimension = comm, boxes, dimension
        self.frame = _frame(boxes[comm.rank], boxes.shape, boxes.align)
        halo = Halo(comm, boxes, 1)
        there = np.full(halo.shape, -1, np.int32)  # the row number on the owner
        there[tuple((own - np.array(halo.held.low)).T)] = 0
        halo.exchange(there)
        cells = np.argwhere(there >= 0) + np.array(halo.held.low)
        self.rows = Rows.from_cells(self._numbers(cells), self.frame.shape, dimension)
        if comm.size > 1:
            self.rows = replace(self.rows, piece=self)
        mine = inside(cells, boxes[comm.rank])
        self.owned, self.ghosts = np.flatnonzero(mine), np.flatnonzero(~mine)
        there[tuple((cells - np.array(halo.held.low)).T)] = np.arange(len(cells))
        halo.exchange(there)
        self._owners = boxes.owner(cells[self.ghosts])
        remote = there[tuple((cells[self.ghosts] - np.array(halo.held.low)).T)]
        self.graph = graph(comm, self.rows.n, self.ghosts, self._owners, remote)
        self.count = int(comm.total(self.owned.size))

    def _numbers(self, cells: np.ndarray) -> np.ndarray:
        """C-order numbers in the frame."""
        return np.ravel_multi_index(tuple((cells - np.array(self.frame.low)).T), self.frame.shape)

    @property
    def cells(self) -> np.ndarray:
        """(n, 3) grid coordinates of all rows."""
        return np.stack(np.unravel_index(self.rows.cells, self.frame.shape), axis=1) + np.array(self.frame.low)

    def unknowns(self, n):
        return self.count

    def exchange(self, *vectors):
        self.graph.exchange(*vectors)

    def clear(self, vector):
        vector[self.ghosts] = 0.0

    def chosen(self, rows):
        mark = np.zeros(self.rows.n, np.int8)
        mark[rows] = 1
        self.exchange(mark)
        return np.flatnonzero(mark)

    def united(self, count, label):
        first = np.concatenate([[0], np.cumsum(self.comm.gathered(count))])
        mine = label.astype(np.int64) + first[self.comm.rank]
        theirs = mine.copy()
        self.exchange(theirs)
        pairs = np.unique(np.stack([mine[self.ghosts], theirs[self.ghosts]], axis=1), axis=0)
        total, number = united(self.comm, pairs, int(first[-1]))
        label = number[mine]
        label[self.ghosts] = -1
        return total, label

    def colours(self, place: np.ndarray, size: int) -> tuple[Graph, Graph]:
        """The graphs of the red and of the black rows, in arrays of this size for each colour (`GridLevel.places`).

        They are made once: all solves on this grid have the same.
        """
        if self._colours is None:
            black = place >= size
            number = np.where(black, place - size, place)
            self._colours = self._graph_of(number, ~black, size), self._graph_of(number, black, size)
        return self._colours

    def _graph_of(self, values: np.ndarray, chosen: np.ndarray, size: int) -> Graph:
        """The graph of another array, in which row t sits at `values[t]`; only for the rows `chosen`."""
        there = values.astype(np.int64)
        self.exchange(there)
        wanted = chosen[self.ghosts]
        ghosts = self.ghosts[wanted]
        return graph(self.comm, size, values[ghosts], self._owners[wanted], there[ghosts])

    def share_weights(self, *weights):
        # Along z a row reads the row before it in memory, whatever that is: where the upper neighbour of a ghost is not
        # a row, its weight must be zero.
        self.exchange(*weights)
        for w, rim in zip(weights, self._rims):
            w[rim] = 0.0

    @cached_property
    def _rims(self) -> list[np.ndarray]:
        """For each axis, the ghosts whose upper neighbour is not a row."""
        right = self.rows.neighbours()[self.ghosts]
        return [self.ghosts[right[:, axis] < 0] for axis in range(3)]

    @cached_property
    def coarser(self) -> tuple[SharedPiece, np.ndarray]:
        """The piece of 2×2×2 blocks, and the block of each row; made once, for all solves on this grid."""
        cells = self.cells // 2
        if self.dimension == 2:
            cells[:, 0] = 0
        own = cells[self.owned]
        numbers = np.unique(np.ravel_multi_index(tuple(own.T), tuple(-(-n // 2) for n in self.boxes.shape)))
        blocks = np.stack(np.unravel_index(numbers, tuple(-(-n // 2) for n in self.boxes.shape)), axis=1)
        piece = SharedPiece(self.comm, self.boxes.coarse(2), blocks, self.dimension)
        parent = np.searchsorted(piece.rows.cells, piece._numbers(cells)).astype(np.int32)
        return piece, parent


def graph(comm: Comm, size: int, ghosts: np.ndarray, owners: np.ndarray, there: np.ndarray) -> Graph:
    """The graph that copies to the places `ghosts` from the places `there` of their owners."""
    asked = np.bincount(owners, minlength=comm.size)
    wanted = np.stack(comm.gathered(asked))[:, comm.rank]
    roots = [np.stack((owners, there), axis=1)] if ghosts.size else []
    out = Graph(comm, size, [ghosts], roots, int(wanted.sum()), int(np.count_nonzero(wanted)))
    out._owners = int(np.count_nonzero(asked))
    return out


def _frame(box: IndexBox, shape: tuple[int, ...], align: int) -> IndexBox:
    """Where the layout of a rank begins and ends: even on every level whose boxes are aligned."""
    low = tuple(max(0, l - max(align, 1)) for l in box.low)
    return IndexBox(low, tuple(min(n, h + 1) for h, n in zip(box.high, shape)))


def inside(cells: np.ndarray, box: IndexBox) -> np.ndarray:
    """True for the cells of a box."""
    return np.asarray(((cells >= np.array(box.low)) & (cells < np.array(box.high))).all(axis=1))
