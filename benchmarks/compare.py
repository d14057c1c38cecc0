"""Why `auto` is the loop it is: other loops over the same hierarchy, from zero and from the same nested prediction.

Counted in fine-grid cycles to KKT 1e-6; `setups` says how often the truncated hierarchy was refreshed. A cycle of
FAS does four sweeps and more (V(2,2) with band sweeps), one of the others two.
"""

from __future__ import annotations

import numpy as np
from common import Rows, figure, options, progress, show
from comparators import comparators

from nonstick import api, cases
from nonstick.bench.figures import COLOURS
from nonstick.compositions import AUTO, CYCLE


def main(out="benchmarks/results", sizes=(16,), problems=("sphere3d", "obstacle2d"), maxiter=300):
    rows = Rows(out, "compare", ("case", "n", "method", "start"))
    names = list(comparators())
    with progress("compare", len(problems) * len(sizes) * len(names) * 2) as step:
        for case in problems:
            for size in sizes:
                n = 4 * size + 1 if case == "obstacle2d" else size + case.startswith("obstacle")
                problem = cases.build(case, n).problem
                predicted = problem.box.project(np.zeros(problem.n))
                AUTO.predict(problem, CYCLE.setup(problem.A), predicted)
                for start, x0 in (("zero", None), ("nested", predicted)):
                    for name in names:
                        step(f"{name} on {case} at {n}, from {start}")
                        rows.add(_run(case, n, problem, name, start, x0, maxiter))
    lines = []
    for case, n in dict.fromkeys((row["case"], row["n"]) for row in rows):
        for name in names:
            of = {r["start"]: r for r in rows if (r["case"], r["n"], r["method"]) == (case, n, name)}
            if len(of) == 2:
                cells = [f"{'' if r['converged'] else '>'}{r['cycles']}" for r in (of["zero"], of["nested"])]
                lines.append([case, n, name, *cells, of["zero"]["setups"], of["nested"]["seconds"]])
    heads = ["case", "n", "loop", "cycles from zero", "from nested", "setups (zero)", "seconds (nested)"]
    show("the same hierarchy under other loops, KKT 1e-6", heads, lines)
    with figure(rows.path.with_suffix(".png"), 7.0, 4.4) as axes:
        for k, case in enumerate(dict.fromkeys(row["case"] for row in rows)):
            n = max(row["n"] for row in rows if row["case"] == case)
            of = [r for r in rows if (r["case"], r["n"], r["start"]) == (case, n, "nested")]
            place = [names.index(r["method"]) + 0.15 * (k - 1) for r in of]
            axes.plot(
                [r["cycles"] for r in of],
                place,
                "o^sDv"[k % 5],
                color=COLOURS[k % len(COLOURS)],
                label=f"{case} at {n}",
            )
        axes.set_yticks(range(len(names)), names)
        axes.set_xlim(left=0)
        axes.invert_yaxis()  # in the order of the table
        axes.set(xlabel="fine-grid cycles to KKT 1e-6, from the nested prediction")
        axes.grid(True, axis="x", which="both", lw=0.3)
        axes.legend(frameon=False, fontsize=8)
    return rows


def _run(case, n, problem, name, start, x0, maxiter) -> dict:
    method, cycles = comparators()[name]
    solution = api.solve_problem(problem, method, x0=x0, maxiter=maxiter)
    return {
        "case": case, "n": n, "unknowns": problem.n, "method": name, "start": start,
        "cycles": solution.iterations if cycles is None else cycles.count,
        "setups": cycles.setups if cycles else solution.outer_iterations if name.startswith("auto") else None,
        "outer_iterations": solution.outer_iterations, "seconds": solution.seconds, "kkt": solution.kkt(),
        "converged": solution.converged,
    }  # fmt: skip


if __name__ == "__main__":
    main(**options(__doc__, sizes=(32, 64), problems=("sphere3d", "sphere-cuboid3d", "obstacle2d"), maxiter=300))
