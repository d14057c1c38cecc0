"""Full multigrid with projected smoothing (Chentanez and Müller 2011, algorithms 1-3).

Coarse levels are the problem itself, discretised again on coarser grids (`problem.coarsen()`, §3.1.1); a coarse level
solves for a correction p. Its bounds are the bounds of the finer level minus the solution there (DownsampleSubtract,
eq. 19):

    b^{m-1} = Restrict(b^m - A^m p^m),   p_min^{m-1} = max over the children of p_min^m - p^m

and the mirror image for upper bounds. Smoothing is projected red-black Gauss–Seidel. Unlike in the paper, level 0 is
the finest.

The method as printed stagnates: the exact solution is not a fixed point. Residuals of clamped cells press against the
bound and are not errors, but they are restricted into free coarse neighbours. Unless `literal` is set, we change five
things:

- rows that their residual presses against a bound take no part in restriction and prolongation;
- the projection is part of each colour's sweep, not a step after both colours;
- all levels are constrained, not the S = 3 finest (on large 2D grids three are not enough);
- interpolation is one-sided: it does not cross walls;
- a coarse correction is cut to the box, and damped if it would raise the energy 1/2 p'Ap - b'p. Sweeps never raise the
  energy, so the cycle converges for all coarse grids, even if a thin wall vanishes on them. If it converges too slowly
  (mazes of passages narrower than a coarse cell), the method stagnates; in `fmg` projected SOR then takes over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...inverse.base import Inverse
from ...inverse.multigrid.bottom import Bottom
from ...inverse.multigrid.grid.geometric import Geometric
from ...inverse.multigrid.smoothers import RedBlack
from ...kernels._edges import _edge_bounds
from ...kernels._vector import _axpy, dot
from ...operators.base import Operator
from ...operators.transfer import MatrixTransfer
from ...problem.box import BoxProblem
from ...problem.monitor import PATIENCE
from ..base import Method
from ..bodies_apart import solve_apart
from ..lai._fas import _clip, _feasible_step, _free_rows
from ..lai.fas import FAS, stalled
from .projected_gs import EdgeSweeps, ProjectedSweeps


@dataclass(frozen=True)
class ChentanezMuller(Method):
    """Full multigrid cycles with projected smoothing; coarse levels are the problem on coarser grids.

    Parameters
    ----------
    full_cycles, v_cycles : int, optional
        The number of full cycles, then of V-cycles; None means until converged.
    pre, post : int
        Sweeps before and after the coarse levels.
    constrained_levels : int, optional
        Levels that keep the bounds, the paper's S; None: all. The paper's C is part of `problem.coarsen()`.
    literal : bool
        Exactly as printed, without our repairs, down to a grid that is two cells wide.
    projected : bool
        False ignores the bounds: plain multigrid with the same cycles, the "no LCP" of the paper's table 1.
    maxiter : int
        Limit of cycles.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.solvers import ChentanezMuller
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, ChentanezMuller()).converged
    True
    """

    full_cycles: int | None = None
    v_cycles: int | None = 0
    pre: int = 4
    post: int = 4
    constrained_levels: int | None = None
    literal: bool = False
    projected: bool = True
    maxiter: int = 1000

    @property
    def treats(self) -> frozenset[str]:
        return frozenset({"edges"} if self.as_printed or self.linear else {"edges", "bodies"})

    @property
    def linear(self) -> bool:
        return not self.projected

    @property
    def as_printed(self) -> bool:
        return self.literal or self.full_cycles is not None

    def check(self, problem):
        super().check(problem)
        problem.require_coarser()

    def solve(self, problem, start, monitor):
        """Algorithm 1."""
        if problem.A.bodies is not None:
            solve_apart(self, problem, start, monitor)
            return
        with monitor.setup():
            levels = self.discretise(problem)
        top, g = levels[0], np.empty(problem.n)
        top.x = start.x
        limit = monitor.limit(self.maxiter)
        full = limit if self.full_cycles is None else self.full_cycles
        total = limit if self.v_cycles is None else min(limit, full + self.v_cycles)
        watched = self.full_cycles is None and self.projected and (self.literal or problem.edges is None)
        while not monitor.check(top.x, problem.gradient(top.x, g)) and monitor.iterations < total:
            if watched and stalled(monitor.history, PATIENCE.cycles, 0.9 if self.literal else 0.3, PATIENCE.cycles):
                monitor.stop("stagnated")
                break
            if monitor.iterations < full:
                self.full_cycle(levels)
            else:
                self.v_cycle(levels, 0)
            monitor.iterations += 1
            monitor.outer_iterations += 1
        monitor.notes["levels"] = [level.A.n for level in levels]

    def full_cycle(self, levels: list[ProjectedLevel]) -> None:
        """Algorithm 3: restrict the residual to the coarsest level, then do one cycle per level, coarse to fine."""
        for k in range(len(levels) - 1):
            self.descend(levels, k)
        self.solve_bottom(levels[-1])
        for k in reversed(range(len(levels) - 1)):
            self.ascend(levels, k)
            self.v_cycle(levels, k)

    def v_cycle(self, levels: list[ProjectedLevel], k: int) -> None:
        """Algorithm 2."""
        level = levels[k]
        if k == len(levels) - 1:
            self.solve_bottom(level)
            return
        level.smooth(self.pre)
        self.descend(levels, k)
        self.v_cycle(levels, k + 1)
        self.ascend(levels, k)
        level.smooth(self.post)

    def descend(self, levels: list[ProjectedLevel], k: int) -> None:
        """Residual and bounds of level k+1 from those of level k; the correction there starts at zero."""
        fine, coarse = levels[k], levels[k + 1]
        fine.measure()
        fine.transfer.restrict(fine.r, coarse.b)
        coarse.x[:] = 0.0
        if not self.projected:
            return
        if self.constrained_levels is None or k < self.constrained_levels:
            fine.transfer.restrict_bounds(fine.lower, fine.upper, fine.x, coarse.lower, coarse.upper)
        else:
            coarse.lower[:], coarse.upper[:] = -np.inf, np.inf

    def ascend(self, levels: list[ProjectedLevel], k: int) -> None:
        """Add the correction of level k+1 to level k."""
        fine, coarse = levels[k], levels[k + 1]
        if self.literal or not self.projected:
            fine.transfer.prolong_add(coarse.x, fine.x)
        else:
            fine.transfer.prolong(coarse.x, fine.step)
            fine.take_step()

    def solve_bottom(self, level: ProjectedLevel) -> None:
        """Solve the coarsest level by its pseudo-inverse; if it has bounds, sweeps follow."""
        level.measure()
        level.bottom.apply(level.r, level.step)
        if self.literal or not self.projected:
            level.x += level.step
        else:
            level.take_step()
            level.smooth(self.pre + self.post)

    def level(self, A: Operator, edges: EdgeSweeps | None = None) -> ProjectedLevel:
        """One grid of the hierarchy."""
        plain = not self.projected
        kind = "plain" if plain else "literal" if self.literal and edges is None else "projected"
        return ProjectedLevel(A, kind, edges)

    def discretise(self, problem: BoxProblem) -> list[ProjectedLevel]:
        """The hierarchy, finest level first."""
        if not problem.can_coarsen:
            problem.coarsen()  # raises an error for bare matrices, which this method cannot treat
        edges = None
        if self.projected and problem.edges is not None:
            edges = EdgeSweeps(problem.A, problem.b, problem.edges)
        levels = [self.level(problem.A, edges)]
        if edges is None:
            levels[0].b = problem.b
        if self.projected and problem.edges is None:
            levels[0].lower, levels[0].upper = problem.box.lower, problem.box.upper
        while _halves_again(problem) if self.literal else problem.n > FAS.smallest:
            finer, problem = problem, problem.coarsen()
            if not 0 < problem.n < finer.n:
                break
            levels[-1].connect(problem.A, one_sided=not self.literal)
            levels.append(self.level(problem.A))
        levels[-1].bottom = Bottom().setup(levels[-1].A)
        return levels


def _halves_again(problem: BoxProblem) -> bool:
    """The paper's M = log₂ min(Bx, By, Bz) levels: the last grid is two cells wide."""
    assert problem.A.stencil is not None  # a problem that can be coarsened lies on a grid
    rows = problem.A.stencil.rows
    return min(rows.shape[3 - rows.dimension :]) >= 4


