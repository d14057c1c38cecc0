"""The solves of a sequence: one matrix, and vectors of the types and lengths of the solve before.

What `nonstick.Solver` does for a solve, from checks to the report, takes some hundred microseconds. Where a method has
`quick_solves`, the loop of a time step can do with less: types and lengths are compared, the numbers are checked and
the residuals computed in the compiled call that solves. Whatever is not as it was goes the long way, which says why.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..core.options import Stopping
from ..problem.box import Bounds, BoxProblem
from ..problem.history import History
from ..problem.monitor import ADVICE
from ..problem.solution import Solution
from .base import QuickSolves

#: numbers beyond this may be integers that are no doubles
LARGE = 1e300


class Again:
    """Solves that follow a solution which met no difficulty.

    Parameters
    ----------
    quick : QuickSolves
        Of the method that found it.
    first : Solution
        The next solve begins with its active set.
    """

    def __init__(self, quick: QuickSolves, first: Solution):
        self._quick, self._first = quick, first
        self._policy = first.active
        self._n = first.x.size
        self._words: dict[str, Any] = {}
        self._stopping = Stopping()

    def solve(self, b: Any, lower: Any, upper: Any, words: dict[str, Any]) -> Solution | None:
        """A solution that has converged, as the long way would give it; None if there is more to do."""
        began = time.perf_counter()
        if words != self._words:
            self._words, self._stopping = dict(words), Stopping(**words)
        stop = self._stopping
        if not self._plain(b) or stop.limited or stop.callback is not None:
            return None
        low, high = self._bound(lower), self._bound(upper)
        if low is None or high is None:
            return None
        b = b.copy()
        answer = self._quick.solve(self._policy, b, low, high, stop.atol)
        if answer is None:
            return None
        asked = max(stop.rtol, stop.atol / answer.scale)
        if not answer.kkt <= asked or (stop.criterion == "rows" and not answer.row_error <= stop.row_rtol):
            return None
        first, count, seconds = self._first, answer.iterations, time.perf_counter() - began
        history = History()
        history.record(answer.kkt, count, count, seconds)
        return Solution(
            BoxProblem.of_checked(first.problem.A, b, Bounds(low, high), answer.scale),
            answer.x,
            answer.dual,
            first.method,
            True,
            "converged",
            f"{ADVICE['converged']} (KKT {answer.kkt:.2e}, asked {asked:.1e})",
            count,
            count,
            history,
            seconds,
            0.0,
            path=first.path,
            face_solver=first.face_solver,
        )

    def _plain(self, values: Any) -> bool:
        """n doubles."""
        return type(values) is np.ndarray and values.dtype == np.float64 and values.shape == (self._n,)

    def _bound(self, bound: Any) -> np.ndarray | None:
        """A vector of bounds that belongs to the solution; None if it is given in another form."""
        if self._plain(bound):
            return bound.copy()
        number = type(bound) in (float, int) and (abs(bound) < LARGE or abs(bound) == np.inf)
        return np.full(self._n, bound, np.float64) if number else None
