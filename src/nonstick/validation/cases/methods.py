"""Solvers alone: do all methods find the same pressure, and the answers of published obstacle problems?"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ... import cases, registry
from ...api import solve_problem
from ...errors import NonstickError

#: the optimality residual that is asked for, and the largest difference from the reference that passes
RTOL, DIFFERENCE = 1e-8, 1e-5


def methods() -> list[str]:
    """Registered methods that solve the complementarity problem."""
    return [name for name, entry in registry.entries().items() if entry.complete]


@lru_cache(maxsize=8)
def reference(name: str, n: int, rtol: float) -> np.ndarray:
    """The pressure by projected SOR."""
    solution = solve_problem(cases.build(name, n).problem, "psor", rtol=rtol)
    # On the largest grids rounding may end the sweeps a little above a very small tolerance.
    if not solution.converged and solution.kkt() > 10 * rtol:
        raise RuntimeError(f"no reference for {name} at {n}: {solution.message}")
    return solution.x


def compare(name: str, n: int, method: str) -> tuple[float, str]:
    """max|x - reference| / max|reference| of one method on one case, built again; and why it failed, if it did.

    The difference is NaN if the method refuses the case.
    """
    expected = reference(name, n, 1e-2 * RTOL)
    try:
        s = solve_problem(cases.build(name, n).problem, method, rtol=RTOL)
    except NonstickError as error:
        return float("nan"), f"{method} on {name} at {n}: {error}"
    difference = float(np.abs(s.x - expected).max(initial=0.0) / (np.abs(expected).max(initial=0.0) or 1.0))
    passed = s.converged and difference <= DIFFERENCE
    return difference, "" if passed else f"{method} on {name} at {n}: {difference:.1e}, {s.message}"


def agree(cells: int) -> dict[str, float]:
    """The largest difference from the reference, and how many solves failed."""
    rows = [
        compare(name, cells * (2 if name in cases.names(2) else 1), method)
        for name in cases.names()
        for method in methods()
    ]
    worst = max((difference for difference, _ in rows if not np.isnan(difference)), default=np.inf)
    return {"difference": worst, "failed": sum(bool(why) for _, why in rows), "solves": len(rows)}
