"""Scaling: what the bounds cost. Cold `auto` on sphere3d against our linear solve of the same system (`mg-cg`).

The two take turns, so that both see the same machine, as often as fits into some seconds. The ratio is that of their
medians: other work on the machine slows single solves down, and a fastest one may be luck.
"""

from __future__ import annotations

import statistics

from common import Rows, figure, options, progress, show

from nonstick import api, cases

METHODS = ("mg-cg", "auto")
#: seconds of solving at each size, and the least and largest number of turns
BUDGET, LEAST, MOST = 6.0, 5, 41


def main(out="benchmarks/results", sizes=(16, 32), case="sphere3d", budget=BUDGET):
    rows = Rows(out, "scaling", ("case", "n", "method"))
    with progress("scaling", len(sizes)) as step:
        for n in sizes:
            step(f"both at {n}")
            problem = cases.build(case, n).problem
            for method, solutions in _take_turns(problem, budget).items():
                s, seconds = solutions[0], [solution.seconds for solution in solutions]
                rows.add({
                    "case": case, "n": n, "method": method, "unknowns": problem.n, "iterations": s.iterations,
                    "outer_iterations": s.outer_iterations, "seconds": statistics.median(seconds),
                    "fastest": min(seconds), "runs": len(seconds), "converged": s.converged,
                })  # fmt: skip
    table = [_line(rows, case, n) for n in sorted({row["n"] for row in rows if row["case"] == case})]
    heads = ["n", "unknowns", "linear s", "cycles", "auto s", "cycles", "set changes", "time ratio", "of the fastest",
             "runs"]  # fmt: skip
    show(f"{case}, cold start, KKT 1e-6", heads, table)
    with figure(rows.path.with_suffix(".png")) as axes:
        for method, place in (("mg-cg", 2), ("auto", 4)):
            axes.loglog([line[1] for line in table], [line[place] for line in table], "o-", label=method)
        for line in table:
            axes.annotate(f"{line[7]:.2f}×", (line[1], line[4]), xytext=(-4, 6), textcoords="offset points", fontsize=8)
        axes.set(xlabel="unknowns", ylabel="seconds", title=f"{case}: with bounds and without")
        axes.legend(frameon=False)
    return rows


def _line(rows, case, n):
    linear, auto = (
        next(row for row in rows if (row["case"], row["n"], row["method"]) == (case, n, method)) for method in METHODS
    )
    return [
        n, auto["unknowns"], linear["seconds"], linear["iterations"], auto["seconds"], auto["iterations"],
        auto["outer_iterations"], auto["seconds"] / linear["seconds"], auto["fastest"] / linear["fastest"],
        auto["runs"],
    ]  # fmt: skip


def _take_turns(problem, budget: float) -> dict[str, list]:
    """Solutions by either method; the first of each, which may compile and touches new memory, is left out."""
    found: dict[str, list] = {method: [] for method in METHODS}
    first = {method: api.solve_problem(problem, method) for method in METHODS}
    assert all(solution.converged for solution in first.values())
    while len(found["auto"]) < LEAST or (len(found["auto"]) < MOST and _spent(found) < budget):
        for method, solutions in found.items():
            solutions.append(api.solve_problem(problem, method))
    return found


def _spent(found: dict[str, list]) -> float:
    return sum(solution.seconds for solutions in found.values() for solution in solutions)


if __name__ == "__main__":
    main(**options(__doc__, sizes=(32, 64, 128, 256), case="sphere3d", budget=BUDGET))
