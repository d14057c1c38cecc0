"""Pockets: parts of the problem without a free surface, where A is singular (every row sums to zero).

On a pocket the constant is a null vector of A, so the sum s of b decides which of these cases applies (A symmetric, A 1
= 0):

- s = 0, compatible: the linear solution is known up to a constant. It is solved without bounds, then shifted so
  that the smallest constrained value sits on its bound (mean zero where nothing is constrained).
- s < 0, expanding, some row bounded below: there is one solution, with Σ dual = -s. The cell where the mean-free
  Neumann solution y is closest to its bound is clamped in the solution. Proof for M-matrices: x - y solves A(x - y) =
  dual - |s|/n, so it is subharmonic away from the clamped cells and has its maximum on one of them. Where y - lower is
  smallest, x above its bound would exceed that maximum. s > 0 with upper bounds only is the mirror image.
- otherwise there is no solution: the mean of b on the pocket is subtracted, which gives the compatible case, and the
  status says so.
- with bounds on both sides there is always a solution; it is the compatible one if that fits between the bounds.

The method gets compatible pockets unchanged: they are singular but consistent, and conjugate gradients and multigrid
cycles do not change the constant. If one cell were held, the constant would be the slowest mode (multigrid on a full
sphere at 32³: 8 cycles unchanged, over 200 with a cell held). In other pockets one cell j is *grounded*, `A_jj += g,
b_j += g t`. It is the cell known to be clamped at t, so the ground does not change the solution, and A becomes
definite. If this is not certain (not an M-matrix, bounds on both sides, a Neumann solution of limited accuracy), the
result is checked and the ground is moved. If a method fails on a compatible pocket, that pocket is grounded too, which
selects the solution with x_j = 0.

A pocket may reach over many ranks. Each of them then has its own rows of it, maybe none, and one of them has the
ground; sums and extremes go over all ranks (`Operator.comm`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...core import rounding
from ...inverse.base import Recipe
from ...inverse.krylov.cg import CG
from ...inverse.krylov.direct import unlike_m_matrix
from ...inverse.precond.deflation import Deflated
from ...inverse.precond.incomplete import MIC
from ...inverse.precond.jacobi import Jacobi
from ...operators.base import Operator, once_for_an_operator, row_sums
from ...operators.csr import CSROperator
from ...operators.masked import LowRank, Masked
from ...problem.box import BoxProblem, WallEdges
from ...problem.monitor import Start
from .refinement import Substitute

#: what a singular part is in a liquid
IN_A_LIQUID = (
    "; in a liquid this is a pocket without a free surface that is compressed or expanded, and no wall there lets it "
    "separate"
)


@dataclass
class Pocket:
    """One singular part of a problem."""

    #: rows of this rank, and the number of rows on all ranks
    rows: np.ndarray
    size: int
    #: s, the sum of b
    total: float
    #: "compatible", "expanding" (a solution exists though s != 0) or "infeasible"
    kind: str
    #: solved without bounds and shifted afterwards; otherwise the bounds stay
    shifted: bool
    #: whether a row is grounded; this row, -1 if another rank has it, and the value it is held at
    grounded: bool = False
    ground: int = -1
    target: float = 0.0


class WithoutPockets(Substitute):
    """A problem that methods can solve in place of a problem with pockets, and the map from its solution back."""

    def __init__(self, original: BoxProblem, pockets: list[Pocket]):
        self.original, self.pockets = original, pockets
        self.problem, self.judge = _grounded(original, pockets), self._compatible()

    def enter(self, start):
        box, active = self.problem.box, start.active
        box.project(start.x, out=start.x)
        return Start(start.x, None if active is None else box.clampable(active), start.cold)

    def leave(self, x):
        """Shift the pockets that were solved up to a constant."""
        x = x.copy()
        for pocket in self.pockets:
            if pocket.shifted:
                x[pocket.rows] += _shift(self.original, pocket, x[pocket.rows])
        return x

    def change(self, start, status):
        # Three causes are possible: the method cannot treat a singular matrix; a ground lies in the wrong place; or the
        # ground holds the sum of the remaining residuals of its pocket, and a smaller tolerance helps.
        if self.ground():
            start.x[~np.isfinite(start.x)] = 0.0
        elif status == "converged" and self.moved(start.x):
            start.active = None
        else:
            return False
        return True

    @property
    def infeasible(self) -> list[Pocket]:
        return [p for p in self.pockets if p.kind == "infeasible"]

    def moved(self, x: np.ndarray) -> bool:
        """True if a ground changed the solution; the ground is then moved to a cell that is clamped in x."""
        A, lower, upper = self.original.A, self.original.box.lower, self.original.box.upper
        dual = self.original.gradient(x)
        change = False
        for pocket in self.pockets:
            rows, j = pocket.rows, pocket.ground
            if pocket.shifted or not pocket.grounded or not A.comm.largest(int(j >= 0 and x[j] != pocket.target)):
                continue
            at_lower, at_upper = x[rows] <= lower[rows], x[rows] >= upper[rows]
            force = np.where(at_lower, dual[rows], np.where(at_upper, -dual[rows], -np.inf))
            strongest, pocket.ground = _greatest(A, force, rows)
            pocket.grounded = strongest > 0
            if not pocket.grounded:
                pocket.ground = -1
            pocket.target = float(x[pocket.ground]) if pocket.ground >= 0 else 0.0
            change = True
        if change:
            self.problem = _grounded(self.original, self.pockets)
        return change

    def ground(self) -> bool:
        """Ground every compatible pocket, for a method that needs a definite matrix; False if all have a ground."""
        bare = [p for p in self.pockets if p.shifted and not p.grounded]
        for pocket in bare:
            pocket.grounded = True
            if self.original.A.comm.first(pocket.rows.size > 0):
                pocket.ground = int(pocket.rows[0])
        if bare:
            self.problem = _grounded(self.original, self.pockets)
        return bool(bare)

    def _compatible(self) -> BoxProblem:
        """The problem that the solution solves: the given problem, with b made compatible where it was not."""
        b = self.original.b.copy()
        for pocket in self.infeasible:
            b[pocket.rows] -= pocket.total / pocket.size
        box = self.original.box
        out = BoxProblem(self.original.A, b, box.lower, box.upper, edges=self.original.edges)
        out.scale = self.original.scale
        return out

    @property
    def sentence(self) -> str:
        """A sentence on what had to be changed, for the message of the solution."""
        bad = self.infeasible
        worst = max(bad, key=lambda p: abs(p.total))
        pockets = "one part" if len(bad) == 1 else f"{len(bad)} parts"
        return (
            f"A is singular on {pockets} of the unknowns (rows sum to zero), b does not sum to zero there (up to "
            f"{worst.total:.3g} over {worst.size} unknowns) and no bound makes up for it, so no solution exists; the "
            f"mean of b was subtracted there{IN_A_LIQUID}"
        )


def without_pockets(problem: BoxProblem, linear: bool = False, cycle: Recipe | None = None) -> WithoutPockets | None:
    """Find the pockets of a problem and make it solvable; None if there are none.

    With `linear`, bounds do not count; this is for methods that ignore them. `cycle` solves in pockets that reach over
    many ranks.
    """
    # The theory needs a symmetric matrix: in others a null vector on the right says nothing about the sum of b. And the
    # constant must be its only null vector: an elastic body that nothing holds has others, which bounds must stop.
    A = problem.A
    if not (problem.may_float and A.symmetric):
        return None
    if A.bodies is None and not A.comm.largest(int(_sum_to_zero(A).any())):
        return None
    found = None if isinstance(A, CSROperator) and unlike_m_matrix(A) else find(A)
    if not found:
        return None
    pockets = [_classify(problem, rows, linear, cycle) for rows in found]
    return WithoutPockets(problem, pockets)


@once_for_an_operator
def _sum_to_zero(A: Operator) -> np.ndarray:
    """The rows whose entries sum to zero."""
    return ~(np.abs(row_sums(A)) > rounding.SUM * A.diagonal)


@once_for_an_operator
def find(A: Operator) -> list[np.ndarray]:
    """This rank's rows of every connected part of A whose rows all sum to zero; they are found once for an operator."""
    if A.bodies is not None:
        return _find_around_bodies(A.bodies)
    count, label = A.components()
    opened = np.zeros(count, np.int8)
    opened[label[~_sum_to_zero(A)]] = 1
    closed = A.comm.largest(opened) == 0
    if not closed.any():
        return []
    members = np.flatnonzero(closed[label] & (label >= 0))
    members = members[np.argsort(label[members], kind="stable")]
    return np.split(members, np.searchsorted(label[members], np.flatnonzero(closed)[1:]))


