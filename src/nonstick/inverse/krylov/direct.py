"""Sparse LU (SuperLU through SciPy) with iterative refinement; the only linear solver that assembles A.

Singular but consistent systems (pockets without a free surface) are solved too: what is factored is
`A + shift·diag(A)`, and refinement `x += (A + shift·D)⁻¹ (b - A x)` converges to a solution of `A x = b`, by a
factor of about shift/λ a step, λ the smallest non-zero eigenvalue of `D⁻¹A`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ...operators.base import Operator
from ..base import IterativeInverse, LinearResult, Recipe, max_abs


@dataclass(frozen=True)
class Direct(Recipe):
    """`iterations` counts refinement steps; the factor is made in `setup`, anew for every free set."""

    shift: float = 1e-12
    rtol: float = 1e-12
    maxiter: int = 10

    def setup(self, operator, reuse=None):
        return _Direct(operator, self.shift, self.rtol, self.maxiter)


class _Direct(IterativeInverse):
    def __init__(self, A: Operator, shift: float, rtol: float, maxiter: int):
        self.A, self.rtol, self.maxiter = A, rtol, maxiter
        d = A.diagonal
        small = np.where(d > 0, shift * d, d.max(initial=0.0) or 1.0)  # a row without equation: any number will do
        shifted = sp.csc_array(A.matrix() + sp.diags_array(small))
        # Symmetric positive definite: order by A' + A and leave the pivots on the diagonal.
        self._factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        self._r = np.empty(A.n)

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None):
        rtol = self.rtol if rtol is None else rtol
        maxiter = self.maxiter if maxiter is None else maxiter
        goal = max(rtol * max_abs(b), atol)
        self.A.residual(b, x, self._r)
        history = [max_abs(self._r)]
        k = 0
        while k < maxiter and goal < history[-1] < np.inf:
            step = self._factor.solve(self._r)
            x += step
            self.A.residual(b, x, self._r)
            history.append(max_abs(self._r))
            k += 1
            if k > 1 and history[-1] > 0.5 * history[-2]:  # rounding, or b outside the range of A
                if history[-1] > history[-2]:
                    x -= step
                    history[-1] = history[-2]
                break
        return LinearResult(k, history[-1], history[-1] <= goal, history)
