"""Diagonal scaling, `z = damping r / diag(A)`.

SPAI-0: the diagonal M that minimises `‖I - M A‖` in the Frobenius norm, `m_i = a_ii / Σ_j a_ij²`.

Bröker & Grote (2002). Entries are positive if the diagonal is, so conjugate gradients may use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels._stencil import _stencil_apply
from ...operators.base import Operator
from ...operators.faces import FaceSystem
from ..base import Inverse, Recipe


@dataclass(frozen=True)
class Jacobi(Recipe):
    """Diagonal scaling; rows without an equation (diagonal 0) give zero."""

    damping: float = 1.0

    def setup(self, operator, reuse=None):
        if isinstance(operator, FaceSystem):
            return _FaceScaling(operator, self.damping)
        d = operator.diagonal
        return Diagonal(np.divide(self.damping, d, out=np.zeros_like(d), where=d > 0))


class _FaceScaling(Inverse):
    """The same without a diagonal in memory."""

    def __init__(self, system: FaceSystem, damping: float):
        self._system, self._damping = system, damping

    def apply(self, r, out):
        return self._system.scaled(self._damping, r, out)


class Diagonal(Inverse):
    """out = scale · r"""

    def __init__(self, scale: np.ndarray):
        self.scale = scale

    def apply(self, r, out):
        return np.multiply(self.scale, r, out=out)


@dataclass(frozen=True)
class SPAI0(Recipe):
    """SPAI-0 has no parameters; a stencil operator is not assembled."""

    def setup(self, operator, reuse=None):
        base, free = operator.core, operator.free
        d = operator.diagonal
        ones = np.ones(base.n) if free is None else free.astype(float)
        squares = d**2 + ones * _squares(base, ones)
        scale = np.zeros(base.n)
        np.divide(d, squares, out=scale, where=squares > 0)
        return Diagonal(scale)


def _squares(base: Operator, x: np.ndarray) -> np.ndarray:
    """Σ_{j≠i} a_ij² x_j"""
    stencil = base.stencil
    if stencil is not None:
        w0, w1, w2 = (-(w.astype(float) ** 2) for w in stencil.weights)
        out = np.empty(base.n)
        _stencil_apply(out, x, w0, w1, w2, np.zeros(base.n), stencil.rows.start, stencil.rows.offset)
        return out
    A = base.matrix()
    squares = A.multiply(A).tocsr()
    return squares @ x - base.diagonal**2 * x
