"""A structured level: a seven-point matrix on a row layout, split by colour, in float32.

Over many ranks large levels are cut into pieces: every rank relaxes its rows, and the colour that was relaxed is
exchanged. A level small enough (`GATHERED` unknowns on all ranks) is held by every rank, with all levels below it: its
right-hand side is gathered, and each rank runs the cycle of a single process on it. So a cycle does what it does on one
rank, up to rounding, and the number of iterations does not depend on the number of ranks. (Blocks that would join
liquid across thin walls are not looked for on shared levels.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....core import rounding
from ....kernels import _blocks as blocks
from ....operators.rows import Piece, Rows, SharedPiece
from ....operators.stencil import StencilOperator
from ....parallel.halo import Graph
from .._passes import START
from ..cycles import Cycle
from ..hierarchy import Hierarchy
from ..level import ColouredLevel, Level
from . import _redblack as rb

Exchange = Piece | Graph


class GridLevel(ColouredLevel):
    """Colour-split arrays of one level, and its transfer to the next; of many ranks each has a piece of it.

    `x` and `b` hold red unknowns first and black unknowns from `black0` on. `weights` and `excess` are the float64
    matrix in C order (scaled so that the finest diagonal is at most 1); the finest level uses the arrays of the
    operator.
    """

    def __init__(self, rows: Rows, threads: int):
        self.rows = rows
        self.groups = balanced_groups(rows, threads)
        segments = rows.start.size - 1
        self.rstart, self.bstart = np.empty(segments + 1, np.int64), np.empty(segments + 1, np.int64)
        rb._split_starts(self.rstart, self.bstart, rows.start, rows.parity)
        self.roff, self.boff = np.empty((segments, 6), np.int64), np.empty((segments, 6), np.int64)
        rb._split_offsets(self.roff, self.boff, rows.start, rows.offset, rows.parity, self.rstart, self.bstart)
        # room for the missing neighbours at the ends of runs
        self.black0 = m = max(int(self.rstart[-1]), int(self.bstart[-1])) + 2
        self.x, self.b, self.dinv = (np.empty(2 * m, np.float32) for _ in range(3))
        self.w = np.empty((8, m), np.float32)
        # Only entries that no cell writes are set: all others are written before they are read.
        red, black = int(self.rstart[-1]), int(self.bstart[-1])
        for values in (self.x, self.b, self.dinv):
            values[red:m] = 0.0
            values[m + black :] = 0.0
        self.w[:6, red:] = 0.0
        self.w[6:, black:] = 0.0
        self.rx, self.bx = self.x[:m], self.x[m:]
        self.rb, self.bb = self.b[:m], self.b[m:]
        self.rdinv, self.bdinv = self.dinv[:m], self.dinv[m:]
        self._table = (rows.start, rows.parity, self.rstart, self.bstart)
        #: what brings the ghosts of a colour up to date, and where ghosts are
        self._red: Exchange = rows.piece
        self._black: Exchange = rows.piece
        self._ghosts = rows.piece.ghosts
        if isinstance(rows.piece, SharedPiece):
            place = self.places()
            self._red, self._black = rows.piece.colours(place, m)
            self._ghosts = place[rows.piece.ghosts]
        self._sums = np.zeros((2, segments))
        self._started = False  # red has been relaxed from zero already

    @property
    def n(self) -> int:
        """Unknowns on all ranks."""
        return self.rows.piece.unknowns(self.rows.n)

    # -- matrix ---------------------------------------------------------------------------------------

    def set_weights(self, weights, scale: float) -> None:
        r = self.rows
        rb._split_weights(self.w, *weights, scale, r.start, r.offset, r.parity, self.rstart, self.bstart, self.groups)

    def set_diagonal(self, diagonal: np.ndarray, active: np.ndarray, scale: float) -> None:
        rb._split_inverse_diagonal(self.rdinv, self.bdinv, diagonal, active, scale, *self._table, self.groups)
        self.dinv[self._ghosts] = 0.0

    def toggle_diagonal(self, diagonal: np.ndarray, active: np.ndarray, toggled: np.ndarray, scale: float) -> None:
        rb._toggle_inverse(self.rdinv, self.bdinv, diagonal, active, toggled, scale, *self._table)
        self.dinv[self._ghosts] = 0.0

    def set_coarse(self, weights, excess) -> None:
        """The matrix of a coarse level, from its weights and excess."""
        r = self.rows
        r.piece.share_weights(*weights)
        self.set_weights(weights, 1.0)
        rb._split_inverse_coarse(
            self.rdinv, self.bdinv, excess, *weights, r.start, r.offset, r.parity, self.rstart, self.bstart, self.groups
        )
        self.dinv[self._ghosts] = 0.0

    # -- transfer to the next level ---------------------------------------------------------------------

    def places(self) -> np.ndarray:
        """Place of each unknown in `x` and `b`."""
        index = np.empty(self.rows.n, np.int32)
        rb._split_index(index, *self._table, self.black0, self.groups)
        return index

    def set_parent(self, parent: np.ndarray, places: np.ndarray) -> None:
        """Unknown t is restricted to the entry `places[parent[t]]` of the next level's `b`."""
        self.rparent = np.empty(self.black0, np.int32)
        self.rparent[self.rstart[-1] :] = 0
        rb._split_parent(self.rparent, parent, places, self.rows.start, self.rows.parity, self.rstart, self.groups)

    # -- vectors of the operator --------------------------------------------------------------------------

    def enter(self, r: np.ndarray, scale: float) -> None:
        """b = scale r, together with the first half of a sweep from zero."""
        rb._enter(self.rx, self.rb, self.bb, r, scale, self.rdinv, *self._table, self.groups)
        self._started = True

    def leave(self, out: np.ndarray, beta: float, scale: float) -> None:
        """out = scale x + beta out"""
        rb._leave(out, beta, self.rx, self.bx, scale, *self._table, self.groups)

    def inner(self, q: np.ndarray) -> tuple[float, float]:
        """bᵀx, and qᵀx for a vector in C order."""
        rb._inner(*self._sums, q, self.rx, self.bx, self.rb, self.bb, *self._table, self.groups)
        rho, along = self._sums.sum(axis=1)
        return float(rho), float(along)

    # -- the verbs of a level -----------------------------------------------------------------------------

    def run(self, operation, first, end, keep=0.0, gain=1.0):
        if first == 1:
            self.relax_black()
        elif operation == START:
            self.start_red()
        else:
            self.relax_red()

    def smooth(self, sweeps, from_zero):
        super().smooth(sweeps, from_zero)
        #: after one sweep from zero the residual of red comes only from the black pass
        self.fresh = from_zero and sweeps == 1

    def restrict_residual(self, coarse, from_zero):
        """Black was relaxed last and has no residual."""
        coarse.b[:] = 0
        table = self.rparent, self.rstart, self.roff, self.groups
        rb._restrict_red(coarse.b, self.rx, self.rb, self.rdinv, self.bx, self.w, *table, self.fresh)

    def correct(self, coarse):
        """Black is relaxed next and needs no correction."""
        rb._prolong_red(self.rx, self.rdinv, coarse.x, self.rparent, self.rstart, self.groups)
        self._red.exchange(self.rx)

    def start_red(self) -> None:
        if not self._started:
            np.multiply(self.rb, self.rdinv, out=self.rx)
        self._started = False
        self._red.exchange(self.rx)

    def relax_black(self) -> None:
        rb._relax_black(self.bx, self.bb, self.bdinv, self.rx, self.w, self.bstart, self.boff, self.groups)
        self._black.exchange(self.bx)

    def relax_red(self) -> None:
        rb._relax_red(self.rx, self.rb, self.rdinv, self.bx, self.w, self.rstart, self.roff, self.groups)
        self._red.exchange(self.rx)


