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

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..kernels import _active_set as kernels
from ..kernels._vector import _xpby, dot
from ..linear.base import Inverse, Recipe
from ..linear.cg import CG
from ..linear.coupled import Coupled, CoupledInverse
from ..multigrid.cycles import V
from ..multigrid.fast import FastCycle, FastMultigrid
from ..multigrid.hierarchy import Multigrid
from ..multigrid.smoothed import Smoothed, SPAI0Sweeps
from ..operators.base import Operator
from ..operators.lowrank import LowRank
from ..operators.masked import Masked
from ..operators.stencil import StencilOperator
from ..precond.jacobi import Jacobi
from ..solution import Monitor, Start
from .band import band
from .base import Method
from .face_descent import face_descent
from .nested import Coarser
from .problem import BoxProblem


@dataclass(frozen=True)
class Auto(Method):
    """`slack`: rows nearer to a tie than this part of the tolerance keep their policy; `sweeps` follow a change."""

    sweeps: int = 2
    slack: float = 0.1
    #: with more bounded rows than this, start from the solution of a coarser problem: a cold start needs the
    #: more changes of the set the larger it is
    many: int = 2_000
    #: tolerance of those coarser solves
    coarse_rtol: float = 1e-4
    #: cycles for which a set that came with the problem is believed, whatever x says
    trust: int = 2
    #: cycles after which the fast cycle has proved too weak (or float32 too short) for the coefficients
    strain: int = 60
    #: set changes after which the set is held until the face problem is solved
    patience: int = 40

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        recipe = preconditioner(problem)
        with monitor.setup():
            M = recipe.setup(_maskable(problem.A))
        cycle = _fast_cycle(M)
        if cycle is not None and start.active is None and self.predicts(problem, start.x):
            self.predict(problem, cycle, start.x)
        ActiveSetCG(problem, recipe, M, self, monitor).run(start.x, start.active)

    def predict(self, problem: BoxProblem, M: FastCycle, x: np.ndarray) -> None:
        """x from the solution of a coarser problem."""
        coarser = Coarser(problem, M)
        start = Start(coarser.problem.box.project(np.zeros(coarser.problem.n)))
        self.solve(coarser.problem, start, Monitor(coarser.problem, self.coarse_rtol))
        coarser.interpolate(start.x, x)
        problem.box.project(x, out=x)

    def predicts(self, problem: BoxProblem, x: np.ndarray) -> bool:
        """Problems with many bounds and without a guess of the user's own go through a coarser one."""
        box = problem.box
        many = np.count_nonzero(box.constrained) > self.many
        return bool(many and not np.any(x - box.project(np.zeros(problem.n))))


@dataclass(frozen=True)
class FastLinear(Method):
    """The same loop without bounds: our multigrid CG for A x = b, the price `auto` is measured against."""

    linear: ClassVar[bool] = True

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        unbounded = BoxProblem(problem.A, problem.b, -np.inf, np.inf)
        recipe = preconditioner(problem)
        with monitor.setup():
            M = recipe.setup(_maskable(problem.A))
        ActiveSetCG(unbounded, recipe, M, Auto(), monitor).run(start.x, None)


def preconditioner(problem: BoxProblem) -> Recipe:
    """The cheapest symmetric cycle the operator allows."""
    if isinstance(problem.A, LowRank):
        return Coupled(FastMultigrid() if isinstance(problem.A.base, StencilOperator) else algebraic())
    return FastMultigrid() if isinstance(problem.A, StencilOperator) else algebraic()


def _maskable(A: Operator) -> Operator:
    """With bodies, the preconditioner is set up for the masked operator it will be refreshed for."""
    return Masked(A) if isinstance(A, LowRank) else A


def _fast_cycle(M: Inverse) -> FastCycle | None:
    """The fast cycle a preconditioner is or rests on."""
    M = M.Z if isinstance(M, CoupledInverse) else M
    return M if isinstance(M, FastCycle) else None


def algebraic() -> Recipe:
    """Smoothed aggregation in float64: slower per cycle, and hard to impress by rough coefficients."""
    return Multigrid(Smoothed(), SPAI0Sweeps(), V(1, 1), smallest=300)


