"""Smoothers: a few relaxation sweeps, and their adjoints.

`setup(A)` takes a stencil or CSR operator, or `Masked` over either; rows outside the free set are not changed (the
cycle keeps x = 0 there). `post` is the adjoint of `pre`, so a cycle with the same number of both is symmetric, as CG
needs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...kernels._csr import _csr_relax
from ...kernels._stencil import _stencil_relax, _stencil_relax_small
from ...operators.base import Operator
from ...operators.stencil import ONE_THREAD_BELOW, StencilOperator
from .level import OperatorLevel


class Smoother(ABC):
    """Sweeps over one level, in place."""

    @abstractmethod
    def pre(self, x: np.ndarray, b: np.ndarray) -> None:
        """One sweep before the coarse correction."""

    @abstractmethod
    def post(self, x: np.ndarray, b: np.ndarray) -> None:
        """One sweep after it: the adjoint of `pre`."""

    def pre_from_zero(self, x: np.ndarray, b: np.ndarray) -> None:
        """`pre` for x = 0; the present x is ignored."""
        x[:] = 0.0
        self.pre(x, b)

    def level(self, A: Operator) -> OperatorLevel:
        """The level for this smoother; a smoother that computes residuals cheaply has its own kind of level."""
        return OperatorLevel(A, self)


class SmootherRecipe(ABC):
    """Parameters of a smoother."""

    @abstractmethod
    def setup(self, A: Operator) -> Smoother: ...

    def coarsest(self, A: Operator) -> OperatorLevel:
        """The last level of a hierarchy smoothed by this: it is solved, not smoothed."""
        return self.setup(A).level(A)


@dataclass(frozen=True)
class RedBlack(SmootherRecipe):
    """Gauss–Seidel in two colours (checkerboard). `symmetric` runs the colours there and back (SSOR)."""

    omega: float = 1.0
    symmetric: bool = False

    def setup(self, A):
        stencil = A.core.stencil
        if stencil is not None:
            return _StencilRedBlack(stencil, relaxed_diagonal(A), self.omega, self.symmetric)
        return _Ordered(A, checkerboard(A), self.omega, self.symmetric)


@dataclass(frozen=True)
class Lexicographic(SmootherRecipe):
    """Gauss–Seidel in the order of the unknowns; `post` runs backwards."""

    omega: float = 1.0
    symmetric: bool = False

    def setup(self, A):
        return _Ordered(A, np.arange(A.n, dtype=np.int32), self.omega, self.symmetric)


@dataclass(frozen=True)
class DampedJacobi(SmootherRecipe):
    """x += omega D⁻¹ (b - A x)"""

    omega: float = 2 / 3

    def setup(self, A):
        d = relaxed_diagonal(A)
        return DiagonalSweeps(A, np.divide(self.omega, d, out=np.zeros_like(d), where=d > 0))


def relaxed_diagonal(A: Operator) -> np.ndarray:
    """The diagonal, with 0 (which means "do not change this row") outside the free set."""
    return A.diagonal if A.free is None else np.where(A.free, A.diagonal, 0)


def checkerboard(A: Operator) -> np.ndarray:
    """The unknowns of even cells, then those of odd cells; natural order without cells."""
    if A.cells is None:
        return np.arange(A.n, dtype=np.int32)
    return np.argsort(np.asarray(A.cells).sum(axis=1) & 1, kind="stable").astype(np.int32)


class _StencilRedBlack(Smoother):
    def __init__(self, A: StencilOperator, d: np.ndarray, omega: float, symmetric: bool):
        self.omega = omega
        none = np.empty(0, A.dtype)
        self._bounds = none, none
        self._tables = *A.weights, d, A.rows.start, A.rows.offset, A.rows.parity
        self._relax = _stencil_relax_small if A.n < ONE_THREAD_BELOW else _stencil_relax

        # Forwards and backwards; without over-relaxation the second pass over the inner colour changes nothing.
        both: tuple[int, ...] = (0, 1, 0) if omega == 1.0 else (0, 1, 1, 0)
        self._pre: tuple[int, ...] = both if symmetric else (0, 1)
        self._post: tuple[int, ...] = both if symmetric else (1, 0)

    def _sweep(self, x, b, colours):
        for colour in colours:
            self._relax(x, b, *self._bounds, *self._tables, colour, self.omega, False)

    def pre(self, x, b):
        self._sweep(x, b, self._pre)

    def post(self, x, b):
        self._sweep(x, b, self._post)


class _Ordered(Smoother):
    """Sequential relaxation of a CSR matrix in a fixed order."""

    def __init__(self, A: Operator, order: np.ndarray, omega: float, symmetric: bool):
        M = A.matrix()
        none = np.empty(0)
        self._tables = none, none, relaxed_diagonal(A), M.data, M.indices, M.indptr
        back = order[::-1].copy()
        self._pre: tuple[np.ndarray, ...] = (order, back) if symmetric else (order,)
        self._post: tuple[np.ndarray, ...] = (order, back) if symmetric else (back,)
        self.omega = omega

    def _sweep(self, x, b, orders):
        for order in orders:
            _csr_relax(x, b, *self._tables, order, self.omega, False)

    def pre(self, x, b):
        self._sweep(x, b, self._pre)

    def post(self, x, b):
        self._sweep(x, b, self._post)


class DiagonalSweeps(Smoother):
    """x += step (b - A x), with one step for each row."""

    def __init__(self, A: Operator, step: np.ndarray):
        self.A, self._step = A, step
        self._r = np.empty_like(step)

    def pre(self, x, b):
        self.A.residual(b, x, self._r)
        self._r *= self._step
        x += self._r

    post = pre

    def pre_from_zero(self, x, b):
        np.multiply(self._step, b, out=x)
