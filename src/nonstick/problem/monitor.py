"""Watches a solve: the stopping rule, the counters, the history and the clock, the same for every method."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from .box import BoxProblem

#: status word → what to do about it
ADVICE = {
    "converged": "the residual is below the tolerance",
    "maxiter": "stopped at the iteration limit: raise maxiter, loosen rtol or take another method",
    "stagnated": "the residual no longer falls: loosen rtol or take another method",
    "diverged": "the residual grows without bound: check that A is positive definite, then take another method; 'auto' "
    "is safeguarded",
    "breakdown": "the method broke down in its arithmetic: check that A is positive definite and not badly scaled, "
    "then take another method; 'auto' is safeguarded",
    "infeasible": "the problem has no solution: an enclosed pocket is compressed; see the message",
}


@dataclass
class Start:
    """The start of a method: a feasible x, and the policy of the previous solve if there is one.

    `active` is int8 as in `Box.split`: -1 clamped at lower, +1 at upper, 0 free; None: it is taken from x. `cold`: x is
    not a guess by the caller, so a method may look for a better start.
    """

    x: np.ndarray
    active: np.ndarray | None = None
    cold: bool = False


class Monitor:
    """Stopping rule, counters, history and clock of one solve; every method reports to it.

    A method calls `check(x, g)` once per outer iteration and stops when `check` returns True, adds to `iterations`
    (the unit of work its paper counts) and `outer_iterations`, and may call `stop` with a status.
    """

    def __init__(
        self,
        problem: BoxProblem,
        rtol: float = 1e-6,
        atol: float = 0.0,
        maxiter: int | None = None,
        callback: Callable[[Monitor], object] | None = None,
        linear: bool = False,
    ):
        self.problem = problem
        #: a baseline that ignores the bounds is judged by the linear residual (`Method.linear`)
        self.linear = linear
        self.tolerance = max(rtol, atol / problem.scale)
        self.maxiter = maxiter
        self.callback = callback
        self.iterations = 0
        self.outer_iterations = 0
        self.history: list[float] = []
        self.kkt = np.inf
        self.status = ""
        self.message = ""
        self.notes: dict[str, object] = {}
        self.remarks: list[str] = []
        self.setup_seconds = 0.0
        self._best, self._best_at = np.inf, 0
        self._began = time.perf_counter()

    @contextmanager
    def setup(self) -> Iterator[None]:
        """Time spent building hierarchies and preconditioners."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.setup_seconds += time.perf_counter() - began

    def limit(self, default: int) -> int:
        """The iteration limit: the user's, or the method's own default."""
        return default if self.maxiter is None else self.maxiter

    def check(self, x: np.ndarray, g: np.ndarray | None = None) -> bool:
        """Record the residual; True when the method should stop."""
        self.kkt = self.measure(x, g)
        self._record()
        if not np.isfinite(self.kkt):
            self.stop("diverged")
        elif self.kkt <= self.tolerance:
            self.stop("converged")
        elif self._lost and not self.status:
            self.stop("stagnated")
        return bool(self.status)

    def watch(self, kkt: float) -> bool:
        """Record a residual known by recurrence; True if it is small enough that `check` should compute the true
        residual."""
        if kkt <= self.tolerance or not np.isfinite(kkt):
            return True
        self.kkt = kkt
        self._record()
        return self._lost

    def _record(self) -> None:
        self.history.append(self.kkt)
        if self.kkt < self._best:
            self._best, self._best_at = self.kkt, len(self.history)
        if self.callback is not None:
            self.callback(self)

    @property
    def _lost(self) -> bool:
        """Far more iterations than unknowns, or than any method needs, without a gain: it will not come."""
        return len(self.history) - self._best_at > max(2000, 4 * self.problem.n)

    def measure(self, x: np.ndarray, g: np.ndarray | None = None) -> float:
        """The residual that `rtol` is compared with: KKT, or |A x - b| for a linear baseline."""
        if self.linear:
            return self.problem.linear_residual(x, g)
        return self.problem.kkt(x, g)

    def stop(self, status: str, message: str = "") -> None:
        self.status = status
        self.message = message

    def remark(self, sentence: str) -> None:
        """Add a remark for the user to the message, once, for every status."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began
