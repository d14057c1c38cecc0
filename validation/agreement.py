"""Do all methods find the same pressure? Every complete method on every static case, against one reference.

    python validation/agreement.py                                  # 64, 256 in 2D and 32, 64 in 3D
    python validation/agreement.py --sizes-2d 32 --sizes-3d 16 --methods fmg psor --json agreement.json

A method passes where it reaches the optimality residual it was asked for (1e-8) and its pressure differs from
the reference by at most 1e-5 of the largest pressure. The reference is the same problem solved by projected
SOR to 1e-10, a method that shares no coarse grid, preconditioner or active set with the others.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from nonstick import NonstickError, cases, registry, solve_problem

RTOL = 1e-8
DIFFERENCE = 1e-5
SIZES_2D = (64, 256)
SIZES_3D = (32, 64)


@dataclass
class Result:
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


def compare(name: str, n: int, method: str, rtol: float = RTOL) -> Result:
    """One method on one case, built again, against the reference."""
    expected = reference(name, n, 1e-2 * rtol)
    problem = cases.build(name, n).problem
    try:
        s = solve_problem(problem, method, rtol=rtol)
    except NonstickError as error:
        return Result(name, n, problem.n, method, False, message=str(error))
    difference = float(np.abs(s.x - expected).max(initial=0.0) / (np.abs(expected).max(initial=0.0) or 1.0))
    return Result(
        name, n, problem.n, method, s.converged and difference <= DIFFERENCE,
        difference, s.kkt(), s.iterations, s.outer_iterations, s.seconds, s.message,
    )  # fmt: skip


def line(row: Result) -> str:
    where = f"{row.case:16} {row.n:4} {row.unknowns:8} {row.method:20}"
    if row.kkt is None:
        return f"{where} FAILED: {row.message}"
    verdict = "" if row.passed else f" FAILED: {row.message}"
    return f"{where} {row.iterations:7} {row.seconds:8.2f} {row.kkt:8.1e} {row.difference:8.1e}{verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", default=cases.names())
    parser.add_argument("--methods", nargs="+", default=methods())
    parser.add_argument("--sizes-2d", nargs="+", type=int, default=SIZES_2D)
    parser.add_argument("--sizes-3d", nargs="+", type=int, default=SIZES_3D)
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args()
    rows: list[Result] = []
    print(f"{'case':16} {'n':>4} {'unknowns':>8} {'method':20} {'iter':>7} {'seconds':>8} {'KKT':>8} {'diff':>8}")
    for name in options.cases:
        for n in options.sizes_2d if name in cases.names(2) else options.sizes_3d:
            for method in options.methods:
                rows.append(compare(name, n, method))
                print(line(rows[-1]), flush=True)
                if options.json:  # after every row: a long run may be cut short
                    Path(options.json).write_text(json.dumps([asdict(row) for row in rows], indent=1))
    failed = [row for row in rows if not row.passed]
    print(f"{len(rows) - len(failed)} of {len(rows)} passed")
    for row in failed:
        print(f"failed: {row.method} on {row.case} at {row.n}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
