"""Watches a solve: the stopping rule, the counters, the history and the clock, the same for every method."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .box import BoxProblem
from .history import History
from .rows import RowError, exhausted, row_error

#: status word → what to do about it
ADVICE = {
    "converged": "the residual is below the tolerance",
    "maxiter": "stopped at the iteration limit: raise maxiter, loosen rtol or take another method",
    "time": "stopped at the time limit: raise time_limit, loosen rtol or take another method",
    "stagnated": "the residual no longer falls: loosen rtol or take another method",
    "diverged": "the residual grows without bound: check that A is positive definite, then take another method; 'auto' "
    "is safeguarded",
    "breakdown": "the method broke down in its arithmetic: check that A is positive definite and not badly scaled, "
    "then take another method; 'auto' is safeguarded",
    "infeasible": "the problem has no solution",
    "indefinite": "A is not positive definite, so there may be no solution or several, and no method here finds them",
}

#: when a solve has converged: by every row and the papers' number, or by the papers' number alone
Criterion = Literal["rows", "papers"]
#: inside a linear solve the callback is called once in this many iterations
CALL_EVERY = 50
#: a row may be off by this many times rtol in its own units: where all rows have one scale, the KKT residual then
#: decides, and the row test costs no iteration (with 1 it costs one of eight on the half-filled sphere)
ROW_FACTOR = 10.0
#: rows are not asked for more digits than their arithmetic has
LEAST_ROW_RTOL = 1e-14
#: so many residuals without a gain may mean that rounding allows none
STUCK = 16
#: no method can aim at less in the max norm
LEAST_KKT = 1e-18


@dataclass
class Start:
    """The start of a method: a feasible x, and the policy of the previous solve if there is one.

    `active` is int8 as in `Box.split`: -1 clamped at lower, +1 at upper, 0 free; None: it is taken from x. `cold`: x is
    not a guess by the caller, so a method may look for a better start.
    """

    x: np.ndarray
    active: np.ndarray | None = None
    cold: bool = False


def row_tolerance(rtol: float) -> float:
    """The row error at which a solve to `rtol` has converged."""
    return max(ROW_FACTOR * rtol, LEAST_ROW_RTOL)


class Monitor:
    """Stopping rule, counters, history and clock of one solve; every method reports to it.

    A method calls `check(x, g)` once per outer iteration and stops when `check` returns True, adds to `iterations`
    (the unit of work its paper counts) and `outer_iterations`, and may call `stop` with a status. Long inner solves
    ask `interrupted()`.

    A solve has converged if the KKT residual is at most `asked` and every row passes the row test (`rows`), or if
    rounding lets no row become better (`exhausted`). While the KKT residual is small enough and some row is not,
    `tolerance`, which methods aim at, is lowered step by step.
    """

    def __init__(
        self,
        problem: BoxProblem,
        rtol: float = 1e-6,
        atol: float = 0.0,
        maxiter: int | None = None,
        callback: Callable[[Monitor], object] | None = None,
        linear: bool = False,
        *,
        criterion: Criterion = "rows",
        time_limit: float | None = None,
        began: float | None = None,
    ):
        self.problem = problem
        #: a baseline that ignores the bounds is judged by the linear residual (`Method.linear`)
        self.linear = linear
        self.criterion = criterion
        self.rtol, self.atol = rtol, atol
        #: the KKT residual asked for, and the one that methods aim at
        self.asked = self.tolerance = max(rtol, atol / problem.scale)
        self.maxiter, self.time_limit = maxiter, time_limit
        self.callback = callback
        self.iterations = 0
        self.outer_iterations = 0
        self.history = History()
        self.kkt = np.inf
        self.status = ""
        self.message = ""
        self.notes: dict[str, object] = {}
        self.remarks: list[str] = []
        self.setup_seconds = 0.0
        #: a direction p with pᵀA p < 0 was met: A is not positive definite
        self.negative = False
        #: how a point of the method becomes a point of the user; set where a problem is solved by way of another one
        self.outer: list[Callable[[np.ndarray], np.ndarray]] = []
        #: the problem and the point in it by which rows are judged, if that is not `problem` itself
        self.judged: Callable[[np.ndarray], tuple[BoxProblem, np.ndarray]] | None = None
        self._iterate: np.ndarray | Callable[[], np.ndarray] = np.empty(0)
        self._best, self._best_at = np.inf, 0
        self._asked_inside = 0
        self._began = time.perf_counter() if began is None else began

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

    # -- the stopping rule ----------------------------------------------------------------------------------

    def check(self, x: np.ndarray, g: np.ndarray | None = None) -> bool:
        """Record the residual; True when the method should stop."""
        self.record(self.measure(x, g), x)
        if (self.kkt <= self.asked and self.holds(x, g)) or (self._stuck and self.exhausted(x, g)):
            self.stop("converged")
        elif self._lost and not self.status:
            self.give_up(x, g)
        return bool(self.status)

    def give_up(self, x: np.ndarray, g: np.ndarray | None = None) -> None:
        """End a solve that no longer gains anything: rounding is the reason, or the method."""
        self.stop("converged" if self.exhausted(x, g) else "stagnated")

    def watch(self, kkt: float, x: np.ndarray) -> bool:
        """Record a residual known by recurrence; True if the solve was stopped, or if the residual is so small that
        `check` should compute the true one."""
        if kkt <= self.tolerance or not np.isfinite(kkt):
            return True
        self.record(kkt, x)
        return bool(self.status) or self._lost or self._stuck

    def holds(self, x: np.ndarray | Callable[[], np.ndarray], g: np.ndarray | None = None) -> bool:
        """The row test, for an x whose KKT residual is small enough; if it fails, methods aim at a lower residual.

        x may be a function that returns it, which is called if the test needs it.
        """
        if self.criterion == "papers":
            return True
        x = x() if callable(x) else x
        # Once a row has failed, the scales differ, and the method goes on to what was asked for.
        enough = self.row_rtol / ROW_FACTOR if "row_test" in self.notes else self.row_rtol
        error = self.row_error(x, g, enough=enough)
        if error.value <= enough:
            return True
        self.notes["row_test"] = int(self.notes.get("row_test", 0)) + 1  # type: ignore[call-overload]
        if self.kkt <= self.tolerance:  # the method has reached what it aimed at
            # All rows are expected to fall alike, but one that depends on others has to wait for them.
            self.tolerance = self.kkt * min(max(0.05 * self.row_rtol / error.value, 0.03), 0.3)
            if self.tolerance < LEAST_KKT:
                self.stop("stagnated")
        return False

    @property
    def row_rtol(self) -> float:
        """The row error that counts as converged."""
        return row_tolerance(self.rtol)

    def row_error(self, x: np.ndarray, g: np.ndarray | None = None, enough: float = 0.0) -> RowError:
        """The row error of a point of the method."""
        problem = self.problem
        if self.judged is not None:
            (problem, x), g = self.judged(x), None
        g = problem.gradient(x) if g is None else g
        return row_error(problem, x, g, linear=self.linear, atol=self.atol, enough=enough)

    def exhausted(self, x: np.ndarray, g: np.ndarray | None = None) -> bool:
        """True if rounding lets no row of this point of the method become better."""
        problem = self.problem
        if self.criterion == "papers" or self.problem.A.largest(int(not np.isfinite(x).all())):
            return False
        if self.judged is not None:
            (problem, x), g = self.judged(x), None
        return exhausted(problem, x, problem.gradient(x) if g is None else g, linear=self.linear)

    def measure(self, x: np.ndarray, g: np.ndarray | None = None) -> float:
        """The residual that `rtol` is compared with: KKT, or |A x - b| for a linear baseline."""
        if self.linear:
            return self.problem.linear_residual(x, g)
        return self.problem.kkt(x, g)

    def record(
        self, kkt: float, x: np.ndarray | Callable[[], np.ndarray], again: bool = False, tell: bool = True
    ) -> None:
        """Enter a residual into the history, or correct the last one; call the callback; look at the clock."""
        self.kkt, self._iterate = kkt, x
        if again:
            self.history.correct(kkt, self.seconds)
        else:
            self.history.record(kkt, self.iterations, self.outer_iterations, self.seconds)
        if kkt < self._best:
            self._best, self._best_at = kkt, len(self.history)
        if not np.isfinite(kkt):
            self.stop("diverged")
        if tell:
            self._tell()
        self._look_at_the_clock()

    def interrupted(self, residual: float = 0.0) -> bool:
        """True if a linear solve inside a method should end: the time is over, or the callback has said stop.

        It fits as the `watch` of a linear solve. The callback is called here too, once in 50 iterations.
        """
        self._asked_inside += 1
        if self._asked_inside % CALL_EVERY == 0 and not self.status:
            self._tell()
        self._look_at_the_clock()
        return bool(self.status)

    def _tell(self) -> None:
        """Call the callback."""
        try:
            if self.callback is not None:
                self.callback(self)
        except Exception as error:
            error.of_callback = True  # type: ignore[attr-defined]  # a mistake of the user, not a breakdown of the solve
            raise

    def _look_at_the_clock(self) -> None:
        if self.time_limit is None or self.status:
            return
        if self.problem.A.largest(self.seconds) >= self.time_limit:
            self.stop("time", f"stopped at the time limit of {self.time_limit:g} s")

    @property
    def _stuck(self) -> bool:
        """True 16, 32, 64 … residuals after the best: rounding may be the reason, and it is worth a product to know."""
        since = len(self.history) - self._best_at
        return self.criterion == "rows" and since >= STUCK and since & (since - 1) == 0

    @property
    def _lost(self) -> bool:
        """Far more iterations than unknowns, or than any method needs, without a gain: it will not come."""
        return len(self.history) - self._best_at > max(2000, 4 * self.problem.A.unknowns)

    def stop(self, status: str, message: str = "") -> None:
        """End the solve: the method returns at its next check, with this status unless it has converged by then."""
        self.status = status
        self.message = message

    @property
    def gave_up(self) -> bool:
        """True if a method ended without success and no limit of the user's stopped it."""
        limited = self.maxiter is not None and self.status in ("", "maxiter")
        return self.status in ("", "maxiter", "stagnated", "diverged", "breakdown") and not limited

    def meet(self, negative: bool) -> None:
        """A method met a direction; if pᵀA p < 0 there, A is not positive definite, and going on makes no sense."""
        if negative:
            self.negative = True
            self.stop("indefinite")

    def renew(self, tolerance: float) -> None:
        """Begin another solve that is a part of this one, with its own tolerance."""
        self.status = self.message = ""
        self.asked = self.tolerance = tolerance
        self._best, self._best_at = np.inf, len(self.history)

    def remark(self, sentence: str) -> None:
        """Add a remark for the user to the message, once, for every status."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    # -- for callbacks --------------------------------------------------------------------------------------

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def x(self) -> np.ndarray:
        """A copy of the iterate, in the order of the caller's unknowns; it is made when asked for.

        A linear solve inside a method works on vectors of its own: there this is the iterate before that solve.
        """
        x = self._iterate() if callable(self._iterate) else self._iterate.copy()
        for back in reversed(self.outer):
            x = back(x)
        return x
