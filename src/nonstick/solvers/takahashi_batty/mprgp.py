"""MPRGP: modified proportioning with reduced gradient projections (Dostál–Schöberl 2005), preconditioned in the face.

The gradient splits into the free part φ (rows strictly inside their bounds) and the chopped part β (rows on a bound
where the step -g leads into the box). While `|β|² <= Γ² φ̃'φ` conjugate gradients run in the face; a step that would
leave the box is an *expansion*; otherwise a step along β, *proportioning*, releases rows.

- Preconditioner: `recipe.setup` on `A` masked to the free set, refreshed when that set changes. So MIC, smoothed and
  topology-aware aggregation can all be used (Takahashi–Batty §7.3 omit topology-aware aggregation).
- Fast expansion (Kružík et al. 2020): the whole CG step, projected, instead of half a step to the boundary and a
  fixed-length gradient step. It is kept only if its objective is lower than after the half step. Otherwise the
  classical expansion follows, on which the convergence proof rests.
- Proportioning: a step along β alone releases the rows that have g < 0. Where b = 0 inside the liquid, which gravity
  alone gives, that is one layer of cells a step. So ours tries a preconditioned step of all rows that g does not hold
  at their bound, ties (g = 0) among them, and keeps it if its objective is lower than after the step along β. `literal`
  has the step along β only.
- Norms and the fixed step are taken in the metric of diag(A). The box is still a box in the scaled variables, the
  method does not depend on units, and cut cells with large diagonals do not shorten the step of all rows.

Two-sided bounds: released rows move inwards from either bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core import rounding
from ...inverse.base import Inverse, NoPreconditioner, Recipe
from ...kernels._vector import dot
from ...operators.csr import scaled_norm
from ...operators.masked import Masked
from ..base import Method


@dataclass(frozen=True)
class MPRGP(Method):
    """Modified proportioning with reduced gradient projections.

    Parameters
    ----------
    M : Recipe
        Preconditions the face problems.
    proportion : float
        The Γ of the proportioning test.
    fast_expansion : bool
        Try the whole CG step, projected, before the classical expansion; False is the method of 2005.
    literal : bool
        As printed: rows are released along β alone, one layer of cells at a time, and norms and the fixed step are
        those of A, not of A scaled by its diagonal.
    maxiter : int
        Its own limit of iterations.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import MIC
    >>> from nonstick.solvers import MPRGP
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, MPRGP(MIC())).converged
    True
    """

    M: Recipe = field(default_factory=NoPreconditioner)
    proportion: float = 1.0
    fast_expansion: bool = True
    maxiter: int = 20_000
    literal: bool = False

    def solve(self, problem, start, monitor):
        state = _FaceState(self, problem, start.x, monitor)
        steps = {"cg": 0, "expansion": 0, "proportioning": 0}
        for k in range(monitor.limit(self.maxiter) + 1):
            if monitor.check(state.x, state.g) or k == monitor.limit(self.maxiter):
                break
            kind = state.advance()
            if not kind:
                monitor.stop("stagnated" if state.bounded else "infeasible", state.trouble)
                break
            steps[kind] += 1
            monitor.iterations += 1
        monitor.outer_iterations = steps["expansion"] + steps["proportioning"]
        monitor.notes.update(
            {
                "cg_steps": steps["cg"],
                "expansion_steps": steps["expansion"],
                "proportioning_steps": steps["proportioning"],
                "preconditioner_setups": state.setups,
            }
        )


class _FaceState:
    """Iterate, gradient and search direction on the current face of the box."""

    def __init__(self, recipe: MPRGP, problem, x: np.ndarray, monitor):
        self.recipe, self.problem, self.monitor = recipe, problem, monitor
        n = problem.n
        self.x, self.g = x, problem.gradient(x)
        self.z, self.p, self.Ap, self.trial, self.work = (np.empty(n) for _ in range(5))
        d = problem.A.diagonal
        self.inverse_diagonal = np.ones(n) if recipe.literal else np.divide(1.0, d, out=np.zeros(n), where=d > 0.0)
        self.fixed_step = 1.9 / scaled_norm(problem.A, self.inverse_diagonal)
        self.operator: Masked | None = None
        self.M: Inverse | None = None
        self.setups = 0
        self.bounded, self.trouble = True, ""
        self.restart()

    def split(self) -> None:
        """Free set, free gradient φ and chopped gradient β of the iterate."""
        low, high = self.x <= self.problem.box.lower, self.x >= self.problem.box.upper
        self.free = ~(low | high)
        self.phi = np.where(self.free, self.g, 0.0)
        self.beta = np.where(low & ~high, np.minimum(self.g, 0.0), 0.0)
        self.beta += np.where(high & ~low, np.maximum(self.g, 0.0), 0.0)

    def precondition(self) -> None:
        """z = M⁻¹ φ within the face, with M rebuilt only if the free set has changed since it was built."""
        if not self.free.any():
            self.z[:] = 0.0
            return
        if self.operator is None:
            self.operator = Masked(self.problem.A, self.free)
            fresh = True
        else:
            fresh = self.operator.free is None or not np.array_equal(self.operator.free, self.free)
        if fresh:
            with self.monitor.setup():
                self.operator.update(self.free)
                self.M = self.recipe.M.setup(self.operator, self.M)
            self.setups += 1
        assert self.M is not None
        self.M.apply(self.phi, self.z)
        self.z *= self.free

    def restart(self) -> None:
        self.split()
        self.precondition()
        self.p[:] = self.z

    def advance(self) -> str:
        """One step; returns its kind, or "" when no step is possible."""
        reduced = self.reduced_free_gradient()
        if dot(self.beta, self.inverse_diagonal * self.beta) > self.recipe.proportion**2 * reduced:
            return self.proportion()
        A, x, g, p, Ap = self.problem.A, self.x, self.g, self.p, self.Ap
        A.apply(p, Ap)
        curvature, slope = dot(p, Ap), dot(g, p)
        self.monitor.progress.negative |= curvature < 0.0 and A.negative(curvature, p, Ap)
        longest = self.problem.box.max_step(x, p)
        if not slope > 0.0:
            # Rounding has destroyed conjugacy: start again from the preconditioned gradient, unless p already is this
            # gradient.
            if np.array_equal(p, self.z, equal_nan=True):
                return self._stuck("the preconditioned gradient is not a descent direction")
            self.p[:] = self.z
            return self.advance()
        step = slope / curvature if curvature > 0.0 else np.inf
        if step <= longest:
            if not np.isfinite(step):
                self.bounded = False
                return self._stuck("the objective falls without bound along a direction of zero curvature")
            x -= step * p
            g -= step * Ap
            self.problem.box.project(x, out=x)  # rounding only
            self.conjugate(curvature)
            return "cg"
        self.expand(step, longest)
        return "expansion"

    def reduced_free_gradient(self) -> float:
        """φ̃'φ, where φ̃ is φ cut so that the fixed step stays in the box."""
        with np.errstate(invalid="ignore"):
            room_low = (self.x - self.problem.box.lower) / self.fixed_step
            room_high = (self.x - self.problem.box.upper) / self.fixed_step
        cut = np.minimum(np.maximum(self.inverse_diagonal * self.phi, room_high), room_low)
        return dot(cut, self.phi)

    def conjugate(self, curvature: float) -> None:
        before = self.free
        self.split()
        self.precondition()
        if np.array_equal(before, self.free):
            self.p *= -dot(self.z, self.Ap) / curvature
            self.p += self.z
        else:
            self.p[:] = self.z

    def expand(self, step: float, longest: float) -> None:
        problem, x, g = self.problem, self.x, self.g
        if self.recipe.fast_expansion and np.isfinite(step):
            half_value = -longest * dot(g, self.p) + 0.5 * longest**2 * dot(self.p, self.Ap)
            trial, trial_g = self.trial, self.work
            np.subtract(x, step * self.p, out=trial)
            problem.box.project(trial, out=trial)
            problem.gradient(trial, trial_g)
            # f(trial) - f(x) = (trial - x)'(g + g_trial)/2
            if 0.5 * dot(trial - x, g + trial_g) <= half_value:
                x[:], g[:] = trial, trial_g
                self.restart()
                return
        x -= longest * self.p
        problem.box.project(x, out=x)
        g -= longest * self.Ap
        self.split()
        x -= self.fixed_step * self.inverse_diagonal * self.phi
        problem.box.project(x, out=x)
        problem.gradient(x, g)
        self.restart()

    def proportion(self) -> str:
        """Release rows: by a preconditioned step of all rows that no bound holds, or along β if that lowers more."""
        problem, x, g = self.problem, self.x, self.g
        direction = self.inverse_diagonal * self.beta
        problem.A.apply(direction, self.Ap)
        curvature, slope = dot(direction, self.Ap), dot(g, direction)
        self.monitor.progress.negative |= curvature < 0.0 and problem.A.negative(curvature, direction, self.Ap)
        step = min(slope / curvature if curvature > 0.0 else np.inf, problem.box.max_step(x, direction))
        if not np.isfinite(step):
            self.bounded = False
            return self._stuck("the objective falls without bound along a direction of zero curvature")
        if not self.recipe.literal and self.release(-step * slope + 0.5 * step**2 * curvature):
            return "proportioning"
        x -= step * direction
        problem.box.project(x, out=x)
        problem.gradient(x, g)
        self.restart()
        return "proportioning"

    def release(self, value: float) -> bool:
        """A CG step, projected, of the free rows and those on a bound that g does not push outwards, ties among them.

        It is kept if the objective changes by no more than `value`.
        """
        problem, x, g = self.problem, self.x, self.g
        tie = rounding.SUM * problem.scale
        low, high = x <= problem.box.lower, x >= problem.box.upper
        self.free = ~((low & (g > tie)) | (high & (g < -tie)) | (low & high))
        np.multiply(g, self.free, out=self.phi)
        self.precondition()
        problem.A.apply(self.z, self.Ap)
        curvature, slope = dot(self.z, self.Ap), dot(self.phi, self.z)
        if not (curvature > 0.0 and slope > 0.0):
            return False
        trial, trial_g = self.trial, self.work
        np.subtract(x, slope / curvature * self.z, out=trial)
        problem.box.project(trial, out=trial)
        problem.gradient(trial, trial_g)
        if not 0.5 * dot(trial - x, g + trial_g) <= value:
            return False
        x[:], g[:] = trial, trial_g
        released = self.free
        self.p[:] = self.z
        self.split()
        self.precondition()
        if np.array_equal(released, self.free):  # no bound was met: the step was one of CG
            self.p *= -dot(self.z, self.Ap) / curvature
            self.p += self.z
        else:
            self.p[:] = self.z
        return True

    def _stuck(self, why: str) -> str:
        self.trouble = why
        return ""
