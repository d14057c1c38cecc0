"""One level of a hierarchy; the general one: an operator, its smoother, its transfer and its vectors; and levels in
colours.

The other kinds of level are in the folders of their hierarchies. Each is a faster form of the same verbs: colours of a
grid in separate arrays, rows of a sparse matrix sorted by colour, many small levels in one compiled call.

The small levels at the end of a hierarchy are one level, run by one compiled call. These packed levels lie one after
the other in common arrays. The passes of a cycle are recorded once, by running the cycle of `cycles` over levels that
only record their passes. The record is a program for `_passes._run_program`. So a W-cycle and a resmoothed cycle,
Gauss–Seidel and SSOR, float32 and float64 share one loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import NonstickError
from ...kernels._vector import dot
from ...operators.base import Operator
from ...operators.transfer import Transfer
from ..base import Inverse
from . import _passes as kernels
from ._passes import CLEAR, PASS, PASS_RESIDUAL, PROLONG, RESIDUAL, RESTRICT, START, ZERO

if TYPE_CHECKING:
    from .aggregation.levels import MatrixLevel
    from .cycles import Cycle
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


#: operation, level, first colour, end, keep, gain
Step = tuple[int, int, int, int, float, float]


class ColouredLevel(Level):
    """Gauss–Seidel (omega = 1) or over-relaxation in colours: forwards on the way down, backwards on the way up.

    Every verb is a list of passes over colours. This level records them, as its number `k`; a subclass runs them.

    For omega = 1 passes that would change nothing are skipped. The colour relaxed last has no residual. The colour
    relaxed next needs no correction. A cycle that does not start from zero follows a pass over the first colour.
    """

    omega: float = 1.0
    colours: int = 2
    _latest = 0

    def __init__(self, steps: list[Step], k: int, colours: int, omega: float):
        self.steps, self.k, self.colours, self.omega = steps, k, colours, omega

    def run(self, operation: int, first: int, end: int, keep: float = 0.0, gain: float = 1.0) -> None:
        """One operation on a range of colours. Two passes in succession over one colour are recorded as one
        (Takahashi–Batty 17), and a residual comes with the pass before it (12, 19)."""
        was, *where, old_keep, old_gain = self.steps[-1] if self.steps else (-1, -1, 0, 0, 0.0, 0.0)
        if was == PASS and where == [self.k, first, end] and operation in (PASS, RESIDUAL):
            self.steps.pop()
            if operation == PASS:
                keep, gain = keep * old_keep, keep * old_gain + gain
            else:
                operation, keep, gain = PASS_RESIDUAL, old_keep, old_gain
        self.steps.append((operation, self.k, first, end, keep, gain))

    @property
    def exact(self) -> bool:
        """True if a pass leaves no residual behind."""
        return self.omega == 1.0

    def _sweep(self, colours: Iterable[int], keep: float) -> None:
        for colour in colours:
            self.run(PASS, colour, colour + 1, keep, self.omega)
            self._latest = colour

    def smooth(self, sweeps, from_zero):
        if sweeps < 1 and self.exact:
            raise NonstickError("Gauss–Seidel in colours needs at least one sweep before the coarse correction")
        if sweeps < 1 and from_zero:
            self.run(ZERO, 0, self.colours)
        for sweep in range(sweeps):
            if from_zero and sweep == 0:
                self.run(START, 0, 1, gain=self.omega)
                if self.colours > 2:  # a pass reads the colours after it
                    self.run(ZERO, 1, self.colours)
                self._sweep(range(1, self.colours), 0.0)
            else:
                self._sweep(range(int(self.exact and sweep == 0), self.colours), 1.0 - self.omega)

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            self._sweep(reversed(range(self.colours)), 1.0 - self.omega)

    def resmooth(self, sweeps):
        if self.exact:
            self.smooth_back(sweeps)
            self.smooth(1, False)
        else:
            super().resmooth(sweeps)

    def restrict_residual(self, coarse, from_zero):
        last = self.colours - int(self.exact)
        for colour in sorted(range(last), key=lambda c: c != self._latest):
            self.run(RESIDUAL, colour, colour + 1)
        coarse.run(CLEAR, 0, coarse.colours)
        self.run(RESTRICT, 0, last)

    def correct(self, coarse):
        self.run(PROLONG, 0, self.colours - int(self.exact))

    def solve(self):
        """One unknown for each connected part; a row without a diagonal is a part without an equation."""
        self.run(START, 0, self.colours)


@cache
def _program(cycle: Cycle, omega: float, colours: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The operations of one visit on levels with these numbers of colours: (operation, level, colours), and factors."""
    steps: list[Step] = []
    cycle.visit([ColouredLevel(steps, k, count, omega) for k, count in enumerate(colours)], 0)
    return np.array([step[:4] for step in steps], np.int64), np.array([step[4:] for step in steps])


class PackedLevels(Level):
    """Sorted levels in common arrays; `x` and `b` are those of the first. Their weights and diagonals become views."""

    def __init__(self, levels: Sequence[MatrixLevel], cycle: Cycle, omega: float = 1.0):
        sizes = [level.dinv.size for level in levels]
        dtype = levels[0].weights.dtype
        #: first row of each level
        self.ends = np.concatenate(([0], np.cumsum(sizes)))
        rows, entries = self.ends, np.concatenate(([0], np.cumsum([level.weights.size for level in levels])))
        self._indptr = np.concatenate([[0], *(level.indptr[1:] + at for level, at in zip(levels, entries))])
        self._indices = np.concatenate([level.indices + at for level, at in zip(levels, rows)]).astype(np.int32)
        self.parent = np.full(rows[-1], -1, np.int32)
        self._weights, self.dinv = np.empty(entries[-1], dtype), np.empty(rows[-1], dtype)
        for k, level in enumerate(levels):
            here, own = slice(*rows[k : k + 2]), slice(*entries[k : k + 2])
            self._weights[own], level.weights = level.weights, self._weights[own]
            self.dinv[here], level.dinv = level.dinv, self.dinv[here]
            if k + 1 < len(levels):
                self.parent[here] = np.where(level.parent < 0, -1, level.parent + rows[k + 1])
        self._x, self._b, self._r = (np.zeros(rows[-1], dtype) for _ in range(3))
        self.x, self.b = self._x[: sizes[0]], self._b[: sizes[0]]
        # trailing colours that a level does not have are omitted
        colours = [max(2, int(np.searchsorted(level.ends, level.ends[-1]))) for level in levels]
        ends = np.zeros((len(levels), max(colours) + 1), np.int64)
        for k, (level, count) in enumerate(zip(levels, colours)):
            ends[k, : count + 1] = level.ends[: count + 1] + rows[k]
        steps, factors = _program(cycle, omega, tuple(colours))
        what, level_of, first, last = steps.T
        program = np.stack((what, ends[level_of, first], ends[level_of, last]), axis=1)
        vectors, matrix = (self._x, self._b, self._r), (self.dinv, self._weights, self._indices, self._indptr)
        self._arguments = program, factors.astype(dtype), *vectors, *matrix, self.parent

    def solve(self):
        """x ≈ A⁻¹ b on the first level: one visit of the cycle."""
        kernels._run_program(*self._arguments)
