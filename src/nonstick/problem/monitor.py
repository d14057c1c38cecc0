"""Watches a solve: the stopping rule, the counters, the clock and the history, the same for every method."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..core import rounding
from ..core.options import ROW_FACTOR, Stopping
from .box import BoxProblem
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
    "unbounded": "the objective ½xᵀA x − bᵀx falls without end",
    "indefinite": "A is not positive definite, so there may be no solution or several, and no method here finds them",
}
#: a method that ends with one of these has failed; none: it came to its own limit of iterations
FAILED = ("", "stagnated", "diverged", "breakdown")


class HistoryEntry(NamedTuple):
    """One line of a history."""

    #: outer iterations done
    outer: int
    #: iterations done, in the unit of the method's paper: those of inner linear solves where it has some
    iterations: int
    #: since the start of the solve
    seconds: float
    residual: float


class History(list[float]):
    """A list of residuals that also knows when each was reached.

    `iterations`, `outer_iterations` and `seconds` are lists of the same length; `entries()` puts them together.

    Examples
    --------
    >>> import nonstick
    >>> history = nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method="pgs").history
    >>> history[-1] < 1e-6, len(history) == len(history.seconds) == len(history.iterations)
    (True, True)
    >>> history.entries()[0].iterations
    0
    """

    def __init__(self) -> None:
        super().__init__()
        self.iterations: list[int] = []
        self.outer_iterations: list[int] = []
        self.seconds: list[float] = []

    def record(self, residual: float, iterations: int, outer: int, seconds: float) -> None:
        self.append(residual)
        self.iterations.append(iterations)
        self.outer_iterations.append(outer)
        self.seconds.append(seconds)

    def correct(self, residual: float, seconds: float) -> None:
        """Replace the last residual, which came from a recurrence, by the true one."""
        self[-1], self.seconds[-1] = residual, seconds

    def entries(self) -> list[HistoryEntry]:
        """One tuple (outer, iterations, seconds, residual) for each residual."""
        return [HistoryEntry(*line) for line in zip(self.outer_iterations, self.iterations, self.seconds, self)]


@dataclass(frozen=True)
class Patience:
    """How long a monitor waits."""

    #: inside a linear solve the callback is called once in this many iterations
    call_every: int = 50
    #: residuals without a gain after which rounding may be the reason; asked again after twice as many
    stuck: int = 16
    #: residuals without a gain, and per unknown, after which none is expected
    diverged: int = 2000
    diverged_per_unknown: int = 4
    #: steps of a descent in which its residual must fall to a half (on a matrix that is no P-matrix it creeps to a
    #: stationary point); Newton steps on bodies or multipliers at most
    steps: int = 100
    #: cycles of full multigrid over which progress is measured
    cycles: int = 10
    #: checks of projected Gauss–Seidel without progress; its sweeps grow by a tenth between checks, so 40 checks mean
    #: 45 times as many sweeps
    checks: int = 40
    #: inner iterations and search steps of minimum-map Newton in all; sound problems take hundreds
    work: int = 20_000
    #: changes of the set after which it is held until its linear problem is solved
    changes: int = 40


PATIENCE = Patience()


@dataclass
class Start:
    """The start of a method: a feasible x, and the policy of the previous solve if there is one.

    `active` is int8 as in `Bounds.split`: -1 clamped at lower, +1 at upper, 0 free; None: it is taken from x. `cold`:
    x is not a guess by the caller, so a method may look for a better start.
    """

    x: np.ndarray
    active: np.ndarray | None = None
    cold: bool = False


@dataclass
class Progress:
    """What a solve has done so far; all monitors of one solve share it."""

    began: float
    iterations: int = 0
    outer_iterations: int = 0
    setup_seconds: float = 0.0
    #: a direction p with pᵀA p < 0 was met: A is not positive definite
    negative: bool = False
    history: History = field(default_factory=History)
    notes: dict[str, Any] = field(default_factory=dict)
    #: sentences for the user, for every status
    remarks: list[str] = field(default_factory=list)
    #: what was tried: the method, then one entry for each time that another one took over
    path: list[str] = field(default_factory=list)
    questions: int = 0


class Monitor:
    """Stopping rule, counters, history and clock of a solve; every method reports to it.

    A method calls `check(x, g)` once per outer iteration and stops when `check` returns True, adds to `iterations`
    (the unit of work its paper counts) and `outer_iterations`, and may call `stop` with a status. Long inner solves
    ask `interrupted()`.

    A solve has converged if the KKT residual is at most `asked` and every row passes the row test (`rows`), or if
    rounding lets no row become better (`exhausted`). While the KKT residual is small enough and some row is not,
    `tolerance`, which methods aim at, is lowered step by step.

    A part of a solve that has another problem or another tolerance gets a monitor of its own from `within`.
    """

    def __init__(
        self,
        problem: BoxProblem,
        stopping: Stopping = Stopping(),  # noqa: B008  # it is frozen
        linear: bool = False,
        began: float | None = None,
    ):
        self.problem, self.stopping = problem, stopping
        #: a baseline that ignores the bounds is judged by the linear residual (`Method.linear`)
        self.linear = linear
        #: the KKT residual asked for, and the one that methods aim at
        self.asked = self.tolerance = max(stopping.rtol, stopping.atol / problem.scale)
        self.kkt = np.inf
        self.status = ""
        self.message = ""
        self.progress = Progress(time.perf_counter() if began is None else began)
        #: how a point of the method becomes a point of the caller
        self._lift: Callable[[np.ndarray], np.ndarray] | None = None
        #: the problem, and the map to its points, by which rows are judged, if that is not `problem` itself
        self._judge: tuple[BoxProblem, Callable[[np.ndarray], np.ndarray]] | None = None
        self._iterate: np.ndarray | Callable[[], np.ndarray] = np.empty(0)
        self._best, self._best_at = np.inf, 0

    def within(
        self,
        problem: BoxProblem | None = None,
        tolerance: float | None = None,
        lift: Callable[[np.ndarray], np.ndarray] | None = None,
        judged: bool = False,
        limit: int | None = None,
    ) -> Monitor:
        """The monitor of a part of this solve: with another problem, tolerance or limit of iterations, with the same
        counters and clock.

        `lift` makes a point of this monitor from a point of the part. With `judged`, rows are judged by the problem of
        this monitor at that point.
        """
        part = copy.copy(self)
        part.problem = self.problem if problem is None else problem
        part.asked = part.tolerance = self.asked if tolerance is None else tolerance
        part.status = part.message = ""
        part._best, part._best_at = np.inf, len(self.history)
        if limit is not None:
            part.stopping = replace(self.stopping, maxiter=self.limit(limit))
        if lift is not None:
            outer = self._lift
            part._lift = lift if outer is None else lambda x: outer(lift(x))
        if judged:
            assert lift is not None
            part._judge = self.problem, lift
        return part

    # -- counters -------------------------------------------------------------------------------------------

    @property
    def iterations(self) -> int:
        """Iterations so far, in the unit that the method counts."""
        return self.progress.iterations

    @iterations.setter
    def iterations(self, count: int) -> None:
        self.progress.iterations = count

    @property
    def outer_iterations(self) -> int:
        """Changes of the set or of the linear system so far."""
        return self.progress.outer_iterations

    @outer_iterations.setter
    def outer_iterations(self, count: int) -> None:
        self.progress.outer_iterations = count

    @property
    def history(self) -> History:
        return self.progress.history

    @property
    def notes(self) -> dict[str, Any]:
        """Numbers particular to a method."""
        return self.progress.notes

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.progress.began

    @contextmanager
    def setup(self) -> Iterator[None]:
        """Time spent building hierarchies and preconditioners."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.progress.setup_seconds += time.perf_counter() - began

    def limit(self, default: int) -> int:
        """The iteration limit: the user's, or the method's own default."""
        return default if self.stopping.maxiter is None else self.stopping.maxiter

    # -- the stopping rule ----------------------------------------------------------------------------------

    def check(self, x: np.ndarray, g: np.ndarray | None = None) -> bool:
        """Record the residual; True when the method should stop."""
        self.record(self.measure(x, g), x)
        if (self.kkt <= self.asked and self.rows_converged(x, g)) or (self._stuck and self.exhausted(x, g)):
            self.stop("converged")
        elif self._diverged and not self.status:
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
        return bool(self.status) or self._diverged or self._stuck

    def rows_converged(self, x: np.ndarray | Callable[[], np.ndarray], g: np.ndarray | None = None) -> bool:
        """The row test, for an x whose KKT residual is small enough; if it fails, methods aim at a lower residual.

        x may be a function that returns it, which is called if the test needs it.
        """
        if self.stopping.criterion == "papers":
            return True
        x = x() if callable(x) else x
        allowed, failures = self.stopping.row_rtol, self.notes.get("row_test", 0)
        # Once a row has failed, the scales differ, and the method goes on to what was asked for.
        enough = allowed / ROW_FACTOR if failures else allowed
        error = self.row_error(x, g, enough=enough)
        if error.value <= enough:
            return True
        self.notes["row_test"] = failures + 1
        if self.kkt <= self.tolerance:  # the method has reached what it aimed at
            # All rows are expected to fall alike, but one that depends on others has to wait for them.
            self.tolerance = self.kkt * min(max(0.05 * allowed / error.value, 0.03), 0.3)
            if self.tolerance < rounding.LEAST_KKT:
                self.stop("stagnated")
        return False

    def row_error(self, x: np.ndarray, g: np.ndarray | None = None, enough: float = 0.0) -> RowError:
        """The row error of a point of the method."""
        problem, x, g = self._judged(x, g)
        return row_error(problem, x, g, linear=self.linear, atol=self.stopping.atol, enough=enough)

    def exhausted(self, x: np.ndarray, g: np.ndarray | None = None) -> bool:
        """True if rounding lets no row of this point of the method become better."""
        if self.stopping.criterion == "papers" or self.problem.A.comm.largest(int(not np.isfinite(x).all())):
            return False
        problem, x, g = self._judged(x, g)
        return exhausted(problem, x, g, linear=self.linear)

    def _judged(self, x: np.ndarray, g: np.ndarray | None) -> tuple[BoxProblem, np.ndarray, np.ndarray]:
        """The problem by which rows are judged, the point in it, and the gradient there."""
        problem = self.problem
        if self._judge is not None:
            problem, lift = self._judge
            x, g = lift(x), None
        return problem, x, problem.gradient(x) if g is None else g

    def measure(self, x: np.ndarray, g: np.ndarray | None = None) -> float:
        """The residual that `rtol` is compared with: KKT, or |A x - b| for a linear baseline."""
        return self.problem.linear_residual(x, g) if self.linear else self.problem.kkt(x, g)

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
        self._check_clock()

    def interrupted(self, residual: float = 0.0) -> bool:
        """True if a linear solve inside a method should end: the time is over, or the callback has said stop.

        It fits as the `watch` of a linear solve. The callback is called here too, once in 50 iterations.
        """
        self.progress.questions += 1
        if self.progress.questions % PATIENCE.call_every == 0 and not self.status:
            self._tell()
        self._check_clock()
        return bool(self.status)

    def _tell(self) -> None:
        """Call the callback."""
        try:
            if self.stopping.callback is not None:
                self.stopping.callback(self)
        except Exception as error:
            vars(error)["of_callback"] = True  # a mistake of the user, not a breakdown of the solve
            raise

    def _check_clock(self) -> None:
        limit = self.stopping.time_limit
        if limit is not None and not self.status and self.problem.A.comm.largest(self.seconds) >= limit:
            self.stop("time", f"stopped at the time limit of {limit:g} s")

    @property
    def _stuck(self) -> bool:
        """True 16, 32, 64 … residuals after the best: rounding may be the reason, and it is worth a product to know."""
        since = len(self.history) - self._best_at
        return self.stopping.criterion == "rows" and since >= PATIENCE.stuck and since & (since - 1) == 0

    @property
    def _diverged(self) -> bool:
        """Far more iterations than unknowns, or than any method needs, without a gain: it will not come."""
        enough = max(PATIENCE.diverged, PATIENCE.diverged_per_unknown * self.problem.A.unknowns)
        return len(self.history) - self._best_at > enough

    def stop(self, status: str, message: str = "") -> None:
        """End the solve: the method returns at its next check, with this status unless it has converged by then."""
        self.status, self.message = status, message

    def record_curvature(self, negative: bool) -> None:
        """A method met a direction; if pᵀA p < 0 there, A is not positive definite, and going on makes no sense."""
        if negative:
            self.progress.negative = True
            self.stop("indefinite")

    # -- for the user ---------------------------------------------------------------------------------------

    def remark(self, sentence: str) -> None:
        """Add a remark for the user to the message, once, for every status."""
        if sentence not in self.progress.remarks:
            self.progress.remarks.append(sentence)

    def describe(self, words: str) -> None:
        """Say in the path of the solve what is at work from its beginning."""
        self.progress.path[:1] = [words]

    def leave(self, following: str, reason: str) -> None:
        """Enter into the path of the solve that another preconditioner takes over, and why."""
        self.progress.path.append(f"left for {following} after {self.iterations} iterations: {reason}")

    def hand_over(self, following: str, reason: str) -> None:
        """The same for another method or solver, which goes on with the solve; the user is told."""
        self.status = self.message = ""
        self.leave(following, reason)
        self.notes["finished_by"] = following
        self.remark(f"{following} finished the solve: {reason}")

    @property
    def x(self) -> np.ndarray:
        """A copy of the iterate, in the order of the caller's unknowns; it is made when asked for.

        A linear solve inside a method works on vectors of its own: there this is the iterate before that solve.
        """
        x = self._iterate() if callable(self._iterate) else self._iterate.copy()
        return x if self._lift is None else self._lift(x)
