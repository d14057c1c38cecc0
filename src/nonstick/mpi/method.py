"""`auto` for many ranks: the loop of `ActiveSet` over vectors that are cut into pieces.

The loop has two reductions in an iteration: one for all products of vectors, one for the residual. Conjugate gradients
need pᵀA p after p = z + β p is known, and β needs a product with z: two reductions one after the other. With A z in
place of A p all products are there at once (Chronopoulos and Gear 1989):

    s = A z,   β = -zᵀq / pᵀq,   p = z + β p,   q = s + β q,   pᵀq = zᵀs + 2β zᵀq + β² (pᵀq of before)

After a change of the set the old p is cut, and q is computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..inverse.cascade import Cascade
from ..inverse.multigrid.cycles import W
from ..inverse.multigrid.grid.blocks import BlockHierarchy
from ..inverse.multigrid.hierarchy import Multigrid
from ..inverse.multigrid.smoothers import RedBlack
from ..inverse.precond.deflation import Deflated
from ..inverse.precond.jacobi import Jacobi
from ..kernels import _blocks as blocks
from ..kernels._stencil import _stencil_relax
from ..kernels._vector import dot
from ..operators.lowrank import LowRank
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..solvers.auto import _nearby, _nested
from ..solvers.auto.active_set import ActiveSet
from ..solvers.auto.loop import ActiveSetCG
from ..solvers.auto.nearby import Everywhere, Nearby
from ..solvers.auto.nested import Coarser
from .levels import SharedBlocks, SharedHierarchy
from .stencil import SharedStencil

#: share of zᵀA z below which pᵀA p by recurrence has lost too many digits
LOST = 1e-3


class SharedLoop(ActiveSetCG):
    """`ActiveSetCG` on many ranks."""

    #: pᵀA p if q = A p is known already
    _known: float | None = None

    def _direction(self, rho_old, curvature, disturbed):
        self._known = None
        cycle = self.M
        if disturbed or not curvature > 0.0 or not isinstance(cycle, SharedHierarchy):
            return super()._direction(rho_old, curvature, disturbed)
        z, s = np.empty(self.A.n), np.empty(self.A.n)
        cycle.run(self.r, self._largest_residual())
        cycle.leave(z)
        self.A.apply(z, s)
        own = *BlockHierarchy.inner(cycle, self.q), dot(z, s)
        rho, along, energy = self.A.comm.total(np.array(own)).tolist()
        beta = -along / curvature if self.flexible else rho / rho_old
        after = energy + 2.0 * beta * along + beta * beta * curvature
        self.A.combine(self.p, z, beta)
        if after > LOST * energy:
            self.A.combine(self.q, s, beta)
            self._known = after
        return rho, rho

    def _product(self):
        return super()._product() if self._known is None else self._known


class SharedNearby(Nearby):
    """The cells to treat are marked, and marks near the border are exchanged; every half-sweep exchanges x."""

    A: SharedStencil

    def __init__(self, A: SharedStencil):
        super().__init__(A)
        self._mark = np.zeros(A.n, np.int8)

    def relax(self, x, b, lower, upper, r, count, around=None):
        self.A.exchange(x)
        if around is None:
            rows = self.A.rows
            for half in range(2 * count):
                _stencil_relax(
                    x, b, lower, upper, *self._matrix, rows.start, rows.offset, rows.parity, half & 1, 1.0, True
                )
                self.A.exchange(x)
            self.A.residual(b, x, r)
            return
        cells, segment = self._own_ball(around)
        for half in range(2 * count):
            self._sweep_half(x, b, lower, upper, cells, segment, half)
            self.A.exchange(x)
        self._residual_near(b, x, r, cells)

    def _sweep_half(self, x, b, lower, upper, cells, segment, half):
        _nearby._relax_cells(x, b, lower, upper, *self._matrix, cells, segment, *self._table, self._parity, half & 1)

    def residual(self, b, x, r, around):
        self.A.exchange(x)
        self._residual_near(b, x, r, around)

    def _residual_near(self, b, x, r, around) -> None:
        cells, segment = self._own_ball(around)
        _nearby._residual_cells(r, b, x, *self._matrix, cells, segment, self._table[1])

    def _own_ball(self, around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """This rank's cells within one step of `around`, and of such cells of other ranks; and their segments."""
        mark, ghosts = self._mark, self.A.piece.ghosts
        mark[:] = 0
        mark[around] = 1
        self.A.exchange(mark)
        cells, segment, _ = self._ball(np.flatnonzero(mark), 1)
        mark[:] = 0
        mark[ghosts] = 1
        own = mark[cells] == 0
        return cells[own], segment[own]


