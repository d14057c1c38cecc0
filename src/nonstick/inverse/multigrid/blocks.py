"""2×2(×2) blocks of a grid, in single precision: the cycle of `auto`.

    Multigrid(Blocks(0.65), RedBlack(), W(1, 1), dtype=np.float32)

is a symmetric cycle for `F A F + (I - F) + D` on a stencil operator A, with a free set F and a shift D:

- red-black Gauss–Seidel, one sweep down and the reversed one up; large levels are split by colour (`grid_level`);
- coarse matrices are piecewise-constant Galerkin products scaled by α (they are too stiff otherwise; Takahashi–Batty
  §4.2), two cycles per visit to a coarse level, one to the finest;
- truncation to a free set is a mask: cells outside it have no inverse diagonal, and coarse matrices are corrected for
  the cells that entered or left F, not rebuilt.

Large levels are blocks of the level above. Where blocks would glue liquid together across a wall, and on small levels,
aggregates are the connected parts of blocks (`sparse_levels`), and the small ones are packed into one level (`tail`).

Float32 inside a float64 CG halves the memory traffic, which is what the cycle costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from ...errors import NonstickError
from ...kernels import _blocks as blocks
from ...kernels._vector import block_dot32, peak_and_sum
from ...operators.base import Operator
from ...operators.stencil import StencilOperator
from ..base import Directions, Inverse
from .cycles import Cycle, Level
from .grid_level import GridLevel, coarse_rows
from .hierarchy import Coarsening, Multigrid
from .smoothers import RedBlack
from .sparse_levels import SMALL, SparseLevels, strong_parts, sure_weight


@dataclass(frozen=True)
class Blocks(Coarsening):
    """Merge the cells of a block, in float32; for stencil operators and red-black Gauss–Seidel.

    Parameters
    ----------
    alpha
        Scales coarse matrices from level to level; below 1 because piecewise constants are too stiff.
    lag
        How far coarse matrices may lag behind the free set, as a part of the clamped cells.

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

    def fits(self, A):
        return A.core.stencil is not None

    def hierarchy(self, multigrid, operator, reuse):
        if not self.fits(operator):
            raise NonstickError("blocks of cells need a stencil operator: pass the cells of the unknowns")
        if multigrid.smoother != RedBlack():
            raise NonstickError(f"Blocks() relaxes by RedBlack(), not by {multigrid.smoother!r}")
        if multigrid.dtype not in (None, np.float32):
            raise NonstickError("Blocks() works in float32")
        if reuse is None or reuse.A is not operator.core:
            reuse = BlockHierarchy(multigrid, operator.core.stencil)
        return reuse.refresh(operator.free, operator.shift)