def coarse_rows(rows: Rows, groups: np.ndarray) -> tuple[Rows, np.ndarray]:
    """The layout of occupied 2x2x2 blocks, and the block of each unknown."""
    if isinstance(rows.piece, SharedPiece):
        coarse, parent = rows.piece.coarser
        return coarse.rows, parent
    shape = np.array(rows.shape, np.int64)
    half = (shape + 1) // 2
    number = np.empty(int(half.prod()), np.int32)
    room = np.empty(min(number.size, rows.n), np.int64)
    count = blocks._number_blocks(number, room, rows.cells, shape, rows.start)
    parent = np.empty(rows.n, np.int32)
    blocks._assign_blocks(parent, number, rows.cells, shape, rows.start, groups)
    return Rows.from_numbering(room[:count].copy(), tuple(int(s) for s in half), rows.dimension, number), parent


def add_galerkin(coarse, matrix, closed: np.ndarray, parent: np.ndarray, rows: Rows, scale: float, groups) -> None:
    """Add weights and excess of scale PᵀFAFP to those of a coarse level; `matrix` are those of `rows`."""
    layout = rows.cells, np.array(rows.shape, np.int64), rows.start, rows.offset
    blocks._galerkin_blocks(*coarse, *matrix, closed, parent, *layout, scale, groups)


