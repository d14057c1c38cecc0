"""Many solves with one matrix: `nonstick.Solver` against as many calls of `nonstick.solve`.

An elastic sheet over a floor, on a square grid of n × n. Its load turns slowly from solve to solve, or jumps to another
one each time. Call and Solver take turns, so that both see the same machine; the checks of A and its conversion are in
the time of both, for the Solver once in the beginning.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp
from common import Rows, figure, options, progress, show

import nonstick

#: the name of a sequence, and the angle of its load at each solve
SEQUENCES = {
    "slow": lambda count: np.linspace(0.0, 1.0, count),
    "jumping": lambda count: np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, count),
}


def sheet(n: int) -> tuple[sp.csr_array, np.ndarray]:
    """The five-point matrix of a square, and its cells."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    A = sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line)
    return sp.csr_array(A), np.argwhere(np.ones((n, n), bool))


def load(cells: np.ndarray, n: int, angle: float) -> np.ndarray:
    x, y = (cells.T + 1.0) / (n + 1)
    return 10.0 / n**2 * (np.sin(3.0 * x + angle) * np.cos(4.0 * y - angle) - 0.3)


def main(out="benchmarks/results", sizes=(32,), count=100, forms=("cells", "bare")):
    rows = Rows(out, "sequence", ("n", "form", "sequence", "count"))
    with progress("sequence", len(sizes) * len(forms) * len(SEQUENCES)) as step:
        for n in sizes:
            A, cells = sheet(n)
            for form in forms:
                for name, angles in SEQUENCES.items():
                    step(f"{count} solves at {n}², {form}, {name}")
                    known = cells if form == "cells" else None
                    rows.add({"n": n, "unknowns": n * n, "form": form, "sequence": name, "count": count}
                             | _take_turns(A, known, [load(cells, n, angle) for angle in angles(count)]))  # fmt: skip
    heads = ("n", "unknowns", "form", "sequence", "solves", "calls s", "Solver s", "ratio", "iterations", "of Solver")
    keys = ("n", "unknowns", "form", "sequence", "count", "calls", "solver", "ratio", "iterations", "solver_iterations")
    show("one matrix, many solves", heads, [[row[key] for key in keys] for row in rows])
    with figure(rows.path.with_suffix(".png")) as axes:
        for form in forms:
            for name in SEQUENCES:
                mine = sorted(
                    (row["unknowns"], row["ratio"]) for row in rows if (row["form"], row["sequence"]) == (form, name)
                )
                axes.semilogx(*zip(*mine), "o-", label=f"{form}, {name}")
        axes.set_xlabel("unknowns")
        axes.set_ylabel("time of calls ÷ time of Solver")
        axes.legend()
    return rows


def _take_turns(A, cells, loads: list[np.ndarray]) -> dict:
    nonstick.solve(A, loads[0], cells=cells)  # compiles
    calls = 0.0
    began = time.perf_counter()
    solver = nonstick.Solver(A, cells=cells)
    mine = time.perf_counter() - began
    iterations = solver_iterations = 0
    converged = True
    for b in loads:
        began = time.perf_counter()
        one = nonstick.solve(A, b, cells=cells)
        between = time.perf_counter()
        other = solver.solve(b)
        calls, mine = calls + between - began, mine + time.perf_counter() - between
        iterations, solver_iterations = iterations + one.iterations, solver_iterations + other.iterations
        converged &= one.converged and other.converged
    return {
        "calls": calls, "solver": mine, "ratio": calls / mine, "iterations": iterations,
        "solver_iterations": solver_iterations, "converged": converged,
    }  # fmt: skip


if __name__ == "__main__":
    main(**options(__doc__, sizes=(100,), count=100, forms=("cells", "bare")))
