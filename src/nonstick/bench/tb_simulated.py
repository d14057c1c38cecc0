"""Takahashi–Batty's tables over simulations, with the time per solve as a figure (figures 5, 7, 9).

A run driven by `auto` makes the motion; the first substep of chosen frames is solved again by every method, from a
cold start. Published rows are averages over all substeps of their runs, on 160³, 128³ and 160³ cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from . import figures
from .means import mean_row
from .measure import measure
from .registry import Plan, benchmark
from .row import Row
from .snapshots import spread

FRAMES = 40
SAMPLES = 8
FORMULATIONS = {
    "unconstrained": ("none", "tagiaamg-cg"),
    "non-splashy": ("cut", "ipm-pd"),
    "splashy": ("all", "ipm-pd"),
}


@benchmark(
    "tb-figure5", "Takahashi–Batty table 1 and figure 5 over a run of the closed maze", sizes=(64,),
    methods=("mic-cg", "saamg-cg", "giaamg-cg", "tagiaamg-cg"),
)  # fmt: skip
def figure5(plan: Plan) -> Iterator[Row]:
    published = {
        "mic-cg": (505.4, 22.78),
        "saamg-cg": (18.9, 1.81),
        "giaamg-cg": (26.4, 2.75),
        "tagiaamg-cg": (6.1, 1.32),
    }
    for method, (iterations, seconds) in published.items():
        yield _published("tb-figure5", 160, method, iterations, None, seconds)
    yield from _runs(replace(plan, rtol=min(plan.rtol, 1e-8)), "tb-figure5", "neumann-maze", "none")


@benchmark(
    "tb-table4", "Takahashi–Batty table 4 and figure 7: liquid running through a maze", sizes=(64,),
    methods=("tagiaamg-cg", "saamg-mprgp", "ipm-pd+saamg-cg", "ipm-pd+tagiaamg-cg", "auto"),
)  # fmt: skip
def table4(plan: Plan) -> Iterator[Row]:
    published = {
        "tagiaamg-cg": (3.5, None, 0.80), "saamg-mprgp": (273.4, None, 23.87), "ipm-pd+saamg-cg": (36.2, 18.1, 16.39),
        "ipm-pd+tagiaamg-cg": (32.4, 16.2, 10.00),
    }  # fmt: skip
    for method, (iterations, steps, seconds) in published.items():
        yield _published("tb-table4", 128, method, iterations, steps, seconds)
    yield from _runs(plan, "tb-table4", "maze-3d", "all")


@benchmark(
    "tb-table5", "Takahashi–Batty table 5 and figure 9: double dam break, three sets of constraints", sizes=(64,),
    methods=(),
)  # fmt: skip
def table5(plan: Plan) -> Iterator[Row]:
    published = {
        "unconstrained": (3.3, None, 4.06), "non-splashy": (13.8, 6.9, 15.94), "splashy": (26.4, 13.2, 26.20)
    }  # fmt: skip
    for name, (iterations, steps, seconds) in published.items():
        yield _published("tb-table5", 160, name, iterations, steps, seconds)
    for n in plan.sizes:
        curves = {}
        for name, (walls, method) in FORMULATIONS.items():
            plan.announce(f"double-dam-break {name} at {n}")
            problems = spread("double-dam-break", n, FRAMES, SAMPLES, **{"walls.pressure": walls})
            rows = [measure("tb-table5", n, method, problem.build, plan, name) for problem in problems]
            curves[name] = [row.seconds or np.nan for row in rows]
            yield mean_row("tb-table5", n, name, rows)
        plan.draw(f"tb-table5-{n}", figures.profile, curves, _frames())


def _runs(plan: Plan, table: str, scene: str, walls: str) -> Iterator[Row]:
    for n in plan.sizes:
        plan.announce(f"{scene}: {FRAMES} frames at {n}")
        problems = spread(scene, n, FRAMES, SAMPLES, **{"walls.pressure": walls})
        curves = {}
        for method in plan.methods:
            plan.announce(f"{scene} {method} at {n}")
            rows = [measure(table, n, method, problem.build, plan) for problem in problems]
            curves[method] = [row.seconds or np.nan for row in rows]
            yield mean_row(table, n, method, rows)
        plan.draw(f"{table}-{n}", figures.profile, curves, _frames())


def _frames() -> list[int]:
    return sorted({round(f) for f in np.linspace(1, FRAMES, min(SAMPLES, FRAMES))})


def _published(table: str, n: int, method: str, iterations, steps, seconds) -> Row:
    return Row(f"{table} (published)", n, None, method, iterations, steps, seconds, converged=True)
