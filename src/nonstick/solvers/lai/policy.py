"""Policy iteration (Lai 2020, Algorithm 1): fix which rows are clamped, solve, decide again.

A policy says of each row whether it is clamped at a bound or free. Given x and g = A x - b, the best policy clamps
the rows where the step -g/d leads out of the box; for x >= 0 that is `d·x < g` (eq. 4.1, with the diagonal d so that
both sides have the same unit). Then the free rows are solved while the others are held at their bounds (eq. 4.2). This
repeats until the optimality residual is small enough.

Ties are free: clamping rows with x = 0 and g = 0 peels one layer of cells per iteration. On M-matrices no policy occurs
twice, symmetric or not (Howard's policy iteration for optimal stopping). On other matrices a policy may, and then
a monotone descent takes over (`descent`).

If A is not symmetric, two projected Gauss–Seidel sweeps, there and back, follow every solve where they lower the
residual. Along the direction of convection a sweep carries the change of one row through all rows behind it, where
policies alone would release one row per iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...inverse.base import Inverse, Recipe
from ...operators.masked import Masked
from ...problem.box import BoxProblem
from ...problem.monitor import Monitor, Start
from ..auto.nested import Prediction, coarser
from ..base import Method
from ..cascade import accelerated, solve_inner
from ..chentanez_muller.projected_gs import ProjectedSweeps
from ..safeguards.descent import RepeatedSets, descend


@dataclass(frozen=True)
class PolicyIteration(Method):
    """Policy iteration: guess which bounds hold, solve the linear system that follows, guess again.

    Parameters
    ----------
    inner : Recipe
        Solves the linear systems. With BiCGStab, GMRES or a sparse factor, A need not be symmetric.
    inner_factor : float
        Their tolerance, as a part of the tolerance of the whole.
    inner_maxiter : int, optional
        At most this many inner iterations per policy; None: until the inner tolerance is reached.
    maxiter : int
        Limit of inner iterations in all.
    patience : int, optional
        Policies without half the residual after which a descent takes over: on matrices unlike M-matrices policies may
        wander for long before one repeats. None: 50 if A is not symmetric, else as many as it takes.
    forcing : float
        The linear systems need not be solved better than to this part of the present residual, until a policy returns;
        0: always to the end.
    nested : bool
        True: a solve from zero begins with the solution of a coarser problem, if the preconditioner has coarse levels
        and there are more unknowns than `large`.
    large : int
        See `nested`.
    coarse_rtol, coarse_part
        Tolerance of the coarser solves, and the part of the first residual at which they may stop.
    coarse_sweeps
        Projected sweeps, there and back, after a prediction: its interpolation is rough.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, ILU
    >>> from nonstick.solvers import PolicyIteration
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, PolicyIteration(CG(ILU()))).converged
    True
    """

    inner: Recipe
    inner_factor: float = 0.5
    inner_maxiter: int | None = None
    maxiter: int = 20_000
    patience: int | None = None
    forcing: float = 0.0
    nested: bool = False
    large: int = 1_000
    coarse_rtol: float = 1e-4
    coarse_part: float = 0.03
    coarse_sweeps: int = 3

    @property
    def treats(self) -> frozenset[str]:
        return super().treats | ({"nonsymmetric"} if self.inner.general else set())

    def solve(self, problem, start, monitor):
        A, b, box, x = problem.A, problem.b, problem.box, start.x
        limit = monitor.limit(self.maxiter)
        sets, exact = RepeatedSets(), self.inner_maxiter is None
        g, rhs, y = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
        masked, inner, inverse = Masked(A), accelerated(self.inner), None
        masked.clampable = box.constrained
        sweeps = None if A.symmetric else ProjectedSweeps(A)
        if self.nested and start.cold and problem.n > self.large and box.constrained.any():
            inverse = self._predict(problem, masked, x, monitor)
        if sweeps is not None and start.cold:
            _swept(problem, sweeps, x)
        problem.gradient(x, g)
        if monitor.check(x, g):
            return
        policy = box.split(x, g, A.diagonal) if start.active is None else start.active
        best, since, inexact = np.inf, 0, False
        patience = self.patience or (np.inf if A.symmetric else 50)
        while not monitor.status and monitor.iterations < limit:
            best, since = (monitor.kkt, 0) if monitor.kkt < 0.5 * best else (best, since + 1)
            wanders = exact and since > patience
            if wanders or (exact and sets.give_up(policy, inexact)):
                reason = f"policies {'wandered' if wanders else 'repeated'}"
                descend(problem, x, self.inner, monitor, limit, reason)
                break
            free = policy == 0
            bound = box.at(policy)
            with monitor.setup():
                inverse = inner.setup(masked.update(free), inverse)
            A.residual(b, bound, rhs)
            rhs[~free] = 0.0
            np.multiply(x, free, out=y)
            remaining = limit - monitor.iterations
            if self.inner_maxiter is not None:
                remaining = min(remaining, self.inner_maxiter)
            aim = monitor.tolerance if sets.settled else max(monitor.tolerance, self.forcing * monitor.kkt)
            inexact = aim > monitor.tolerance
            goal = sets.sharper * self.inner_factor * aim * problem.scale
            solve_inner(inverse, masked, rhs, y, goal, remaining, monitor)
            np.add(y, bound, out=x)
            monitor.outer_iterations += 1
            if sweeps is not None:
                _swept(problem, sweeps, x)
            problem.gradient(x, g)
            policy = box.split(x, g, A.diagonal)
            if monitor.measure(x, g) <= monitor.asked:  # it must hold for the x that is returned
                problem.gradient(box.project(x, out=x), g)
            sets.check(x, g, monitor)
        box.project(x, out=x)

    def _predict(self, problem: BoxProblem, masked: Masked, x: np.ndarray, monitor: Monitor) -> Inverse:
        """Set x from the solution of a coarser problem if that has a smaller residual; returns the inverse of A."""
        with monitor.setup():
            inverse = self.inner.setup(masked)
            below = coarser(problem, inverse)
        if below is not None:
            start = Start(below.problem.box.project(np.zeros(below.problem.n)), cold=True)
            self.solve(below.problem, start, Prediction(below.problem, self.coarse_rtol, self.coarse_part, monitor))
            predicted = np.empty(problem.n)
            below.interpolate(start.x, predicted)
            sweeps = ProjectedSweeps(problem.A)
            for _ in range(self.coarse_sweeps):
                sweeps.there_and_back(predicted, problem.b, problem.box.lower, problem.box.upper)
            if problem.kkt(predicted) < problem.kkt(x):
                x[:] = predicted
        return inverse


def _swept(problem: BoxProblem, sweeps: ProjectedSweeps, x: np.ndarray) -> None:
    """Sweep x in place if that lowers its residual."""
    trial = problem.box.project(x)
    sweeps.there_and_back(trial, problem.b, problem.box.lower, problem.box.upper)
    if problem.kkt(trial) < problem.kkt(x):
        x[:] = trial
