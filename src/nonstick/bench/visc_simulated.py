"""Aanjaneya's table 3: every viscosity method on the solves of running scenes, beside the numbers they published.

A run driven by `visc-auto` makes the motion. The first substep of chosen frames is solved again by every method from
the velocity before the step, until the residual is a hundredth of that of this velocity (§7.1), and counts are
averaged. Steps of liquid in free fall, which this velocity solves already, are omitted. Published are averages over
larger scenes by the box multigrid on 16 cores: honey 192²×384 cells, chocolate 256²×512, cake 512³, four bunnies
384²×192; for the block of varying viscosity (256²×512, §6.6) seconds only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..discretise.viscosity import ViscosityProblem, ViscousBox
from ..discretise.viscosity_bodies import ViscosityWithBodies
from ..operators.base import Operator
from ..operators.bordered import Bordered
from ..operators.faces import ViscosityOperator
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from .means import mean_row
from .measure import measure
from .registry import Plan, benchmark
from .row import Row
from .snapshots import sampled_frames

#: a viscosity step, with bodies or without
Step = ViscosityProblem | ViscosityWithBodies
FRAMES = 40
SAMPLES = 5
#: part of the residual of the velocity before the step
REDUCTION = 1e-2
#: a residual below this counts as zero
SOLVED = 1e-8
SCENES = ("honey", "chocolate", "cake", "varying-block", "body-drop", "viscous-drop")
METHODS = ("visc-auto", "visc-box-mg", "visc-jacobi-mg", "visc-jacobi-mg+cg", "visc-cg", "visc-mic-cg")
#: scene → (longest side, method → (iterations, levels, seconds))
PUBLISHED: dict[str, tuple[int, dict[str, tuple[int | None, int | None, float]]]] = {
    "honey": (384, {"visc-box-mg": (2, 5, 25.5)}),
    "chocolate": (512, {"visc-box-mg": (2, 5, 30.2)}),
    "cake": (512, {"visc-box-mg": (2, 5, 53.1)}),
    "body-drop": (384, {"visc-box-mg": (2, 5, 47.8)}),
    "varying-block": (512, {"visc-box-mg": (None, None, 140.9), "visc-jacobi-mg": (None, None, 211.2)}),
}


@benchmark(
    "visc-table3", "Aanjaneya table 3: the viscous scenes, residual reduced by 10², averages over frames", sizes=(64,),
    methods=METHODS, parts=SCENES, simulated=True,
)  # fmt: skip
def table3(plan: Plan) -> Iterator[Row]:
    for scene, (n, figures) in PUBLISHED.items():
        for method, (iterations, levels, seconds) in figures.items():
            yield Row(
                f"visc-table3 {scene} (published)", n, None, method, iterations=iterations, seconds=seconds,
                converged=True, threads=16, levels=levels,
            )  # fmt: skip
    frames, samples = plan.frames or FRAMES, plan.samples or SAMPLES
    for scene in plan.chosen(SCENES):
        for n in plan.sizes:
            plan.announce(f"{scene}: {frames} frames at {n}")
            problems = sampled(scene, n, frames, samples, **plan.keys)
            for method in plan.methods:
                plan.announce(f"{scene} {method} at {n}")
                case = f"visc-table3 {scene}"
                yield mean_row(case, n, method, [_reduced(case, n, method, p, plan) for p in problems])


def _reduced(case: str, n: int, method: str, problem: Step, plan: Plan) -> Row:
    start = problem.first_guess()
    given = problem.problem
    rtol = REDUCTION * given.kkt(start)

    def build() -> ViscousBox:
        return ViscousBox(_again(given.A), given.b, given.scale)

    return measure(case, n, method, build, replace(plan, rtol=min(rtol, 0.5)), x0=start)


def _again(A: Operator) -> Operator:
    """The operator is made again for every measurement, because it stores its matrix after first use."""
    if isinstance(A, Bordered):
        return Bordered(_again(A.A), A.touched, A.C, A.D, A.own)
    assert isinstance(A, ViscosityOperator)
    return ViscosityOperator(A.system)


def sampled(scene: str, n: int, frames: int, samples: int, **keys: Any) -> list[Step]:
    """The viscosity problems of the first substeps of frames spread evenly over a run, if they need a solve."""
    simulation = Simulation(Scene.load(scene, {"domain.resolution": n, **keys}))
    wanted = sampled_frames(frames, samples)
    kept: list[Step] = []
    fresh = True

    def watch(report) -> None:
        nonlocal fresh
        if fresh and simulation.frame + 1 in wanted and report.viscosity is not None:
            kept.append(report.viscosity.source)
        fresh = False

    simulation.watch = watch
    for _ in range(frames):
        fresh = True
        simulation.next_frame()
    return [p for p in kept if p.n and p.problem.kkt(p.first_guess()) > SOLVED]
