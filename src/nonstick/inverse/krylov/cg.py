"""Preconditioned conjugate gradients for symmetric positive (semi)definite operators.

Semidefinite systems work if b is in the range of A: pockets are made compatible before they get here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...kernels._vector import _axpy, _xpby, dot
from ...operators.base import Operator
from ..base import IterativeInverse, LinearResult, NoPreconditioner, Recipe, max_abs
from ..precond.deflation import Coupled


@dataclass(frozen=True)
class CG(Recipe):
    """Conjugate gradients preconditioned by `M`."""

    M: Recipe = field(default_factory=NoPreconditioner)
    rtol: float = 1e-8
    maxiter: int = 10_000

    def setup(self, operator, reuse=None):
        inner = reuse.M if isinstance(reuse, _CG) else None
        return _CG(operator, Coupled(self.M).setup(operator, inner), self.rtol, self.maxiter)


class _CG(IterativeInverse):
    def __init__(self, A: Operator, M, rtol: float, maxiter: int):
        self.A, self.M, self.rtol, self.maxiter = A, M, rtol, maxiter
        self._r, self._z, self._p, self._q = (np.empty(A.n) for _ in range(4))

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None):
        A, M, r, z, p, q = self.A, self.M, self._r, self._z, self._p, self._q
        rtol = self.rtol if rtol is None else rtol
        maxiter = self.maxiter if maxiter is None else maxiter
        goal = max(rtol * max_abs(b), atol)
        A.residual(b, x, r)
        history = [max_abs(r)]
        if history[-1] <= goal:
            return LinearResult(0, history[-1], True, history)
        rho_old = 0.0
        for k in range(1, maxiter + 1):
            M.apply(r, z)
            rho = dot(r, z)
            if k == 1:
                p[:] = z
            else:
                _xpby(p, z, rho / rho_old)
            A.apply(p, q)
            curvature = dot(p, q)
            if not curvature > 0.0:  # a null direction, or breakdown: x is as good as it gets
                return LinearResult(k - 1, history[-1], False, history)
            alpha = rho / curvature
            _axpy(x, alpha, p)
            _axpy(r, -alpha, q)
            rho_old = rho
            history.append(max_abs(r))
            if history[-1] <= goal:
                return LinearResult(k, history[-1], True, history)
        return LinearResult(maxiter, history[-1], False, history)