class ActiveSetCG:
    """The loop above, with its vectors."""

    def __init__(self, problem: BoxProblem, recipe: Recipe, M: Inverse, options: Auto, monitor: Monitor):
        self.problem, self.recipe, self.M, self.options, self.monitor = problem, recipe, M, options, monitor
        A, box = problem.A, problem.box
        self.A, self.b, self.d = A, problem.b, A.diagonal
        self.lower, self.upper = box.lower, box.upper
        constrained = box.constrained
        self.rows = np.flatnonzero(constrained).astype(np.int64)
        self.bounded = constrained.view(np.uint8)
        self.active = np.zeros(A.n, np.int8)
        self.r, self.p, self.q = (np.zeros(A.n) for _ in range(3))
        self.z = np.zeros(0 if isinstance(A, StencilOperator) else A.n)
        self._peak = np.zeros(-(-A.n // kernels.BLOCK))
        self._bounded_peak = np.zeros(-(-self.rows.size // kernels.BLOCK))
        self._flips = np.zeros(self._bounded_peak.size, np.int64)
        # The fast cycle takes the free set as it is; other preconditioners are set up for a masked operator.
        self.masked: Masked | None = None if isinstance(M, FastCycle) else Masked(A)
        if isinstance(M, CoupledInverse) and isinstance(M.operator, Masked):
            self.masked = M.operator
        self.band = band(A, constrained)

    def run(self, x: np.ndarray, active: np.ndarray | None) -> None:
        monitor = self.monitor
        if active is not None:
            self.active[:] = active
            self._clip(x)
        self.A.residual(self.b, x, self.r)
        if active is not None:
            self._measure(x)
        elif self.rows.size:
            self._settle(x)
        kernels._peak_unbounded(self.r, self.bounded, self._peak)
        if monitor.watch(self._kkt()) and self._verified(x):
            return
        self._refresh()
        guard = Guard(self.options.patience)
        rho_old, fresh = 0.0, True
        limit = monitor.limit(1000)
        while monitor.iterations < limit:
            rho = self._direction(rho_old, fresh)
            curvature = dot(self.p, self.q)
            if not curvature > 0.0:
                if fresh:  # the preconditioner is not positive here, as it may be off M-matrices
                    self._fall_back(x)
                    return
                fresh = True
                continue
            kernels._advance(x, self.r, self.p, self.q, rho / curvature, self.bounded, self._peak)
            rho_old, fresh = rho, False
            monitor.iterations += 1
            if monitor.iterations == self.options.strain and _fast_cycle(self.M) is not None:
                self._strengthen(x)
                fresh = True
            if guard.hold and self._face_residual() > self._face_goal():
                continue
            if active is not None and monitor.iterations <= self.options.trust:
                continue
            flips = self._judge(x)
            if monitor.watch(self._kkt()):
                if self._verified(x) or monitor.status:
                    return
                fresh = True
            if flips:
                monitor.outer_iterations += 1
                self._settle(x)
                self._refresh()
                fresh = True
                if guard.gives_up(self.active):
                    self._fall_back(x)
                    return

    def _settle(self, x: np.ndarray) -> None:
        """The set has changed: clip, relax near the walls, and let the policy follow from there."""
        self._clip(x)
        self.band.relax(x, self.b, self.lower, self.upper, self.options.sweeps)
        self.band.residual(self.b, x, self.r)
        self._judge(x)
        # Also where no row changed sides: sweeps may have moved a clamped row off its bound, and nothing else would
        # bring it back.
        self._clip(x)
        self.band.residual(self.b, x, self.r)

    def _direction(self, rho_old: float, fresh: bool) -> float:
        """p = M r + β p and q = A p; returns rᵀ M r."""
        M = self.M
        if isinstance(M, FastCycle):
            # The cycle's own float32 copies of r and z spare a pass over memory each.
            M.run(self.r, self._top())
            rho = M.inner()
            M.leave(self.p, 0.0 if fresh else rho / rho_old)
        elif isinstance(M, CoupledInverse) and _fast_cycle(M) is not None:
            rho = M.direction(self.r, self.p, rho_old, fresh, self._top())
        else:
            M.apply(self.r, self.z)
            kernels._zero_clamped(self.z, self.active, self.rows)
            rho = dot(self.r, self.z)
            if fresh:
                self.p[:] = self.z
            else:
                _xpby(self.p, self.z, rho / rho_old)
        self.A.apply(self.p, self.q)
        return rho

    def _top(self) -> float:
        """A size for r, to bring it into the range of float32."""
        return max(self._peak.max(initial=0.0), self._bounded_peak.max(initial=0.0)) or 1.0

    def _judge(self, x: np.ndarray) -> int:
        """Update the policy; the number of rows that changed sides."""
        if not self.rows.size:
            return 0
        slack = self.options.slack * self.monitor.tolerance * self.problem.scale
        kernels._judge(
            self.active, x, self.r, self.d, self.lower, self.upper, self.rows, slack, self._bounded_peak, self._flips
        )
        return int(self._flips.sum())

    def _measure(self, x: np.ndarray) -> None:
        """The residual of the bounded rows; the policy stays."""
        policy = self.active.copy()
        self._judge(x)
        self.active[:] = policy

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

    def _refresh(self) -> None:
        with self.monitor.setup():
            if isinstance(self.M, FastCycle):
                self.M.refresh(self.active == 0)
            else:
                assert self.masked is not None
                self.M = self.recipe.setup(self.masked.update(self.active == 0), self.M)

    def _strengthen(self, x) -> None:
        """Go on with an algebraic hierarchy."""
        self.recipe = Coupled(algebraic())
        self.z = np.zeros(self.A.n)
        self.A.residual(self.b, x, self.r)
        self.masked = Masked(self.A, self.active == 0)
        with self.monitor.setup():
            self.M = self.recipe.setup(self.masked)

    def _fall_back(self, x) -> None:
        """Monotone descent: slow, and certain."""
        recipe = self.recipe if _fast_cycle(self.M) is not None else Jacobi()
        face_descent(self.problem, x, CG(recipe), self.monitor, self.monitor.limit(10_000))


class Guard:
    """Watches the active sets of an iteration that has no convergence proof.

    When a set comes back for the third time, or changes do not die out, the set is held until the face problem is
    solved. Then it is policy iteration, which never sees a set twice on M-matrices; if one comes back, give up.
    """

    def __init__(self, patience: int):
        self.patience = patience
        self.hold = False
        self.changes = 0
        self._seen: Counter[int] = Counter()

    def gives_up(self, active: np.ndarray) -> bool:
        self.changes += 1
        key = hash(active.tobytes())
        self._seen[key] += 1
        if self.hold:
            return self._seen[key] > 1
        if self._seen[key] > 2 or self.changes > self.patience:
            self.hold = True
            self._seen.clear()
        return False
