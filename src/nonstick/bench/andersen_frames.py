"""Andersen's table 1 and volume study, over runs of scenes similar to theirs.

andersen-table1  the cost of bounds: the linear solve and the LCP solve of the same pressure problems, from x = 0
                 and to the same tolerance. There are three pairs: the paper's (to 1e-5 as there; CG with its
                 best preconditioner; Newton's method without one, which may end early by its own tests),
                 the same preconditioner in both, and ours.
                 Figures: residuals with quartiles (their figure 11), phases against size (figure 10), Newton's
                 method in 3D, solve by solve (figure 8; with half the largest size), and the speed-up of compiled
                 kernels over an array library (for figure 9, which compares CPU and GPU).
andersen-volume  volume over five seconds without correction, for sticky and separating walls (figure 15); and for
                 separating walls with crowded particles moved apart, which the paper's simulator does not do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..errors import NonstickError
from ..inverse.krylov.cg import CG
from ..inverse.precond.ainv import AINV
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from ..solvers.base import Method
from ..solvers.linear import LinearSolve
from ..solvers.newton import MinMapNewton
from . import figures, published
from .array_library import ArrayCG, ArrayNewton
from .means import Trace, mean_row
from .measure import measure
from .registry import Plan, benchmark
from .row import Row
from .snapshots import Snapshot, sampled_frames, snapshots

SCENE = "andersen-2"
FRAMES = 40
#: the linear solve and the LCP solve that are compared
PAIRS: dict[str, dict[str, str | Method]] = {
    "paper's setup": {
        "pcg static-scaled": LinearSolve(CG(AINV(drop=0.0, nonzeros=10, scaled=True)), maxiter=1000),
        "newton+paper": "newton+paper",
    },
    "ILU-CG in both": {"no-lcp": "no-lcp", "newton": "newton"},
    "ours": {"mg-cg": "mg-cg", "auto": "auto"},
}
#: the solvers of figure 9: compiled, and in the operations of an array library
KERNELS: dict[str, tuple[Method, Method]] = {
    "CG": (LinearSolve(CG()), ArrayCG()),
    "minimum-map Newton": (MinMapNewton.paper(), ArrayNewton()),
}
#: the tolerance of a pair, where it is not the one asked for: the paper stops at 1e-5 (§6)
TOLERANCES = {"paper's setup": 1e-5}
GAIN = "array library ÷ compiled kernels"
#: the run of figure 8, in 3D
SCENE_3D = "andersen-3d-1"
FRAMES_3D = 40
#: every k-th frame's first substep is solved
EVERY_3D = 2
SLOWER = "LCP slower by %"
MORE = "LCP takes % more iterations"


@benchmark(
    "andersen-table1", "Andersen table 1: Newton's slowdown against PCG in 2D", sizes=(64, 128), methods=(),
    parts=("2D", "3D"), simulated=True,
)  # fmt: skip
def table1(plan: Plan) -> Iterator[Row]:
    if plan.methods:
        raise NonstickError("andersen-table1 compares its own pairs of methods: remove --methods")
    case = "andersen-table1"
    for n, percent in published.ANDERSEN_TABLE1.items():
        yield Row(f"{case} (published)", n, None, "paper's setup", converged=True, extra={SLOWER: float(percent)})
    phases: dict[str, dict[int, dict[str, float]]] = {}
    slower: dict[str, dict[int, float]] = {}
    gains: dict[str, dict[int, float]] = {}
    whole, plan = plan, plan.within(0.0, 0.7)
    frames = plan.frames or FRAMES
    wanted = None if plan.samples is None else sampled_frames(frames, plan.samples)
    for n in plan.sizes if plan.chosen(("2D",)) else ():
        rows: dict[str, list[Row]] = {}
        traces: dict[str, list[Trace]] = {}
        around: list[tuple[float, float]] = []
        stopped = ""
        try:
            for k, snapshot in enumerate(snapshots(SCENE, n, frames, **plan.keys)):
                plan.announce(f"{SCENE} at {n}, frame {snapshot.frame} of {frames}")
                plan.done((plan.sizes.index(n) + snapshot.frame / frames) / len(plan.sizes))
                if k % max(n // 64, 1) if wanted is None else snapshot.substep or snapshot.frame not in wanted:
                    continue
                around.append(_around(snapshot))
                for name, pair in PAIRS.items():
                    own = replace(plan, rtol=TOLERANCES.get(name, plan.rtol))
                    for label, method in pair.items():
                        trace: Trace = []
                        row = measure(case, n, method, snapshot.build, own, label, repeats=1, trace=trace)
                        rows.setdefault(label, []).append(row)
                        traces.setdefault(label, []).append(_by_newton_steps(label, trace))
        except KeyboardInterrupt:
            stopped = f"stopped in frame {snapshot.frame} of {frames}"
        before, after = np.mean(around, axis=0)
        means = {}
        for label, found in rows.items():
            means[label] = row = mean_row(case, n, label, found, stopped)
            if row.seconds is not None:
                setup = row.setup_seconds or 0.0
                phases.setdefault(label, {})[n] = {
                    "initialisation": before, "setup": setup, "computation": row.seconds - setup, "finalisation": after
                }  # fmt: skip
            yield row
        for name, pair in PAIRS.items():
            linear, lcp = (means[label] for label in pair)
            if linear.cpu_seconds and lcp.cpu_seconds and linear.iterations and lcp.iterations:
                extra = {
                    SLOWER: round(100 * (lcp.cpu_seconds / linear.cpu_seconds - 1), 1),
                    MORE: round(100 * (lcp.iterations / linear.iterations - 1), 1),
                }
                yield Row(case, n, linear.unknowns, name, converged=True, extra=extra)
                slower.setdefault(name, {})[n] = extra[SLOWER]
        if stopped:
            raise KeyboardInterrupt
        units = {"newton+paper": "Newton steps", "newton": "Newton steps", "auto": "cycles", "mg-cg": "cycles"}
        plan.draw(f"{case}-{n}-figure11", figures.spread, _by_kind(traces), units)
        for label, rows_of in _kernels(plan, f"{case} {GAIN}", n, snapshot).items():
            yield from rows_of
            compiled, arrays = (row.seconds for row in rows_of)
            if compiled and arrays:
                gains.setdefault(label, {})[n] = arrays / compiled
    if phases:
        paper = {"paper's setup": {n: float(percent) for n, percent in published.ANDERSEN_TABLE1.items()}}
        plan.draw(case, figures.beside, slower, paper, "Newton's method against a linear solve", SLOWER, columns=3)
        plan.draw(f"{case}-figure9", figures.by_size, gains, "one solve of the last frame, one thread each", GAIN)
        plan.draw(f"{case}-figure10", figures.phases, _by_kind(phases))
    if plan.chosen(("3D",)):
        yield from _three_dimensions(whole.within(0.7, 1.0), f"{case} 3D", min(max(max(plan.sizes) // 2, 8), 100))


def _kernels(plan: Plan, case: str, n: int, snapshot: Snapshot) -> dict[str, list[Row]]:
    """Figure 9: one problem by compiled kernels and by an array library."""
    rows: dict[str, list[Row]] = {}
    for label, methods in KERNELS.items():
        for method, kind in zip(methods, ("", ", arrays")):
            plan.announce(f"{SCENE} at {n}, {label}{kind}")
            row = measure(case, n, method, snapshot.build, plan, f"{label}{kind}")
            row.must_converge = False  # no preconditioner, and the stopping tests of the paper
            rows.setdefault(label, []).append(row)
    return rows


def _three_dimensions(plan: Plan, case: str, n: int) -> Iterator[Row]:
    """Figure 8: how Newton's method converges in 3D."""
    rows: dict[str, list[Row]] = {}
    traces: dict[str, list[Trace]] = {}
    frames = plan.frames or FRAMES_3D
    wanted = range(EVERY_3D, frames + 1, EVERY_3D) if plan.samples is None else sampled_frames(frames, plan.samples)
    for snapshot in snapshots(SCENE_3D, n, frames, **plan.keys):
        plan.announce(f"{SCENE_3D} at {n}, frame {snapshot.frame} of {frames}")
        plan.done(snapshot.frame / frames)
        if snapshot.substep or snapshot.frame not in wanted:
            continue
        for label in ("newton+paper", "newton"):
            trace: Trace = []
            row = measure(case, n, label, snapshot.build, plan, repeats=1, trace=trace)
            rows.setdefault(label, []).append(row)
            traces.setdefault(f"{label}, {n}³", []).append(_by_newton_steps(label, trace))
    for label, found in rows.items():
        yield mean_row(case, n, label, found)
    plan.draw("andersen-table1-figure8", figures.solves, traces, "Newton steps")


