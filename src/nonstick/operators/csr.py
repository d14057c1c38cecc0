"""Matrices of users as operators: any sparse matrix, and one of which only products are known, as of a
`scipy.sparse.linalg.LinearOperator`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..core.validate import FEW_ZEROS
from ..errors import EntriesNeededError
from ..kernels._csr import _csr_apply, _csr_magnitude, _csr_residual, _dense_apply
from .base import Operator


class Pattern:
    """Stands for the places of the entries of a matrix."""


class CSROperator(Operator):
    """Wraps a `scipy.sparse` matrix; `cells` (n, d), if given, makes geometric methods possible.

    `symmetric` says whether A = Aᵀ. It is not checked here.
    """

    diagonal: np.ndarray
    cells: np.ndarray | None

    def __init__(self, A, cells: np.ndarray | None = None, symmetric: bool = True):
        if not (isinstance(A, sp.csr_array) and A.dtype == np.float64 and A.has_canonical_format):
            A = sp.csr_array(A, dtype=np.float64)
            A.sum_duplicates()
        if A.indices.dtype != np.int32 and A.nnz < 2**31:  # SciPy gives either; one width needs one compilation
            A = sp.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
        self._A = A
        self._pattern: object = Pattern()
        self.n = A.shape[0]
        self.diagonal = A.diagonal()
        self.cells = cells
        self.symmetric = symmetric
        #: colour of each row, so that coupled rows have different colours; None if the maker of the matrix did not give
        #: it
        self.colour: np.ndarray | None = None
        #: vectors that A nearly annihilates, as columns, and the node that each unknown belongs to; None if not given
        self.near_null: np.ndarray | None = None
        self.node: np.ndarray | None = None

    @cached_property
    def full(self) -> np.ndarray | None:
        """All n² numbers of a matrix with few zeros, whose rows are then multiplied without looking up columns."""
        return self._A.toarray() if self._A.nnz > FEW_ZEROS * float(self.n) ** 2 else None

    @property
    def pattern(self) -> object:
        return self._pattern

    def share_pattern(self, other: Operator) -> None:
        """Say that the entries of another operator are in the same places."""
        self._pattern = other.pattern

    def apply(self, x, out):
        if self.full is not None:
            _dense_apply(out, x, self.full)
            return out
        _csr_apply(out, x, self._A.data, self._A.indices, self._A.indptr)
        return out

    def residual(self, b, x, out):
        _csr_residual(out, b, x, self._A.data, self._A.indices, self._A.indptr)
        return out

    def magnitude(self, x, out):
        _csr_magnitude(out, x, self._A.data, self._A.indices, self._A.indptr)
        return out

    def matrix(self) -> sp.csr_array:
        return self._A

    def part(self, rows):
        return CSROperator(self._A[rows][:, rows], symmetric=self.symmetric)

    def plus_diagonal(self, shift):
        M = self._A
        places = np.flatnonzero(M.indices == np.repeat(np.arange(self.n, dtype=M.indices.dtype), np.diff(M.indptr)))
        if places.size < self.n:  # some have no place
            return CSROperator(M + sp.diags_array(shift), self.cells, self.symmetric)
        data = M.data.copy()
        data[places] += shift
        out = CSROperator(sp.csr_array((data, M.indices, M.indptr), shape=M.shape), self.cells, self.symmetric)
        out.share_pattern(self)
        return out


#: steps of the power iteration, and the factor on its result: it finds the largest eigenvalue to a few percent
POWER_STEPS, RESERVE = 20, 1.3


class Products(Operator):
    """`A x` by a function, and the diagonal of A; the entries of A are not known.

    Parameters
    ----------
    product : callable
        x ↦ A x, symmetric and positive definite.
    diagonal : ndarray
        The diagonal of A.

    Examples
    --------
    >>> import numpy as np
    >>> from nonstick.operators import Products
    >>> A = Products(lambda x: 2.0 * x, np.full(3, 2.0))
    >>> A @ np.ones(3)
    array([2., 2., 2.])
    """

    has_entries = False
    diagonal: np.ndarray

    def __init__(self, product: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray):
        self.product = product
        self.diagonal = diagonal
        self.n = diagonal.size

    def apply(self, x, out):
        out[:] = np.asarray(self.product(x)).reshape(self.n)
        return out

    def matrix(self):
        raise EntriesNeededError(
            "needs the entries of A, and a LinearOperator has only products: take 'auto' or 'jacobi-mprgp' ('mg-cg' to "
            "ignore bounds), or pass a sparse matrix"
        )

    def magnitude(self, x, out):
        """A lower estimate of |A||x|, with which the row test is stricter: max(|A x|, |a_ii x_i|)."""
        np.abs(self.apply(x, out), out=out)
        return np.maximum(out, np.abs(self.diagonal * x), out=out)

    def components(self):
        """One part: without entries nobody knows more."""
        return min(self.n, 1), np.zeros(self.n, np.int32)

    def part(self, rows):
        def product(x: np.ndarray) -> np.ndarray:
            wide = np.zeros(self.n)
            wide[rows] = x
            return np.asarray(self.product(wide)).reshape(self.n)[rows]

        return Products(product, self.diagonal[rows])

    def plus_diagonal(self, shift):
        return Products(lambda x: np.asarray(self.product(x)).reshape(self.n) + shift * x, self.diagonal + shift)


def scaled_norm(A: Operator, scale: np.ndarray) -> float:
    """A bound of |diag(scale) A| by sums of absolute values (at most 2 for 1/diagonal and dominant rows).

    With bodies, plus the largest eigenvalue of a body relative to the operator without them. Without entries, the
    largest eigenvalue by power iteration, with a reserve: that is a lower estimate.
    """
    low = A.bodies
    if low is not None:
        part = scale[low.touched][:, None] * low.U.toarray()
        own = np.linalg.eigvals(low.S @ (low.U.T @ part)).real.max(initial=0.0)
        return scaled_norm(low.base, scale) + float(own)
    x, y = np.ones(A.n), np.empty(A.n)
    if A.has_entries:
        return float((A.magnitude(x, y) * scale).max(initial=0.0)) or 1.0
    x, value = np.random.default_rng(0).standard_normal(A.n), 0.0
    for _ in range(POWER_STEPS):
        size = float(np.sqrt(A.dot(x, x / np.where(scale > 0, scale, 1.0))))
        if not size > 0.0:
            return 1.0
        x /= size
        value = max(value, A.energy(x, y))
        np.multiply(scale, y, out=x)
    return RESERVE * value or 1.0
