"""Preconditioned conjugate gradients for symmetric positive (semi)definite operators, on vectors of any layout.

With a preconditioner that is not linear (a K-cycle) they are flexible: β = -zᵀA p / pᵀA p (Notay 2000) makes every
direction conjugate to the last one.

Semidefinite systems work if b is in the range of A: `solvers.pockets` makes pockets compatible first.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...operators.base import Operator
from ..base import Inverse, IterativeInverse, NoPreconditioner, Recipe


@dataclass(frozen=True)
class CG(Recipe):
    """Conjugate gradients preconditioned by `M`."""

    M: Recipe = field(default_factory=NoPreconditioner)
    rtol: float = 1e-8
    maxiter: int = 10_000

    def setup(self, operator, reuse=None):
        return self.around(operator, self.M.setup(operator, None if reuse is None else reuse.M))

    def around(self, operator: Operator, M: Inverse) -> _CG:
        """Conjugate gradients over a preconditioner that is set up already."""
        return _CG(operator, M, self.rtol, self.maxiter)


class _CG(IterativeInverse):
    def __init__(self, A: Operator, M: Inverse, rtol: float, maxiter: int):
        self.A, self.M, self.rtol, self.maxiter = A, M, rtol, maxiter
        self._z = M.directions(A, flexible=not M.linear)
        self._r, self._p, self._q = (A.zeros() for _ in range(3))

    @property
    def notes(self):
        return self.M.notes

    def remainder(self, b, x):
        return self._r

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        A, z, r, p, q = self.A, self._z, self._r, self._p, self._q
        size = A.peak(b)
        course = self.course(size, rtol, atol, maxiter, watch)
        A.residual(b, x, r)
        rho_old, curvature, go = 0.0, 0.0, course.goes_on(z.begin(r, size))
        while go:
            if self.M.linear:
                rho = z.find(r, course.residual)
                beta = rho / rho_old if rho_old else 0.0
            else:
                rho, along = z.find_along(r, course.residual, q)
                beta = -along / curvature if rho_old else 0.0
            if not rho > 0.0:  # M is not positive here (an incomplete factor of no M-matrix), or has broken down
                break
            z.add_to(p, beta)
            curvature = A.energy(p, q)
            if not curvature > 0.0:  # a null direction, or breakdown: x cannot be improved further
                course.negative = A.negative(curvature, p, q)
                break
            go = course.goes_on(z.step(x, r, p, q, rho / curvature))
            rho_old = rho
        return course.result()
