"""Measures a row.

Time. `seconds` is time on the clock; `cpu_seconds`, the processor time of the process, tells more on a machine that
has other work too. The problem is built again for every row, so no method profits from data that another one cached in
it. Each method first solves a small instance of the case. If numba still compiles or loads a kernel during the timed
solve (an event tells), that solve is discarded and repeated: compilation is never in `seconds`. A solve shorter than
`SHORT_SECONDS` is repeated, and the fastest counts; in averages over the many solves of a run each is run once.

Memory. On Linux the kernel keeps the high-water mark of resident memory and lets a process reset it. `peak_bytes` is
this mark after the solve minus the resident memory before it; freed heap is returned to the system first. It counts all
memory that the method allocates, also inside compiled code and libraries, but not the problem. On other systems it is
None.
"""

from __future__ import annotations

import ctypes
import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numba
from numba.core import event

from .. import api, registry
from ..errors import NonstickError
from ..problem.box import BoxProblem
from ..problem.monitor import Monitor
from ..problem.solution import Solution
from ..sim.run.findings import proc
from ..solvers.base import Method
from .registry import Plan
from .row import Row, checksum, version

#: a solve shorter than this is repeated (`Plan.repeats`), and the fastest counts: other processes can only slow it down
SHORT_SECONDS = 3.0


def measure(
    case: str,
    n: int,
    method: str | Method,
    build: Callable[[], BoxProblem],
    plan: Plan,
    label: str = "",
    start: tuple[Any, Any] = (None, None),
    trace: list[tuple[float, float]] | None = None,
) -> Row:
    """Solve a newly built problem by one method and return the row; `label` replaces the method's name in it.

    `start` is the x0 of the solves, zero by default, and the policy of an earlier solve. If a solve is not repeated,
    memory is not measured, because this takes longer than a small solve. `trace` is filled with the (iterations,
    residual) of the last solve.
    """
    label = label or str(method)
    unknowns: int | None = None
    best: Row | None = None
    shortest = math.inf
    runs = 0
    key: tuple[object, ...] | None = None
    try:
        while best is None or (runs < plan.repeats and shortest < SHORT_SECONDS):
            problem = build()
            unknowns = problem.n
            if key is None:
                key = (case, n, label, checksum(problem.b, problem.box.lower, problem.box.upper, *start))
                if (known := plan.journal.get(*key)) is not None:
                    if trace is not None:
                        trace[:] = [(k, kkt) for k, kkt in known["trace"]]
                    return Row(**known["row"])
            peak = _PeakMemory() if plan.repeats > 1 else None
            steps: list[tuple[float, float]] = []
            began = time.process_time()
            with _kernels_loaded() as loaded:
                solution = _solve(problem, method, plan, start, steps)
            cpu = time.process_time() - began
            if loaded:
                continue
            runs += 1
            if solution.seconds < shortest:
                shortest = solution.seconds
                best = _row(case, n, label, solution, None if peak is None else peak.bytes())
                best.cpu_seconds = cpu
                best.must_converge = _must(method, label) and solution.status != "infeasible"
            if trace is not None:
                # linear baselines store a residual per iteration, other methods report one per outer iteration
                linear = registry.get(method).linear
                trace[:] = enumerate(solution.history) if linear else steps
    except NonstickError as error:
        return Row(case, n, unknowns, label, reason=str(error))
    assert key is not None
    plan.journal.keep({"row": best.asdict(), "trace": trace or []}, *key)
    return best


def _row(case: str, n: int, method: str, solution: Solution, peak_bytes: int | None) -> Row:
    same = ("iterations", "outer_iterations", "seconds", "setup_seconds", "converged")
    found: dict[str, Any] = {key: getattr(solution, key) for key in same}
    kinds = {"finished_by": str, "levels": int}  # some methods note the sizes of their levels, not their number
    found |= {key: of for key, of in solution.notes.items() if key in kinds and isinstance(of, kinds[key])}
    found |= {"peak_bytes": peak_bytes, "threads": numba.get_num_threads(), "version": version()}
    # a compressed pocket has no solution: the problem without its mean is solved
    kkt = float(solution.notes.get("corrected_kkt", solution.kkt()))
    reason = None if solution.converged else solution.message
    return Row(case, n, solution.problem.n, method, kkt=kkt, reason=reason, **found)


def warm_up(method: str | Method, build: Callable[[], BoxProblem], plan: Plan) -> None:
    """Solve a small problem so that the kernels are compiled; the real run reports any error."""
    try:
        _solve(build(), method, plan)
    except NonstickError:
        return


def sweep(case: str, build: Callable[[int], BoxProblem], plan: Plan, warm_size: int = 16) -> Iterator[Row]:
    """Every method on every size; other tables may use this with their own builder."""
    for k, method in enumerate(plan.methods):
        plan.done(k / len(plan.methods))
        plan.announce(f"{method}: compiling")
        warm_up(method, partial(build, warm_size), plan)
        for n in plan.sizes:
            plan.announce(f"{method} at {n}")
            yield measure(case, n, method, partial(build, n), plan)


def _must(method: str | Method, name: str) -> bool:
    """True if missing the tolerance is a failure; a changed method under a registered name is judged by that name."""
    entry = registry.entries().get(method if isinstance(method, str) else name)
    return entry is None or entry.converges


def _solve(problem: BoxProblem, method: str | Method, plan: Plan, start=(None, None), steps=None) -> Solution:
    seen = 0

    def watch(monitor: Monitor) -> None:
        nonlocal seen
        if steps is not None and len(monitor.history) > seen:  # it is also called inside long linear solves
            seen = len(monitor.history)
            steps.append((monitor.iterations, monitor.kkt))

    stop = {"rtol": plan.rtol, "maxiter": plan.maxiter, "time_limit": plan.time_limit, "criterion": "papers"}
    return api.solve_problem(problem, method, x0=start[0], active=start[1], callback=watch, **stop)


@contextmanager
def _kernels_loaded() -> Iterator[list[object]]:
    """A list that is non-empty once numba has compiled a kernel or loaded one from its cache."""
    seen: list[object] = []

    class Listener(event.Listener):
        def on_start(self, event):
            seen.append(event)

        def on_end(self, event):
            pass

    with event.install_listener("numba:compiler_lock", Listener()):
        yield seen


class _PeakMemory:
    """The rise of resident memory since this object was made."""

    def __init__(self) -> None:
        gc.collect()
        self._before: float | None = None
        try:
            ctypes.CDLL(None).malloc_trim(0)
            with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
                file.write("5")  # resets VmHWM to VmRSS
            self._before = proc("/proc/self/status", "VmRSS:")
        except (OSError, AttributeError, TypeError):  # not Linux; Windows wants the name of a library
            return

    def bytes(self) -> int | None:
        if self._before is None:
            return None
        return max(int(proc("/proc/self/status", "VmHWM:") - self._before), 0)
