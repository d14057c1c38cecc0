"""Flatness: fine-grid cycles and set changes of cold `auto` as the grid is refined.

A size n stands for n³ cells, n + 1 nodes a side of obstacle3d, (4n)² cells of maze2d and 8n + 1 nodes a side of
obstacle2d, so that 32 ... 256 reach 1024² and 2049².
"""

from __future__ import annotations

from common import Rows, figure, options, progress, show

from nonstick import api, cases

CASES = {
    "sphere3d": lambda n: n,
    "sphere-cuboid3d": lambda n: n,
    "double-sphere3d": lambda n: n,
    "maze2d": lambda n: 4 * n,
    "obstacle2d": lambda n: 8 * n + 1,
    "obstacle3d": lambda n: n + 1,
}


def main(out="benchmarks/results", sizes=(8, 16), only=tuple(CASES), method="auto"):
    rows = Rows(out, "flatness", ("case", "n", "method"))
    with progress("flatness", len(sizes) * len(only)) as step:
        for case in only:
            for size in sizes:
                n = CASES[case](size)
                step(f"{case} at {n}")
                problem = cases.build(case, n).problem
                solution = api.solve_problem(problem, method)
                rows.add({
                    "case": case, "size": size, "n": n, "unknowns": problem.n, "method": method,
                    "iterations": solution.iterations, "outer_iterations": solution.outer_iterations,
                    "kkt": solution.kkt(), "converged": solution.converged, "seconds": solution.seconds,
                })  # fmt: skip
    mine = [row for row in rows if row["method"] == method]
    found = sorted({row["size"] for row in mine})
    lines = []
    for case in dict.fromkeys(row["case"] for row in mine):
        of = {row["size"]: row for row in mine if row["case"] == case}
        counts = [f"{of[s]['iterations']} ({of[s]['outer_iterations']})" if s in of else None for s in found]
        cycles = [of[s]["iterations"] for s in sorted(of)]
        changes = max(row["outer_iterations"] for row in of.values())
        done = all(row["converged"] for row in of.values())
        lines.append([case, *counts, cycles[-1] / max(cycles[0], 1), changes, done])
    heads = ["case", *map(str, found), "growth", "most changes", "converged"]
    show(f"{method}: cycles (set changes), cold start, KKT 1e-6", heads, lines)
    with figure(rows.path.with_suffix(".png")) as axes:
        for case in dict.fromkeys(row["case"] for row in mine):
            points = sorted((row["size"], row["iterations"]) for row in mine if row["case"] == case)
            axes.plot(*zip(*points), "o-", label=case)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set(xlabel="size", ylabel="fine-grid cycles", title=f"{method}, cold start")
        axes.legend(frameon=False, fontsize=8)
    return rows


if __name__ == "__main__":
    main(**options(__doc__, sizes=(32, 64, 128), only=tuple(CASES), method="auto"))