def _by_newton_steps(label: str, trace: Trace) -> Trace:
    """The horizontal axis of the paper: Newton steps instead of inner iterations."""
    return [(k, residual) for k, (_, residual) in enumerate(trace)] if label.startswith("newton") else trace


def _by_kind(found: dict):
    """Linear solves first, then the LCP solves below them."""
    labels = [label for side in (0, 1) for label in (list(pair)[side] for pair in PAIRS.values())]
    return {label: found[label] for label in labels if label in found}


def _around(snapshot: Snapshot) -> tuple[float, float]:
    """Seconds before and after the solve: fields to a problem, pressure to velocities."""
    began = time.perf_counter()
    problem = snapshot.discretise()
    built = time.perf_counter()
    problem.update(np.zeros(problem.shape))
    return built - began, time.perf_counter() - built


@benchmark(
    "andersen-volume",
    "Andersen fig. 15: volume over 5 s, correction off, sticky and separating",
    sizes=(50,),
    methods=(),
)
def volume(plan: Plan) -> Iterator[Row]:
    if plan.methods:
        raise NonstickError("andersen-volume compares walls, not methods: remove --methods")
    for place, n in enumerate(plan.sizes):
        scenes: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
        for k in range(1, 6):
            for side, (label, (walls, even)) in enumerate(WALLS.items()):
                done = place + (k - 1 + side / len(WALLS)) / 5
                plan.announce(f"scene {k} {label} at {n}")
                plan.done(done / len(plan.sizes))
                t, change, missed = _volume(f"andersen-{k}", n, walls, even, plan)
                scenes.setdefault(f"scene {k}", {})[label] = t, change
                extra = {
                    "volume change after 5 s in %": round(float(change[-1]), 2),
                    "smallest volume change in %": round(float(change.min()), 2),
                    "largest volume change in %": round(float(change.max()), 2),
                }
                reason = f"{missed} pressure solves missed {plan.rtol:g}" if missed else None
                case = f"andersen-volume, {label}"
                yield Row(case, n, None, f"scene {k}", converged=not missed, reason=reason, extra=extra)
        plan.draw(f"andersen-volume-{n}", figures.volume, scenes)


