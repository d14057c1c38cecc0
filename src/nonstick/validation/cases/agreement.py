"""Do all methods find the same pressure? Every complete method on every static case, against one reference.

A method passes where it reaches the optimality residual it was asked for (1e-8) and its pressure differs from the
reference by at most 1e-5 of the largest pressure. The reference is the same problem solved by projected SOR to 1e-10, a
method that shares no coarse grid, preconditioner or active set with the others. A size of n cells stands for n cells
along a side in 3D and 2n in 2D.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ... import cases, registry
from ...api import solve_problem
from ...errors import NonstickError
from ..case import Case, Measured, Published, Size

RTOL = 1e-8
DIFFERENCE = 1e-5


@dataclass
class Compared:
    """One method on one case."""

    case: str
    n: int
    unknowns: int
    method: str
    passed: bool
    #: max|x - reference| / max|reference|
    difference: float | None = None
    kkt: float | None = None
    iterations: int | None = None
    outer_iterations: int | None = None
    seconds: float | None = None
    #: the method's message, or its refusal
    message: str = ""


def methods() -> list[str]:
    """Registered methods that solve the complementarity problem."""
    return [name for name, entry in registry.entries().items() if entry.complete]


@lru_cache(maxsize=8)
def reference(name: str, n: int, rtol: float) -> np.ndarray:
    solution = solve_problem(cases.build(name, n).problem, "psor", rtol=rtol)
    # On the largest grids rounding may end the sweeps a little above a very small tolerance.
    if not solution.converged and solution.kkt() > 10 * rtol:
        raise RuntimeError(f"no reference for {name} at {n}: {solution.message}")
    return solution.x


def compare(name: str, n: int, method: str, rtol: float = RTOL) -> Compared:
    """One method on one case, built again, against the reference."""
    expected = reference(name, n, 1e-2 * rtol)
    problem = cases.build(name, n).problem
    try:
        s = solve_problem(problem, method, rtol=rtol)
    except NonstickError as error:
        return Compared(name, n, problem.n, method, False, message=str(error))
    difference = float(np.abs(s.x - expected).max(initial=0.0) / (np.abs(expected).max(initial=0.0) or 1.0))
    return Compared(
        name, n, problem.n, method, s.converged and difference <= DIFFERENCE,
        difference, s.kkt(), s.iterations, s.outer_iterations, s.seconds, s.message,
    )  # fmt: skip


def line(row: Compared) -> str:
    where = f"{row.case:16} {row.n:4} {row.unknowns:8} {row.method:20}"
    if row.kkt is None:
        return f"{where} FAILED: {row.message}"
    verdict = "" if row.passed else f" FAILED: {row.message}"
    return f"{where} {row.iterations:7} {row.seconds:8.2f} {row.kkt:8.1e} {row.difference:8.1e}{verdict}"


def measure(size: Size) -> Measured:
    """The largest difference from the reference, and how many solves failed."""
    rows = [
        compare(name, size.cells * (2 if name in cases.names(2) else 1), method)
        for name in cases.names()
        for method in methods()
    ]
    worst = max((row.difference for row in rows if row.difference is not None), default=np.inf)
    return Measured({"difference": worst, "failed": sum(not row.passed for row in rows), "solves": len(rows)})


CASES = (
    Case(
        "methods-agree",
        "All methods on all static cases find the pressure of projected SOR",
        "Exact: the problem has one solution",
        (
            Published("difference", "largest difference over the largest pressure", 0.0, DIFFERENCE, scale=1.0),
            Published("failed", "solves that failed", 0.0, 0.0, scale=1.0),
        ),
        measure,
        quick=(Size(8), Size(12)),
        full=(Size(8), Size(12), Size(16)),
        timeless=True,
    ),
)
