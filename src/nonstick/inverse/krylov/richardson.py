"""Stationary iteration `x += damping M (b - A x)`: a multigrid cycle or a smoother used as a solver."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...kernels._vector import _axpy
from ...operators.base import Operator
from ..base import IterativeInverse, NoPreconditioner, Recipe, max_abs


@dataclass(frozen=True)
class Richardson(Recipe):
    """Richardson's iteration preconditioned by `M`."""

    M: Recipe = field(default_factory=NoPreconditioner)
    damping: float = 1.0
    rtol: float = 1e-8
    maxiter: int = 10_000

    def setup(self, operator, reuse=None):
        inner = None if reuse is None else reuse.M
        return _Richardson(operator, self.M.setup(operator, inner), self.damping, self.rtol, self.maxiter)


class _Richardson(IterativeInverse):
    def __init__(self, A: Operator, M, damping: float, rtol: float, maxiter: int):
        self.A, self.M, self.damping, self.rtol, self.maxiter = A, M, damping, rtol, maxiter
        self._r, self._z = np.empty(A.n), np.empty(A.n)

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        A, M, r, z = self.A, self.M, self._r, self._z
        course = self.course(max_abs(b), rtol, atol, maxiter, watch)
        A.residual(b, x, r)
        while course.goes_on(max_abs(r)):
            M.apply(r, z)
            _axpy(x, self.damping, z)
            A.residual(b, x, r)
        return course.result()
