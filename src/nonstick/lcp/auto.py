"""`auto`: a complementarity solve for about the price of a linear solve.

An active-set method whose inner solve is never finished: one preconditioned CG step per look at the set.

    x feasible; r = b - A x; policy from (x, r), ties free
    repeat
        z = M r on the free rows              M: one float32 multigrid cycle truncated to the free set
        one CG step along p = z + β p         β = 0 after the set has changed
        policy from (x, r); stop on the true KKT residual
        if the policy changed: clip, two projected Gauss–Seidel sweeps, r anew, refresh M

While the set stands still this is plain MG-CG and costs the same. Safeguards, because inexact updates
have no convergence proof: if sets repeat or the changes do not die out, the set is held until the face
problem is solved (exact policy iteration, monotone for M-matrices); if sets repeat even then, a monotone
descent takes over (`face_descent`), which converges for every symmetric positive definite matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import _active_set as kernels
from ..kernels._vector import _xpby, dot
from ..linear.base import Inverse, Recipe
from ..operators.masked import Masked
from ..operators.stencil import StencilOperator
from ..solution import Monitor, Start
from .base import Method
from .problem import BoxProblem
from .projected_gs import ProjectedSweeps


@dataclass(frozen=True)
class Auto(Method):
    """`slack`: rows whose residual is below this part of the tolerance keep their policy."""

    sweeps: int = 2
    slack: float = 0.1
    #: set changes after which the set is held until the face problem is solved
    patience: int = 40

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        loop = ActiveSetCG(problem, preconditioner(problem), self, monitor)
        loop.run(start.x, start.active)


def preconditioner(problem: BoxProblem) -> Recipe:
    """The cheapest symmetric cycle the operator allows."""
    if isinstance(problem.A, StencilOperator):
        from ..multigrid.fast import FastMultigrid

        return FastMultigrid()
    from ..precond.ilu import ILU

    return ILU()


class ActiveSetCG:
    """The loop above, with its vectors."""

    def __init__(self, problem: BoxProblem, M: Recipe, options: Auto, monitor: Monitor):
        self.problem, self.recipe, self.options, self.monitor = problem, M, options, monitor
        A, box = problem.A, problem.box
        self.A, self.b, self.d = A, problem.b, A.diagonal
        self.lower, self.upper = box.lower, box.upper
        constrained = box.constrained
        self.rows = np.flatnonzero(constrained).astype(np.int64)
        self.bounded = constrained.view(np.uint8)
        self.active = np.zeros(A.n, np.int8)
        self.r, self.z, self.p, self.q = (np.zeros(A.n) for _ in range(4))
        self._peak = np.zeros(-(-A.n // kernels.BLOCK))
        self._bounded_peak = np.zeros(-(-self.rows.size // kernels.BLOCK))
        self._flips = np.zeros(self._bounded_peak.size, np.int64)
        self.masked = Masked(A, np.ones(A.n, bool))
        self.smoother = ProjectedSweeps(A)
        self.M: Inverse | None = None
        self.changes = 0

    def run(self, x: np.ndarray, active: np.ndarray | None) -> None:
        monitor, slack = self.monitor, self.options.slack * self.monitor.tolerance * self.problem.scale
        if active is not None:
            self.active[:] = active
            self._clip(x)
        self._relax(x)
        self.A.residual(self.b, x, self.r)
        self._judge(x, slack)
        if monitor.watch(self._kkt()) and self._verified(x):
            return
        self._refresh()
        seen: set[int] = set()
        hold, rho_old, fresh = False, 0.0, True
        limit = monitor.limit(1000)
        while monitor.iterations < limit:
            rho = self._direction(rho_old, fresh)
            curvature = dot(self.p, self.q)
            if not curvature > 0.0:
                if fresh:
                    monitor.stop("stagnated")
                    return
                fresh = True
                continue
            alpha = rho / curvature
            kernels._advance(x, self.r, self.p, self.q, alpha, self.bounded, self._peak)
            rho_old, fresh = rho, False
            monitor.iterations += 1
            if hold and self._face_residual() > self._face_goal():
                continue
            flips = self._judge(x, slack, peaked=True)
            if monitor.watch(self._kkt()):
                if self._verified(x) or monitor.status:
                    return
                fresh = True
            if flips:
                self.changes += 1
                monitor.outer_iterations += 1
                self._clip(x)
                self._relax(x)
                self.A.residual(self.b, x, self.r)
                self._judge(x, slack)
                if monitor.watch(self._kkt()) and self._verified(x):
                    return
                self._refresh()
                fresh = True
                key = hash(self.active.tobytes())
                if hold and key in seen:
                    self._fall_back(x)
                    return
                if key in seen or self.changes > self.options.patience:
                    if not hold:
                        seen.clear()
                    hold = True
                seen.add(key)

    def _direction(self, rho_old: float, fresh: bool) -> float:
        assert self.M is not None
        self.M.apply(self.r, self.z)
        kernels._zero_clamped(self.z, self.active, self.rows)
        rho = dot(self.r, self.z)
        if fresh:
            self.p[:] = self.z
        else:
            _xpby(self.p, self.z, rho / rho_old)
        self.A.apply(self.p, self.q)
        return rho

    def _judge(self, x, slack: float, peaked: bool = False) -> int:
        """Update the policy; the number of rows that changed sides."""
        if not peaked:
            kernels._peak_unbounded(self.r, self.bounded, self._peak)
        kernels._judge(
            self.active, x, self.r, self.d, self.lower, self.upper, self.rows, slack, self._bounded_peak, self._flips
        )
        return int(self._flips.sum())

    def _kkt(self) -> float:
        return max(self._peak.max(initial=0.0), self._bounded_peak.max(initial=0.0)) / self.problem.scale

    def _verified(self, x) -> bool:
        """The residual was updated by recurrence and x may sit a rounding outside the box: look again."""
        self.problem.box.project(x, out=x)
        self.A.residual(self.b, x, self.r)
        np.negative(self.r, out=self.q)
        return self.monitor.check(x, self.q)

    def _face_residual(self) -> float:
        return float(np.abs(self.r[self.active == 0]).max(initial=0.0))

    def _face_goal(self) -> float:
        return 0.1 * self.monitor.tolerance * self.problem.scale

    def _clip(self, x) -> None:
        kernels._clip(x, self.lower, self.upper, self.active, self.rows)

    def _relax(self, x) -> None:
        self.smoother.run(x, self.b, self.lower, self.upper, count=self.options.sweeps)

    def _refresh(self) -> None:
        with self.monitor.setup():
            self.masked.update(self.active == 0)
            self.M = self.recipe.setup(self.masked, self.M)

    def _fall_back(self, x) -> None:
        from ..linear.cg import CG
        from .face_descent import face_descent

        face_descent(self.problem, x, CG(self.recipe), self.monitor, self.monitor.limit(1000))
