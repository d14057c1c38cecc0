"""One level of a hierarchy, and the general one: an operator, its smoother, its transfer and its vectors.

The other kinds of level are in the folders of their hierarchies. Each is a faster form of the same verbs: colours of a
grid in separate arrays, rows of a sparse matrix sorted by colour, many small levels in one compiled call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels._vector import dot
from ...operators.base import Operator
from ...operators.transfer import Transfer
from ..base import Inverse

if TYPE_CHECKING:
    from .smoothers import Smoother


class Level:
    """It holds x and b, and the transfer to the next coarser level and back. The coarsest one may have only `solve`."""

    #: the correction, and the right-hand side it is for
    x: Any
    b: Any

    def smooth(self, sweeps: int, from_zero: bool) -> None:
        """Improve x before the coarse correction; `from_zero` starts from x = 0 and ignores the present x."""
        raise self._lacks("is solved, not smoothed")

    def restrict_residual(self, coarse: Level, from_zero: bool) -> None:
        """coarse.b = R (b - A x); `from_zero` is that of the last smoothing, which may save work."""
        raise self._lacks("has no coarser level")

    def correct(self, coarse: Level) -> None:
        """x += P coarse.x"""
        raise self._lacks("has no coarser level")

    def smooth_back(self, sweeps: int) -> None:
        """Improve x after the coarse correction: the adjoint of `smooth`."""
        raise self._lacks("is solved, not smoothed")

    def resmooth(self, sweeps: int) -> None:
        """Improve x between two coarse corrections of a resmoothed cycle; symmetric."""
        self.smooth(sweeps, False)
        self.smooth_back(sweeps)

    def solve(self) -> None:
        """x ≈ A⁻¹ b; only used on the coarsest level."""
        raise self._lacks("cannot be the coarsest level")

    def _lacks(self, what: str) -> TypeError:
        return TypeError(f"{type(self).__name__} {what}")

    # -- two steps of conjugate gradients, for `cycles.K` --------------------------------------------------------

    def product(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = A x"""
        raise self._lacks("has no products, and a K-cycle needs them")

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        """xᵀy, summed in double precision."""
        return dot(x, y)

    def keep(self) -> None:
        """x is the first direction: store it, and make b the residual of the best multiple of it."""
        if not hasattr(self, "_first"):
            self._first, self._image, self._right = (np.empty_like(self.x) for _ in range(3))
        self._right[:] = self.b
        self._first[:] = self.x
        self.product(self.x, self._image)
        self._curvature = self.dot(self._first, self._image)
        self._along = self.dot(self._first, self.b)
        if self._curvature > 0.0:
            self.b -= self.x.dtype.type(self._along / self._curvature) * self._image

    def combine(self) -> None:
        """x is the second direction: the best combination of both; b is again the right-hand side."""
        rho, number = self._curvature, self.x.dtype.type
        if rho > 0.0:
            gamma, slope = self.dot(self.x, self._image), self.dot(self.x, self.b)
            self.product(self.x, self._image)
            left = self.dot(self.x, self._image) - gamma * gamma / rho
            second = slope / left if left > 0.0 else 0.0
            self.x *= number(second)
            self.x += number((self._along - gamma * second) / rho) * self._first
        else:
            self.x[:] = self._first
        self.b[:] = self._right


class OperatorLevel(Level):
    """Vectors are those of the operator, in its precision. The coarsest level has `bottom` and neither of these."""

    smoother: Smoother
    transfer: Transfer

    def __init__(self, A: Operator, smoother: Smoother | None = None, bottom: Inverse | None = None):
        self.A, self.bottom = A, bottom
        if smoother is not None:
            self.smoother = smoother
        self.x, self.b, self.r = (A.zeros(A.dtype) for _ in range(3))
        #: True if the smoother has left the residual of x in r
        self.fresh = False

    def smooth(self, sweeps, from_zero):
        if from_zero and not sweeps:
            self.x[:] = 0.0
        for sweep in range(sweeps):
            self.fresh = False
            if from_zero and sweep == 0:
                self.smoother.pre_from_zero(self)
            else:
                self.smoother.pre(self)

    def resmooth(self, sweeps):
        self.fresh = False
        if sweeps == 1:
            self.smoother.resmooth(self)
        else:
            super().resmooth(sweeps)

    def restrict_residual(self, coarse, from_zero):
        if not self.fresh:
            self.A.residual(self.b, self.x, self.r)
        self.fresh = False
        self.transfer.restrict(self.r, coarse.b)

    def correct(self, coarse):
        self.transfer.prolong_add(coarse.x, self.x)

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            self.smoother.post(self)

    def solve(self):
        assert self.bottom is not None
        self.bottom.apply(self.b, self.x)

    def product(self, x, out):
        return self.A.apply(x, out)

    def dot(self, x, y):
        return self.A.dot(x, y)
