"""Takahashi–Batty's tables over simulations, with the time per solve as a figure (figures 5, 7, 9).

A run driven by `auto` makes the motion, with steps of up to three cells as in the paper; the first substep of chosen
frames is solved again by every method, from a cold start. Published rows are averages over all substeps of their runs,
on 160³, 128³ and 160³ cells. Columns of the tables: `c` constraints, `s` substeps a frame, `T_s` seconds of solves a
frame, `T` the same with the making of the problem from fields (the paper's T has the level set too).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import figures
from .means import mean_row
from .measure import measure
from .registry import Plan, benchmark
from .row import Row
from .snapshots import Snapshot, sampled_frames, spread

FRAMES = 40
SAMPLES = 8
#: the paper's steps (§7); scenes have 2 by default
CFL = {"time.cfl": 3.0}
FORMULATIONS = {
    "unconstrained": ("none", "tagiaamg-cg"),
    "non-splashy": ("cut", "ipm-pd"),
    "splashy": ("all", "ipm-pd"),
}


@benchmark(
    "tb-figure5", "Takahashi–Batty table 1 and figure 5 over a run of the closed maze", sizes=(64,),
    methods=("mic-cg", "saamg-cg", "giaamg-cg", "tagiaamg-cg"), simulated=True,
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
    methods=("tagiaamg-cg", "saamg-mprgp", "ipm-pd+saamg-cg", "ipm-pd+tagiaamg-cg", "auto"), simulated=True,
)  # fmt: skip
def table4(plan: Plan) -> Iterator[Row]:
    published = {
        "tagiaamg-cg": (3.5, None, 1.9, 0.80, 9.56), "saamg-mprgp": (273.4, None, 2.4, 23.87, 35.84),
        "ipm-pd+saamg-cg": (36.2, 18.1, 2.3, 16.39, 28.39), "ipm-pd+tagiaamg-cg": (32.4, 16.2, 2.4, 10.00, 22.33),
    }  # fmt: skip
    for method, (iterations, steps, substeps, solves, phase) in published.items():
        columns = {"s": substeps, "T_s": solves, "T": phase}
        yield _published("tb-table4", 128, method, iterations, steps, solves / substeps, columns)
    yield from _runs(plan, "tb-table4", "maze-3d", "all")


@benchmark(
    "tb-table5", "Takahashi–Batty table 5 and figure 9: double dam break, three sets of constraints", sizes=(64,),
    methods=(), parts=FORMULATIONS, simulated=True,
)  # fmt: skip
def table5(plan: Plan) -> Iterator[Row]:
    published = {
        "unconstrained": (3.3, None, 4.06, {"c": 0, "s": 5.2, "T": 14.63}),
        "non-splashy": (13.8, 6.9, 15.94, {"c": 0.1e6, "s": 5.1, "T": 25.89}),
        "splashy": (26.4, 13.2, 26.20, {"c": 1.4e6, "s": 5.2, "T": 36.64}),
    }
    for name, (iterations, steps, seconds, columns) in published.items():
        yield _published("tb-table5", 160, name, iterations, steps, seconds / columns["s"], {"T_s": seconds, **columns})
    for n in plan.sizes:
        curves = {}
        for name in plan.chosen(FORMULATIONS):
            walls, method = FORMULATIONS[name]
            plan.announce(f"double-dam-break {name} at {n}")
            problems = _problems(plan, "double-dam-break", n, walls)
            rows = [measure("tb-table5", n, method, problem.build, plan, name) for problem in problems]
            curves[name] = [row.seconds or np.nan for row in rows]
            yield _mean("tb-table5", n, name, rows, problems)
        plan.draw(f"tb-table5-{n}", figures.profile, curves, _frames(plan))


def _runs(plan: Plan, table: str, scene: str, walls: str) -> Iterator[Row]:
    for n in plan.sizes:
        plan.announce(f"{scene}: {plan.frames or FRAMES} frames at {n}")
        problems = _problems(plan, scene, n, walls)
        curves = {}
        for method in plan.methods:
            plan.announce(f"{scene} {method} at {n}")
            rows = [measure(table, n, method, problem.build, plan) for problem in problems]
            curves[method] = [row.seconds or np.nan for row in rows]
            yield _mean(table, n, method, rows, problems)
        plan.draw(f"{table}-{n}", figures.profile, curves, _frames(plan))


def _problems(plan: Plan, scene: str, n: int, walls: str) -> list[Snapshot]:
    keys: dict[str, Any] = {"walls.pressure": walls, **CFL, **plan.keys}
    return spread(scene, n, plan.frames or FRAMES, plan.samples or SAMPLES, **keys)


def _mean(table: str, n: int, label: str, rows: Sequence[Row], problems: Sequence[Snapshot]) -> Row:
    """The average, with the columns c, s, T_s and T of the paper."""
    row = mean_row(table, n, label, rows)
    if row.cpu_seconds is None:
        return row
    constraints, building = [], []
    for problem in problems:
        began = time.process_time()
        built = problem.build()
        building.append(time.process_time() - began)
        constraints.append(int(np.count_nonzero(built.box.constrained)))
    substeps = float(np.mean([problem.substeps for problem in problems]))
    row.extra = {
        "c": round(float(np.mean(constraints))), "s": round(substeps, 2), "T_s": round(substeps * row.cpu_seconds, 3),
        "T": round(substeps * (row.cpu_seconds + float(np.mean(building))), 3),
    }  # fmt: skip
    return row


def _frames(plan: Plan) -> list[int]:
    return sampled_frames(plan.frames or FRAMES, plan.samples or SAMPLES)


def _published(table: str, n: int, method: str, iterations, steps, seconds, columns=None) -> Row:
    extra = columns or {}
    return Row(f"{table} (published)", n, None, method, iterations, steps, seconds, converged=True, extra=extra)