class BlockHierarchy(Inverse):
    """One cycle from a zero guess.

    A hierarchy for a matrix on the first coarse level of another may borrow all levels from there down (`above`); the
    lender gets its own matrices back when it is next refreshed.
    """

    def __init__(self, multigrid: Multigrid, A: StencilOperator, above: BlockHierarchy | None = None):
        self.multigrid, self.A = multigrid, A
        coarsening: Any = multigrid.coarsening
        self.alpha: float = coarsening.alpha
        top, total = peak_and_sum(A.diagonal)
        #: a few cells outweigh all others
        self._rough = total <= 0.25 * top * A.n
        # Elsewhere one cell among many weighs little.
        self.lag = 0.0 if self._rough else coarsening.lag
        self.scale = 1.0 / top if top > 0 else 1.0
        self.active, self._coarse_active = np.zeros(A.n, np.int8), np.zeros(A.n, np.int8)
        #: clamped cells, those the coarse matrices do not know of yet, and whether others have used the coarse levels
        self._clamped, self._behind, self._lent = 0, np.zeros(0, np.int64), False
        #: the diagonal and its shift; row sums are in `matrices[0]`
        self._diagonal: np.ndarray = A.diagonal
        self._shift: np.ndarray | None = None
        if above is not None and above.parents:
            self._borrow(above)
        else:
            self._build()
        self._no_mask = np.zeros(max(self.grids[-1].rows.n, 1), np.int8)
        self.levels: list[Level] = [*self.grids, *self.tail.visited]
        self.grids[0].set_weights(A.weights, self.scale)
        self.grids[0].set_diagonal(A.diagonal, self.active, self.scale)

    def below(self, A: StencilOperator) -> BlockHierarchy:
        """A hierarchy for a matrix on the first coarse level of this one."""
        return BlockHierarchy(self.multigrid, A, self)

    @property
    def blocks(self):
        return self

    def _build(self) -> None:
        """Structured levels while blocks are many and whole, then topology-aware ones."""
        threads = numba.get_num_threads()
        level = GridLevel(self.A.rows, threads)
        excess, largest = self._excess(level)
        sure = sure_weight(largest)
        #: weights and excess of each structured level; the finest is the operator's, not yet scaled
        self.matrices: list[tuple[np.ndarray, ...]] = [(*self.A.weights, excess)]
        self.grids, self.parents = [level], []
        while True:
            rows, groups, (w0, w1, w2, e) = level.rows, level.groups, self.matrices[-1]
            coarse, parent = coarse_rows(rows, groups)
            if coarse.n <= SMALL or _torn(rows, groups, parent, coarse.n, sure, w0, w1, w2, e):
                break
            self.parents.append(parent)
            level = GridLevel(coarse, threads)
            self.grids[-1].set_parent(parent, level.places())
            self.grids.append(level)
            self.matrices.append(_four_zeros(coarse.n))
            self._galerkin(len(self.grids) - 2, None)
            sure = sure_weight(max(float(w.max()) for w in self.matrices[-1][:3]))
        self.cycle: Cycle = self.multigrid.cycle
        if self._rough and self.parents:  # blocks hold what hardly belongs together: coarse levels need more care
            self.cycle = self.cycle.stronger()
        self.tail = SparseLevels(rows, groups, (w0, w1, w2), e, sure, self._tail_scale, self.alpha, self.cycle)
        self.grids[-1].set_parent(self.tail.parent, np.arange(self.tail.levels[0].n, dtype=np.int32))

    def _borrow(self, above: BlockHierarchy) -> None:
        """The levels of `above` below its finest, with the matrices of this operator."""
        above._lent = True
        self.grids, self.parents, self.tail, self.cycle = above.grids[1:], above.parents[1:], above.tail, above.cycle
        excess, _ = self._excess(self.grids[0])
        self.matrices = [(*self.A.weights, excess), *(_four_zeros(level.rows.n) for level in self.grids[1:])]
        for l in range(len(self.parents)):
            self._galerkin(l, None)
        self._fill_tail(np.zeros(self.grids[-1].rows.n, np.int8))

    def _excess(self, level: GridLevel) -> tuple[np.ndarray, float]:
        """Row sums, and the largest weight."""
        A, excess, largest = self.A, np.empty(self.A.n), np.zeros(level.groups.size)
        blocks._excess(excess, largest, A.diagonal, *A.weights, A.rows.start, A.rows.offset, level.groups)
        return excess, float(largest.max())

    @property
    def _tail_scale(self) -> float:
        return 1.0 if self.parents else self.scale

    def _fill_tail(self, active: np.ndarray) -> None:
        """The matrices of the unstructured levels."""
        *weights, excess = self.matrices[-1]
        self.tail.set_matrix(weights, excess, self._tail_scale)
        self.tail.set_values(active)

    # -- the free set and the shift ---------------------------------------------------------------------------

    def refresh(self, free: np.ndarray | None, shift: np.ndarray | None = None) -> BlockHierarchy:
        """Truncate to a free set (None: everything is free), and add a diagonal.

        The finest level follows every change. Coarse matrices may lag behind by one clamped cell in a hundred:
        the cycle stays symmetric and positive, and as good.
        """
        wanted = np.zeros(self.A.n, np.int8) if free is None else np.logical_not(free).view(np.int8)
        if shift is None and self._shift is None:
            self._toggle(np.flatnonzero(self.active != wanted))
        else:
            self._refill(wanted, shift)
        return self

    def _toggle(self, cells: np.ndarray) -> None:
        """Move cells into or out of the free set, and take lent levels back."""
        if not cells.size and not self._lent:
            return
        self.active[cells] ^= 1
        self._clamped += 2 * int(np.count_nonzero(self.active[cells])) - cells.size
        if cells.size > self.A.n // 16:
            self.grids[0].set_diagonal(self._diagonal, self.active, self.scale)
        else:
            self.grids[0].toggle_diagonal(self._diagonal, self.active, cells, self.scale)
        touched = np.union1d(self._behind, cells) if self._behind.size else cells
        self._behind = touched[self.active[touched] != self._coarse_active[touched]]
        if self._lent or self._behind.size > self.lag * self._clamped:
            self._refresh_coarse(self._behind)
            self._behind, self._lent = self._behind[:0], False

    def _refill(self, active: np.ndarray, shift: np.ndarray | None) -> None:
        """A new shift: all matrices from the finest one."""
        *weights, excess = self.matrices[0]
        if self._shift is not None:
            excess, _ = self._excess(self.grids[0])
        self._shift = None if shift is None else shift.copy()
        self._diagonal = self.A.diagonal if shift is None else self.A.diagonal + shift
        self.matrices[0] = (*weights, excess if shift is None else excess + shift)
        self.active[:] = active
        self._clamped = int(np.count_nonzero(active))
        self.grids[0].set_diagonal(self._diagonal, self.active, self.scale)
        self._refresh_coarse(np.arange(self.A.n))
        self._behind, self._lent = self._behind[:0], False

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
            blocks._toggle_blocks(
                *self.matrices[1], self._coarse_active, behind, *self.matrices[0], self.parents[0], rows.start,
                rows.offset, self.scale * self.alpha,
            )  # fmt: skip
            self.grids[1].set_coarse(self.matrices[1][:3], self.matrices[1][3])
        else:
            self.tail.toggle(self._coarse_active, behind)
        for l in range(1, len(self.grids) - 1):
            self._galerkin(l, None)
        if self.parents:
            self._fill_tail(self._no_mask)

    def _galerkin(self, l: int, active: np.ndarray | None) -> None:
        """The matrix of grid level l + 1 from that of level l."""
        level, (w0, w1, w2, e), coarse = self.grids[l], self.matrices[l], self.matrices[l + 1]
        rows = level.rows
        for values in coarse:
            values[:] = 0.0
        shape = np.array(rows.shape, np.int64)
        mask = np.zeros(rows.n, np.int8) if active is None else active
        blocks._galerkin_blocks(
            *coarse, w0, w1, w2, e, mask, self.parents[l], rows.cells, shape, rows.start, rows.offset,
            self.alpha * (self.scale if l == 0 else 1.0), level.groups,
        )  # fmt: skip
        self.grids[l + 1].set_coarse(coarse[:3], coarse[3])

    # -- one cycle ----------------------------------------------------------------------------------------------

    def run(self, r: np.ndarray, top: float) -> None:
        """One cycle for a right-hand side of size `top`; the result stays in the level's own arrays."""
        self._top = top
        self.grids[0].enter(r, 1.0 / top)
        self.cycle.run(self.levels, 0, from_zero=True)

    def inner(self, q: np.ndarray | None = None) -> tuple[float, float]:
        """rᵀz and qᵀz of the last cycle, the former from its float32 copies."""
        finest, size = self.grids[0], self._top * self.scale
        if q is None:
            return block_dot32(finest.b, finest.x) * self._top * size, 0.0
        rho, along = finest.inner(q)
        return rho * self._top * size, along * size

    def leave(self, out: np.ndarray, beta: float = 0.0) -> None:
        """out = z + beta out"""
        self.grids[0].leave(out, beta, self._top * self.scale)

    def apply(self, r, out):
        top = float(max(r.max(initial=0.0), -r.min(initial=0.0)))
        if 0.0 < top < np.inf:
            self.run(r, top)
            self.leave(out)
        else:
            out[:] = 0.0
        if self._clamped:  # F A F + (I - F) + D is diagonal there
            clamped = self.active.view(np.bool_)
            out[clamped] = r[clamped] if self._shift is None else r[clamped] / (1.0 + self._shift[clamped])
        return out

    def directions(self, A, flexible=False):
        # Rows that a mask clamps have equations of their own: `apply` solves them, a bare cycle does not.
        return BlockDirections(A, self) if A.free is None else Directions(A, self)


