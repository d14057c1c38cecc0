"""Restarted GMRES (Saad & Schultz 1986), flexible and preconditioned from the right.

SciPy has a GMRES, but it stops on the 2-norm and has no residual vector. Here the residual follows the short recurrence
`r ← s² r + c γ v` of the Givens rotations. So the max norm, on which every solver of this package stops, is known at
every iteration, and `M` may itself be an iteration. All vectors are allocated in `setup`.

Where rows have different units (`Operator.units`), the residual is minimised in one unit. V then holds scaled vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...core import rounding
from ...kernels._vector import BLOCK, _add_combination, _axpy, _coefficients, dot
from ...operators.base import Operator
from ..base import Course, IterativeInverse, NoPreconditioner, Recipe, max_abs


@dataclass(frozen=True)
class GMRES(Recipe):
    """Generalised minimal residuals preconditioned by `M`, restarted every `restart` iterations.

    With `single`, the results of M are stored with seven digits, which takes three quarters of the memory and no
    accuracy, and one pass makes vectors orthogonal, in sums that do not depend on the number of threads.
    """

    M: Recipe = field(default_factory=NoPreconditioner)
    restart: int = 50
    rtol: float = 1e-8
    maxiter: int = 10_000
    single: bool = False
    general: ClassVar[bool] = True

    def setup(self, operator, reuse=None):
        M = self.M.setup(operator, None if reuse is None else reuse.M)
        if reuse is not None and reuse.A is operator:  # the vectors serve any mask
            reuse.M = M
            return reuse
        kind = _SingleGMRES if self.single else _GMRES
        return kind(operator, M, self.restart, self.rtol, self.maxiter)


class _GMRES(IterativeInverse):
    stored: ClassVar[type] = np.float64

    def __init__(self, A: Operator, M, restart: int, rtol: float, maxiter: int):
        self.A, self.M, self.rtol, self.maxiter = A, M, rtol, maxiter
        self.restart = min(restart, max(A.n, 1))
        self._V = np.empty((self.restart + 1, A.n))
        self._Z: np.ndarray = np.empty((self.restart, A.n), self.stored)
        self._r, self._w, self._spare = (np.empty(A.n) for _ in range(3))
        self._R = np.zeros((self.restart + 1, self.restart))
        self._units = A.core.units
        self._scaled = None if self._units is None else np.empty(A.n)

    @property
    def hierarchy(self):
        return self.M.hierarchy

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        course = self.course(max_abs(b), rtol, atol, maxiter, watch)
        self.A.residual(b, x, self._r)
        go = course.goes_on(max_abs(self._r))
        while go:
            steps = self._cycle(x, course)
            self.A.residual(b, x, self._r)
            before, true = course.residual, max_abs(self._r)
            course.history[-1] = true  # the recurrence drifts; this is the true residual
            if steps == 0 or (true > course.goal and before <= course.goal and true > 1e3 * before):
                break  # the space is exhausted, or only rounding errors are left
            go = course.unfinished
        return course.result()

    def _cycle(self, x: np.ndarray, course: Course) -> int:
        """Run one Arnoldi process from the residual in `_r`, correct x, and return the number of steps."""
        A, V, r, w, R = self.A, self._V, self._r, self._w, self._R
        limit = min(self.restart, course.maxiter + 1 - len(course.history))
        gamma = np.zeros(limit + 1)
        cosine, sine = np.zeros(limit), np.zeros(limit)
        units, scaled = self._units, self._scaled
        if units is not None:
            r *= units
        gamma[0] = self._norm(r)
        np.divide(r, gamma[0], out=V[0])
        j = 0
        while j < limit:
            A.apply(self._direction(V[j] if units is None else np.divide(V[j], units, out=scaled), j), w)
            if units is not None:
                w *= units
            norm = self._norm(w)
            self._orthogonalise(w, j)
            below = self._norm(w)
            for i in range(j):
                R[i, j], R[i + 1, j] = _rotate(cosine[i], sine[i], R[i, j], R[i + 1, j])
            pivot = np.hypot(R[j, j], below)
            if not pivot > rounding.DIGITS * norm:  # A V is dependent: a singular operator gives no more
                break
            cosine[j], sine[j] = R[j, j] / pivot, below / pivot
            R[j, j] = pivot
            gamma[j + 1] = -sine[j] * gamma[j]
            gamma[j] = cosine[j] * gamma[j]
            happy = below <= rounding.DIGITS * norm
            if happy:
                V[j + 1] = 0.0
            else:
                np.divide(w, below, out=V[j + 1])
            r *= sine[j] ** 2
            _axpy(r, cosine[j] * gamma[j + 1], V[j + 1])
            j += 1
            if not course.goes_on(max_abs(r if units is None else np.divide(r, units, out=scaled))) or happy:
                break
        if j:
            self._correct(x, np.linalg.solve(np.triu(R[:j, :j]), gamma[:j]), j)
        return j

    def _norm(self, w: np.ndarray) -> float:
        return float(np.linalg.norm(w))

    def _direction(self, v: np.ndarray, j: int) -> np.ndarray:
        """M v, stored as number j."""
        return self.M.apply(v, self._Z[j])

    def _orthogonalise(self, w: np.ndarray, j: int) -> None:
        """Make w orthogonal to the first j + 1 vectors of V, and store the coefficients."""
        V, R = self._V[: j + 1], self._R
        R[: j + 1, j] = 0.0
        for _ in range(2):  # orthogonalise twice: once is not enough in floating point
            h = V @ w
            np.dot(h, V, out=self._spare)
            w -= self._spare
            R[: j + 1, j] += h

    def _correct(self, x: np.ndarray, y: np.ndarray, j: int) -> None:
        """x += Σ y_i Z_i"""
        x += np.dot(y, self._Z[:j], out=self._spare)


class _SingleGMRES(_GMRES):
    """A Z = V H holds to sixteen digits for the Z that is stored. V needs them all to find small residuals."""

    stored = np.float32

    def _norm(self, w):
        return float(np.sqrt(dot(w, w)))

    def _direction(self, v, j):
        self.M.apply(v, self._spare)
        self._Z[j] = self._spare
        self._spare[:] = self._Z[j]  # A times what is stored, to the last digit
        return self._spare

    def _orthogonalise(self, w, j):
        partial = np.empty((-(-w.size // BLOCK), j + 1))
        _coefficients(partial, self._V, w, j + 1)
        h = partial.sum(axis=0)
        _add_combination(w, self._V, -h, j + 1)
        self._R[: j + 1, j] = h

    def _correct(self, x, y, j):
        _add_combination(x, self._Z, y, j)


def _rotate(c: float, s: float, a: float, b: float) -> tuple[float, float]:
    return c * a + s * b, -s * a + c * b
