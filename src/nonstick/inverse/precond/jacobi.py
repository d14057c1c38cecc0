"""Diagonal scaling, `z = damping r / diag(A)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..base import Inverse, Recipe


@dataclass(frozen=True)
class Jacobi(Recipe):
    """Diagonal scaling; rows without an equation (diagonal 0) give zero."""

    damping: float = 1.0

    def setup(self, operator, reuse=None):
        return _DiagonalScaling(operator.jacobi(self.damping))


class _DiagonalScaling(Inverse):
    def __init__(self, scale: Callable[[np.ndarray, np.ndarray], np.ndarray]):
        self._scale = scale

    def apply(self, r, out):
        return self._scale(r, out)


class Diagonal(Inverse):
    """out = scale · r"""

    def __init__(self, scale: np.ndarray):
        self.scale = scale

    def apply(self, r, out):
        return np.multiply(self.scale, r, out=out)
