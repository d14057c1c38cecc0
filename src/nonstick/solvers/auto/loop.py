"""The loop of `active_set`: steps of preconditioned CG on a set of free rows that may change after every step."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ...inverse.base import Inverse
from ...inverse.krylov.cg import CG
from ...kernels import _active_set as kernels
from ...operators.masked import Masked
from ...problem.box import BoxProblem
from ...problem.monitor import Monitor
from ..safeguards.descent import face_descent
from .nearby import Everywhere, nearby
from .nested import without_grid

if TYPE_CHECKING:
    from .active_set import ActiveSet


class ActiveSetCG:
    """The loop, with its vectors. The policy and its related arrays exist only for the bounded rows."""

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
        self.bounded = A.comm.total(self.rows.size)
        self.lower, self.upper, d = (v if every else v[self.rows] for v in (box.lower, box.upper, A.diagonal))
        self.policy = np.zeros(self.rows.size, np.int8) if active is None else active[self.rows]
        self._held_policy = self.policy.copy()  # the policy for which x was last adjusted
        self._all = self.rows if every else np.arange(self.rows.size)
        self._moved = np.empty(self.rows.size, np.int64)
        self.r, self.p, self.q = (np.zeros(A.n) for _ in range(3))
        blocks = -(-A.n // kernels.BLOCK)
        self._peak, self._flips = np.zeros(blocks), np.zeros(blocks, np.int64)
        #: the largest residual, and whether a policy has changed, as `_test_bounds` and `_advance` found them
        self.peak, self.flipped = 0.0, False
        edges = np.searchsorted(self.rows, kernels.BLOCK * np.arange(blocks + 1))
        self._judge = (constrained.view(np.uint8), self._peak, self.rows, edges, d, self.lower, self.upper, self.policy)
        self.near: Everywhere | None = None
        #: how many more iterations the preconditioner may take: without the entries of A there is only the diagonal
        self._ease = 1 if A.has_entries or A.comm.size > 1 else 10
        self.recipe = options.M.chosen(A)
        monitor.describe(f"{'active-set ' if options.bounded else ''}CG over {self.recipe.label}")
        #: the operator that M is set up and refreshed for, and in whose layout it finds directions
        self.masked = Masked(A, self._free() if A.comm.largest(int(self.policy.any())) else None)
        self.masked.clampable = constrained
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
            self._held_policy[:] = self.policy
            self._clamp(x)
            self.A.residual(self.b, x, self.r)
            self._test_bounds(x, np.inf)
        elif self.bounded:
            bare = predicted and without_grid(self.M)
            self._relax(x, self.options.bare_sweeps if bare else self.options.sweeps)
            if predicted and self._kkt() > 1.0:
                self._compare_with_zero(x)
            self._hold_active_set(x)
        else:
            self.A.residual(self.b, x, self.r)
            self._test_bounds(x, np.inf)
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
                monitor.record_curvature(self.A.negative(curvature, self.p, self.q))
                if monitor.status:
                    self.problem.box.project(x, out=x)
                    return
                if not old > 0.0:  # p was z: M is not positive here, which can happen if A is not an M-matrix
                    self._fall_back(x, "the preconditioner is not positive definite")
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
            weak = self.M.patience is not None and monitor.iterations == self.M.patience.iterations
            if weak and self._strengthen(x):
                curvature = 0.0
            if monitor.iterations % self.options.renewal == 0 and self.M.hierarchy is not None:
                self.M.hierarchy.slow = True
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
                self._update_active_set(x)
                self._refresh()
                disturbed = True
                if guard.gives_up(self.A.comm.fingerprint(self.policy)):
                    self._fall_back(x, "active sets repeated")
                    return
        if monitor.stopping.maxiter is None and not monitor.status:  # the limit was ours: rough coefficients
            self._fall_back(x, "no convergence")

    def _relax(self, x: np.ndarray, sweeps: int) -> None:
        """Sweeps over all rows, and a first policy."""
        self._nearby().relax(x, self.b, *self.bounds, self.r, sweeps)
        self._test_bounds(x)

    def _compare_with_zero(self, x: np.ndarray) -> None:
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
            self.near = nearby(self.A)
        return self.near

    def _update_active_set(self, x: np.ndarray) -> None:
        """The set has changed: clip x, relax around the change, and update the policy."""
        changed = np.flatnonzero(self.policy != self._held_policy)
        self._held_policy[:] = self.policy
        kernels._clamp(self._moved, x, self.rows, self.lower, self.upper, self.policy, changed)
        self._nearby().relax(x, self.b, *self.bounds, self.r, self.options.sweeps, self.rows[changed])
        self._test_bounds(x, whole=False)
        self._hold_active_set(x)

    def _hold_active_set(self, x: np.ndarray) -> None:
        """Put rows that changed again, or that sweeps moved off their bounds, where their policy says; update r."""
        self._held_policy[:] = self.policy
        moved = self._clamp(x)
        if self.A.comm.largest(moved.size):
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
            rho, along = self.z.find_along(self.r, self._largest_residual(), self.q)
        else:
            rho, along = self.z.find(self.r, self._largest_residual()), 0.0
        beta = 0.0
        if curvature > 0.0:
            beta = -along / curvature if self.flexible else rho / rho_old
        descent = self._combine(beta, rho, disturbed)
        # Few free rows are solved after few steps: what is left of a float32 z after β p is then rounding.
        least = 1e-3 * rho if without_grid(self.M) else 0.0
        if not descent > least and beta != 0.0:
            descent = self._combine(0.0, rho, False)
        return descent, rho

    def _product(self) -> float:
        """q = A p; pᵀq."""
        return self.A.energy(self.p, self.q)

    def _combine(self, beta: float, rho: float, disturbed: bool) -> float:
        """p = z + β p on the free rows; rᵀp."""
        self.z.add_to(self.p, beta)
        if beta == 0.0 or not (disturbed or without_grid(self.M)):
            return rho  # the last step was exact: rᵀp of its direction is 0
        if disturbed:
            kernels._zero_clamped(self.p, self.rows, self.policy)
        return self.A.dot(self.r, self.p)

    def _largest_residual(self) -> float:
        """A scale for r that brings it into the range of float32."""
        return self.peak or 1.0

    def _slack(self) -> float:
        return self.options.slack * self.monitor.tolerance * self.problem.scale

    def _test_bounds(self, x: np.ndarray, slack: float | None = None, whole: bool = True) -> None:
        """The residual, and a new policy unless the slack is infinite."""
        kernels._look(x, self.r, *self._judge, self._slack() if slack is None else slack, self._flips, whole)
        self._sum_up()

    def _sum_up(self) -> None:
        peak, flips = self.A.comm.largest(np.array([self._peak.max(initial=0.0), self._flips.any()])).tolist()
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
            self._test_bounds(x, 0.0)
            self.flipped |= flipped
        return False

    def _face_solved(self, alpha: float) -> bool:
        """True if the residual on the free rows will be negligible after the step."""
        left = self.r - alpha * self.q
        left[self.rows[self.policy != 0]] = 0.0
        return self.A.comm.largest(np.abs(left).max(initial=0.0)) <= 0.1 * self.monitor.tolerance * self.problem.scale

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
        """Continue with the next preconditioner of the cascade, if there is one that A has the entries for."""
        masked = Masked(self.A, self._free())
        masked.clampable = self.masked.clampable
        with self.monitor.setup():
            M = self.recipe.following(masked, self.M.step)
        if M is None:
            return False
        self.monitor.leave(M.label, "the coefficients are too rough")
        self.masked = masked
        self.A.residual(self.b, x, self.r)
        self._precondition(M)
        return True

    def _fall_back(self, x, reason: str) -> None:
        """Monotone descent: slow, but it always converges."""
        monitor = self.monitor
        monitor.hand_over("monotone descent", reason)
        # If the strong preconditioner failed too, the next one is safe.
        M = self.recipe.following(self.masked, self.M.step) if self.M.step else None
        cg = CG(self.recipe)
        inverse = cg.around(self.masked, self.M if M is None else M)
        face_descent(self.problem, x, cg, monitor, monitor.limit(10_000), inverse)


class Guard:
    """Watches the active sets of an iteration that has no convergence proof.

    If a set occurs for the third time, or if changes do not stop, the set is held until the face problem is solved.
    From then on this is policy iteration, which on M-matrices never has the same set twice. If a set still occurs
    again, the guard gives up.
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
