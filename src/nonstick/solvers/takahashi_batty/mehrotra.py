"""Mehrotra's predictor–corrector interior point method (Nocedal–Wright algorithm 16.4; Takahashi–Batty §7.2.1).

Each step makes two solves with one matrix. The affine step (target s·z = 0) shows how far the barrier can fall, `sigma
= (mu_affine / mu)³`. The corrector aims at `s·z = sigma mu - Δs Δz`. Steps stay 0.5 % away from the boundary, so the
iterates are interior and need no clamping.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...inverse.base import Recipe
from ...inverse.krylov.cg import CG
from ...kernels._vector import dot
from ...operators.masked import Masked
from ..base import INSIDE, Method
from .barrier import SETTINGS, Barrier, Best


@dataclass(frozen=True)
class Mehrotra(Method):
    """Mehrotra's predictor-corrector interior point method.

    Parameters
    ----------
    inner : Recipe
        Solves the Newton systems, with at most `inner_maxiter` iterations.
    inner_rtol : float
        Must be small enough for the last digits of the solution; 1e-4 is enough on M-matrices.
    slack, multiplier : float
        Where slacks and multipliers start (normalised).
    inside : float
        Part of the longest feasible step that is taken.
    epsilon : float
        Smallest slack and multiplier (normalised): it keeps their quotient finite.
    step_norm : float, optional
        Stop on the norm of the step taken (normalised, as in `InteriorPoint`) instead of the KKT residual.
    patience : int
        Steps without progress after which the method gives up.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, MIC
    >>> from nonstick.solvers import Mehrotra
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, Mehrotra(CG(MIC()))).converged
    True
    """

    inner: Recipe = field(default_factory=CG)
    inner_maxiter: int = 200
    inner_rtol: float = 1e-4
    slack: float = 1.0
    multiplier: float = 1.0
    inside: float = INSIDE
    epsilon: float = 1e-16
    step_norm: float | None = None
    patience: int = 12

    def solve(self, problem, start, monitor):
        x = start.x.copy()
        g = problem.gradient(x)
        barrier = Barrier(problem, g, self.slack, self.multiplier)
        operator = Masked(problem.A, None, np.zeros(problem.n))
        inverse, norm, best = None, np.inf, Best(x)
        r, dx, feasible = (np.empty(problem.n) for _ in range(3))
        slivers = np.flatnonzero(problem.A.diagonal < SETTINGS.sliver * np.median(problem.A.diagonal))
        limit = monitor.limit(200)

        for k in range(limit + 1):
            # The iterate is interior. Its projection is reported, and the residual is that of the projection.
            problem.box.project(x, out=feasible)
            self._snap(barrier, feasible, problem.A.diagonal)
            self._solve_tiny_rows(problem, feasible, slivers)
            monitor.check(feasible)
            if self.step_norm is not None and monitor.status in ("", "converged"):
                monitor.status = "converged" if norm <= self.step_norm else ""
            best.see(k, feasible, monitor)
            start.x[:] = feasible if monitor.status == "converged" or self.step_norm is not None else best.x
            if monitor.status or k == limit:
                break
            if k - best.gained > self.patience and self.step_norm is None:
                monitor.stop("stagnated")
                break

            weights = barrier.weights(0.0, primal=False)
            operator.update(None, barrier.shift(weights, np.empty(problem.n)))
            with monitor.setup():
                inverse = self.inner.setup(operator, inverse)
            minus_gradient = -problem.gradient(x, g)

            mean = barrier.gap_measure()
            dx[:] = 0.0
            targets = [np.zeros(side.bound.size) for side in barrier.sides]
            for corrector in (False, True):
                if corrector:
                    centre = self._centring(barrier, mean)
                    targets = [centre - side.ds * side.dz for side in barrier.sides]
                barrier.right_side(x, minus_gradient, weights, targets, r)
                monitor.iterations += barrier.newton(
                    inverse, operator, r, dx, self.inner_rtol, self.inner_maxiter, monitor
                )
                barrier.recover(x, dx, weights, targets)

            primal, dual = (min(1.0, self.inside * step) for step in barrier.longest_steps())
            norm = barrier.step_norm(dx)
            x += primal * dx
            for side in barrier.sides:
                side.s = np.maximum(side.s + primal * side.ds, self.epsilon * barrier.unit_x)
                side.z = np.maximum(side.z + dual * side.dz, self.epsilon * barrier.unit_z)
            monitor.outer_iterations += 1
        monitor.notes["newton_step_norm"] = norm

    @staticmethod
    def _snap(barrier: Barrier, x: np.ndarray, diagonal: np.ndarray) -> None:
        """Put x on the bounds where the multiplier is larger than the slack: there s → 0 and z stays.

        The comparison uses the diagonal of the row. A cell with only a sliver open has a diagonal a million times
        smaller than others, and its slack is still large when the KKT residual is already small.
        """
        for side in barrier.sides:
            at_bound = side.s * diagonal[side.rows] < 0.1 * side.z
            x[side.rows] = np.where(at_bound, side.bound, x[side.rows])

    @staticmethod
    def _solve_tiny_rows(problem, x: np.ndarray, rows: np.ndarray) -> None:
        """Solve each row with a tiny diagonal separately.

        In units of b an error e of this row counts as d e, so its value would only have the accuracy rtol/d. The row
        has almost no effect on its neighbours.
        """
        if rows.size == 0:
            return
        d = problem.A.diagonal[rows]
        for _ in range(2):  # they may be neighbours of each other
            g = problem.gradient(x)[rows]
            moved = x[rows] - np.divide(g, d, out=np.zeros(rows.size), where=d > 0.0)
            x[rows] = np.clip(moved, problem.box.lower[rows], problem.box.upper[rows])

    @staticmethod
    def _centring(barrier: Barrier, mean: float) -> float:
        primal, dual = barrier.longest_steps()
        after = sum(dot(side.s + primal * side.ds, side.z + dual * side.dz) for side in barrier.sides)
        after /= max(barrier.count, 1)
        return mean * min(1.0, max(after / mean, 0.0)) ** 3 if mean > 0.0 else 0.0