SECONDS = 5.0
#: label → walls, and True if crowded particles are moved apart, which corrects volume too
WALLS = {"slip": ("none", False), "separating": ("cut", False), "separating, evened out": ("cut", True)}


def _volume(scene: str, n: int, walls: str, even: bool, plan: Plan) -> tuple[np.ndarray, np.ndarray, int]:
    """Times, change of volume in percent, and how many pressure solves failed."""
    keys = {
        "domain.resolution": n,
        "walls.pressure": walls,
        "volume.correct": False,
        "particles.even_out": even,
        # The paper's simulator uses FLIP, and steps of one cell as in the code it is based on. Our longer steps lose
        # more volume.
        "particles.transfer": "flip",
        "time.cfl": 1.0,
        "time.fps": 30.0,
        "solver.rtol": plan.rtol,
    }
    key = (scene, SECONDS, *keys.values())
    if (known := plan.journal.get(*key)) is not None:
        return np.array(known["time"]), np.array(known["change"]), known["missed"]
    simulation = Simulation(Scene.load(scene, keys))
    start = simulation.liquid.ledger.measured
    times, change, missed = [0.0], [0.0], 0
    while simulation.time < SECONDS - 1e-9:
        missed += sum(not row["converged"] for row in simulation.next_frame())
        times.append(simulation.time)
        change.append(100 * (simulation.liquid.ledger.measured / start - 1))
    plan.journal.keep({"time": times, "change": change, "missed": missed}, *key)
    return np.array(times), np.array(change), missed