def one_group(rows: Rows) -> np.ndarray:
    """All rows in one piece."""
    return np.array([0, rows.start.size - 1])


def balanced_groups(rows: Rows, pieces: int) -> np.ndarray:
    """Segment numbers that cut the rows into pieces of about equal size, between blocks of coarse cells."""
    if rows.n == 0:
        return np.zeros(1, np.int64)
    plane = rows.shape[1] * rows.shape[2] if rows.shape[0] > 1 else rows.shape[2]
    block = rows.cells[rows.start[:-1]] // (2 * plane)
    edge = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [block.size]])
    at = np.searchsorted(rows.start[edge], np.linspace(0, rows.n, pieces + 1))
    return np.unique(edge[np.clip(at, 0, edge.size - 1)]).astype(np.int64)


#: a level with at most this many unknowns on all ranks is held by every rank
GATHERED = 20_000


def shared_levels(unknowns: int, dimension: int) -> int:
    """How often a problem of this many unknowns is halved before its levels are gathered: at least once."""
    levels = 1
    while unknowns > GATHERED * 2 ** (dimension * levels):
        levels += 1
    return levels


class GatherLevel(Level):
    """The last level of the ranks: it gathers its right-hand side and visits the levels that every rank holds.

    `matrix` and `scale` are those of the finer level, as for `Aggregates`; `make` makes the hierarchy of an operator
    that every rank has.
    """

    def __init__(
        self, fine: GridLevel, matrix, scale: float, alpha: float, make: Callable[[StencilOperator], Hierarchy]
    ):
        piece = fine.rows.piece
        assert isinstance(piece, SharedPiece)
        self.fine, self.alpha, self._make, self.comm = fine, alpha, make, piece.comm
        self.piece, self.parent = piece.coarser
        self.n = self.piece.rows.n
        self.x, self.b = np.zeros(self.n, np.float32), np.zeros(self.n, np.float32)
        shape = self.piece.boxes.shape
        number = np.ravel_multi_index(tuple(self.piece.cells.T), shape)
        self._counts = self.comm.gathered(self.piece.owned.size)
        everyone = self.comm.joined(number[self.piece.owned], self._counts)
        #: order of the gathered rows: entry i of the level is the joined entry `order[i]`
        self.order = np.argsort(everyone, kind="stable")
        cells = everyone[self.order]
        self.rows = Rows.from_cells(cells, shape, self.piece.dimension)
        #: number, on the level, of each row of this rank
        self.number = np.searchsorted(cells, number).astype(np.int32)
        #: its hierarchy, on every rank
        self.copy: Any = None
        self.set_matrix(matrix, scale)
        self.set_values(np.zeros(fine.rows.n, np.int8))

    def joined(self, values: np.ndarray) -> np.ndarray:
        """A vector over the level, from the rows of all ranks."""
        return self.comm.joined(values[self.piece.owned], self._counts)[self.order]

    def set_matrix(self, matrix, scale: float) -> None:
        """Weights and excess of the finer level, times `scale`; for `set_values`."""
        self._matrix, self._scale = matrix, scale

    def set_values(self, closed: np.ndarray) -> None:
        """The Galerkin matrix without the cells that are closed, on every rank, and its hierarchy."""
        coarse, fine = np.zeros((4, self.n)), self.fine
        add_galerkin(coarse, self._matrix, closed, self.parent, fine.rows, self._scale * self.alpha, fine.groups)
        w0, w1, w2, excess = (self.joined(values) for values in coarse)
        A = StencilOperator.of_excess(self.rows, (w0, w1, w2), excess)
        A.diagonal[A.diagonal < rounding.SUM] = 0.0  # where no free cell is left
        self.copy = self._make(A) if self.copy is None else self.copy.refilled(A)
        self._places = self.copy.grids[0].places()

    def toggle(self, closed: np.ndarray, toggled: np.ndarray) -> None:
        """Move cells into or out of the free set."""
        closed[toggled] ^= 1
        self.set_values(closed)

    def pack(self, cycle: Cycle) -> list[Level]:
        self.cycle = cycle
        return [self]

    def solve(self):
        finest = self.copy.grids[0]
        finest.b[self._places] = self.joined(self.b)
        self.cycle.visit(self.copy.levels, 0)
        self.x[:] = np.float32(self.copy.scale) * finest.x[self._places[self.number]]
