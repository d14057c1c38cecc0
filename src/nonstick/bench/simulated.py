"""Tables over simulations: every method on the same pressure problems, taken from one run of the scene.

A run driven by `auto` makes the motion; at chosen substeps each method solves that substep's problem from a
cold start, as the papers do, and counts are averaged. Tables 9-12 of Lai are single solves: the first
substep of the named frame. All published numbers stand in rows of a case marked "(published)".

Averages are over SAMPLES substeps spread evenly over the run instead of over all of them (the papers' 100
frames have 100-600 substeps, and slow methods would take days here).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from .. import registry
from ..discretise.pressure import PressureProblem
from ..errors import NonstickError
from ..lcp.problem import BoxProblem
from ..scenes.scene import Scene
from ..sim.simulation import Simulation
from . import figures, published
from .measure import measure
from .registry import Plan, benchmark
from .row import Row

FRAMES = 100
SAMPLES = 10
LAI = ("fas-mg", "pi-pcg", "pi-mg", "pe-pcg", "pe-mg", "fmg", "newton", "no-lcp", "auto")
SINGLE = (*LAI[:7], "auto")
VARIANTS = ("fas-mg+literal", "fas-mg+trilinear", "fas-mg+pwc", "fas-mg+simple-boundary", "fas-mg+direct", "fas-mg")


# -- Lai -------------------------------------------------------------------------------------------------


@benchmark("lai-table1", "Lai tables 1, 3, 5: the circle over 100 frames (2D)", sizes=(32, 64), methods=LAI)
def lai_table1(plan: Plan) -> Iterator[Row]:
    return _averages(plan, "lai-table1", "circle")


@benchmark("lai-table2", "Lai tables 2, 4, 6: the sphere over 100 frames (3D)", sizes=(32,), methods=LAI)
def lai_table2(plan: Plan) -> Iterator[Row]:
    return _averages(plan, "lai-table2", "sphere")


@benchmark("lai-table7", "Lai tables 7, 8: the maze over 100 frames (2D)", sizes=(32, 64), methods=LAI)
def lai_table7(plan: Plan) -> Iterator[Row]:
    return _averages(plan, "lai-table7", "maze")


@benchmark("lai-table9", "Lai table 9: frame 10 of the sphere", sizes=(32, 64), methods=SINGLE)
def lai_table9(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table9", "sphere", 10)


@benchmark("lai-table10", "Lai table 10: frame 70 of the sphere with a cuboid", sizes=(32, 64), methods=SINGLE)
def lai_table10(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table10", "sphere-cuboid", 70)


@benchmark("lai-table11", "Lai table 11: frame 10 of the double sphere", sizes=(32, 64), methods=SINGLE)
def lai_table11(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table11", "double-sphere", 10)


@benchmark("lai-table12", "Lai table 12: what each part of FAS does, frame 10 of the sphere", sizes=(32, 64),
           methods=VARIANTS)  # fmt: skip
def lai_table12(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table12", "sphere", 10)


# -- Chentanez–Müller and Andersen -------------------------------------------------------------------------


@benchmark("cm-table1", "Chentanez–Müller table 1: the price of the LCP at fixed work, four scenes", sizes=(64,),
           methods=("fmg+cm",))  # fmt: skip
def cm_table1(plan: Plan) -> Iterator[Row]:
    for scene, (cells, without, with_lcp) in published.CM_TABLE1.items():
        for label, ms in (("no LCP", without), ("LCP", with_lcp)):
            yield Row(f"{scene} (published)", cells, None, label, seconds=ms / 1000, converged=True)
        for n in plan.sizes:
            for label, walls in (("no LCP", "none"), ("LCP", "solid")):
                plan.announce(f"{scene} {label} at {n}")
                problems = _sampled(scene, n, 30, 4, walls)
                # fixed work: both do 3 full and 4 V-cycles, converged or not
                rows = [measure(scene, n, m, _again(p), plan, label) for p in problems for m in plan.methods]
                yield _mean(scene, n, label, rows)


@benchmark("andersen-table1", "Andersen table 1: Newton's slowdown against PCG in 2D", sizes=(64, 128), methods=())
def andersen_table1(plan: Plan) -> Iterator[Row]:
    if plan.methods:
        raise NonstickError("andersen-table1 compares newton+paper with no-lcp: leave --methods out")
    case = "andersen-2"
    for n, percent in published.ANDERSEN_TABLE1.items():
        yield Row(f"{case} slowdown in % (published)", n, None, "newton", iterations=percent, converged=True)
    for n in plan.sizes:
        problems = _sampled(case, n, 40, 6)
        times = {}
        for method in ("no-lcp", "newton+paper"):
            plan.announce(f"{case} {method} at {n}")
            row = _mean(case, n, method, [measure(case, n, method, _again(p), plan) for p in problems])
            times[method] = row.seconds
            yield row
        if times["no-lcp"] and times["newton+paper"]:
            slower = round(100 * (times["newton+paper"] / times["no-lcp"] - 1), 1)
            yield Row(f"{case} slowdown in %", n, None, "newton", iterations=slower, converged=True)


@benchmark("andersen-volume", "Andersen fig. 15: volume over 5 s, correction off, sticky and separating", sizes=(50,),
           methods=())  # fmt: skip
def andersen_volume(plan: Plan) -> Iterator[Row]:
    curves: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for n in plan.sizes:
        for k in range(1, 6):
            for walls, label in (("none", "slip"), ("cut", "separating")):
                plan.announce(f"scene {k} {label} at {n}")
                keys = {
                    "domain.resolution": n,
                    "walls.pressure": walls,
                    "volume.correct": False,
                    "particles.even_out": False,
                    "particles.transfer": "flip",
                    "time.fps": 30.0,
                    "solver.rtol": plan.rtol,
                }
                scene = Scene.load(f"andersen-{k}", keys)
                simulation = Simulation(scene)
                start = simulation.liquid.ledger.measured
                times, change = [0.0], [0.0]
                while simulation.time < 5.0 - 1e-9:
                    simulation.next_frame()
                    times.append(simulation.time)
                    change.append(100 * (simulation.liquid.ledger.measured / start - 1))
                curves[f"scene {k}, {label}"] = np.array(times), np.array(change)
                said = f"volume {change[-1]:+.1f} % after 5 s, between {min(change):+.1f} and {max(change):+.1f} %"
                yield Row(f"andersen-{k} volume change in %", n, None, label, iterations=round(change[-1], 2),
                          converged=True, reason=said)  # fmt: skip
    figures.volume(Path("bench-andersen-volume.png"), curves)


# -- what the tables share -----------------------------------------------------------------------------------


def _averages(plan: Plan, table: str, scene: str) -> Iterator[Row]:
    yield from _published(table, plan)
    for n in plan.sizes:
        plan.announce(f"{scene}: {FRAMES} frames at {n}")
        outer: dict[str, list[float]] = {}
        problems = _sampled(scene, n, FRAMES, SAMPLES)
        for method in plan.methods:
            plan.announce(f"{scene} {method} at {n}")
            rows = [measure(table, n, method, _again(p), plan) for p in problems]
            outer[method] = [r.outer_iterations for r in rows if r.outer_iterations is not None]
            yield _mean(table, n, method, rows)
        figures.histogram(Path(f"bench-{table}-{n}.png"), outer)


def _single(plan: Plan, table: str, scene: str, frame: int) -> Iterator[Row]:
    yield from _published(table, plan)
    for n in plan.sizes:
        plan.announce(f"{scene}: {frame} frames at {n}")
        problem = _first_of(scene, n, frame)
        curves: dict[str, list[float]] = {}
        for method in plan.methods:
            plan.announce(f"{scene} {method} at {n}")
            yield measure(table, n, method, _again(problem), plan)
            if registry.entries()[method].complete:
                curves[method] = _history(problem, method, plan)
        figures.convergence(Path(f"bench-{table}-{n}.png"), curves)


def _published(table: str, plan: Plan) -> Iterator[Row]:
    for n, row in published.ITERATIONS[table].items():
        if n in plan.sizes:
            for method, count in row.items():
                outer = published.OUTER.get(table, {}).get(n, {}).get(method)
                yield Row(
                    f"{table} (published)", n, None, method, iterations=count, outer_iterations=outer, converged=True
                )


def _collect(scene: str, n: int, frames: int, wanted: Callable[[int, int], bool], walls: str = "cut"):
    """Problems of the substeps for which `wanted(frame, substep in the frame)`."""
    simulation = Simulation(Scene.load(scene, {"domain.resolution": n, "walls.pressure": walls}))
    kept: list[PressureProblem] = []
    substep = 0

    def watch(report) -> None:
        nonlocal substep
        if wanted(simulation.frame + 1, substep):
            kept.append(report.outcome.problem)
        substep += 1

    simulation.watch = watch
    for _ in range(frames):
        substep = 0
        simulation.next_frame()
    return kept


def _sampled(scene: str, n: int, frames: int, samples: int, walls: str = "cut") -> list[PressureProblem]:
    frames_wanted = {round(f) for f in np.linspace(1, frames, min(samples, frames))}
    return _collect(scene, n, frames, lambda frame, substep: substep == 0 and frame in frames_wanted, walls)


def _first_of(scene: str, n: int, frame: int) -> PressureProblem:
    return _collect(scene, n, frame, lambda f, substep: substep == 0 and f == frame)[0]


def _again(problem: PressureProblem) -> Callable[[], BoxProblem]:
    """A fresh copy of a problem for every measurement, so that no method finds what another one left."""
    p = problem

    def build() -> BoxProblem:
        return PressureProblem(
            phi_liquid=p.phi_liquid, velocity=p.velocity, dt=p.dt, dx=p.dx, rho=p.rho, weights=p.weights, walls=p.walls,
            solid_velocity=p.solid_velocity, adhesion=p.adhesion, separation=p.separation,
        ).problem  # fmt: skip

    return build


def _history(problem: PressureProblem, method: str, plan: Plan) -> list[float]:
    try:
        return list(problem.solve(method, rtol=plan.rtol, maxiter=plan.maxiter).history)
    except NonstickError:
        return []


def _mean(case: str, n: int, method: str, rows: list[Row]) -> Row:
    good = [r for r in rows if r.iterations is not None]
    if not good:
        return Row(case, n, None, method, reason=rows[0].reason if rows else "no problem to solve")

    def mean(name: str) -> float:
        return round(float(np.mean([getattr(r, name) for r in good])), 6)

    missed = sum(not r.converged for r in good)
    return Row(
        case, n, round(mean("unknowns")), method,
        iterations=round(mean("iterations"), 2),
        outer_iterations=round(mean("outer_iterations"), 2),
        seconds=mean("seconds"),
        setup_seconds=mean("setup_seconds"),
        kkt=max(r.kkt for r in good if r.kkt is not None),
        converged=missed == 0,
        peak_bytes=max((r.peak_bytes or 0) for r in good),
        threads=good[0].threads,
        levels=max((r.levels for r in good if r.levels is not None), default=None),
        reason=None if missed == 0 else f"{missed} of {len(good)} solves did not converge",
    )  # fmt: skip
