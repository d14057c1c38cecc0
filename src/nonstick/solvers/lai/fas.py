"""FAS multigrid (Lai 2020, Algorithm 3): V-cycles on the complementarity problem itself.

`N(p) = f` on every level, with `N(p) = max(min(A p - b, D(p - lower)), D(p - upper))` and f = 0 on the finest.
On coarse levels `A_H = R A P`, `b_H = R b`, `p_H = R p` and `f_H = N_H(R p) + R(f - N(p))`; the correction is
`p += P(p_H - R p)`. The smoother is projected Gauss–Seidel; row i of N(p) = f clips to `lower + f/D` and `upper + f/D`,
not to the bounds.

Departures from the paper:
- D is the diagonal of A on every level, so that both sides of the min have the same unit (with D = 1 the cycle stalls);
- unknowns are shifted so that the bound of a constrained row is 0, which makes restricting bounds exact;
- a coarse row is bounded where any of its children is (the paper leaves it open);
- `band` extra sweeps over the rows near constrained ones keep the cycle count flat; 0 is the paper's method;
- a coarse row is held if at least the part `hold` of its children sits on a bound. A row that is not held follows its
  linear branch. Liquid that touches only the surface it is about to leave (a chamber under a ceiling) is then corrected
  as if no wall were there, and the cycle stalls. None is the paper's method.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...core import rounding
from ...inverse.multigrid.grid.geometric import Geometric
from ...inverse.multigrid.smoothers import checkerboard
from ...kernels._csr import _csr_relax
from ...kernels._stencil import _stencil_relax
from ...operators.base import Operator
from ...operators.transfer import Transfer
from ...problem.box import BoxProblem
from ..base import Method
from ..bodies_apart import solve_apart
from ._fas import _clip_residual, _coarse_equation, _csr_solve, _hold, _spread_band


@dataclass(frozen=True)
class FASSettings:
    """Projected Gauss–Seidel on the coarsest level."""

    #: the limit on visited entries
    work: int = 1_000_000


SETTINGS = FASSettings()


@dataclass(frozen=True)
class FAS(Method):
    """Full approximation scheme: multigrid on the complementarity problem itself, V-cycles.

    Parameters
    ----------
    coarsening : Geometric
        How the next coarser level is made.
    pre, post : int
        Sweeps before and after the coarse levels.
    band, band_width : int
        Extra sweeps, before and after, over rows within `band_width` couplings of a constrained row.
    hold : float, optional
        Part of the children that must be clamped for a coarse row to be held; None holds none.
    smallest, max_levels : int
        Coarsening stops at this many unknowns, or levels.
    maxiter : int
        Limit of cycles.
    patience, progress
        The method has stagnated if `patience` cycles did not reduce the residual to the part `progress` of its value.
    direct : bool
        Discretise coarse levels again (`problem.coarsen()`) instead of taking R A P.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.solvers import FAS
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, FAS()).converged
    True
    """

    coarsening: Geometric = field(default_factory=Geometric)
    pre: int = 2
    post: int = 2
    band: int = 2
    band_width: int = 2
    hold: float | None = 0.5
    smallest: int = 50
    max_levels: int = 20
    maxiter: int = 200
    patience: int = 20
    progress: float = 0.5
    direct: bool = False
    needs_stencil: ClassVar[bool] = True

    @property
    def treats(self) -> frozenset[str]:
        return frozenset({"bodies"} if self.band else ())  # the paper's method has no bodies

    def check(self, problem):
        super().check(problem)
        if self.direct:
            problem.require_coarser()

    def solve(self, problem, start, monitor):
        if problem.A.bodies is not None:
            solve_apart(self, problem, start, monitor)
            return
        with monitor.setup():
            levels = self.hierarchy(problem)
        top, x = levels[0], start.x
        x -= top.shift
        top.x = x
        while not monitor.check(*top.unshifted(problem)) and monitor.iterations < monitor.limit(self.maxiter):
            if stalled(monitor.history, self.patience, self.progress):
                monitor.stop("diverged" if monitor.kkt > monitor.history[0] else "stagnated")
                break
            self.cycle(levels, 0)
            monitor.iterations += 1
            monitor.outer_iterations += 1
        x += top.shift
        problem.box.project(x, out=x)

    def cycle(self, levels: list[FASLevel], k: int) -> None:
        """Algorithm 3: one V-cycle for N(x) = f on level k."""
        level = levels[k]
        if k == len(levels) - 1:
            level.solve()
            return
        coarse, transfer = levels[k + 1], level.transfer
        level.smooth(self.pre, self.band)
        transfer.restrict(level.residual(), coarse.r)
        transfer.restrict(level.x, coarse.x)
        coarse.begin()
        if self.hold is not None:
            coarse.hold(level, self.hold)
        self.cycle(levels, k + 1)
        coarse.x -= coarse.x0
        transfer.prolong_add(coarse.x, level.x)
        level.smooth(self.post, self.band, backwards=True)

    def hierarchy(self, problem: BoxProblem) -> list[FASLevel]:
        """The levels, finest first, each with its own right-hand side and bounds."""
        if self.direct and not problem.can_coarsen:
            problem.coarsen()  # raises an error for bare matrices, which this ablation cannot treat
        self.coarsening.require(problem.A)
        box = problem.box
        shift = np.where(np.isfinite(box.lower), box.lower, np.where(np.isfinite(box.upper), box.upper, 0.0))
        b = problem.A.residual(problem.b, shift, np.empty(problem.n))
        levels = [FASLevel(problem.A, b, box.lower - shift, box.upper - shift, self.band_width if self.band else 0)]
        levels[0].shift = shift
        while len(levels) < self.max_levels and levels[-1].A.n > self.smallest:
            A = levels[-1].A
            if self.direct:
                problem = problem.coarsen()
                coarse = problem.A
                transfer = self.coarsening.between(A, coarse) if coarse.n else None
            else:
                coarse, transfer = self.coarsening.coarsen(A, len(levels) - 1)
            if transfer is None or not 0 < coarse.n < A.n:
                break
            levels.append(levels[-1].coarser(coarse, transfer))
        return levels


class FASLevel:
    """One level: A, b and bounds, fixed; x, and the box problem (rhs, low, high) that N(x) = f currently is."""

    shift: np.ndarray
    #: to the next level, if this is not the coarsest
    transfer: Transfer
    #: number of children of each row of the next level
    children: np.ndarray

    def __init__(self, A: Operator, b: np.ndarray, lower: np.ndarray, upper: np.ndarray, band_width: int):
        self.A, self.b, self.lower, self.upper, self.band_width = A, b, lower, upper, band_width
        self.x, self.x0, self.r, self._q = (np.zeros(A.n) for _ in range(4))
        self.rhs, self.low, self.high = b.copy(), lower.copy(), upper.copy()
        self._count = np.empty(A.n, np.int32)
        M = A.matrix()
        self._csr = M.data, M.indices, M.indptr
        self._orders = _both_ways(checkerboard(A))
        self._bands = _both_ways(_band(np.isfinite(lower) | np.isfinite(upper), M, band_width))

    def coarser(self, A: Operator, transfer: Transfer) -> FASLevel:
        self.transfer = transfer
        self.children = np.bincount(transfer.parent[transfer.parent >= 0], minlength=A.n).astype(np.int32)
        lower = _restrict_bound(transfer, self.lower, -np.inf)
        upper = _restrict_bound(transfer, self.upper, np.inf)
        return FASLevel(A, transfer.restrict(self.b, np.empty(A.n)), lower, upper, self.band_width)

    def begin(self) -> None:
        """f = N(x) + r for the x and r just restricted."""
        self.x0[:] = self.x
        self.A.residual(self.b, self.x, self._q)
        _coarse_equation(
            self.rhs, self.low, self.high, self._q, self.r, self.x, self.b, self.lower, self.upper, self.A.diagonal
        )

    def hold(self, fine: FASLevel, share: float) -> None:
        """Fix the rows whose children on the finer level are clamped."""
        parent = fine.transfer.parent
        _hold(self.low, self.high, self.x, self._count, fine.children, fine.x, fine.low, fine.high, parent, share)

    def residual(self) -> np.ndarray:
        """f - N(x)"""
        self.A.residual(self.rhs, self.x, self.r)
        _clip_residual(self.r, self.x, self.low, self.high, self.A.diagonal)
        return self.r

    def smooth(self, sweeps: int, band: int, backwards: bool = False) -> None:
        """Projected Gauss–Seidel; the `band` sweeps come after the others, or before them when going backwards."""
        box = self.rhs, self.low, self.high
        if backwards:
            self._sweep_band(box, band, True)
        A = self.A.stencil
        if A is not None:
            tables = *A.weights, A.diagonal, A.rows.start, A.rows.offset, A.rows.parity
            for _ in range(sweeps):
                for colour in (1, 0) if backwards else (0, 1):
                    _stencil_relax(self.x, *box, *tables, colour, 1.0, True)
        else:
            for _ in range(sweeps):
                _csr_relax(self.x, *box, self.A.diagonal, *self._csr, self._orders[backwards], 1.0, True)
        if not backwards:
            self._sweep_band(box, band, False)

    def solve(self) -> None:
        """The coarsest level: sweep until x changes little; a limit keeps the time negligible."""
        sweeps = max(20, SETTINGS.work // max(self._csr[0].size, 1))
        _csr_solve(
            self.x, self.rhs, self.low, self.high, self.A.diagonal, *self._csr, self._orders[0], sweeps, rounding.SINGLE
        )

    def _sweep_band(self, box, band, backwards):
        for _ in range(band if self._bands[0].size else 0):
            _csr_relax(self.x, *box, self.A.diagonal, *self._csr, self._bands[backwards], 1.0, True)

    def unshifted(self, problem: BoxProblem) -> tuple[np.ndarray, np.ndarray]:
        """x and g in the units of the problem."""
        np.add(self.x, self.shift, out=self.x0)
        return self.x0, problem.gradient(self.x0, self._q)


def stalled(history: list[float], patience: int, progress: float, least: int = 1) -> bool:
    """True if the last `patience` cycles together did not reduce the residual to the part `progress`."""
    before, after = history[:-patience], history[-patience:]
    return len(before) >= least and min(after) > progress * min(before)


def _both_ways(order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return order, order[::-1].copy()


def _band(constrained: np.ndarray, M, width: int) -> np.ndarray:
    """Rows within `width` couplings of a constrained one; none if width is 0."""
    near = constrained.astype(np.int8)
    if not width or not constrained.any():
        return np.empty(0, np.int32)
    for _ in range(width):
        if not _spread_band(near, M.indices, M.indptr):
            break
    return np.flatnonzero(near).astype(np.int32)


def _restrict_bound(transfer: Transfer, bound: np.ndarray, infinite: float) -> np.ndarray:
    """The bound of a coarse row: the mean over its bounded children, infinite if there are none."""
    live = np.isfinite(bound) & (transfer.parent >= 0)
    total = np.bincount(transfer.parent[live], bound[live], transfer.n_coarse)
    count = np.bincount(transfer.parent[live], minlength=transfer.n_coarse)
    return np.where(count > 0, total / np.maximum(count, 1), infinite)