def _find_around_bodies(A: LowRank) -> list[np.ndarray]:
    """Pockets whose constant pressure does not move a body. Pockets in balance across a body count as one pocket."""
    closed = find(A.base)
    if not closed or not A.rank:
        return closed
    part = np.full(A.n, -1, np.int64)
    for k, rows in enumerate(closed):
        part[rows] = k
    mine = part[A.touched]
    hit = mine >= 0
    sums = sp.csr_array((np.ones(hit.sum()), (mine[hit], np.flatnonzero(hit))), shape=(len(closed), A.touched.size))
    push, size = A.comm.total(np.stack([(sums @ A.U).toarray(), (sums @ abs(A.U)).toarray()]))
    size = np.maximum(size, rounding.SUM * size.max(axis=0))
    moves = (np.abs(push) > rounding.VANISHED * size).any(axis=1)
    found = [rows for rows, m in zip(closed, moves) if not m]
    _, label = A.components()
    name = A.comm.largest(np.array([label[rows[0]] if rows.size else -1 for rows in closed]))
    for group in np.unique(name[moves]):
        members = np.flatnonzero(moves & (name == group))
        if (np.abs(push[members].sum(axis=0)) <= rounding.VANISHED * size[members].sum(axis=0)).all():
            found.append(np.sort(np.concatenate([closed[k] for k in members])))
    return found


