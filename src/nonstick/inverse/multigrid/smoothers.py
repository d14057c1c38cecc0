"""Smoothers: a few relaxation sweeps, and their adjoints.

`setup(A)` takes a stencil or CSR operator, or `Masked` over either; rows outside the free set are not changed (the
cycle keeps x = 0 there). `post` is the adjoint of `pre`, so a cycle with the same number of both is symmetric, as CG
needs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...errors import NonstickError
from ...kernels._csr import _csr_relax
from ...kernels._stencil import _stencil_relax
from ...operators.base import Operator
from ...operators.stencil import StencilOperator
from ..precond.jacobi import SPAI0
from ._passes import _csr_pass, _scale_start, _stencil_pass
from .level import OperatorLevel


class Smoother(ABC):
    """Sweeps over one level: they improve `level.x` for `level.b`.

    They may use `level.r`, or swap it with x. A smoother that leaves the residual there sets `level.fresh`.
    """

    @abstractmethod
    def pre(self, level: OperatorLevel) -> None:
        """One sweep before the coarse correction."""

    @abstractmethod
    def post(self, level: OperatorLevel) -> None:
        """One sweep after it: the adjoint of `pre`."""

    def pre_from_zero(self, level: OperatorLevel) -> None:
        """`pre` for x = 0; the present x is ignored."""
        level.x[:] = 0.0
        self.pre(level)

    def resmooth(self, level: OperatorLevel) -> None:
        """A sweep and its adjoint, between two coarse corrections."""
        self.pre(level)
        self.post(level)


class SmootherRecipe(ABC):
    """Parameters of a smoother."""

    @abstractmethod
    def setup(self, A: Operator) -> Smoother: ...


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
        return DiagonalSweeps(np.divide(self.omega, d, out=np.zeros_like(d), where=d > 0))


@dataclass(frozen=True)
class SPAI0Sweeps(SmootherRecipe):
    """x += m (b - A x) with the diagonal m of `precond.jacobi`: a Jacobi sweep that needs no damping factor."""

    def setup(self, A):
        step = SPAI0().setup(A).scale.copy()
        if A.free is not None:
            step[~A.free] = 0.0
        return DiagonalSweeps(step)


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

        # Forwards and backwards; without over-relaxation the second pass over the inner colour changes nothing.
        both: tuple[int, ...] = (0, 1, 0) if omega == 1.0 else (0, 1, 1, 0)
        self._pre: tuple[int, ...] = both if symmetric else (0, 1)
        self._post: tuple[int, ...] = both if symmetric else (1, 0)

    def _sweep(self, level, colours):
        for colour in colours:
            _stencil_relax(level.x, level.b, *self._bounds, *self._tables, colour, self.omega, False)

    def pre(self, level):
        self._sweep(level, self._pre)

    def post(self, level):
        self._sweep(level, self._post)


class _Ordered(Smoother):
    """Sequential relaxation of a CSR matrix in a fixed order."""

    def __init__(self, A: Operator, order: np.ndarray, omega: float, symmetric: bool):
        if A.native is A and A.zeros().size != A.n:
            raise NonstickError("row by row relaxation needs compact vectors; for face velocities take BoxSweep()")
        M = A.core.matrix() if A.shift is None else A.matrix()  # x = 0 outside the free set
        none = np.empty(0)
        self._tables = none, none, relaxed_diagonal(A), M.data, M.indices, M.indptr
        back = order[::-1].copy()
        self._pre: tuple[np.ndarray, ...] = (order, back) if symmetric else (order,)
        self._post: tuple[np.ndarray, ...] = (order, back) if symmetric else (back,)
        self.omega = omega

    def _sweep(self, level, orders):
        for order in orders:
            _csr_relax(level.x, level.b, *self._tables, order, self.omega, False)

    def pre(self, level):
        self._sweep(level, self._pre)

    def post(self, level):
        self._sweep(level, self._post)


class DiagonalSweeps(Smoother):
    """x += step (b - A x), with one step for each row."""

    def __init__(self, step: np.ndarray):
        self._step = step

    def pre(self, level):
        level.A.residual(level.b, level.x, level.r)
        level.r *= self._step
        level.x += level.r

    post = pre

    def pre_from_zero(self, level):
        np.multiply(self._step, level.b, out=level.x)


# -- Takahashi and Batty's red-black SSOR ---------------------------------------------------------------------------


@dataclass(frozen=True)
class RBSSOR(SmootherRecipe):
    """Red-black SSOR, the smoother of `cycles.Resmoothed` (Takahashi–Batty §4, algorithm 1).

    Red then black before the coarse correction, black then red after it; between two corrections red-black-black-red.
    Matrices that are not two-coloured by their cells get lexicographic sweeps.

    Savings, all exact: the first sweep from zero reads no neighbours of red cells (9); residuals of the colour smoothed
    last come with the sweep (12, 19); the two black sweeps of resmoothing are one (17). See `_passes`.
    """

    omega: float = 1.2

    def setup(self, A):
        base, stencil = A.core, A.core.stencil
        if stencil is not None:
            return _StencilPasses(stencil, relaxed_diagonal(A), self.omega)
        colour = known_colours(base)
        if colour is None:
            return Lexicographic(self.omega).setup(A)
        return _MatrixPasses(base, relaxed_diagonal(A), colour, self.omega)


def known_colours(A: Operator) -> np.ndarray | None:
    """The colours stored with a coarse matrix, or those of the checkerboard; None if neither separates its rows."""
    colour = getattr(A, "colour", None)
    return two_colours(A) if colour is None else colour


def two_colours(A: Operator) -> np.ndarray | None:
    """The checkerboard colour of each unknown, or None if two of one colour are coupled."""
    if A.cells is None:
        return None
    colour = (np.asarray(A.cells).sum(axis=1) & 1).astype(np.int8)
    M = A.matrix()
    row = np.repeat(np.arange(A.n), np.diff(M.indptr))
    same = (colour[row] == colour[M.indices]) & (row != M.indices) & (M.data != 0.0)
    return None if same.any() else colour


class ColourPasses(Smoother):
    """Sweeps made of passes `x = keep x + gain (b - c)/d` over one colour, with the residual on request.

    The paper has two colours, red and black. A few more colours follow if a coarse cell holds unknowns that are coupled
    to each other (`TopologyAware.theta`). Sweeps run through all colours and back; the two sweeps of the last colour
    are merged (17), and the residual of the colour smoothed last comes with its sweep.
    """

    colours = 2

    def __init__(self, diagonal: np.ndarray, omega: float):
        self.diagonal, self.omega = diagonal, omega
        self._none = np.empty(0, diagonal.dtype)

    @abstractmethod
    def _pass(self, x, r, b, colour: int, keep: float, gain: float) -> None:
        """Relax one colour; r is `_none` if no residual is wanted."""

    def _start(self, x, b) -> None:
        """Relax the first colour from zero; the colours after black must not be read before they are written."""
        _scale_start(x, b, self.diagonal, self.omega)

    def _sweep(self, level, colours, keep: float) -> None:
        for colour in colours:
            self._pass(level.x, self._none, level.b, colour, keep, self.omega)

    def pre(self, level):
        self._sweep(level, range(self.colours), 1.0 - self.omega)

    def post(self, level):
        self._sweep(level, reversed(range(self.colours)), 1.0 - self.omega)

    def pre_from_zero(self, level):
        """One sweep from zero, and the residual after it (9–12)."""
        x, b, last = level.x, level.b, self.colours - 1
        self._start(x, b)
        self._sweep(level, range(1, last), 0.0)
        self._pass(x, level.r, b, last, 0.0, self.omega)
        self._residuals(level, range(last))

    def resmooth(self, level):
        """Sweep red, black, black, red, and compute the residual (13–20)."""
        x, b, omega, last = level.x, level.b, self.omega, self.colours - 1
        self._sweep(level, range(last), 1.0 - omega)
        self._pass(x, self._none, b, last, (1.0 - omega) ** 2, (2.0 - omega) * omega)
        self._sweep(level, reversed(range(1, last)), 1.0 - omega)
        self._pass(x, level.r, b, 0, 1.0 - omega, omega)
        self._residuals(level, range(1, self.colours))

    def _residuals(self, level, colours) -> None:
        for colour in colours:
            self._pass(level.x, level.r, level.b, colour, 1.0, 0.0)
        level.fresh = True


class _StencilPasses(ColourPasses):
    def __init__(self, A: StencilOperator, diagonal, omega):
        super().__init__(diagonal, omega)
        self._tables = *A.weights, diagonal, A.rows.start, A.rows.offset, A.rows.parity

    def _pass(self, x, r, b, colour, keep, gain):
        _stencil_pass(x, r, b, *self._tables, colour, keep, gain, r.size > 0)


class _MatrixPasses(ColourPasses):
    def __init__(self, A: Operator, diagonal, colour: np.ndarray, omega):
        super().__init__(diagonal, omega)
        M = A.matrix()
        self._tables = M.data, M.indices, M.indptr, diagonal
        self.colours = max(2, int(colour.max(initial=0)) + 1)
        self._rows = [np.flatnonzero(colour == c) for c in range(self.colours)]
        self._late = np.flatnonzero(colour > 1)

    def _start(self, x, b):
        super()._start(x, b)
        x[self._late] = 0.0

    def _pass(self, x, r, b, colour, keep, gain):
        _csr_pass(x, r, b, *self._tables, self._rows[colour], keep, gain, r.size > 0)
