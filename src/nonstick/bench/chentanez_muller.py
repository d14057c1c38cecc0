"""Chentanez–Müller's table 1: the cost of the LCP at fixed work, in four scenes.

Three full cycles and four V-cycles, converged or not, on the problems of one run with separating walls: once with the
constraints, once by the same cycles without any projection. Set-up is the same for both and does not count. The price
is one of processor time, which other work on the machine hardly changes. The paper ran each scene twice instead, so its
two columns belong to different motions. It has one size per scene, and milliseconds on a GPU. Cells cut or touched by a
wall are constrained. The paper constrains cells with their centre in a solid; the two boxes aligned with the grid would
have no cell of this kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..errors import NonstickError
from . import figures, published
from .means import mean_row
from .measure import measure
from .registry import Plan, benchmark
from .row import Row
from .snapshots import sampled_frames, snapshots

FRAMES = 30
#: every k-th frame's first substep is solved
EVERY = 6
METHODS = ("fmg+cm+no-lcp", "fmg+cm")
DIFFERENCE = "LCP slower by %"


@benchmark(
    "cm-table1", "Chentanez–Müller table 1: the price of the LCP at fixed work, four scenes", sizes=(32, 64),
    methods=(), parts=published.CM_TABLE1, simulated=True,
)  # fmt: skip
def table1(plan: Plan) -> Iterator[Row]:
    if plan.methods:
        raise NonstickError(f"cm-table1 compares {' and '.join(METHODS)}: remove --methods")
    # seven cycles cannot reach this tolerance, so both solves do all cycles
    fixed = replace(plan, rtol=1e-14)
    for scene, (cells, without, with_lcp) in published.CM_TABLE1.items():
        for label, ms in ((scene, without), (f"{scene} LCP", with_lcp)):
            extra = {DIFFERENCE: round(100 * (with_lcp / without - 1), 2)} if label != scene else {}
            yield Row("cm-table1 (published)", cells, None, label, seconds=ms / 1000, converged=True, extra=extra)
    slower: dict[str, dict[int, float]] = {}
    frames = plan.frames or FRAMES
    wanted = range(EVERY, frames + 1, EVERY) if plan.samples is None else sampled_frames(frames, plan.samples)
    scenes = plan.chosen(published.CM_TABLE1)
    for k, (n, scene) in enumerate((n, scene) for n in plan.sizes for scene in scenes):
        rows: dict[str, list[Row]] = {scene: [], f"{scene} LCP": []}
        for snapshot in snapshots(scene, n, frames, **{"walls.pressure": "cut", **plan.keys}):
            plan.announce(f"{scene} at {n}, frame {snapshot.frame} of {frames}")
            plan.done((k + snapshot.frame / frames) / (len(scenes) * len(plan.sizes)))
            if snapshot.substep or snapshot.frame not in wanted:
                continue
            for label, method in zip(rows, METHODS):
                rows[label].append(measure("cm-table1", n, method, snapshot.build, fixed, label))
        for label, found in rows.items():
            row = mean_row("cm-table1", n, label, found)
            row.must_converge, row.converged = False, True
            row.reason = None if row.kkt is None else f"fixed work leaves a residual of at most {row.kkt:.0e}"
            if label != scene:
                seconds = [sum(map(_cycles, found)) for found in rows.values()]
                slower.setdefault(scene, {})[n] = 100 * (seconds[1] / seconds[0] - 1)
                row.extra = {DIFFERENCE: round(slower[scene][n], 2)}
            yield row
    paper = {scene: {n: 100 * (lcp / ms - 1)} for scene, (n, ms, lcp) in published.CM_TABLE1.items()}
    plan.draw("cm-table1", figures.beside, slower, paper, "three full cycles and four V-cycles", DIFFERENCE)


def _cycles(row: Row) -> float:
    """Processor seconds of the cycles: those of the whole solve, without the share of time that its set-up took."""
    if not row.seconds or row.cpu_seconds is None:
        return 0.0
    return row.cpu_seconds * (1.0 - (row.setup_seconds or 0.0) / row.seconds)
