"""The cycle of `auto` over many ranks: the same levels, cut into pieces, with ghosts exchanged between half-sweeps.

    Multigrid(SharedBlocks(0.65), RedBlack(), W(1, 1), dtype=np.float32)

Large levels are shared: every rank relaxes its rows, and the colour that was relaxed is exchanged. A level small enough
(`GATHERED` unknowns on all ranks) is held by every rank, with all levels below it: its right-hand side is gathered, and
each rank runs the cycle of a single process on it. So a cycle does what it does on one rank, up to rounding, and the
number of iterations does not depend on the number of ranks. (Blocks that would join liquid across thin walls are not
looked for on shared levels.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from ..errors import NonstickError
from ..inverse.multigrid.grid.blocks import BlockHierarchy, Blocks, is_anisotropic
from ..inverse.multigrid.grid.level import GridLevel
from ..inverse.multigrid.level import Level
from ..kernels._vector import peak_and_sum
from ..operators.rows import Rows
from ..operators.stencil import StencilOperator
from .piece import Piece
from .stencil import SharedStencil

#: a level with at most this many unknowns on all ranks is held by every rank
GATHERED = 20_000


def shared_levels(unknowns: int, dimension: int) -> int:
    """How often a problem of this many unknowns is halved before its levels are gathered: at least once."""
    levels = 1
    while unknowns > GATHERED * 2 ** (dimension * levels):
        levels += 1
    return levels


@dataclass(frozen=True)
class SharedBlocks(Blocks):
    """`Blocks` for operators on many ranks, and for those on one."""

    def fits(self, A):
        core = A.core.stencil
        if not isinstance(core, SharedStencil):
            return super().fits(A)
        return not core.comm.any(is_anisotropic(core, self.anisotropy))

    def hierarchy(self, multigrid, operator, reuse):
        core = operator.core.stencil
        if not isinstance(core, SharedStencil):
            return super().hierarchy(multigrid, operator, reuse)
        if not isinstance(reuse, SharedHierarchy) or reuse.A.rows is not core.rows:
            reuse = SharedHierarchy(multigrid, core)
        elif reuse.A is not core:
            reuse = reuse.refilled(core)
        return reuse.refresh(operator.free, operator.shift)


class SharedLevel(GridLevel):
    """A level of which every rank has a piece."""

    def __init__(self, piece: Piece):
        super().__init__(piece.rows, numba.get_num_threads())
        self.piece = piece
        place = self.places()
        black = place >= self.black0
        number = np.where(black, place - self.black0, place)
        if piece.colours is None:  # the same for every solve on this grid
            piece.colours = piece.places(number, ~black, self.black0), piece.places(number, black, self.black0)
        self._red, self._black = piece.colours
        self._ghosts = place[piece.ghosts]

    def set_diagonal(self, diagonal, active, scale):
        super().set_diagonal(diagonal, active, scale)
        self.dinv[self._ghosts] = 0.0

    def toggle_diagonal(self, diagonal, active, toggled, scale):
        super().toggle_diagonal(diagonal, active, toggled, scale)
        self.dinv[self._ghosts] = 0.0

    def set_coarse(self, weights, excess):
        self.piece.share_weights(*weights)
        super().set_coarse(weights, excess)
        self.dinv[self._ghosts] = 0.0

    def start_red(self):
        super().start_red()
        self._red.exchange(self.rx)

    def relax_red(self):
        super().relax_red()
        self._red.exchange(self.rx)

    def relax_black(self):
        super().relax_black()
        self._black.exchange(self.bx)

    def correct(self, coarse):
        super().correct(coarse)
        self._red.exchange(self.rx)


class _Copy(BlockHierarchy):
    """The levels that every rank holds: as on one rank, and scaled by the levels above."""

    def _take(self, A):
        super()._take(A)
        self.scale = 1.0


class GatherLevel(Level):
    """The last level of the ranks: it gathers its right-hand side and visits the levels that every rank holds."""

    def __init__(self, piece: Piece, shape: tuple[int, ...]):
        self.piece, self.comm = piece, piece.comm
        self.x, self.b = np.zeros(piece.rows.n, np.float32), np.zeros(piece.rows.n, np.float32)
        number = np.ravel_multi_index(tuple(piece.cells.T), shape)
        self._counts = self.comm.gathered(piece.owned.size)
        everyone = self.comm.joined(number[piece.owned], self._counts)
        #: order of the gathered rows: entry i of the level is the joined entry `order[i]`
        self.order = np.argsort(everyone, kind="stable")
        cells = everyone[self.order]
        self.rows = Rows.from_cells(cells, shape, piece.dimension)
        #: number, on the level, of each row of this rank
        self.number = np.searchsorted(cells, number).astype(np.int32)
        self.copy: BlockHierarchy | None = None

    def joined(self, values: np.ndarray) -> np.ndarray:
        """A vector over the level, from the rows of all ranks."""
        return self.comm.joined(values[self.piece.owned], self._counts)[self.order]

    def set_matrix(self, hierarchy: SharedHierarchy, weights: tuple[np.ndarray, ...], excess: np.ndarray) -> None:
        """The matrix of the level, from the weights and the excess of each rank's rows."""
        w0, w1, w2, e = (self.joined(v) for v in (*weights, excess))
        A = StencilOperator(self.rows, (w0, w1, w2), np.zeros(self.rows.n))
        A.diagonal = e - A @ np.ones(self.rows.n)
        A.diagonal[A.diagonal < 1e-12] = 0.0  # rounding, where no free cell is left
        self.copy = _Copy(hierarchy.multigrid, A) if self.copy is None else self.copy.refilled(A)
        self.cycle = hierarchy.cycle
        self._places = self.copy.grids[0].places()

    def solve(self):
        assert self.copy is not None
        finest = self.copy.grids[0]
        finest.b[self._places] = self.joined(self.b)
        self.cycle.visit(self.copy.levels, 0)
        self.x[:] = finest.x[self._places[self.number]]


