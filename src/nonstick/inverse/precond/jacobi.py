"""Diagonal scaling, `z = damping r / diag(A)`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base import Inverse, Recipe


@dataclass(frozen=True)
class Jacobi(Recipe):
    """Rows without an equation (diagonal 0) are left at zero."""

    damping: float = 1.0

    def setup(self, operator, reuse=None):
        d = operator.diagonal
        scale = np.zeros(d.size, d.dtype)
        np.divide(self.damping, d, out=scale, where=d > 0)
        return Diagonal(scale)


class Diagonal(Inverse):
    """out = scale · r"""

    def __init__(self, scale: np.ndarray):
        self.scale = scale

    def apply(self, r, out):
        return np.multiply(self.scale, r, out=out)
