"""Nested iteration: the solution of a coarser problem predicts x, and so the active set.

Coarse problems are made from the matrix alone. With A = L(w) + diag(e), face weights w and row sums e, a
coarse face has half the sum of its fine weights (its cells are twice as far apart), e and b are summed, and bounds are
averaged over the children that have one. Only x is interpolated, not the set: the policy follows from x and its
residual after two sweeps.

Without a grid (`CoarserMatrix`) the coarse problem is the Galerkin one of an algebraic hierarchy: PᵀSASP, PᵀSb, and
the bounds of the rows that are coarse.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ...core.options import Stopping
from ...inverse.base import Inverse
from ...inverse.multigrid.algebraic.coarsening import AlgebraicHierarchy
from ...inverse.multigrid.grid.blocks import BlockHierarchy
from ...inverse.multigrid.grid.level import GatherLevel, add_galerkin, coarse_rows
from ...kernels import parallel, prange
from ...operators.base import Operator
from ...operators.masked import LowRank
from ...operators.stencil import StencilOperator
from ...problem.box import BoxProblem
from ...problem.monitor import Monitor


class Prediction(Monitor):
    """Stops a coarse solve when more accuracy would not help the next finer grid.

    The first residual on the finer grid is the error of interpolation and about as large as the first one here, so a
    small part of it is accurate enough.
    """

    def __init__(self, problem: BoxProblem, rtol: float, part: float, finer: Monitor | None = None):
        super().__init__(problem, Stopping(rtol, criterion="papers"))
        self.part, self.finer = part, finer

    def watch(self, kkt: float, x: np.ndarray) -> bool:
        if not self.history and np.isfinite(kkt):
            self.asked = self.tolerance = max(self.tolerance, self.part * kkt)
        return super().watch(kkt, x)

    def record(self, kkt, x, again=False, tell=True) -> None:
        super().record(kkt, x, again, tell)
        if self.finer is not None and self.finer.interrupted() and not self.status:
            self.stop(self.finer.status)


class Coarser:
    """A problem on 2x2x2 blocks, and the interpolation from it. Often `cycle` has made the coarse matrix already."""

    def __init__(self, problem: BoxProblem, cycle: BlockHierarchy):
        bodies = problem.A.bodies
        A = (problem.A if bodies is None else bodies.base).stencil
        assert A is not None
        self.A = A
        if cycle.parents:
            rows, self.parent = cycle.grids[1].rows, cycle.parents[0]
            c0, c1, c2, e = (values / (cycle.alpha * cycle.scale) for values in cycle.matrices[1])
        else:
            rows, self.parent = coarse_rows(A.rows, cycle.grids[0].groups)
            c0, c1, c2, e = (np.zeros(rows.n) for _ in range(4))
            matrix, closed = cycle.matrices[0], np.zeros(A.n, np.int8)
            add_galerkin((c0, c1, c2, e), matrix, closed, self.parent, A.rows, 1.0, cycle.grids[0].groups)
        for w in (c0, c1, c2):
            w *= 0.5
        b, lower, upper = (np.zeros(rows.n) for _ in range(3))
        counts = np.zeros((2, rows.n), np.int64)
        self.box = box = problem.box
        self.groups = cycle.grids[0].groups
        _gather_rhs_and_bounds(
            b, lower, upper, problem.b, box.lower, box.upper, self.parent, *counts, A.rows.start, self.groups
        )
        #: the level that every rank holds, if the coarse problem is on it
        self.gathered = cycle.tail if isinstance(cycle.tail, GatherLevel) and not cycle.parents else None
        if self.gathered is not None:
            rows = self.gathered.rows
            c0, c1, c2, e, b, lower, upper = (self.gathered.joined(v) for v in (c0, c1, c2, e, b, lower, upper))
        coarse: Operator = StencilOperator.of_excess(rows, (c0, c1, c2), e)
        if bodies is not None:  # forces on bodies are summed like b
            parent, at = np.unique(self.parent[bodies.touched], return_inverse=True)
            gather = sp.csr_array((np.ones(at.size), (at, np.arange(at.size))), shape=(parent.size, at.size))
            coarse = LowRank(coarse, parent, gather @ bodies.U, bodies.S, bodies.light)
        self.problem = BoxProblem(coarse, b, lower, upper)
        self.cycle = cycle

    def inverse(self) -> Inverse | None:
        """The cycle for the coarse problem, from the levels of the fine one; None if it must be set up."""
        A = self.problem.A.stencil
        return None if A is None else self.cycle.below(A)

    def interpolate(self, coarse: np.ndarray, x: np.ndarray) -> None:
        """x = the interpolated coarse solution, clipped to the box."""
        rows = self.A.rows
        if self.gathered is not None:
            coarse = coarse[self.gathered.number]
        elif self.problem.A.stencil is not None:
            self.problem.A.stencil.rows.piece.exchange(coarse)
        layout = rows.cells, np.array(rows.shape, np.int64), rows.start, rows.offset
        box = self.box.lower, self.box.upper
        _interpolate(x, coarse, *box, self.parent, *layout, *self.A.weights, self.groups)


class CoarserMatrix:
    """The same from a matrix alone: the second level of an algebraic hierarchy as a problem with bounds."""

    def __init__(self, problem: BoxProblem, cycle: AlgebraicHierarchy):
        self.cycle, self.box = cycle, problem.box
        coarse = cycle.levels[1].A.operator()
        b = np.empty(coarse.n)
        cycle.restrict(problem.b, b)
        bounds = []
        for values in (problem.box.lower, problem.box.upper):
            means, has = cycle.means(values, np.isfinite(values))
            bounds.append(np.where(has, means, np.inf if values is problem.box.upper else -np.inf))
        lower, upper = bounds
        crossed = lower > upper
        lower[crossed] = upper[crossed] = 0.5 * (lower[crossed] + upper[crossed])
        self.problem = BoxProblem(coarse, b, lower, upper)

    def inverse(self) -> Inverse | None:
        A = self.problem.A  # a small one gets a factor of its own
        return self.cycle.below(A) if self.cycle.coarsening.fits(A) else None

    def interpolate(self, coarse: np.ndarray, x: np.ndarray) -> None:
        """x = the interpolated coarse solution, clipped to the box."""
        self.cycle.interpolate(coarse, x)
        self.box.project(x, out=x)


def coarser(problem: BoxProblem, M: Inverse) -> Coarser | CoarserMatrix | None:
    """The coarser problem that the hierarchy of a preconditioner offers; None if there is none."""
    hierarchy = M.hierarchy
    if problem.A.bodies is not None and problem.A.comm.size > 1:
        return None
    if isinstance(hierarchy, BlockHierarchy):
        return Coarser(problem, hierarchy)
    if isinstance(hierarchy, AlgebraicHierarchy) and len(hierarchy.levels) > 1:
        return CoarserMatrix(problem, hierarchy)
    return None


def without_grid(M: Inverse) -> bool:
    """True if the hierarchy of a preconditioner knows no grid."""
    return M.hierarchy is not None and not M.hierarchy.on_grid


@parallel
def _gather_rhs_and_bounds(cb, clower, cupper, b, lower, upper, parent, low_count, high_count, start, groups):
    """b summed over children; bounds averaged over the children that have one (±inf if none has).

    All outputs come in as zero; `groups` end between blocks, so no two threads write the same coarse cell.
    """
    for g in prange(groups.size - 1):
        for t in range(start[groups[g]], start[groups[g + 1]]):
            c = parent[t]
            cb[c] += b[t]
            if lower[t] > -np.inf:
                clower[c] += lower[t]
                low_count[c] += 1
            if upper[t] < np.inf:
                cupper[c] += upper[t]
                high_count[c] += 1
    for c in prange(cb.size):
        clower[c] = clower[c] / low_count[c] if low_count[c] else -np.inf
        cupper[c] = cupper[c] / high_count[c] if high_count[c] else np.inf
        if clower[c] > cupper[c]:
            clower[c] = cupper[c] = 0.5 * (clower[c] + cupper[c])


@parallel
def _interpolate(x, coarse, lower, upper, parent, cells, shape, start, offset, w0, w1, w2, groups):
    """Linear interpolation, one-sided across walls (Lai's barycentric weights, in 2D and 3D).

    A cell has one neighbour outside its block per axis. Along each axis, a quarter of the difference to that block's
    value is added; nothing is added if there is no neighbour or the face between is closed. The result is clipped to
    the box.
    """
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            cell = cells[start[s]]
            k = cell % shape[2]
            row = cell // shape[2]
            i = (row // shape[1]) & 1
            j = (row % shape[1]) & 1
            xm, xp, ym, yp, zm, zp = offset[s]
            for t in range(start[s], start[s + 1]):
                own = coarse[parent[t]]
                v = own
                if i:
                    if w0[t] > 0.0:
                        v += 0.25 * (coarse[parent[t + xp]] - own)
                elif xm != 0 and w0[t + xm] > 0.0:
                    v += 0.25 * (coarse[parent[t + xm]] - own)
                if j:
                    if w1[t] > 0.0:
                        v += 0.25 * (coarse[parent[t + yp]] - own)
                elif ym != 0 and w1[t + ym] > 0.0:
                    v += 0.25 * (coarse[parent[t + ym]] - own)
                if k & 1:
                    if w2[t] > 0.0:
                        v += 0.25 * (coarse[parent[t + zp]] - own)
                elif zm != 0 and w2[t + zm] > 0.0:
                    v += 0.25 * (coarse[parent[t + zm]] - own)
                x[t] = min(max(v, lower[t]), upper[t])
                k += 1