class ProjectedLevel:
    """One grid: its operator, sweeps and vectors, and the transfer to the next coarser grid.

    `kind` is "projected"; "literal" as printed: both colours, then the projection, and every residual counts; or
    "plain": the same without bounds. With `edges`, the constraints on the edges of walls of the finest level (§3.1),
    sweeps project the edges and b includes their pushes; coarse levels have bounds on the cells that keep the edges
    feasible.
    """

    #: to the next coarser level; the coarsest has a direct solver instead
    transfer: MatrixTransfer
    bottom: Inverse

    def __init__(self, A: Operator, kind: str = "projected", edges: EdgeSweeps | None = None):
        self.A, self.kind, self.edges = A, kind, edges
        self._red_black = RedBlack().setup(A)
        self.sweeps = ProjectedSweeps(A)
        self.x, self.b, self.r, self.step, self._work = (np.zeros(A.n) for _ in range(5))
        self.lower, self.upper = np.full(A.n, -np.inf), np.full(A.n, np.inf)
        self.free = np.ones(A.n, bool)
        if edges is not None:
            self.b = edges.b

    def connect(self, coarse: Operator, one_sided: bool) -> None:
        """Trilinear interpolation, one-sided as in Lai's transfers or plain; R = Pᵀ/2ᵈ."""
        self.transfer = Geometric("trilinear", one_sided=one_sided, normalise=one_sided).between(self.A, coarse)
        self.transfer.truncate(self.free)

    def smooth(self, count: int) -> None:
        if self.edges is not None:
            self.edges.run(self.x, 1.0, count)
        elif self.kind == "projected":
            self.sweeps.run(self.x, self.b, self.lower, self.upper, 1.0, count)
        else:
            for _ in range(count):
                self._red_black.pre(self)
                if self.kind == "literal":
                    _clip(self.x, self.lower, self.upper)

    def measure(self) -> None:
        """Compute the residual, and mark the rows that it does not press against a bound."""
        if self.edges is not None:
            edges = self.edges.edges
            _edge_bounds(self.lower, self.x, edges.a, edges.b, edges.theta)
        self.A.residual(self.b, self.x, self.r)
        if self.kind == "projected":
            _free_rows(self.free, self.x, self.r, self.lower, self.upper)

    def take_step(self) -> None:
        """x += alpha·(step cut to the box), with the alpha in [0, 1] of lowest energy; r is that of `measure`."""
        _feasible_step(self.step, self.x, self.lower, self.upper)
        gain = dot(self.r, self.step)
        if gain > 0.0:
            self.A.apply(self.step, self._work)
            curvature = dot(self.step, self._work)
            _axpy(self.x, min(1.0, gain / curvature) if curvature > 0.0 else 1.0, self.step)
