"""The small levels at the end of a hierarchy as one level, run by one compiled call.

The levels lie one after the other in common arrays. The operations of a cycle are recorded once, by running the cycle
of `cycles` over levels that only record their calls. The record is a program for `_tail._run_program`. So a W-cycle and
a resmoothed cycle, Gauss–Seidel and SSOR, float32 and float64 share one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from . import _tail as kernels
from .cycles import Cycle, Level
from .level import RedBlackLevel

#: a range of colours of one level: from the first up to, not including, the second
Rows = tuple[int, int]
#: operation, level, first colour, end, keep, gain
Step = tuple[int, int, int, int, float, float]


class MatrixLevel(Protocol):
    """The packed part of a level: off-diagonal weights in CSR, inverse diagonals, the parent of each row or -1.

    Rows are sorted by colour; colour c owns the rows from `ends[c]` to `ends[c + 1]`.
    """

    ends: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    dinv: np.ndarray
    parent: np.ndarray


class Notes(Level):
    """A level that records its calls: level `k`, with its number of colours."""

    def __init__(self, steps: list[Step], k: int, colours: int, omega: float):
        self.steps, self.k, self.omega = steps, k, omega
        self.rows: Rows = 0, colours
        self.colours: list[Rows] = [(c, c + 1) for c in range(colours)]

    def _note(self, what: int, rows: Rows, keep: float = 0.0, gain: float = 1.0) -> None:
        self.steps.append((what, self.k, *rows, keep, gain))

    def solve(self) -> None:
        """One unknown for each connected part; a row without a diagonal is a part without an equation."""
        self._note(kernels.START, self.rows)

    def _restrict(self, coarse: Notes, rows: Rows) -> None:
        coarse._note(kernels.CLEAR, coarse.rows)
        self._note(kernels.RESTRICT, rows)


class GaussSeidelNotes(Notes, RedBlackLevel):
    """Gauss–Seidel in two colours."""

    def start_red(self) -> None:
        self._note(kernels.START, self.colours[0])

    def relax_red(self) -> None:
        self._note(kernels.PASS, self.colours[0])

    def relax_black(self) -> None:
        self._note(kernels.PASS, self.colours[1])

    def restrict_residual(self, coarse, from_zero):
        self._note(kernels.RESIDUAL, self.colours[0])
        self._restrict(coarse, self.colours[0])

    def correct(self, coarse):
        self._note(kernels.PROLONG, self.colours[0])


class SequentialNotes(Notes):
    """Gauss–Seidel row by row, forwards and then backwards: for levels whose rows of one colour are coupled."""

    def smooth(self, sweeps, from_zero):
        if from_zero:
            self._note(kernels.ZERO, self.rows)
        for _ in range(sweeps):
            self._note(kernels.PASS, self.rows)

    def restrict_residual(self, coarse, from_zero):
        self._note(kernels.RESIDUAL, self.rows)
        self._restrict(coarse, self.rows)

    def correct(self, coarse):
        self._note(kernels.PROLONG, self.rows)

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            self._note(kernels.PASS_BACK, self.rows)


class SSORNotes(Notes):
    """The merged passes of `rbssor`: residuals come with the sweeps, two successive passes over one colour are one."""

    def smooth(self, sweeps, from_zero):
        assert sweeps == 1 and from_zero, "a resmoothed cycle starts every visit from zero"
        (first, *others), last = self.colours, len(self.colours) - 1
        self._note(kernels.START, first, gain=self.omega)
        self._note(kernels.ZERO, (1, last + 1))
        for colour, rows in enumerate(others, 1):
            self._note(kernels.PASS_RESIDUAL if colour == last else kernels.PASS, rows, 0.0, self.omega)
        for rows in self.colours[:-1]:
            self._note(kernels.RESIDUAL, rows)

    def resmooth(self, sweeps):
        assert sweeps == 1
        omega, (first, *others) = self.omega, self.colours
        for rows in self.colours[:-1]:
            self._note(kernels.PASS, rows, 1.0 - omega, omega)
        # forwards and backwards in one operation
        self._note(kernels.PASS, self.colours[-1], (1.0 - omega) ** 2, (2.0 - omega) * omega)
        for rows in reversed(others[:-1]):
            self._note(kernels.PASS, rows, 1.0 - omega, omega)
        self._note(kernels.PASS_RESIDUAL, first, 1.0 - omega, omega)
        for rows in others:
            self._note(kernels.RESIDUAL, rows)

    def restrict_residual(self, coarse, from_zero):
        self._restrict(coarse, self.rows)

    def correct(self, coarse):
        self._note(kernels.PROLONG, self.rows)

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            for rows in reversed(self.colours):
                self._note(kernels.PASS, rows, 1.0 - self.omega, self.omega)


@cache
def _program(cycle: Cycle, notes: type[Notes], omega: float, colours: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The operations of one visit on levels with these numbers of colours: (operation, level, colours), and factors."""
    steps: list[Step] = []
    cycle.visit([notes(steps, k, count, omega) for k, count in enumerate(colours)], 0)
    return np.array([step[:4] for step in steps], np.int64), np.array([step[4:] for step in steps])


class Bottom(Level):
    """The coarsest level of a cycle: it can only be solved."""

    def smooth(self, sweeps, from_zero):
        raise TypeError("the coarsest level is solved, not relaxed")

    def restrict_residual(self, coarse, from_zero):
        self.smooth(1, from_zero)

    def correct(self, coarse):
        self.smooth(1, False)

    def smooth_back(self, sweeps):
        self.smooth(sweeps, False)


class PackedTail(Bottom):
    """Levels in common arrays; `x` and `b` are those of the first. Weights and diagonals of the levels become views."""

    def __init__(self, levels: Sequence[MatrixLevel], cycle: Cycle, notes: type[Notes], omega: float = 1.0):
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
        steps, factors = _program(cycle, notes, omega, tuple(colours))
        what, level_of, first, last = steps.T
        self._program = np.stack((what, ends[level_of, first], ends[level_of, last]), axis=1)
        self._factors = factors.astype(dtype)

    def solve(self):
        """x ≈ A⁻¹ b on the first level: one visit of the cycle."""
        kernels._run_program(
            self._program, self._factors, self._x, self._b, self._r, self.dinv, self._weights, self._indices,
            self._indptr, self.parent,
        )  # fmt: skip
