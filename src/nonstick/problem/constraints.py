"""A few linear constraints beside the bounds: `lower <= C x <= upper`.

With multipliers y, one for each row of C, the solution satisfies

    A x - b - Cᵀy = dual,    x and dual complementary as in the box problem,
    y > 0 only where C x = lower,    y < 0 only where C x = upper.

For a given y this is the box problem with the right-hand side b + Cᵀy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .box import Bounds


@dataclass(frozen=True)
class LinearConstraints:
    """`lower <= C x <= upper` with few rows; equal bounds make an equation.

    Parameters
    ----------
    C : scipy.sparse.csr_array
        One row for each constraint.
    lower, upper : ndarray
        Bounds of the rows, ±inf where there is none.

    Examples
    --------
    The sum of three unknowns is 1:

    >>> import numpy as np, scipy.sparse as sp
    >>> from nonstick.problem import LinearConstraints
    >>> total = LinearConstraints(sp.csr_array(np.ones((1, 3))), np.ones(1), np.ones(1))
    >>> total.error(np.array([0.5, 0.25, 0.25]), y=np.zeros(1), scale=1.0)
    0.0
    """

    C: sp.csr_array
    lower: np.ndarray
    upper: np.ndarray

    @property
    def count(self) -> int:
        return int(self.C.shape[0])

    def push(self, y: np.ndarray) -> np.ndarray:
        """Cᵀy"""
        return np.asarray(self.C.T @ y)

    def one_sided(self) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
        """The same as `E x >= e`, and which of these rows are equations: C where lower, -C where upper is finite."""
        equal = self.lower == self.upper
        low, high = np.isfinite(self.lower) & ~equal, np.isfinite(self.upper) & ~equal
        E = sp.csr_array(sp.vstack([self.C[equal], self.C[low], -self.C[high]]))
        e = np.concatenate([self.lower[equal], self.lower[low], -self.upper[high]])
        return E, e, np.arange(e.size) < np.count_nonzero(equal)

    def multipliers(self, one_sided: np.ndarray) -> np.ndarray:
        """y from the multipliers of the rows of `one_sided`."""
        equal = self.lower == self.upper
        low, high = np.isfinite(self.lower) & ~equal, np.isfinite(self.upper) & ~equal
        y, parts = np.zeros(self.count), np.cumsum([equal.sum(), low.sum()])
        for rows, part, sign in zip((equal, low, high), np.split(one_sided, parts), (1.0, 1.0, -1.0)):
            y[rows] += sign * part
        return y

    def error(self, x: np.ndarray, y: np.ndarray, scale: float) -> float:
        """How far the constraints are from being met, each row relative to the sizes of its own terms.

        A multiplier counts as zero if its push on every unknown is below this part of `scale`, the size of b.
        """
        values, size = self.C @ x, abs(self.C) @ np.abs(x)
        for bound in (self.lower, self.upper):
            size = np.maximum(size, np.where(np.isfinite(bound), np.abs(bound), 0.0))
        outside = np.abs(values - np.clip(values, self.lower, self.upper))
        with np.errstate(invalid="ignore"):
            gap = np.where(y > 0, np.abs(values - self.lower), np.where(y < 0, np.abs(values - self.upper), 0.0))
        size = np.where(size > 0.0, size, 1.0)
        largest = abs(self.C).max(axis=1).toarray().ravel() if self.C.nnz else np.zeros(self.count)
        slack = np.minimum(gap / size, np.abs(y) * largest / scale)
        return float(np.maximum(outside / size, slack).max(initial=0.0))

    def reach(self, box: Bounds) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value of every row inside the box."""
        C = sp.coo_array(self.C)
        row, column = C.coords
        low, high = C.data * box.lower[column], C.data * box.upper[column]
        least, most = np.zeros(self.count), np.zeros(self.count)
        np.add.at(least, row, np.minimum(low, high))
        np.add.at(most, row, np.maximum(low, high))
        return least, most
