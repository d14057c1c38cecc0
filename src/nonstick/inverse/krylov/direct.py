"""Sparse factors (`cholesky`, or SuperLU for matrices that are not symmetric) with iterative refinement.

Singular but consistent systems (pockets without a free surface, faces without mass) are solved too. The factored matrix
is `A + shift·diag(A)`, and refinement `x += (A + shift·D)⁻¹ (b - A x)` converges to a solution of `A x = b`. The error
falls by a factor of about shift/λ per step, where λ is the smallest non-zero eigenvalue of `D⁻¹A`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...kernels._csr import _count_unfit
from ...operators.base import Operator, once_for_an_operator
from ..base import Inverse, IterativeInverse, Recipe, max_abs
from ..cholesky.factor import CholeskyFactor, fronts


@dataclass(frozen=True)
class DirectSettings:
    """Which matrices are factored rather than coarsened."""

    #: rows unlike those of an M-matrix, as a part of all, above which a matrix is unlike one
    unlike: float = 0.5


SETTINGS = DirectSettings()


@dataclass(frozen=True)
class Factor(Recipe):
    """`z = (A + shift diag(A))⁻¹ r` by a sparse factor.

    Parameters
    ----------
    shift : float
        A small part of the diagonal that makes a singular matrix definite.
    most : int, optional
        It fits matrices with at most this many unknowns.
    operations : float, optional
        It fits bare symmetric matrices that are unlike M-matrices (elasticity, plates, high-order elements), for which
        no cycle is made, and whose factor costs at most this many multiplications.

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
    operations: float | None = None

    def fits(self, operator):
        if not operator.has_entries or (self.most is not None and operator.n > self.most):
            return False
        return self.operations is None or _far_from_cycles(operator.core, self.operations)

    def setup(self, operator, reuse=None):
        core = operator.core
        definite = operator.symmetric and core.bodies is None and core.comm.size == 1 and (core.diagonal > 0.0).all()
        if not definite:
            return _SparseFactor(operator, self.shift)
        if isinstance(reuse, CholeskyFactor) and reuse.serves(operator):
            reuse.refill(operator)
            return reuse
        return CholeskyFactor(operator, self.shift)


def _far_from_cycles(A: Operator, most: float) -> bool:
    bare = A.symmetric and A.stencil is None and A.bodies is None and A.comm.size == 1 and A.n > 0
    return bare and unlike_m_matrix(A) and fronts(A).operations <= most


@once_for_an_operator
def unlike_m_matrix(A: Operator) -> bool:
    """True if in most rows a quarter of the couplings is positive, or the couplings outweigh the diagonal."""
    M = A.matrix()
    return bool(_count_unfit(M.data, M.indices, M.indptr) > SETTINGS.unlike * A.n)


class _SparseFactor(Inverse):
    def __init__(self, A: Operator, shift: float):
        from scipy.sparse.linalg import splu  # slow to load, rarely needed

        M, d = A.matrix(), A.diagonal
        small = np.where(d > 0, shift * d, d.max(initial=0.0) or 1.0)  # any number in a row without an equation
        shifted = sp.csc_array(M + sp.diags_array(small))
        try:
            self._factor = splu(shifted)
        except RuntimeError as error:  # "Factor is exactly singular"
            raise np.linalg.LinAlgError(str(error)) from None

    def apply(self, r, out):
        out[:] = self._factor.solve(r)
        return out


@dataclass(frozen=True)
class Direct(Recipe):
    """`iterations` counts refinement steps; `setup` makes the factor, once for every free set.

    It fits operators of at most `most` unknowns, or any.
    """

    shift: float = 1e-12
    rtol: float = 1e-12
    maxiter: int = 10
    most: int | None = None
    general: ClassVar[bool] = True

    def fits(self, operator):
        return self.most is None or operator.n <= self.most

    def setup(self, operator, reuse=None):
        kept = reuse.factor if isinstance(reuse, _Direct) else None
        return _Direct(operator, Factor(self.shift).setup(operator, kept), self.rtol, self.maxiter)


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
