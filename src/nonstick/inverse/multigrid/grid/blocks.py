"""2×2(×2) blocks of a grid, in single precision: the cycle of `auto`.

    Multigrid(Blocks(0.65), RedBlack(), W(1, 1), dtype=np.float32)

is a symmetric cycle for `F A F + (I - F) + D` on a stencil operator A, with a free set F and a shift D:

- red-black Gauss–Seidel, one sweep on the way down and the reversed sweep on the way up; large levels are split by
  colour (`level`);
- coarse matrices are piecewise-constant Galerkin products scaled by α (otherwise they are too stiff; Takahashi–Batty
  §4.2); coarse levels get two cycles per visit, the finest level one;
- truncation to a free set is a mask: cells outside it have no inverse diagonal, and coarse matrices are corrected for
  the cells that entered or left F, not rebuilt.

Large levels are blocks of the level above. Where blocks would join liquid across a wall, and on small levels,
aggregates are the strongly connected parts of blocks, as `TopologyAware` makes them, here in single precision
(`aggregation.levels`). The small levels are packed into one (`coloured`).

Float32 inside a float64 CG halves the memory traffic, which limits the speed of the cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np

from ....errors import NonstickError
from ....kernels import _blocks as blocks
from ....kernels._vector import dot, peak_and_sum
from ....operators.rows import SharedPiece
from ....operators.stencil import StencilOperator
from ..aggregation._strength import _count_torn_blocks
from ..aggregation.coarsening import TopologyAware
from ..aggregation.levels import PACKED_SIZE, Aggregates, strong_parts
from ..cycles import Cycle
from ..hierarchy import Coarsening, Hierarchy, Multigrid, descend
from ..level import Level
from ..smoothers import RedBlack
from . import level as levels
from .level import GatherLevel, GridLevel, add_galerkin, coarse_rows

#: cells that are looked at to find anisotropy
SAMPLE = 10_000


@dataclass(frozen=True)
class Blocks(Coarsening):
    """Blocks while they are many and whole, then topology-aware aggregates, all in float32.

    For stencil operators. With other smoothers than `RedBlack()`, in float64 and for K-cycles, all levels are
    topology-aware aggregates, which are blocks where these are whole.

    Parameters
    ----------
    alpha
        Factor of coarse matrices per level; it is below 1 because piecewise constants are too stiff.
    lag
        Largest part of the clamped cells by which the free set of coarse matrices may be out of date.
    then
        What merges below the blocks; by default `TopologyAware(alpha, theta=0.05, cut=0.0)`. Its `theta` also judges
        whether blocks are whole.
    anisotropy
        Grids whose cells are coupled along one axis this many times as strongly as along another do not fit.

    Examples
    --------
    >>> from nonstick import cases
    >>> from nonstick.inverse import CG, Blocks, Multigrid, W
    >>> problem = cases.build("sphere3d", 12).problem
    >>> solver = CG(Multigrid(Blocks(), cycle=W(1, 1))).setup(problem.A)
    >>> solver.solve(problem.b, 0.0 * problem.b, rtol=1e-6).converged
    True
    """

    alpha: float = 0.65
    lag: float = 0.01
    then: TopologyAware | None = None
    anisotropy: float = 6.0

    @property
    def below(self) -> TopologyAware:
        """What merges below the blocks."""
        return TopologyAware(self.alpha, theta=0.05, cut=0.0) if self.then is None else self.then

    def fits(self, A):
        stencil = A.core.stencil
        return stencil is not None and not A.comm.any(is_anisotropic(stencil, self.anisotropy))

    def hierarchy(self, multigrid, operator, reuse):
        if operator.core.stencil is None:
            raise NonstickError("blocks of cells need a stencil operator: pass the cells of the unknowns")
        fast = multigrid.smoother == RedBlack() and multigrid.dtype in (None, np.float32) and multigrid.cycle.linear
        if not fast:  # the same aggregates on levels that any smoother and any cycle runs on
            return self.below.hierarchy(multigrid, operator, reuse)
        core = operator.core.stencil
        if reuse is None or reuse.A.rows is not core.rows:
            reuse = BlockHierarchy(multigrid, core)
        elif reuse.A is not core:
            reuse = reuse.refilled(core)
        return reuse.refresh(operator.free, operator.shift)


def is_anisotropic(A: StencilOperator, limit: float) -> bool:
    """True if a third of the cells is coupled along one axis `limit` times as strongly as along another.

    Blocks would join cells across weak couplings there, and point relaxation would not smooth the errors. The axis may
    differ from cell to cell: coefficients that jump in every cell are as bad for blocks as stretched cells. Cut faces
    of a liquid are fewer. Cells with a closed face, and cells at walls, do not count.
    """
    every = max(1, A.n // SAMPLE)
    w = [v[::every] for v in A.weights if v.any()]
    if len(w) < 2:
        return False
    weakest, strongest = np.minimum.reduce(w), np.maximum.reduce(w)
    counts = weakest > 0.0
    return 3 * int(np.count_nonzero(counts & (strongest > limit * weakest))) > int(np.count_nonzero(counts))


class BlockHierarchy(Hierarchy):
    """One cycle from a zero guess.

    A hierarchy for a matrix on the first coarse level of another may borrow all levels from there down (`above`); the
    other hierarchy restores its own matrices at its next refresh.
    """

    on_grid = True

    def __init__(self, multigrid: Multigrid, A: StencilOperator, above: BlockHierarchy | None = None):
        self.multigrid = multigrid
        coarsening: Any = multigrid.coarsening
        self.alpha: float = coarsening.alpha
        self.rule: TopologyAware = coarsening.below
        self._take(A)
        # Where a few cells have much larger weights than all others, one cell among many is not negligible.
        self.lag = 0.0 if self._rough else coarsening.lag
        if above is not None and above.parents:
            self._share_levels(above)
        else:
            self._build()
        self._no_mask = np.zeros(max(self.grids[-1].rows.n, 1), np.int8)
        self.levels: list[Level] = [*self.grids, *self.visited]
        self._set_finest()

    def _take(self, A: StencilOperator) -> None:
        """A is the matrix from now on, all rows free."""
        self.A, self.comm = A, A.comm
        top, total = peak_and_sum(A.diagonal[A.rows.piece.owned])
        top, total = self.comm.largest(top), self.comm.total(total)
        #: True if a few cells have much larger weights than all others
        self._rough = total <= 0.25 * top * A.unknowns
        self.scale = 1.0 / top if top > 0 else 1.0
        self.active, self._coarse_active = np.zeros(A.n, np.int8), np.zeros(A.n, np.int8)
        #: clamped cells, changes not yet in the coarse matrices, and True if another hierarchy has used the coarse
        #: levels
        self._clamped, self._outdated, self._levels_shared = 0, np.zeros(0, np.int64), False
        #: the diagonal and its shift; row sums are in `matrices[0]`
        self._diagonal: np.ndarray = A.diagonal
        self._shift: np.ndarray | None = None

    def _set_finest(self) -> None:
        self.grids[0].set_weights(self.A.weights, self.scale)
        self.grids[0].set_diagonal(self.A.diagonal, self.active, self.scale)

    def refilled(self, A: StencilOperator) -> BlockHierarchy:
        """A hierarchy for other numbers on the same grid: these levels with new matrices, if they suit it as well."""
        rough = self._rough
        self._take(A)
        if self._rough != rough:
            return type(self)(self.multigrid, A)
        self._fill()
        self._set_finest()
        return self

    def below(self, A: StencilOperator) -> BlockHierarchy:
        """A hierarchy for a matrix on the first coarse level of this one."""
        return BlockHierarchy(self.multigrid, A, self)

    def _build(self) -> None:
        """Structured levels while there are many blocks and walls do not cut them, then topology-aware levels."""
        finest = GridLevel(self.A.rows, numba.get_num_threads())
        excess = self._excess(finest)
        #: weights and excess of each structured level; those of the finest level belong to the operator and are not
        #: scaled
        self.matrices: list[tuple[np.ndarray, ...]] = [(*self.A.weights, excess)]
        self.grids: list[GridLevel] = [finest]
        self.parents: list[np.ndarray] = []
        for level in descend(finest, self._coarser):
            self.grids[-1].set_parent(self.parents[-1], level.places())
            self.grids.append(level)
            self.matrices.append(_four_zeros(level.rows.n))
            self._galerkin(len(self.grids) - 2, None)
        self.cycle: Cycle = self.multigrid.cycle
        last, shared = self.grids[-1], self.comm.size > 1
        if self._rough and (self.parents or shared):
            self.cycle = self.cycle.stronger()  # blocks contain weakly coupled cells: coarse levels need more work
        self.tail: Aggregates | GatherLevel
        if shared:
            make = partial(BlockHierarchy, self.multigrid)
            self.tail = GatherLevel(last, self.matrices[-1], self._tail_scale, self.alpha, make)
        else:
            matrix = self.matrices[-1], self._tail_scale
            self.tail = Aggregates(last.rows, last.groups, *matrix, self.rule)
        self.visited = self.tail.pack(self.cycle)
        last.set_parent(self.tail.parent, np.arange(self.tail.n, dtype=np.int32))

    def _coarser(self, level: GridLevel) -> GridLevel | None:
        """The blocks of a level, unless they are few or would join liquid across walls."""
        rows, parent = coarse_rows(level.rows, level.groups)
        if isinstance(rows.piece, SharedPiece):
            if rows.piece.boxes.align < 2 or rows.piece.count <= levels.GATHERED:
                return None
        elif rows.n <= PACKED_SIZE or rows.n == level.n or self._torn(level, parent, rows.n):
            return None
        self.parents.append(parent)
        return GridLevel(rows, numba.get_num_threads())

    def _torn(self, level: GridLevel, parent: np.ndarray, count: int) -> bool:
        """True if more than one block in a thousand would join liquid across a wall."""
        rows, theta, (*weights, excess) = level.rows, self.rule.theta, self.matrices[-1]
        root, parts, peak = strong_parts(rows, level.groups, weights, theta)
        if parts == count:
            return False
        limit = max(8, count // 1000)
        strong = np.empty(count, np.int32), theta, peak
        cells, graph = (rows.cells, np.array(rows.shape, np.int64)), (rows.start, rows.offset, *weights)
        return _count_torn_blocks(*strong, *cells, parent, root, excess, *graph, limit) >= limit

    def _share_levels(self, above: BlockHierarchy) -> None:
        """The levels of `above` below its finest, with the matrices of this operator."""
        above._levels_shared = True
        self.grids, self.parents, self.cycle = above.grids[1:], above.parents[1:], above.cycle
        self.tail, self.visited = above.tail, above.visited
        self._fill()

    def _fill(self) -> None:
        """The matrices of all levels, all rows free."""
        excess = self._excess(self.grids[0])
        self.matrices = [(*self.A.weights, excess), *(_four_zeros(level.rows.n) for level in self.grids[1:])]
        for l in range(len(self.parents)):
            self._galerkin(l, None)
        self._fill_tail(np.zeros(self.grids[-1].rows.n, np.int8))

    def _excess(self, level: GridLevel) -> np.ndarray:
        """Row sums."""
        A, excess = self.A, np.empty(self.A.n)
        blocks._excess(excess, A.diagonal, *A.weights, A.rows.start, A.rows.offset, level.groups)
        return excess

    @property
    def _tail_scale(self) -> float:
        return 1.0 if self.parents else self.scale

    def _fill_tail(self, active: np.ndarray) -> None:
        """The matrices of the unstructured levels."""
        self.tail.set_matrix(self.matrices[-1], self._tail_scale)
        self.tail.set_values(active)

    # -- the free set and the shift ---------------------------------------------------------------------------

    def refresh(self, free: np.ndarray | None, shift: np.ndarray | None = None) -> BlockHierarchy:
        """Truncate to a free set (None: all rows are free), and add a diagonal.

        The finest level follows every change. Coarse matrices may be out of date by one clamped cell in a hundred: the
        cycle stays symmetric and positive, and its quality does not change.
        """
        wanted = np.zeros(self.A.n, np.int8) if free is None else np.logical_not(free).view(np.int8)
        self.A.rows.piece.exchange(wanted)
        if shift is None and self._shift is None:
            self._toggle(np.flatnonzero(self.active != wanted))
        else:
            self._refill(wanted, shift)
        return self

    def _toggle(self, cells: np.ndarray) -> None:
        """Move cells into or out of the free set, and restore levels that another hierarchy used."""
        if not self.comm.any(cells.size > 0) and not self._levels_shared:
            return
        self.active[cells] ^= 1
        if cells.size > self.A.n // 16:
            self.grids[0].set_diagonal(self._diagonal, self.active, self.scale)
        else:
            self.grids[0].toggle_diagonal(self._diagonal, self.active, cells, self.scale)
        touched = np.union1d(self._outdated, cells) if self._outdated.size else cells
        self._outdated = touched[self.active[touched] != self._coarse_active[touched]]
        more = 2 * int(np.count_nonzero(self.active[cells])) - cells.size
        outdated, more = self.comm.total(np.array([self._outdated.size, more])).tolist()
        self._clamped += more
        if self._levels_shared or outdated > self.lag * self._clamped:
            self._refresh_coarse(self._outdated)
            self._outdated, self._levels_shared = self._outdated[:0], False

    def _refill(self, active: np.ndarray, shift: np.ndarray | None) -> None:
        """For a new shift, compute all matrices from the finest one."""
        *weights, excess = self.matrices[0]
        if self._shift is not None:
            excess = self._excess(self.grids[0])
        self._shift = None if shift is None else shift.copy()
        self._diagonal = self.A.diagonal if shift is None else self.A.diagonal + shift
        self.matrices[0] = (*weights, excess if shift is None else excess + shift)
        self.active[:] = active
        self._clamped = int(self.comm.total(int(np.count_nonzero(active))))
        self.grids[0].set_diagonal(self._diagonal, self.active, self.scale)
        self._refresh_coarse(np.arange(self.A.n))
        self._outdated, self._levels_shared = self._outdated[:0], False

    def _refresh_coarse(self, behind: np.ndarray) -> None:
        """Bring the coarse matrices up to date with the cells that entered or left the free set."""
        rows = self.A.rows
        if behind.size > self.A.n // 16:
            self._coarse_active[:] = self.active
            if self.parents:
                self._galerkin(0, self.active)
            else:
                self._fill_tail(self.active)
        elif self.parents:
            fine, where = self.matrices[0], (self.parents[0], rows.start, rows.offset)
            factor = self.scale * self.alpha
            blocks._toggle_blocks(*self.matrices[1], self._coarse_active, behind, *fine, *where, factor)
            self.grids[1].set_coarse(self.matrices[1][:3], self.matrices[1][3])
        else:
            self.tail.toggle(self._coarse_active, behind)
        for l in range(1, len(self.grids) - 1):
            self._galerkin(l, None)
        if self.parents:
            self._fill_tail(self._no_mask)

    def _galerkin(self, l: int, active: np.ndarray | None) -> None:
        """The matrix of grid level l + 1 from that of level l."""
        coarse = self.matrices[l + 1]
        for values in coarse:
            values[:] = 0.0
        level, factor = self.grids[l], self.alpha * (self.scale if l == 0 else 1.0)
        closed = np.zeros(level.rows.n, np.int8) if active is None else active
        add_galerkin(coarse, self.matrices[l], closed, self.parents[l], level.rows, factor, level.groups)
        self.grids[l + 1].set_coarse(coarse[:3], coarse[3])

    # -- one cycle ----------------------------------------------------------------------------------------------

    def run(self, r, top):
        self._top = top
        self.grids[0].enter(r, 1.0 / top)
        self.cycle.run(self.levels, 0, from_zero=True)

    def inner(self, q=None):
        finest, size = self.grids[0], self._top * self.scale
        rho, along = (dot(finest.b, finest.x), 0.0) if q is None else finest.inner(q)
        rho, along = self.comm.total(np.array([rho * self._top * size, along * size])).tolist()
        return rho, along

    def _size(self, r):
        return self.A.peak(r)

    def leave(self, out, beta=0.0):
        self.grids[0].leave(out, beta, self._top * self.scale)

    def _outside(self):
        return self.active.view(np.bool_) if self._clamped else None


def _four_zeros(n: int) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(n) for _ in range(4))
