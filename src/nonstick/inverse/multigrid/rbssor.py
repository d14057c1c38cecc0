"""Red-black SSOR, the smoother of `cycles.Resmoothed` (Takahashi–Batty §4, algorithm 1).

`RBSSOR` sweeps red then black before the coarse correction and black then red after it; between two corrections a level
is resmoothed red-black-black-red.

Savings, all exact: the first sweep from zero reads no neighbours of red cells (9); residuals of the colour smoothed
last come with the sweep (12, 19); the two black sweeps of resmoothing are one (17). See `_rbssor`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ...operators.base import Operator
from ...operators.stencil import ONE_THREAD_BELOW, StencilOperator
from ._rbssor import _csr_pass, _csr_pass_small, _scale_start, _stencil_pass, _stencil_pass_small
from .level import OperatorLevel
from .smoothers import Lexicographic, Smoother, SmootherRecipe, relaxed_diagonal


@dataclass(frozen=True)
class RBSSOR(SmootherRecipe):
    """Over-relaxation in two colours; matrices that are not two-coloured by their cells get lexicographic sweeps."""

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

    def level(self, A):
        return ColouredLevel(A, self)

    @abstractmethod
    def _pass(self, x, r, b, colour: int, keep: float, gain: float) -> None:
        """Relax one colour; r is `_none` if no residual is wanted."""

    def _start(self, x, b) -> None:
        """Relax the first colour from zero; the colours after black must not be read before they are written."""
        _scale_start(x, b, self.diagonal, self.omega)

    def pre(self, x, b):
        for colour in range(self.colours):
            self._pass(x, self._none, b, colour, 1.0 - self.omega, self.omega)

    def post(self, x, b):
        for colour in reversed(range(self.colours)):
            self._pass(x, self._none, b, colour, 1.0 - self.omega, self.omega)

    def pre_from_zero(self, x, b):
        self._start(x, b)
        for colour in range(1, self.colours):
            self._pass(x, self._none, b, colour, 0.0, self.omega)

    def pre_from_zero_residual(self, x, b, r) -> None:
        """One sweep from zero, and the residual after it (9–12)."""
        last = self.colours - 1
        self._start(x, b)
        for colour in range(1, self.colours):
            self._pass(x, r if colour == last else self._none, b, colour, 0.0, self.omega)
        for colour in range(last):
            self._pass(x, r, b, colour, 1.0, 0.0)

    def resmooth_residual(self, x, b, r) -> None:
        """Sweep red, black, black, red, and compute the residual (13–20)."""
        omega, last = self.omega, self.colours - 1
        for colour in range(last):
            self._pass(x, self._none, b, colour, 1.0 - omega, omega)
        self._pass(x, self._none, b, last, (1.0 - omega) ** 2, (2.0 - omega) * omega)
        for colour in reversed(range(last)):
            self._pass(x, r if colour == 0 else self._none, b, colour, 1.0 - omega, omega)
        for colour in range(1, self.colours):
            self._pass(x, r, b, colour, 1.0, 0.0)


class _StencilPasses(ColourPasses):
    def __init__(self, A: StencilOperator, diagonal, omega):
        super().__init__(diagonal, omega)
        self._tables = *A.weights, diagonal, A.rows.start, A.rows.offset, A.rows.parity
        self._kernel = _stencil_pass_small if A.n < ONE_THREAD_BELOW else _stencil_pass

    def _pass(self, x, r, b, colour, keep, gain):
        self._kernel(x, r, b, *self._tables, colour, keep, gain, r.size > 0)


class _MatrixPasses(ColourPasses):
    def __init__(self, A: Operator, diagonal, colour: np.ndarray, omega):
        super().__init__(diagonal, omega)
        M = A.matrix()
        self._tables = M.data, M.indices, M.indptr, diagonal
        self.colours = max(2, int(colour.max(initial=0)) + 1)
        self._rows = [np.flatnonzero(colour == c) for c in range(self.colours)]
        self._late = np.flatnonzero(colour > 1)
        self._kernel = _csr_pass_small if A.n < ONE_THREAD_BELOW else _csr_pass

    def _start(self, x, b):
        super()._start(x, b)
        x[self._late] = 0.0

    def _pass(self, x, r, b, colour, keep, gain):
        self._kernel(x, r, b, *self._tables, self._rows[colour], keep, gain, r.size > 0)


class ColouredLevel(OperatorLevel):
    """A level whose residual comes with the sweeps."""

    smoother: ColourPasses

    def __init__(self, A: Operator, smoother: ColourPasses):
        super().__init__(A, smoother)
        self._fresh = False  # r is the residual of x

    def smooth(self, sweeps, from_zero):
        self._fresh = from_zero and sweeps == 1
        if self._fresh:
            self.smoother.pre_from_zero_residual(self.x, self.b, self.r)
        else:
            super().smooth(sweeps, from_zero)

    def resmooth(self, sweeps):
        self._fresh = sweeps == 1
        if self._fresh:
            self.smoother.resmooth_residual(self.x, self.b, self.r)
        else:
            super().resmooth(sweeps)

    def restrict_residual(self, coarse, from_zero):
        if not self._fresh:
            self.A.residual(self.b, self.x, self.r)
        self._fresh = False
        self.transfer.restrict(self.r, coarse.b)
