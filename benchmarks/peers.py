"""Peers: time against unknowns on sphere3d, for `auto`, `mg-cg` and every other package that is installed.

The same problem, tolerance (KKT 1e-6, recomputed here from the problem) and number of threads: `name@2` is PETSc on two
ranks, beside our two threads. Dashed: linear solves, which ignore the bounds.
"""

from __future__ import annotations

import itertools

from common import Rows, figure, options, progress, show

from nonstick import cases
from nonstick.bench import peers
from nonstick.bench.measure import sweep
from nonstick.bench.registry import Plan

OURS = ("auto", "mg-cg")
PALETTE = (*(f"C{k}" for k in range(10)), "k", "0.65")
LINEAR = ("mg-cg", "pyamg-cg", "petsc-cg")


def main(out="benchmarks/results", sizes=(16, 32), methods=OURS, peer=None, time_limit=300.0):
    rows = Rows(out, "peers", ("n", "method"))
    chosen = [name for name in peers.names() if not peer or any(name.startswith(word) for word in peer)]
    with progress("peers", len(sizes) * (len(methods) + len(chosen))) as step:
        plan = Plan(tuple(sizes), tuple(methods), time_limit=time_limit, announce=step.say)
        ours = sweep("peers", lambda n: cases.build("sphere3d", n).problem, plan)
        for row in itertools.chain(ours, *(peers.rows_of(name, plan) for name in chosen)):
            rows.add(row.asdict())
            step(f"{row.method} at {row.n}")
    report(rows)
    plot(rows)
    return rows


def report(rows) -> None:
    found = sorted({row["n"] for row in rows})
    ours = {row["n"]: row["seconds"] for row in rows if row["method"] == "auto"}
    lines = []
    for name in dict.fromkeys(row["method"] for row in rows):
        of = {row["n"]: row for row in rows if row["method"] == name}
        good = {n: row["seconds"] for n, row in of.items() if row["converged"]}
        ratio = [good[n] / ours[n] if n in good and ours.get(n) else None for n in found]
        lines.append([name, *(good.get(n) for n in found), *ratio])
    show("seconds, and times `auto`", ["method", *(f"{n}³" for n in found), *(f"×{n}³" for n in found)], lines)
    for row in rows:
        if row["reason"]:
            print(f"{row['method']} at {row['n']}: {row['reason']}")


def plot(rows) -> None:
    colours: dict[str, str] = {}
    with figure(rows.path.with_suffix(".png"), 7.4, 5.0) as axes:
        for name in dict.fromkeys(row["method"] for row in rows):
            points = sorted(
                (row["unknowns"], row["seconds"]) for row in rows if row["method"] == name and row["converged"]
            )
            if points:
                base, _, ranks = name.partition("@")
                colour = colours.setdefault(
                    base, f"C{len(colours)}" if len(colours) < 10 else ("k", "0.65")[len(colours) % 2]
                )
                style = "--" if name.startswith(LINEAR) else "-"
                wide, face = 2.4 if name in OURS else 1.1, "w" if ranks == "1" else colour
                axes.loglog(*zip(*points), style, color=colour, marker="o", mfc=face, ms=4, lw=wide, label=name)
        axes.set(xlabel="unknowns", ylabel="seconds to KKT 1e-6", title="half-filled sphere, cold start")
        axes.grid(True, which="major", lw=0.3)
        axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


if __name__ == "__main__":
    main(**options(__doc__, sizes=(32, 64), methods=OURS, peer=(), time_limit=300.0))
