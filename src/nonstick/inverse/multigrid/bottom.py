"""The coarsest level of a hierarchy: a dense factor, or sweeps of a smoother where it is too large for one.

Dense systems are factored and solved in one thread: calling a threaded library for fifty unknowns costs more than
solving them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...kernels import serial
from ...operators.base import Operator
from ..base import Inverse, Recipe
from .level import OperatorLevel
from .smoothers import RedBlack, SmootherRecipe


@dataclass(frozen=True)
class Bottom(Recipe):
    """The coarsest level: a Cholesky factor up to `dense` unknowns, symmetric sweeps for more.

    For a singular matrix it is the pseudo-inverse, which keeps null vectors (pockets without a free surface, empty
    rows) zero.
    """

    smoother: SmootherRecipe = field(default_factory=RedBlack)
    dense: int = 600
    sweeps: int = 30
    cutoff: float = 1e-11

    def setup(self, operator, reuse=None):
        if operator.n > self.dense:
            return _Sweeps(operator, self.smoother, self.sweeps, self.sweeps)
        M = operator.matrix().toarray().astype(np.float64)
        if not operator.symmetric:
            return _Inverted(M)
        L = M.copy()
        if _factor(L, self.cutoff):
            return _PseudoInverse(M, self.cutoff)
        return _Cholesky(L)


class _Cholesky(Inverse):
    def __init__(self, L: np.ndarray):
        self.L = L

    def apply(self, r, out):
        _substitute(out, self.L, r)
        return out


class _PseudoInverse(Inverse):
    def __init__(self, M: np.ndarray, cutoff: float):
        live = np.abs(M).sum(axis=1) > 0
        self.inverse = np.zeros_like(M)
        if live.any():
            part = np.ix_(live, live)
            # Jacobi scaling first: otherwise a penalty row would push the others below the cutoff.
            s = 1 / np.sqrt(np.maximum(np.diag(M)[live], np.finfo(float).tiny))
            value, vector = np.linalg.eigh(s[:, None] * M[part] * s)
            keep = value > cutoff * max(value.max(), 1e-300)
            half = s[:, None] * (vector[:, keep] / np.sqrt(value[keep]))
            self.inverse[part] = half @ half.T

    def apply(self, r, out):
        out[:] = self.inverse @ r
        return out


class _Inverted(Inverse):
    """The inverse of a matrix that is not symmetric, or its pseudo-inverse."""

    def __init__(self, M: np.ndarray):
        try:
            self.inverse = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            self.inverse = np.linalg.pinv(M)

    def apply(self, r, out):
        out[:] = self.inverse @ r
        return out


@dataclass(frozen=True)
class Sweeps(Recipe):
    """Sweeps of a smoother from zero, instead of a solve, for a coarsest level too large for a factor.

    Parameters
    ----------
    smoother : SmootherRecipe
        A smoother whose single sweeps are symmetric: `Chebyshev(...)`, `BandJacobi(...)`.
    sweeps : int
        The number of sweeps.

    Examples
    --------
    >>> from nonstick.inverse import BandJacobi, Sweeps
    >>> Sweeps(BandJacobi(steps=0), 200).sweeps
    200
    """

    smoother: SmootherRecipe
    sweeps: int = 1

    def setup(self, operator, reuse=None):
        return _Sweeps(operator, self.smoother, self.sweeps, 0)


class _Sweeps(Inverse):
    """`pre` sweeps from zero, then `post` adjoint ones."""

    def __init__(self, A: Operator, smoother: SmootherRecipe, pre: int, post: int):
        self.level, self.pre, self.post = OperatorLevel(A, smoother.setup(A)), pre, post
        self.level.x = self.level.b = self.level.x[:0]  # the vectors of the caller are used

    def apply(self, r, out):
        level = self.level
        level.x, level.b = out, r
        level.smooth(self.pre, from_zero=True)
        level.smooth_back(self.post)
        if level.x is not out:  # a smoother may swap the vectors of its level
            level.r, level.x = level.x, out
            out[:] = level.r
        return out


@serial
def _factor(L, tolerance):
    """`A = L E Lᵀ` in place, E on the diagonal, L below it; returns the number of pivots below tolerance·diagonal."""
    n = L.shape[0]
    lost = 0
    for j in range(n):
        pivot = L[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k] * L[k, k]
        if pivot <= tolerance * L[j, j]:
            lost += 1
            pivot = 0.0
        L[j, j] = pivot
        for i in range(j + 1, n):
            if pivot > 0.0:
                s = L[i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k] * L[k, k]
                L[i, j] = s / pivot
            else:
                L[i, j] = 0.0
    return lost


@serial
def _substitute(x, L, b):
    """x = (L E Lᵀ)⁻¹ b"""
    n = L.shape[0]
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s
    for i in range(n - 1, -1, -1):
        s = x[i] / L[i, i]
        for k in range(i + 1, n):
            s -= L[k, i] * x[k]
        x[i] = s
