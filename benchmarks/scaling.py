"""Scaling: what the bounds cost. Cold `auto` on sphere3d against our linear solve of the same system (`mg-cg`)."""

from __future__ import annotations

from common import Rows, figure, options, progress, show, timed

from nonstick import cases

METHODS = ("mg-cg", "auto")


def main(out="benchmarks/results", sizes=(16, 32), case="sphere3d"):
    rows = Rows(out, "scaling", ("case", "n", "method"))
    with progress("scaling", len(sizes) * 2) as step:
        for n in sizes:
            # One after the other at each size, so that both see the same machine.
            for method in METHODS:
                step(f"{method} at {n}")
                rows.add(timed(case, n, method, lambda n=n: _build(case, n), warm=lambda: _build(case, 16)))
    table = [_line(rows, case, n) for n in sorted({row["n"] for row in rows if row["case"] == case})]
    heads = ["n", "unknowns", "linear s", "cycles", "auto s", "cycles", "set changes", "time ratio"]
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
        auto["outer_iterations"], auto["seconds"] / linear["seconds"],
    ]  # fmt: skip


def _build(case, n):
    return cases.build(case, n).problem


if __name__ == "__main__":
    main(**options(__doc__, sizes=(32, 64, 128, 256), case="sphere3d"))
