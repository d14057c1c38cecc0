"""`auto`: a complementarity solve for about the price of a linear solve.

An active-set method that never finishes its inner solve: the set is updated after every preconditioned CG step.

    x feasible and relaxed; r = b - A x; policy from (x, r), ties free
    repeat
        z = M r on the free rows              M: one float32 multigrid cycle truncated to the free set
        one CG step along p = z + β p         β = -zᵀA p / pᵀA p: p is kept when the set changes, without clamped rows
        policy from (x, r); stop on the true KKT residual
        if the policy changed: clip, two projected Gauss–Seidel sweeps nearby, a new r, refresh M

While the set does not change, this is plain MG-CG and costs the same. Inexact updates have no convergence proof, so
there are safeguards. If sets repeat or the changes do not stop, the set is held until the face problem is solved (exact
policy iteration, monotone for M-matrices); if sets repeat even then, a monotone descent takes over (`face_descent`),
which converges for every symmetric positive definite matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..inverse.base import Inverse, Recipe
from ..inverse.krylov.cg import CG
from ..kernels import _active_set as kernels
from ..kernels import threads_for
from ..operators.base import Operator
from ..operators.masked import Masked
from ..problem.box import BoxProblem
from ..problem.monitor import Monitor, Start
from .base import Method
from .face_descent import face_descent
from .guard import Guard
from .nearby import Everywhere, nearby
from .nested import Coarser, CoarserMatrix, Prediction, coarser
from .rescaled import rescaled


@dataclass(frozen=True)
class ActiveSet(Method):
    """An inexact active-set method over preconditioned CG, safeguarded.

    Parameters
    ----------
    M
        The preconditioner.
    strong
        The preconditioner used after `strain` iterations: slower, but robust for rough coefficients.
    last
        Preconditioner of the monotone descent, which is used if neither `M` nor `strong` converged.
    bounded
        False ignores the bounds: the same loop is then multigrid CG for A x = b.
    sweeps
        Projected sweeps after a change of the set, near the rows that changed.
    slack
        Rows closer to a tie than this part of the tolerance keep their policy.
    large, many
        With more unknowns than `large` and more bounded ones than `many`, start from the solution of a coarser problem,
        because larger problems need more changes of the set from a cold start.
    bare_large
        The same without a grid: more unknowns than this, and more bounded ones than a twentieth of it.
    bare_sweeps
        Projected sweeps after a prediction without a grid: its interpolation is rougher.
    coarse_rtol, coarse_part
        Tolerance of the coarser solves, and the part of the first residual at which they may stop.
    trust
        Number of iterations in which a set given with the problem is kept, regardless of x.
    strain
        Number of iterations after which `M` (or float32) counts as too weak for the coefficients.
    renewal
        After so many iterations an algebraic hierarchy may be set up anew for the free set.
    patience
        Changes after which the set is held until the face problem is solved.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import nonstick
    >>> from nonstick import cases
    >>> from nonstick.compositions import AUTO
    >>> careful = replace(AUTO, patience=0)  # policy iteration with exact solves
    >>> nonstick.solve_problem(cases.build("circle2d", 24).problem, careful).converged
    True
    """

    M: Recipe
    strong: Recipe
    last: Recipe
    bounded: bool = True
    sweeps: int = 2
    slack: float = 0.1
    large: int = 10_000
    many: int = 500
    bare_large: int = 1_000
    bare_sweeps: int = 5
    coarse_rtol: float = 1e-4
    coarse_part: float = 0.03
    trust: int = 2
    strain: int = 60
    renewal: int = 15
    patience: int = 40

    @property
    def linear(self) -> bool:  # type: ignore[override]
        return not self.bounded

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        with threads_for(problem.n):
            scaled = rescaled(problem)
            if scaled is None:
                self._solve(problem, start, monitor)
            else:
                scaled.solve(self._solve, start, monitor)

    def _solve(self, problem: BoxProblem, start: Start, monitor: Monitor, M: Inverse | None = None) -> None:
        loop = self.loop(problem)(self, problem, monitor, M, start.active)
        worth = start.cold and self._worth_predicting(problem, loop.M)
        predicted = worth and self.predict(problem, loop.M, start.x, monitor)
        loop.run(start.x, start.active if self.bounded else None, predicted)

    def _worth_predicting(self, problem: BoxProblem, M: Inverse) -> bool:
        large, many = (self.large, self.many) if M.algebraic is None else (self.bare_large, self.bare_large // 20)
        A = problem.A
        return self.bounded and A.unknowns > large and A.total(int(np.count_nonzero(problem.box.constrained))) > many

    def loop(self, problem: BoxProblem) -> type[ActiveSetCG]:
        """The loop for a problem."""
        return ActiveSetCG

    def coarser(self, problem: BoxProblem, M: Inverse) -> Coarser | CoarserMatrix | None:
        """The coarser problem that predicts x."""
        return coarser(problem, M)

    def nearby(self, A: Operator) -> Everywhere:
        """What relaxes near the rows that have changed."""
        return nearby(A)

    def predict(self, problem: BoxProblem, M: Inverse, x: np.ndarray, monitor: Monitor | None = None) -> bool:
        """Set x from the solution of a coarser problem; False if M has no coarser problem.

        If `monitor`, which watches the whole solve, is interrupted, the coarser solve ends too.
        """
        below = self.coarser(problem, M)
        if below is None:
            return False
        start = Start(below.problem.box.project(np.zeros(below.problem.n)), cold=True)
        coarse = Prediction(below.problem, self.coarse_rtol, self.coarse_part, monitor)
        with threads_for(below.problem.n):
            self._solve(below.problem, start, coarse, below.inverse())
        below.interpolate(start.x, x)
        return True


class ActiveSetCG:
    """The loop above, with its vectors. The policy and its related arrays exist only for the bounded rows."""

    def __init__(
        self,
        options: ActiveSet,
        problem: BoxProblem,
        monitor: Monitor,
        M: Inverse | None = None,
        active: np.ndarray | None = None,
    ):
        self.options, self.problem, self.monitor = options, problem, monitor
        A, box = problem.A, problem.box
        self.A, self.b, self.bounds = A, problem.b, (box.lower, box.upper)
        constrained = box.constrained if options.bounded else np.zeros(A.n, bool)
        self.rows = np.flatnonzero(constrained)
        every = self.rows.size == A.n  # then copies of vectors for the bounded rows are not needed
        #: bounded rows on all ranks
        self.bounded = A.total(self.rows.size)
        self.lower, self.upper, d = (v if every else v[self.rows] for v in (box.lower, box.upper, A.diagonal))
        self.policy = np.zeros(self.rows.size, np.int8) if active is None else active[self.rows]
        self._settled = self.policy.copy()  # the policy for which x was last adjusted
        self._all = self.rows if every else np.arange(self.rows.size)
        self._moved = np.empty(self.rows.size, np.int64)
        self.r, self.p, self.q = (np.zeros(A.n) for _ in range(3))
        blocks = -(-A.n // kernels.BLOCK)
        self._peak, self._flips = np.zeros(blocks), np.zeros(blocks, np.int64)
        #: the largest residual, and whether a policy has changed, as `_look` and `_advance` found them
        self.peak, self.flipped = 0.0, False
        edges = np.searchsorted(self.rows, kernels.BLOCK * np.arange(blocks + 1))
        self._judge = (constrained.view(np.uint8), self._peak, self.rows, edges, d, self.lower, self.upper, self.policy)
        self.near: Everywhere | None = None
        #: how many more iterations this preconditioner may take: without the entries of A there is only the diagonal
        self._ease = 1 if options.M.fits(A) else 10
        self.recipe = options.M.chosen(A) if options.M.fits(A) else options.last
        #: the operator that M is set up and refreshed for, and in whose layout it finds directions
        self.masked = Masked(A, self._free() if A.largest(int(self.policy.any())) else None)
        with monitor.setup():
            self._precondition(self.recipe.setup(self.masked) if M is None else M)

    def _precondition(self, M: Inverse) -> None:
        """Take directions from M from now on."""
        self.M = M
        self.flexible = self.bounded > 0 or not M.linear
        self.z = M.directions(self.A, flexible=self.flexible)
        self.z.hold(self.rows, self.policy)

    def run(self, x: np.ndarray, active: np.ndarray | None, predicted: bool = False) -> None:
        monitor = self.monitor
        if active is not None:
            self.policy[:] = active[self.rows]
            self._settled[:] = self.policy
            self._clamp(x)
            self.A.residual(self.b, x, self.r)
            self._look(x, np.inf)
        elif self.bounded:
            bare = predicted and self.M.algebraic is not None
            self._relax(x, self.options.bare_sweeps if bare else self.options.sweeps)
            if predicted and self._kkt() > 1.0:
                self._doubt(x)
            self._follow(x)
        else:
            self.A.residual(self.b, x, self.r)
            self._look(x, np.inf)
        if monitor.watch(self._kkt(), x) and self._verified(x):
            return
        self._refresh()
        guard = Guard(self._ease * self.options.patience)
        rho, curvature, disturbed = 0.0, 0.0, True
        limit = monitor.limit(self._ease * 1000)
        while monitor.iterations < limit:
            descent, rho = self._direction(rho, curvature, disturbed)
            curvature, old = self._product(), curvature
            if not curvature > 0.0:
                monitor.meet(self.A.negative(curvature, self.p, self.q))
                if monitor.status:
                    self.problem.box.project(x, out=x)
                    return
                if not old > 0.0:  # p was z: M is not positive here, which can happen if A is not an M-matrix
                    self._fall_back(x)
                    return
                curvature = 0.0
                continue
            disturbed = False
            trusted = active is not None and monitor.iterations < self.options.trust
            held = guard.hold and not self._face_solved(descent / curvature)
            slack = np.inf if trusted or held else self._slack()
            kernels._advance(x, self.r, self.p, self.q, descent / curvature, *self._judge, slack, self._flips)
            self._sum_up()
            monitor.iterations += 1
            if monitor.iterations == self.options.strain and self._strengthen(x):
                curvature = 0.0
            if monitor.iterations % self.options.renewal == 0 and self.M.algebraic is not None:
                self.M.algebraic.slow = True
                self._refresh()
            if slack == np.inf:
                if monitor.interrupted():
                    self.problem.box.project(x, out=x)
                    return
                continue
            if monitor.watch(self._kkt(), x):
                if self._verified(x):
                    return
                disturbed = True
            if self.flipped:
                monitor.outer_iterations += 1
                self._settle(x)
                self._refresh()
                disturbed = True
                if guard.gives_up(self.A.fingerprint(self.policy)):
                    self._fall_back(x)
                    return
        if monitor.maxiter is None and not monitor.status:  # the limit was ours: these coefficients are too much for it
            self._fall_back(x)

    def _relax(self, x: np.ndarray, sweeps: int) -> None:
        """Sweeps over all rows, and a first policy."""
        self._nearby().relax(x, self.b, *self.bounds, self.r, sweeps)
        self._look(x)

    def _doubt(self, x: np.ndarray) -> None:
        """Use zero if its energy is lower: coarse problems do not resolve all coefficients."""
        zero = self.problem.box.project(np.zeros(self.A.n))
        if self._energy(zero) < self._energy(x):
            x[:] = zero
            self.policy[:] = 0
            self._relax(x, self.options.sweeps)

    def _energy(self, x: np.ndarray) -> float:
        """½xᵀA x - bᵀx. An interpolated solution may have large residuals at kinks of its bounds, at a low energy."""
        return -0.5 * self.A.dot(x, 2.0 * self.b - self.A @ x)

    def _nearby(self) -> Everywhere:
        if self.near is None:
            self.near = self.options.nearby(self.A)
        return self.near

    def _settle(self, x: np.ndarray) -> None:
        """The set has changed: clip x, relax around the change, and update the policy."""
        changed = np.flatnonzero(self.policy != self._settled)
        self._settled[:] = self.policy
        kernels._clamp(self._moved, x, self.rows, self.lower, self.upper, self.policy, changed)
        self._nearby().relax(x, self.b, *self.bounds, self.r, self.options.sweeps, self.rows[changed])
        self._look(x, whole=False)
        self._follow(x)

    def _follow(self, x: np.ndarray) -> None:
        """Put rows that changed again, or that sweeps moved off their bounds, where their policy says; update r."""
        self._settled[:] = self.policy
        moved = self._clamp(x)
        if self.A.largest(moved.size):
            self._nearby().residual(self.b, x, self.r, moved)

    def _clamp(self, x: np.ndarray) -> np.ndarray:
        """Put clamped rows on their bounds and free rows inside the box; returns the rows that moved."""
        count = kernels._clamp(self._moved, x, self.rows, self.lower, self.upper, self.policy, self._all)
        return self._moved[:count]

    def _direction(self, rho_old: float, curvature: float, disturbed: bool) -> tuple[float, float]:
        """p = M r + β p; returns rᵀp and rᵀ M r. `curvature`: pᵀq of the last p, 0 if there is none.

        The usual β is for iterations without changes of the set. With bounds, this β makes p conjugate to the last
        direction even if the set has changed since, so the search directions of CG stay useful.
        """
        if self.flexible:
            rho, along = self.z.find_along(self.r, self._top(), self.q)
        else:
            rho, along = self.z.find(self.r, self._top()), 0.0
        beta = 0.0
        if curvature > 0.0:
            beta = -along / curvature if self.flexible else rho / rho_old
        descent = self._combine(beta, rho, disturbed)
        # Few free rows are solved after few steps: what is left of a float32 z after β p is then rounding.
        least = 0.0 if self.M.algebraic is None else 1e-3 * rho
        if not descent > least and beta != 0.0:
            descent = self._combine(0.0, rho, False)
        return descent, rho

    def _product(self) -> float:
        """q = A p; pᵀq."""
        return self.A.energy(self.p, self.q)

    def _combine(self, beta: float, rho: float, disturbed: bool) -> float:
        """p = z + β p on the free rows; rᵀp."""
        self.z.add_to(self.p, beta)
        if beta == 0.0 or not (disturbed or self.M.algebraic):
            return rho  # the last step was exact: rᵀp of its direction is 0
        if disturbed:
            kernels._zero_clamped(self.p, self.rows, self.policy)
        return self.A.dot(self.r, self.p)

    def _top(self) -> float:
        """A scale for r that brings it into the range of float32."""
        return self.peak or 1.0

    def _slack(self) -> float:
        return self.options.slack * self.monitor.tolerance * self.problem.scale

    def _look(self, x: np.ndarray, slack: float | None = None, whole: bool = True) -> None:
        """The residual, and a new policy unless the slack is infinite."""
        kernels._look(x, self.r, *self._judge, self._slack() if slack is None else slack, self._flips, whole)
        self._sum_up()

    def _sum_up(self) -> None:
        peak, flips = self.A.largest(np.array([self._peak.max(initial=0.0), self._flips.any()])).tolist()
        self.peak, self.flipped = peak, flips > 0.0

    def _kkt(self) -> float:
        return self.peak / self.problem.scale

    def _verified(self, x) -> bool:
        """Compute the residual again: it was updated by recurrence, and x may lie outside the box by rounding."""
        if self.bounded:
            self.problem.box.project(x, out=x)
        if self.monitor.status or self.monitor.check(x):
            return True
        self.A.residual(self.b, x, self.r)
        if "row_test" in self.monitor.notes:
            # Small rows fail: their ties are within the slack of large ones. r is not a recurrence now: judge all.
            flipped = self.flipped
            self._look(x, 0.0)
            self.flipped |= flipped
        return False

    def _face_solved(self, alpha: float) -> bool:
        """True if the residual on the free rows will be negligible after the step."""
        left = self.r - alpha * self.q
        left[self.rows[self.policy != 0]] = 0.0
        return self.A.largest(np.abs(left).max(initial=0.0)) <= 0.1 * self.monitor.tolerance * self.problem.scale

    def _refresh(self) -> None:
        """M for the rows that are free now."""
        if not self.bounded:
            return
        with self.monitor.setup():
            M = self.recipe.setup(self.masked.update(self._free()), self.M)
            if M is not self.M:
                self._precondition(M)

    def _free(self) -> np.ndarray:
        free = np.ones(self.A.n, bool)
        free[self.rows[self.policy != 0]] = False
        return free

    def _strengthen(self, x) -> bool:
        """Continue with the strong preconditioner, if that is another one and A has the entries that it needs."""
        if self.recipe == self.options.strong or not self.options.strong.fits(self.A):
            return False
        self.recipe, self.masked = self.options.strong, Masked(self.A, self._free())
        self.A.residual(self.b, x, self.r)
        with self.monitor.setup():
            self._precondition(self.recipe.setup(self.masked))
        return True

    def _fall_back(self, x) -> None:
        """Monotone descent: slow, but it always converges."""
        self.monitor.notes["finished_by"] = "descent"
        recipe = self.options.last if self.recipe == self.options.strong else self.recipe
        face_descent(self.problem, x, CG(recipe), self.monitor, self.monitor.limit(10_000))
