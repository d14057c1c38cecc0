"""Policy iteration for saddle points whose multipliers have bounds: `B u = s`, or `B u ≥ s ⟂ p ≥ bound`.

Eliminating u leaves a complementarity problem in p with the symmetric positive definite matrix B A⁻¹ Bᵀ, so there is
one solution. A policy says which constraints are clamped: p at its bound, B u free. The next policy clamps those where
p has fallen below its bound, and frees those where B u < s. B A⁻¹ Bᵀ is no M-matrix where viscosity is large, and no
theorem says that policies do not repeat. In 640 runs none did. If one does, single changes follow until fewer
constraints are violated than ever before, which ends for every P-matrix (block pivoting; Júdice and Pires 1994, Murty
1974).

A linear system is solved roughly while the policy still changes, and to the tolerance once it is at rest.

Constraints that add up to nothing (liquid without a free surface, no constraint clamped) leave p a constant. Their
right-hand side loses its mean, and p is shifted until it touches a bound. Where the mean was not zero, B u exceeds s
there afterwards, so the next policy clamps the constraint that touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NonstickError
from ..inverse.base import Recipe
from ..operators.masked import Masked
from ..operators.saddle import Saddle
from .base import Method
from .cascade import solve_inner


@dataclass(frozen=True)
class SaddlePolicy(Method):
    """Policy iteration on the constraints of a saddle point.

    Parameters
    ----------
    inner : Recipe
        Solves the linear saddle points: `GMRES(BlockTriangular(…))`, `MINRES(BlockDiagonal(…))`, `Direct()`.
    forcing : float
        The part of the present residual to which they are solved while the policy changes; 0: always to the end.
    maxiter : int
        Limit of inner iterations in all.
    """

    inner: Recipe
    forcing: float = 0.4
    maxiter: int = 1000

    @property
    def treats(self) -> frozenset[str]:
        return super().treats | {"saddle"}

    def check(self, problem):
        super().check(problem)
        if not isinstance(problem.A, Saddle):
            raise NonstickError(
                "solves only a nonstick.discretise.StokesProblem; take 'auto' for a matrix with bounds, 'visc-auto' "
                "for a nonstick.ViscosityProblem"
            )

    def solve(self, problem, start, monitor):
        A, b, box, x = problem.A, problem.b, problem.box, start.x
        limit = monitor.limit(self.maxiter)
        g, rhs, y = (np.empty(problem.n) for _ in range(3))
        masked, inverse, pivots = Masked(A), None, BlockPivots()
        problem.gradient(x, g)
        if monitor.check(x, g):
            return
        policy = box.split(x, g, A.diagonal) if start.active is None else start.active
        settled = not box.constrained.any()
        while not monitor.status and monitor.iterations < limit:
            free, bound, before = policy == 0, box.at(policy), monitor.kkt
            with monitor.setup():
                inverse = self.inner.setup(masked.update(None if free.all() else free), inverse)
            A.residual(b, bound, rhs)
            rhs[~free] = 0.0
            closed = [rows + A.A.n for rows in A.closed if free[rows + A.A.n].all()]
            for rows in closed:
                rhs[rows] -= rhs[rows].mean()
            np.multiply(x, free, out=y)
            settled |= pivots.single
            aim = monitor.tolerance if settled else max(monitor.tolerance, self.forcing * monitor.kkt)
            solve_inner(inverse, masked, rhs, y, 0.5 * aim * problem.scale, limit - monitor.iterations, monitor)
            np.add(y, bound, out=x)
            for rows in closed:
                above = x[rows] - box.lower[rows]
                x[rows] -= above.min() if np.isfinite(above.min()) else x[rows].mean()
            monitor.outer_iterations += 1
            problem.gradient(x, g)
            wanted = box.split(x, g, A.diagonal)
            rests = np.array_equal(wanted, policy)
            policy = pivots.following(policy, wanted, exact=aim == monitor.tolerance)
            if monitor.measure(x, g) <= monitor.asked:  # it must hold for the x that is returned
                problem.gradient(box.project(x, out=x), g)
            monitor.check(x, g)
            if not monitor.status and rests and settled and not monitor.kkt <= 0.5 * before:
                monitor.stop("stagnated")
            settled = rests
        box.project(x, out=x)


class BlockPivots:
    """Which policy follows: the one wanted, or, after a repetition, one with a single change."""

    def __init__(self):
        self.single = False
        self._fewest = np.inf
        self._seen: set[bytes] = set()

    def following(self, policy: np.ndarray, wanted: np.ndarray, exact: bool) -> np.ndarray:
        """The policy after `policy`, whose linear system was solved exactly or roughly."""
        if not exact:
            return wanted
        changed = np.flatnonzero(wanted != policy)
        if changed.size < self._fewest:
            self._fewest, self.single = changed.size, False
        elif policy.tobytes() in self._seen:
            self.single = True
        self._seen.add(policy.tobytes())
        if not self.single or not changed.size:
            return wanted
        following = policy.copy()
        following[changed[-1]] = wanted[changed[-1]]
        return following
