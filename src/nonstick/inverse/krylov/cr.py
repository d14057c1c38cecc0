"""Preconditioned conjugate residuals: symmetric A, symmetric positive definite M (Saad, Iterative Methods, §6.8).

The method minimises the residual in the norm of M over the same Krylov space as conjugate gradients, and A need not be
definite. Each iteration takes one product with A and one with M.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...kernels._vector import _axpy, _xpby, dot
from ...operators.base import Operator
from ..base import IterativeInverse, NoPreconditioner, Recipe, max_abs


@dataclass(frozen=True)
class CR(Recipe):
    """Conjugate residuals preconditioned by `M`."""

    M: Recipe = field(default_factory=NoPreconditioner)
    rtol: float = 1e-8
    maxiter: int = 10_000

    def setup(self, operator, reuse=None):
        inner = None if reuse is None else reuse.M
        return _CR(operator, self.M.setup(operator, inner), self.rtol, self.maxiter)


class _CR(IterativeInverse):
    def __init__(self, A: Operator, M, rtol: float, maxiter: int):
        self.A, self.M, self.rtol, self.maxiter = A, M, rtol, maxiter
        self._r, self._z, self._Az, self._p, self._Ap, self._MAp = (np.empty(A.n) for _ in range(6))

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        A, M, r, z, Az, p, Ap, MAp = self.A, self.M, self._r, self._z, self._Az, self._p, self._Ap, self._MAp
        course = self.course(max_abs(b), rtol, atol, maxiter, watch)
        A.residual(b, x, r)
        if not course.goes_on(max_abs(r)):
            return course.result()
        M.apply(r, z)
        A.apply(z, Az)
        p[:], Ap[:] = z, Az
        mu = dot(z, Az)
        while True:
            M.apply(Ap, MAp)
            length = dot(Ap, MAp)
            if not length > 0.0 or mu == 0.0:  # this Krylov space gives no further improvement
                return course.result()
            alpha = mu / length
            _axpy(x, alpha, p)
            _axpy(r, -alpha, Ap)
            if not course.goes_on(max_abs(r)):
                return course.result()
            _axpy(z, -alpha, MAp)
            A.apply(z, Az)
            mu_old, mu = mu, dot(z, Az)
            _xpby(p, z, mu / mu_old)
            _xpby(Ap, Az, mu / mu_old)