class SharedAroundBodies(Everywhere):
    """The same with rigid bodies: rows that touch a body keep their values, because a change moves the body."""

    def __init__(self, A: LowRank):
        assert isinstance(A.base, SharedStencil)
        self.A, self._others, self._r = A, SharedNearby(A.base), np.empty(A.n)

    def sweep(self, x, b, lower, upper, count, around):
        low, high, t = lower.copy(), upper.copy(), self.A.touched
        low[t] = high[t] = x[t] = np.clip(x[t], lower[t], upper[t])
        self._others.relax(x, b, low, high, self._r, count, around)


class SharedCoarser(Coarser):
    """A problem on 2×2×2 blocks, shared if its level is, else the same problem on every rank."""

    def __init__(self, problem: BoxProblem, cycle: SharedHierarchy):
        A = problem.A
        assert isinstance(A, SharedStencil)
        self.A, self.cycle, self.box = A, cycle, problem.box
        self.shape = np.array(A.rows.shape, np.int64)
        self.groups = cycle.grids[0].groups
        self.gather_level = None if cycle.parents else cycle.gather_level
        piece = cycle.gather_level.piece if self.gather_level else cycle.grids[1].piece  # type: ignore[attr-defined]
        self.parent = cycle._gather_parent if self.gather_level else cycle.parents[0]
        if self.gather_level is None:
            c0, c1, c2, e = (values / (cycle.alpha * cycle.scale) for values in cycle.matrices[1])
        else:
            c0, c1, c2, e = (np.zeros(piece.rows.n) for _ in range(4))
            blocks._galerkin_blocks(
                c0, c1, c2, e, *cycle.matrices[0], np.zeros(A.n, np.int8), self.parent, A.rows.cells, self.shape,
                A.rows.start, A.rows.offset, 1.0, self.groups,
            )  # fmt: skip
        for w in (c0, c1, c2):
            w *= 0.5
        b, lower, upper = (np.zeros(piece.rows.n) for _ in range(3))
        counts = np.zeros((2, piece.rows.n), np.int64)
        _nested._gather_rhs_and_bounds(
            b, lower, upper, problem.b, self.box.lower, self.box.upper, self.parent, *counts, A.rows.start, self.groups
        )
        rows = piece.rows
        if self.gather_level is not None:
            c0, c1, c2, e, b, lower, upper = (self.gather_level.joined(v) for v in (c0, c1, c2, e, b, lower, upper))
            rows = self.gather_level.rows
        d = np.empty(rows.n)
        whole = np.array([0, rows.start.size - 1])
        _nested._coarse_diagonal(d, e, c0, c1, c2, rows.start, rows.offset, whole)
        if self.gather_level is not None:
            coarse = StencilOperator(rows, (c0, c1, c2), d)
        else:
            piece.graph.exchange(d)
            coarse = SharedStencil(piece, (c0, c1, c2), d)
        self.problem = BoxProblem(coarse, b, lower, upper)

    def inverse(self):
        return self.cycle.below(self.problem.A) if self.gather_level is None else None  # type: ignore[arg-type]

    def interpolate(self, coarse, x):
        if self.gather_level is not None:
            coarse = coarse[self.gather_level.number]
        else:
            self.problem.A.exchange(coarse)  # type: ignore[attr-defined]
        super().interpolate(coarse, x)


@dataclass(frozen=True)
class SharedActiveSet(ActiveSet):
    """`ActiveSet` on many ranks."""

    @property
    def preconditioner(self):
        return self.M

    def loop(self, problem):
        return SharedLoop if isinstance(problem.A, SharedStencil) else super().loop(problem)

    def coarser(self, problem, M):
        if isinstance(problem.A, SharedStencil):
            return SharedCoarser(problem, M) if isinstance(M, SharedHierarchy) else None
        return None if _bodies_on_ranks(problem.A) else super().coarser(problem, M)

    def nearby(self, A):
        if isinstance(A, SharedStencil):
            return SharedNearby(A)
        return SharedAroundBodies(A.bodies) if _bodies_on_ranks(A) else super().nearby(A)


def _bodies_on_ranks(A) -> bool:
    return A.bodies is not None and isinstance(A.bodies.base, SharedStencil)


CYCLE = Multigrid(SharedBlocks(0.65), RedBlack(), W(1, 1), dtype=np.float32)
AUTO = SharedActiveSet(Cascade((Deflated(CYCLE), Deflated(Jacobi()))))
