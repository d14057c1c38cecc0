"""Preconditioned BiCGStab (van der Vorst 1992): any nonsingular A, any M, short recurrences.

Each iteration takes two products with A and two with M. Preconditioning is from the right, so the tested residual is
the true one. If a scalar product vanishes that should not, the method restarts from the residual.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...core import rounding
from ...kernels._vector import _axpy, _xpby, dot
from ...operators.base import Operator
from ..base import IterativeInverse, NoPreconditioner, Recipe, max_abs


@dataclass(frozen=True)
class BiCGStab(Recipe):
    """Stabilised biconjugate gradients preconditioned by `M`."""

    M: Recipe = field(default_factory=NoPreconditioner)
    rtol: float = 1e-8
    maxiter: int = 10_000
    general: ClassVar[bool] = True

    def setup(self, operator, reuse=None):
        inner = None if reuse is None else reuse.M
        return _BiCGStab(operator, self.M.setup(operator, inner), self.rtol, self.maxiter)


class _BiCGStab(IterativeInverse):
    def __init__(self, A: Operator, M, rtol: float, maxiter: int):
        self.A, self.M, self.rtol, self.maxiter = A, M, rtol, maxiter
        self._r, self._shadow, self._p, self._v, self._t, self._z = (np.empty(A.n) for _ in range(6))

    @property
    def hierarchy(self):
        return self.M.hierarchy

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        A, M, r, shadow, p, v, t, z = self.A, self.M, self._r, self._shadow, self._p, self._v, self._t, self._z
        course = self.course(max_abs(b), rtol, atol, maxiter, watch)
        A.residual(b, x, r)
        go = course.goes_on(max_abs(r))
        restart = True
        rho = alpha = omega = 1.0
        while go:
            rho_old, rho = rho, dot(shadow, r) if not restart else 0.0
            if not restart and abs(rho) <= rounding.DIGITS * np.sqrt(dot(shadow, shadow) * dot(r, r)):
                restart = True
            if restart:
                A.residual(b, x, r)
                shadow[:], p[:] = r, r
                rho = dot(r, r)
                restart = False
            else:
                # p = r + beta (p - omega v)
                _axpy(p, -omega, v)
                _xpby(p, r, (rho / rho_old) * (alpha / omega))
            M.apply(p, z)
            A.apply(z, v)
            across = dot(shadow, v)
            if across == 0.0:
                go = course.goes_on(course.residual) and len(course.history) > 2 and rho != 0.0
                restart = True
                continue
            alpha = rho / across
            _axpy(x, alpha, z)
            _axpy(r, -alpha, v)
            if max_abs(r) > course.goal:  # otherwise half a step was enough
                M.apply(r, z)
                A.apply(z, t)
                length = dot(t, t)
                omega = dot(t, r) / length if length > 0.0 else 0.0
                _axpy(x, omega, z)
                _axpy(r, -omega, t)
                restart = omega == 0.0
            go = course.goes_on(max_abs(r))
        return course.result()