def _classify(problem: BoxProblem, rows: np.ndarray, linear: bool, cycle: Recipe | None) -> Pocket:
    A, b = problem.A, problem.b[rows]
    lower, upper = problem.box.lower[rows], problem.box.upper[rows]
    low, high = np.isfinite(lower), np.isfinite(upper)
    sums = A.comm.total(np.array([rows.size, b.sum(), np.abs(b).sum(), low.sum(), high.sum()], float)).tolist()
    size, total, any_low, any_high = int(sums[0]), sums[1], sums[3] > 0, sums[4] > 0
    if problem.edges is not None:
        any_low = bool(np.isin(problem.edges.a, rows).any())
    if linear:
        any_low = any_high = False
    balanced = abs(total) <= rounding.TOTAL * sums[2]
    if balanced:
        kind = "compatible"
    elif (total < 0 and any_low) or (total > 0 and any_high):
        kind = "expanding"
    else:
        kind = "infeasible"
    if problem.edges is not None:  # only sweeps solve problems with edges, and they do not need a definite matrix
        return Pocket(rows, size, total, kind, shifted=kind != "expanding")
    if kind != "expanding" and not (any_low and any_high):
        return Pocket(rows, size, total, kind, shifted=True)
    y = _neumann(A, rows, b - total / size, cycle)
    if kind == "compatible":
        ends = A.comm.largest(np.array([np.max(y - upper, initial=-np.inf), np.max(lower - y, initial=-np.inf)]))
        if ends.sum() <= 0:
            return Pocket(rows, size, total, kind, shifted=True)
    if total <= 0 and any_low:
        wall, near = lower, np.where(low, lower - y, -np.inf)
    else:
        wall, near = upper, np.where(high, y - upper, -np.inf)
    _, ground = _greatest(A, near, rows)
    target = float(wall[np.searchsorted(rows, ground)]) if ground >= 0 else 0.0
    return Pocket(rows, size, total, kind, False, True, ground, target)


def _greatest(A: Operator, values: np.ndarray, rows: np.ndarray) -> tuple[float, int]:
    """The largest value over all ranks, and the row that has it; -1 on other ranks than the first that has it."""
    own = float(np.max(values, initial=-np.inf))
    best = float(A.comm.largest(own))
    mine = A.comm.first(rows.size > 0 and own == best)
    return best, int(rows[np.argmax(values)]) if mine else -1


def _shift(problem: BoxProblem, pocket: Pocket, x: np.ndarray) -> float:
    """The constant that shifts a solution without bounds to the smallest values that its lower bounds allow."""
    A, rows = problem.A, pocket.rows
    if problem.edges is not None:
        inside = np.isin(problem.edges.a, rows)
        if inside.any():
            full = np.zeros(problem.n)
            full[rows] = x
            return -float(problem.edges.values(full)[inside].min())
        return -float(x.mean())
    lower, upper = problem.box.lower[rows], problem.box.upper[rows]
    up, down = A.comm.largest(
        np.array([np.max(lower - x, initial=-np.inf), np.max(x - upper, initial=-np.inf)])
    ).tolist()
    if up > -np.inf:
        return up
    if down > -np.inf:
        return -down
    return -float(A.comm.total(float(x.sum()))) / pocket.size


