"""Methods that minimise the residual for a symmetric A, which need not be definite.

MINRES (Paige and Saunders 1975), preconditioned, for saddle points. The rows of the constraints of `[A −Bᵀ; B 0]`
change their sign, which makes the matrix symmetric. A w is carried along with every direction w, so that the residual
and its max norm are known at every iteration.

Preconditioned conjugate residuals, with a symmetric positive definite M (Saad, Iterative Methods, §6.8): CR minimises
the residual in the norm of M over the same Krylov space as conjugate gradients, and A need not be definite. Each
iteration takes one product with A and one with M.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...kernels._vector import _axpy, _xpby, dot
from ...operators.base import Operator
from ...operators.saddle import Saddle
from ..base import Inverse, IterativeInverse, NoPreconditioner, Recipe, max_abs


@dataclass(frozen=True)
class MINRES(Recipe):
    """Minimal residuals for a saddle point; `M` is symmetric and positive definite."""

    M: Recipe
    rtol: float = 1e-8
    maxiter: int = 10_000
    general: ClassVar[bool] = True

    def fits(self, operator):
        return isinstance(operator.core, Saddle)

    def setup(self, operator, reuse=None):
        inner = None if reuse is None else reuse.M
        return _MINRES(operator, self.M.setup(operator, inner), self.rtol, self.maxiter)


class _MINRES(IterativeInverse):
    def __init__(self, A: Operator, M: Inverse, rtol: float, maxiter: int):
        self.A, self.M, self.rtol, self.maxiter = A, M, rtol, maxiter
        assert isinstance(A.core, Saddle)
        self._first = A.core.A.n

    def _symmetric(self, r: np.ndarray) -> np.ndarray:
        """Change the sign of the constraints, in place."""
        np.negative(r[self._first :], out=r[self._first :])
        return r

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        course = self.course(max_abs(b), rtol, atol, maxiter, watch)
        r = self._symmetric(self.A.residual(b, x, np.empty_like(b)))
        v, v_old = r.copy(), np.zeros_like(r)
        z = self.M.apply(v, np.empty_like(r))
        beta = eta = np.sqrt(v @ z)
        w, w_old, Aw, Aw_old = (np.zeros_like(r) for _ in range(4))
        c, c_old, s, s_old = 1.0, 1.0, 0.0, 0.0
        beta_old = 1.0
        go = course.goes_on(max_abs(r))
        while go and beta > 0.0:
            z = z / beta
            Az = self._symmetric(self.A.apply(z, np.empty_like(r)))
            alpha = Az @ z
            v_new = Az - (alpha / beta) * v - (beta / beta_old) * v_old
            z_new = self.M.apply(v_new, np.empty_like(r))
            beta_new = np.sqrt(max(v_new @ z_new, 0.0))
            delta, rho2, rho3 = c * alpha - c_old * s * beta, s * alpha + c_old * c * beta, s_old * beta
            rho1 = np.hypot(delta, beta_new)
            if rho1 == 0.0:
                break
            w, w_old = (z - rho3 * w_old - rho2 * w) / rho1, w
            Aw, Aw_old = (Az - rho3 * Aw_old - rho2 * Aw) / rho1, Aw
            c_old, s_old, c, s = c, s, delta / rho1, beta_new / rho1
            x += c * eta * w
            r -= c * eta * Aw
            eta *= -s
            v_old, v, z, beta_old, beta = v, v_new, z_new, beta, beta_new
            go = course.goes_on(max_abs(r))
        return course.result()


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
