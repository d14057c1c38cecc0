"""Cost follows liquid: the half-filled sphere in its own box, and the same cells in a box with 8 times the volume."""

from __future__ import annotations

import time

from common import Rows, figure, options, progress, show, timed

from nonstick import cases
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Ball, HalfSpace


def main(out="benchmarks/results", sizes=(16,), method="auto"):
    rows = Rows(out, "liquid", ("n", "box", "method"))
    with progress("liquid", 2 * len(sizes)) as step:
        for n in sizes:
            for box in (1, 2):
                step(f"{n}³ sphere in a box of {n * box}³")
                began = time.perf_counter()
                build(n, box)
                made = time.perf_counter() - began
                row = timed("sphere3d", n, method, lambda n=n, b=box: build(n, b), warm=lambda: build(16, 1))
                rows.add({**row, "box": n * box, "build_seconds": made})
    lines = []
    for n in sorted({row["n"] for row in rows}):
        pair = {row["box"]: row for row in rows if (row["n"], row["method"]) == (n, method)}
        small, large = pair[n], pair[2 * n]
        same = small["unknowns"] == large["unknowns"]
        for row in (small, large):
            ratio = row["seconds"] / small["seconds"]
            lines.append([n, row["box"], row["unknowns"], row["iterations"], row["seconds"], ratio, same])
    show("the same liquid", ["n", "box", "unknowns", "cycles", "seconds", "ratio", "same cells"], lines)
    with figure(rows.path.with_suffix(".png"), 5.0, 3.4) as axes:
        axes.bar([f"{line[0]}³ in {line[1]}³" for line in lines], [line[5] for line in lines], width=0.6)
        axes.axhline(1.3, color="0.4", lw=0.8, ls=":")
        axes.set(ylabel="time ÷ time in its own box", title="cost follows liquid")
    return rows


def build(n: int, box: int):
    """sphere3d at n cells a side, in a box of (n·box)³ cells of the same size."""
    low = -0.5 * (box - 1)
    grid = Grid((n * box,) * 3, 1.0 / n, (low,) * 3)
    middle = (0.5, 0.5, 0.5)
    # float64 fields in both boxes, or rounding would move cells in and out of the liquid
    return cases.first_step(grid, ~Ball(middle, 0.46), HalfSpace(middle, (1.0, 0.0, 0.0)), dtype=float).problem


if __name__ == "__main__":
    main(**options(__doc__, sizes=(64, 128), method="auto"))