def _neumann(A: Operator, rows: np.ndarray, b: np.ndarray, cycle: Recipe | None) -> np.ndarray:
    """A solution of A y = b on one pocket, with the mean of b removed; it is used only to compare cells."""
    if A.comm.size > 1:
        assert cycle is not None
        inside, full, out = np.zeros(A.n, bool), np.zeros(A.n), np.zeros(A.n)
        inside[rows], full[rows] = True, b
        CG(cycle).setup(Masked(A, inside)).solve(full, out, rtol=rounding.SUM, maxiter=1000)
        return out[rows]
    part = A.part(rows)
    y = np.zeros(rows.size)
    shift = np.zeros(rows.size)
    shift[0] = _strength(part.diagonal, 0)
    part = part.plus_diagonal(shift)
    CG(Deflated(MIC()) if part.has_entries else Jacobi()).setup(part).solve(b, y, rtol=rounding.SUM, maxiter=20_000)
    return y


def _strength(diagonal: np.ndarray, j: int) -> float:
    return float(diagonal[j]) or float(diagonal.max(initial=0.0)) or 1.0


def _grounded(problem: BoxProblem, pockets: list[Pocket]) -> BoxProblem:
    """The problem without bounds on compatible pockets, and with every ground added."""
    b, lower, upper = problem.b.copy(), problem.box.lower.copy(), problem.box.upper.copy()
    shift, target = np.zeros(problem.n), np.zeros(problem.n)
    loose = np.zeros(problem.n, bool)
    edges = problem.edges
    for pocket in pockets:
        rows, j = pocket.rows, pocket.ground
        if pocket.shifted:
            b[rows] -= pocket.total / pocket.size
            lower[rows], upper[rows] = -np.inf, np.inf
            loose[rows] = True
            if edges is not None:
                keep = ~np.isin(edges.a, rows)
                edges = WallEdges(edges.a[keep], edges.b[keep], edges.theta[keep])
        if j >= 0:
            shift[j] = _strength(problem.A.diagonal, j)
            target[j] = pocket.target
    b += shift * target
    coarser = _coarser(problem, loose, shift, target)
    out = BoxProblem(problem.A.plus_diagonal(shift), b, lower, upper, coarser, edges)
    out.scale = problem.scale
    return out


def _coarser(
    problem: BoxProblem, loose: np.ndarray, shift: np.ndarray, target: np.ndarray
) -> Callable[[], BoxProblem] | None:
    """Coarser problems are grounded in the parent cell, by R A P = shift/2^d, and lose the same bounds."""
    if not problem.can_coarsen:
        return None

    def make() -> BoxProblem:
        coarse = problem.coarsen()
        parent, dimension = _parents(problem.A, coarse.A)
        half, value = np.zeros(coarse.n), np.zeros(coarse.n)
        held = np.flatnonzero((shift > 0) & (parent >= 0))
        half[parent[held]] = shift[held] / 2**dimension
        value[parent[held]] = target[held]
        free = np.zeros(coarse.n, bool)
        free[parent[loose & (parent >= 0)]] = True
        lower = np.where(free, -np.inf, coarse.box.lower)
        upper = np.where(free, np.inf, coarse.box.upper)
        A = coarse.A.plus_diagonal(half)
        return BoxProblem(A, coarse.b + half * value, lower, upper, _coarser(coarse, free, half, value), coarse.edges)

    return make


def _parents(fine: Operator, coarse: Operator) -> tuple[np.ndarray, int]:
    """The coarse parent of each fine unknown, -1 if it has none, and the dimension of the grid."""
    fine = fine if fine.bodies is None else fine.bodies.base
    assert fine.stencil is not None and coarse.stencil is not None
    rows, coarser = fine.stencil.rows, coarse.stencil.rows
    ijk = np.unravel_index(rows.cells, rows.shape)
    above = np.ravel_multi_index(tuple(c // 2 for c in ijk), coarser.shape)
    at = np.searchsorted(coarser.cells, above)
    at[at == coarse.n] = 0
    hit = coarser.cells[at] == above if coarse.n else np.zeros(fine.n, bool)
    return np.where(hit, at, -1), rows.dimension