class SharedHierarchy(BlockHierarchy):
    """`BlockHierarchy` over many ranks."""

    A: SharedStencil

    def _take(self, A):
        super()._take(A)
        own = A.diagonal[A.piece.owned]
        top, total = peak_and_sum(own)
        top, total = A.comm.largest(top), A.comm.total(total)
        self._rough = total <= 0.25 * top * A.unknowns
        self.scale = 1.0 / top if top > 0 else 1.0

    def _build(self):
        piece = self.A.piece
        self.comm = piece.comm
        self.grids: list[GridLevel] = [SharedLevel(piece)]
        excess, _ = self._excess(self.grids[0])
        self.matrices = [(*self.A.weights, excess)]
        self.parents = []
        while True:
            coarse, parent = piece.coarser
            if coarse.boxes.align < 2 or coarse.count <= GATHERED:
                break
            level = SharedLevel(coarse)
            self.parents.append(parent)
            self.grids[-1].set_parent(parent, level.places())
            self.grids.append(level)
            self.matrices.append(tuple(np.zeros(coarse.rows.n) for _ in range(4)))
            self._galerkin(len(self.grids) - 2, None)
            piece = coarse
        self.cycle = self.multigrid.cycle
        if self._rough:
            self.cycle = self.cycle.stronger()
        self.gather_level, self._gather_parent = GatherLevel(coarse, coarse.boxes.shape), parent
        self.grids[-1].set_parent(parent, np.arange(coarse.rows.n, dtype=np.int32))
        self.visited = [self.gather_level]
        self._fill_tail(np.zeros(self.grids[-1].rows.n, np.int8))

    def _share_levels(self, above):
        above._levels_shared = True
        self.comm = above.comm
        self.grids, self.parents, self.cycle = above.grids[1:], above.parents[1:], above.cycle
        self.gather_level, self._gather_parent, self.visited = above.gather_level, above._gather_parent, above.visited
        self._fill()

    def _fill_tail(self, active):
        """The matrix of the gathered level, from that of the last shared level."""
        coarse = tuple(np.zeros(self.gather_level.x.size) for _ in range(4))
        self._multiply(coarse, len(self.grids) - 1, active, self._gather_parent)
        self.gather_level.set_matrix(self, coarse[:3], coarse[3])

    def below(self, A):
        """The cycle for a problem on the first coarse level."""
        return SharedHierarchy(self.multigrid, A, self)

    def refilled(self, A):
        self._take(A)
        self._fill()
        self._set_finest()
        return self

    def refresh(self, free, shift=None):
        if shift is not None:
            raise NonstickError("methods that add to the diagonal of A do not run on many ranks; take 'auto'")
        wanted = np.zeros(self.A.n, np.int8) if free is None else np.logical_not(free).view(np.int8)
        self.A.exchange(wanted)
        self._toggle(np.flatnonzero(self.active != wanted))
        return self

    def _toggle(self, cells):
        """As on one rank; what depends on how many cells changed is decided by all."""
        self.active[cells] ^= 1
        if cells.size > self.A.n // 16:
            self.grids[0].set_diagonal(self._diagonal, self.active, self.scale)
        elif cells.size:
            self.grids[0].toggle_diagonal(self._diagonal, self.active, cells, self.scale)
        touched = np.union1d(self._outdated, cells) if self._outdated.size else cells
        self._outdated = touched[self.active[touched] != self._coarse_active[touched]]
        behind, self._clamped = self.comm.total(np.array([self._outdated.size, np.count_nonzero(self.active)])).tolist()
        if self._levels_shared or behind > self.lag * self._clamped:
            self._refresh_coarse(self._outdated)
            self._outdated, self._levels_shared = self._outdated[:0], False

    def _refresh_coarse(self, behind):
        if self.parents:
            super()._refresh_coarse(behind)
        else:
            self._coarse_active[:] = self.active
            self._fill_tail(self.active)

    def inner(self, q=None):
        return tuple(self.comm.total(np.array(super().inner(q))).tolist())

    def _size(self, r):
        return self.A.peak(r)
