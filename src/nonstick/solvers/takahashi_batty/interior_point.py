"""Interior point by clamped Newton steps (Takahashi–Batty §5, algorithm 3) and its relatives of §7.2.1.

Each step solves one reduced system `(A + W) Δx = r` (see `barrier`) by a few preconditioned CG iterations,
takes the full step and clamps: x into its box, s and z to a tiny epsilon. It needs no active set and no line search;
the barrier parameter stays at 1e-20 of the problem's own scale.

| name in the paper | here |
|---|---|
| IPM-PD | `InteriorPoint(inner)` |
| IPM-P, PLB | `system="primal"`, `system="log-barrier"`: W = mu/s²; PLB has s = c(x) and no z |
| IPM-PD+HS | `step=0.5` |
| IPM-PD+CAB+SS | `adaptive=True`: barrier from the complementarity, steps kept inside (Nocedal–Wright 19.3) |

The paper does not say how CAB+SS selects its step. Here it is 0.995 of the longest one, for x and s apart from z; with
`halved=True` there is one step for all three, halved until it stays inside. That takes about the steps of its table 2.

Departures: all quantities are normalised (by the gradient at the start and the median diagonal), because with the
paper's absolute constants the reachable accuracy depends on the units. The steps start where a coarser problem ends:
from x interpolated from it and swept, each row has its own slack c(x) and its own multiplier, the part of g that pushes
x against its bound. So the first step holds the rows that are held on the coarser grid, and frees the others. One slack
and one multiplier for all rows have to find the contact region from nothing, in steps whose number grows with it. When
the residual has not improved for `patience` steps, the inner solves are made more accurate before the method gives up.

`literal` has none of this. It reads through what the paper leaves open or misprints: algorithm 2 floods from one cell
at a time (as printed it would merge all cells of a block), and rows are put on their bounds at the end, because callers
test x > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ...inverse.base import Recipe
from ...inverse.krylov.cg import CG
from ...operators.masked import Masked
from ...problem.box import BoxProblem
from ...problem.monitor import Monitor
from ..auto.active_set import ActiveSet
from ..base import INSIDE, Method
from ..chentanez_muller.projected_gs import ProjectedSweeps
from .barrier import SETTINGS, Barrier, Best


@dataclass(frozen=True)
class InteriorPoint(Method):
    """Primal-dual interior point with clamped full steps.

    Parameters
    ----------
    inner : Recipe
        Solves the Newton systems, with at most `inner_maxiter` iterations or to `inner_rtol`.
    system : {"primal-dual", "primal", "log-barrier"}
        Which reduced system is solved.
    step : float
        Part of the Newton step that is taken.
    adaptive : bool
        Barrier from the complementarity, and steps kept inside the box.
    halved : bool
        With `adaptive`: one step length for x, s and z, the largest of 1, ½, ¼ … that stays inside.
    mu, epsilon, multiplier : float
        Barrier parameter, smallest slack and multiplier, and multipliers at the start beside `slack`, all in normalised
        units.
    slack : float, optional
        Slacks at the start, in normalised units; None: slacks and multipliers that follow from x and g, row by row.
    first : ActiveSet, optional
        Solves the coarser problem where a solve from zero starts; only with `slack=None`.
    step_norm : float, optional
        Stop on the paper's Newton step norm instead of the KKT residual; in the units of the problem if `literal`,
        else normalised.
    patience : int
        Steps without progress after which inner solves are made more accurate.
    literal : bool
        As printed: the constants in the units of the problem, and none of our departures.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, MIC
    >>> from nonstick.solvers import InteriorPoint
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, InteriorPoint(CG(MIC()), inner_maxiter=100)).converged
    True
    """

    inner: Recipe = field(default_factory=CG)
    inner_maxiter: int = 3
    inner_rtol: float = 1e-4
    system: Literal["primal-dual", "primal", "log-barrier"] = "primal-dual"
    step: float = 1.0
    adaptive: bool = False
    halved: bool = False
    mu: float = 1e-20
    epsilon: float = 1e-16
    slack: float | None = None
    multiplier: float = 1.0
    first: ActiveSet | None = None
    step_norm: float | None = None
    patience: int = 6
    literal: bool = False

    @property
    def as_printed(self) -> bool:
        return self.step_norm is not None

    def solve(self, problem, start, monitor):
        x = start.x
        g = problem.gradient(x)
        barrier = Barrier(problem, g, 1.0 if self.slack is None else self.slack, self.multiplier, self.literal)
        if self.slack is None and barrier.sides:
            if self.first is not None and start.cold and predict(self.first, problem, x, monitor):
                problem.gradient(x, g)
            barrier.begin_at(x, g, problem.A.diagonal)
        operator = Masked(problem.A, None, np.zeros(problem.n))
        inverse, norm = None, np.inf
        r, dx = np.empty(problem.n), np.empty(problem.n)
        best, inner_maxiter = Best(x), self.inner_maxiter
        limit = monitor.limit(200)

        for k in range(limit + 1):
            if self._done(monitor, x, g, norm):
                break
            best.see(k, x, monitor)
            if k - best.gained >= self.patience and self.step_norm is None and not self.literal:
                if inner_maxiter >= 64 * self.inner_maxiter:
                    monitor.stop("stagnated", self._stagnation(best.kkt))
                    break
                inner_maxiter, best.gained = 4 * inner_maxiter, k
            if k == limit:
                break

            mu = self._barrier_parameter(barrier)
            targets = [np.full(side.bound.size, mu) for side in barrier.sides]
            weights = barrier.weights(mu, primal=self.system != "primal-dual")
            operator.update(None, barrier.shift(weights, np.empty(problem.n)))
            with monitor.setup():
                inverse = self.inner.setup(operator, inverse)
            barrier.right_side(x, -g, weights, targets, r)
            dx[:] = 0.0
            monitor.iterations += barrier.newton(inverse, operator, r, dx, self.inner_rtol, inner_maxiter, monitor)
            barrier.recover(x, dx, weights, targets)
            norm = self._advance(problem, barrier, x, dx)
            problem.gradient(x, g)
            monitor.outer_iterations += 1

        if monitor.status != "converged" and self.step_norm is None and best.kkt < np.inf:
            x[:] = best.x
        self._snap(problem, x, monitor)
        monitor.notes["newton_step_norm"] = norm

    @staticmethod
    def _snap(problem, x: np.ndarray, monitor) -> None:
        """Put clamped rows on their bounds. The barrier leaves them inside by a rounding error; callers test x > 0."""
        g = problem.gradient(x)
        active = problem.box.split(x, g, problem.A.diagonal)
        snapped = np.where(active == 0, x, problem.box.at(active))
        if problem.kkt(snapped, problem.gradient(snapped)) > max(monitor.asked, problem.kkt(x, g)):
            return
        allowed = max(monitor.stopping.row_rtol, monitor.row_error(x).value)
        if monitor.stopping.criterion == "papers" or monitor.row_error(snapped).value <= allowed:
            x[:] = snapped

    def _done(self, monitor, x, g, norm: float) -> bool:
        """The KKT rule, or the paper's rule instead; a time limit or divergence ends the solve with either rule."""
        monitor.check(x, g)
        if self.step_norm is not None and monitor.status in ("", "converged"):
            monitor.status = "converged" if norm <= self.step_norm else ""
        return bool(monitor.status)

    def _barrier_parameter(self, barrier: Barrier) -> float:
        if not self.adaptive:
            return self.mu * barrier.unit_x * barrier.unit_z
        # Nocedal–Wright eq. 19.20: the target is lower if the products s·z are more equal.
        mean = barrier.gap_measure()
        smallest = min((float((side.s * side.z).min()) for side in barrier.sides), default=mean)
        spread = max(smallest / mean, 1e-12) if mean > 0.0 else 1.0
        return 0.1 * min(0.05 * (1.0 - spread) / spread, 2.0) ** 3 * mean

    def _advance(self, problem, barrier: Barrier, x: np.ndarray, dx: np.ndarray) -> float:
        """Update x, s and z (eq. 38–39); returns the norm of the Newton step."""
        norm = barrier.step_norm(dx)
        primal = dual = self.step
        if self.adaptive and self.halved:
            longest = min(barrier.longest_steps())
            primal = dual = 1.0 if longest >= 1.0 else 0.5 ** (math.floor(-math.log2(longest)) + 1)
        elif self.adaptive:
            primal, dual = (min(1.0, INSIDE * longest) for longest in barrier.longest_steps())
        x += primal * dx
        problem.box.project(x, out=x)
        for side in barrier.sides:
            if self.system == "log-barrier" or (primal == 1.0 and not self.adaptive and not self.literal):
                # s + Δs equals c(x + Δx). Computing it from x avoids rounding errors, which W would magnify.
                side.s = side.gap(x)
            else:
                side.s = side.s + primal * side.ds
            np.maximum(side.s, self.epsilon * barrier.unit_x, out=side.s)
            side.z = np.maximum(side.z + dual * side.dz, self.epsilon * barrier.unit_z)
        return norm

    def _stagnation(self, best: float) -> str:
        if self.system != "primal-dual":
            return (
                f"the primal barrier system is too ill-conditioned to go below KKT {best:.1e} "
                "(Takahashi–Batty §7.2.1 report the same): take 'ipm-pd' or 'mehrotra'"
            )
        return (
            f"the Newton steps no longer reduce the residual (KKT {best:.1e}): loosen rtol or take 'mehrotra' or 'auto'"
        )


def predict(first: ActiveSet, problem: BoxProblem, x: np.ndarray, monitor: Monitor) -> bool:
    """Set x from the solution of a coarser problem, swept on this grid, if that has a smaller residual."""
    if problem.A.unknowns <= SETTINGS.large or not problem.A.symmetric:
        return False
    with monitor.setup():
        M = first.M.setup(Masked(problem.A))
    predicted = np.empty(problem.n)
    if not first.predict(problem, M, predicted, monitor):
        return False
    sweeps = ProjectedSweeps(problem.A)
    for _ in range(SETTINGS.sweeps):  # interpolation is rough
        sweeps.there_and_back(predicted, problem.b, problem.box.lower, problem.box.upper)
    if problem.kkt(predicted) >= problem.kkt(x):
        return False
    x[:] = predicted
    return True
