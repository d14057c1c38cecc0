"""Preconditioned conjugate gradients for symmetric positive (semi)definite operators, on vectors of any layout.

Semidefinite systems work if b is in the range of A: pockets are made compatible before they get here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...operators.base import Operator
from ..base import Inverse, IterativeInverse, LinearResult, NoPreconditioner, Recipe


@dataclass(frozen=True)
class CG(Recipe):
    """Conjugate gradients preconditioned by `M`."""

    M: Recipe = field(default_factory=NoPreconditioner)
    rtol: float = 1e-8
    maxiter: int = 10_000

    def setup(self, operator, reuse=None):
        inner = reuse.M if isinstance(reuse, _CG) else None
        return _CG(operator, self.M.setup(operator, inner), self.rtol, self.maxiter)


class _CG(IterativeInverse):
    def __init__(self, A: Operator, M: Inverse, rtol: float, maxiter: int):
        self.A, self.M, self.rtol, self.maxiter = A, M, rtol, maxiter
        self._z = M.directions(A)
        self._r, self._p, self._q = (A.zeros() for _ in range(3))

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None):
        A, z, r, p, q = self.A, self._z, self._r, self._p, self._q
        rtol = self.rtol if rtol is None else rtol
        maxiter = self.maxiter if maxiter is None else maxiter
        goal = max(rtol * A.peak(b), atol)
        A.residual(b, x, r)
        history = [A.peak(r)]
        rho_old = 0.0
        while not history[-1] <= goal and len(history) <= maxiter:
            rho = z.find(r, history[-1])
            z.add_to(p, rho / rho_old if rho_old else 0.0)
            curvature = A.energy(p, q)
            if not curvature > 0.0:  # a null direction, or breakdown: x is as good as it gets
                break
            history.append(A.step(x, r, p, q, rho / curvature))
            rho_old = rho
        return LinearResult(len(history) - 1, history[-1], history[-1] <= goal, history)
