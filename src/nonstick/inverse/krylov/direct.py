"""Sparse LU (SuperLU through SciPy) with iterative refinement; the only linear solver that assembles A.

Singular but consistent systems (pockets without a free surface, faces without mass) are solved too. The factored matrix
is `A + shift·diag(A)`, and refinement `x += (A + shift·D)⁻¹ (b - A x)` converges to a solution of `A x = b`. The error
falls by a factor of about shift/λ per step, where λ is the smallest non-zero eigenvalue of `D⁻¹A`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...operators.base import Operator
from ..base import Inverse, IterativeInverse, Recipe, max_abs


@dataclass(frozen=True)
class Factor(Recipe):
    """`z = (A + shift diag(A))⁻¹ r`, for a few thousand unknowns at most: the bottom of a hierarchy.

    Parameters
    ----------
    shift : float
        A small part of the diagonal that makes a singular matrix definite.
    most : int, optional
        It fits matrices with at most this many unknowns.

    Examples
    --------
    >>> import numpy as np
    >>> from nonstick.inverse import Factor
    >>> from nonstick.operators import CSROperator
    >>> A = CSROperator([[2.0, -1.0], [-1.0, 2.0]])
    >>> Factor().setup(A).apply(np.array([1.0, 0.0]), np.empty(2)).round(6)
    array([0.666667, 0.333333])
    """

    shift: float = 1e-8
    most: int | None = None

    def fits(self, operator):
        return operator.has_entries and (self.most is None or operator.n <= self.most)

    def setup(self, operator, reuse=None):
        return _SparseFactor(operator, self.shift)


class _SparseFactor(Inverse):
    def __init__(self, A: Operator, shift: float):
        from scipy.sparse.linalg import splu  # slow to load, rarely needed

        M, d = A.matrix(), A.diagonal
        small = np.where(d > 0, shift * d, d.max(initial=0.0) or 1.0)  # any number in a row without an equation
        shifted = sp.csc_array(M + sp.diags_array(small))
        # Symmetric positive definite: order by A' + A and keep the pivots on the diagonal.
        options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        try:
            self._factor = splu(shifted, **options if A.symmetric else {})
        except RuntimeError as error:  # "Factor is exactly singular"
            raise np.linalg.LinAlgError(str(error)) from None

    def apply(self, r, out):
        out[:] = self._factor.solve(r)
        return out


@dataclass(frozen=True)
class Direct(Recipe):
    """`iterations` counts refinement steps; `setup` makes the factor, once for every free set."""

    shift: float = 1e-12
    rtol: float = 1e-12
    maxiter: int = 10
    general: ClassVar[bool] = True

    def setup(self, operator, reuse=None):
        return _Direct(operator, Factor(self.shift).setup(operator), self.rtol, self.maxiter)


class _Direct(IterativeInverse):
    def __init__(self, A: Operator, factor: Inverse, rtol: float, maxiter: int):
        self.A, self.factor, self.rtol, self.maxiter = A, factor, rtol, maxiter
        self._r, self._step = np.empty(A.n), np.empty(A.n)

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        course = self.course(max_abs(b), rtol, atol, maxiter, watch)
        self.A.residual(b, x, self._r)
        while course.goes_on(max_abs(self._r)):
            self.factor.apply(self._r, self._step)
            x += self._step
            self.A.residual(b, x, self._r)
            before, after = course.residual, max_abs(self._r)
            if len(course.history) > 1 and after > 0.5 * before:  # rounding, or b outside the range of A
                if after > before:
                    x -= self._step
                course.goes_on(min(after, before))
                break
        return course.result()