class BlockDirections(Directions):
    """Directions from the cycle's own float32 copies of r and z: they spare a pass over memory each."""

    def __init__(self, A: Operator, M: BlockHierarchy):
        self.A, self.cycle = A, M

    def hold(self, rows, policy):
        """The cycle knows the free set and leaves z at zero elsewhere."""

    def find(self, r, size):
        self.cycle.run(r, size or 1.0)
        return self.cycle.inner()[0]

    def find_along(self, r, size, q):
        self.cycle.run(r, size or 1.0)
        return self.cycle.inner(q)

    def add_to(self, p, beta):
        self.cycle.leave(p, beta)


def _four_zeros(n: int) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(n) for _ in range(4))


def _torn(rows, groups, parent, count, sure, w0, w1, w2, e) -> bool:
    """Would blocks glue liquid together across walls, in more than one block of a thousand?"""
    shape = np.array(rows.shape, np.int64)
    root, parts = strong_parts(rows, groups, (w0, w1, w2), sure)
    if parts == count:
        return False
    limit = max(8, count // 1000)
    first = np.empty(count, np.int32)
    table = (rows.start, rows.offset, w0, w1, w2)
    return blocks._count_torn_blocks(first, sure, rows.cells, shape, parent, root, e, *table, limit) >= limit
