"""What a solve returns, and the monitor that watches it.

No solver grades itself: `Solution.kkt()` recomputes the optimality residual from the problem, and
`converged` compares that number, not the solver's own, with the tolerance asked for. A linear baseline
(`no-lcp`) ignores the bounds: it has converged when `A x = b` is met, and its `kkt()` still tells the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from .lcp.problem import BoxProblem

#: status word → what to do about it
ADVICE = {
    "converged": "the residual is below the tolerance",
    "maxiter": "stopped at the iteration limit: raise maxiter, loosen rtol or take another method",
    "stagnated": "the residual no longer falls: loosen rtol or take another method",
    "diverged": "the residual grows without bound: see that A is positive definite, then take another method; 'auto' "
    "is safeguarded",
    "infeasible": "the problem has no solution: an enclosed pocket is compressed; see the message",
}

#: a residual this many times the first one (and max|b|) at the iteration limit was not on its way down
_RUNAWAY = 1e6


@dataclass
class Start:
    """Where a method begins: a feasible x, and the policy of the previous solve if there is one.

    `active` is int8 as in `Box.split`: -1 clamped at lower, +1 at upper, 0 free; None: take it from x.
    `cold`: x is nobody's guess, and a method may find a better one.
    """

    x: np.ndarray
    active: np.ndarray | None = None
    cold: bool = False


class Monitor:
    """Stopping rule, counters, history and clock of one solve; every method reports to it.

    A method calls `check(x, g)` once per outer iteration and stops when it says so, adds to `iterations`
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
        self.history.append(self.kkt)
        if self.callback is not None:
            self.callback(self)
        if not np.isfinite(self.kkt):
            self.stop("diverged")
        elif self.kkt <= self.tolerance:
            self.stop("converged")
        return bool(self.status)

    def watch(self, kkt: float) -> bool:
        """Record a residual known by recurrence; True when it calls for a `check` of the true one."""
        if kkt <= self.tolerance or not np.isfinite(kkt):
            return True
        self.kkt = kkt
        self.history.append(kkt)
        if self.callback is not None:
            self.callback(self)
        return False

    def measure(self, x: np.ndarray, g: np.ndarray | None = None) -> float:
        """The residual that `rtol` is compared with: KKT, or |A x - b| for a linear baseline."""
        if self.linear:
            return self.problem.linear_residual(x, g)
        return self.problem.kkt(x, g)

    def stop(self, status: str, message: str = "") -> None:
        self.status = status
        self.message = message

    def remark(self, sentence: str) -> None:
        """Something the user should know whatever the status: it is added to the message once."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began


@dataclass
class Solution:
    """The answer, and how it was reached. `kkt()` recomputes the residual from the problem itself."""

    problem: BoxProblem = field(repr=False)
    x: np.ndarray = field(repr=False)
    #: A x - b: the divergence left after the pressure update; >= 0 where x sits at its lower bound
    dual: np.ndarray = field(repr=False)
    method: str
    converged: bool
    status: str
    message: str
    #: what the method's paper counts: V-cycles, CG iterations, sweeps
    iterations: int
    outer_iterations: int
    #: KKT residual after every outer iteration (linear baselines: max|A x - b| / max|b|)
    history: list[float] = field(repr=False)
    seconds: float
    setup_seconds: float
    #: counters particular to a method (steps by kind, line-search steps, levels, ...)
    notes: dict[str, object] = field(default_factory=dict, repr=False)

    def kkt(self) -> float:
        """The optimality residual of `x`, recomputed."""
        return self.problem.kkt(self.x)

    @property
    def active(self) -> np.ndarray:
        """The policy at the solution, to warm-start the next solve: -1 lower, +1 upper, 0 free."""
        return self.problem.box.split(self.x, self.dual, self.problem.A.diagonal)

    @classmethod
    def of(cls, problem: BoxProblem, x: np.ndarray, method: str, monitor: Monitor) -> Solution:
        seconds = monitor.seconds
        dual = problem.gradient(x)
        residual = monitor.measure(x, dual)
        converged = bool(residual <= monitor.tolerance)
        status = monitor.status or "maxiter"
        if converged:
            status = "converged"
        elif status == "converged":
            status = "stagnated"
        elif status == "maxiter" and residual > _RUNAWAY * max([1.0, *monitor.history[:1]]) and not monitor.message:
            status = "diverged"  # raising maxiter, the advice of that status, would not help
        name = "linear residual" if monitor.linear else "KKT"
        message = monitor.message or f"{ADVICE[status]} ({name} {residual:.2e}, asked {monitor.tolerance:.1e})"
        if monitor.linear:
            message += f"; the bounds were ignored, KKT of the box problem {problem.kkt(x, dual):.2e}"
        message = "; ".join([message, *monitor.remarks])
        return cls(
            problem, x, dual, method, converged, status, message, monitor.iterations,
            monitor.outer_iterations, monitor.history, seconds, monitor.setup_seconds, monitor.notes,
        )  # fmt: skip
