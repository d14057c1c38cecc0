"""The cycle of `auto` over many ranks: large levels are cut into pieces, small ones are held by every rank.

On a large level every rank relaxes its rows, and the colour that was relaxed is exchanged (`level`). A level small
enough (`GATHERED` unknowns on all ranks) is held by every rank, with all levels below it: its right-hand side is
gathered, and each rank runs the cycle of a single process on it. So a cycle does what it does on one rank, up to
rounding, and the number of iterations does not depend on the number of ranks. (Blocks that would join liquid across
thin walls are not looked for on shared levels.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....core import rounding
from ....operators.piece import SharedPiece
from ....operators.rows import Rows
from ....operators.stencil import StencilOperator
from ..cycles import Cycle
from ..hierarchy import Hierarchy
from ..level import Level
from .level import GridLevel, add_galerkin

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
