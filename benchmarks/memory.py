"""Memory of a cold solve: bytes per unknown, after 8 bytes per box cell.

`solve` is the rise of resident memory during the solve (`nonstick.bench.measure`), `problem` the arrays of the matrix,
right-hand side and bounds. The budget is 160 bytes per unknown plus 8 bytes per box cell.
"""

from __future__ import annotations

from common import Rows, figure, options, progress, show, timed

from nonstick import cases

BUDGET, PER_CELL = 160, 8


def main(out="benchmarks/results", sizes=(16, 32), methods=("auto", "mg-cg")):
    rows = Rows(out, "memory", ("n", "method"))
    with progress("memory", len(sizes) * len(methods)) as step:
        for n in sizes:
            for method in methods:
                step(f"{method} at {n}")
                held: list[int] = []

                def build(n=n, held=held):
                    problem = cases.build("sphere3d", n).problem
                    held[:] = [problem_bytes(problem)]
                    return problem

                row = timed("sphere3d", n, method, build, warm=lambda: cases.build("sphere3d", 16).problem)
                budget = BUDGET * row["unknowns"] + PER_CELL * n**3
                rows.add({**row, "problem_bytes": held[0], "budget_bytes": budget})
    lines = []
    for row in rows:
        solve, unknowns = row["peak_bytes"], row["unknowns"]
        total = None if solve is None else solve + row["problem_bytes"]
        lines.append([
            row["n"], row["method"], unknowns, row["problem_bytes"] / unknowns,
            None if solve is None else solve / unknowns,
            None if solve is None else solve / row["budget_bytes"],
            None if total is None else total / row["budget_bytes"], row["converged"],
        ])  # fmt: skip
    heads = ["n", "method", "unknowns", "problem B/unk", "solve B/unk", "solve/budget", "both/budget", "converged"]
    show(f"memory; budget {BUDGET} B per unknown + {PER_CELL} B per box cell", heads, lines)
    with figure(rows.path.with_suffix(".png"), 5.0, 3.4) as axes:
        for method in dict.fromkeys(row["method"] for row in rows):
            points = sorted(
                (r["unknowns"], r["peak_bytes"] / r["unknowns"])
                for r in rows
                if r["method"] == method and r["peak_bytes"]
            )
            if points:
                axes.semilogx(*zip(*points), "o-", label=f"{method}: solve")
        points = sorted({(row["unknowns"], row["budget_bytes"] / row["unknowns"]) for row in rows})
        axes.semilogx(*zip(*points), "k:", label="budget")
        axes.set_ylim(bottom=0)
        axes.set(xlabel="unknowns", ylabel="bytes per unknown")
        axes.legend(frameon=False, fontsize=8)
    return rows


def problem_bytes(problem) -> int:
    """Arrays the problem holds: weights, diagonal, row tables, right-hand side, bounds."""
    A = problem.A
    arrays = [*A.weights, A.diagonal, A.rows.cells, A.rows.start, A.rows.offset, A.rows.parity, problem.b]
    arrays += [problem.box.lower, problem.box.upper]
    owners = {id(_owner(array)): _owner(array).nbytes for array in arrays}
    return sum(owners.values())


def _owner(array):
    while getattr(array, "base", None) is not None and hasattr(array.base, "nbytes"):
        array = array.base
    return array


if __name__ == "__main__":
    main(**options(__doc__, sizes=(64, 128, 256), methods=("auto", "mg-cg")))
