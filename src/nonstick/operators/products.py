"""Operators of which only products are known, as of a `scipy.sparse.linalg.LinearOperator`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import EntriesNeededError
from .base import Operator

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
