"""Andersen's table 1 and volume study, over runs of scenes in the spirit of theirs.

andersen-table1  what bounds cost: the linear solve and the LCP solve of the same pressure problems, from x = 0 and to
                 the same tolerance. Three pairs: the paper's (CG with the preconditioner it found best, none inside
                 Newton's method, whose own tests may end it early), the same preconditioner in both, and ours.
                 Figures: phases against size (their figure 10), residuals with quartiles (figures 8 and 11).
andersen-volume  volume over five seconds, nothing correcting it, sticky and separating (figure 15); and separating
                 with crowded particles moved apart, which the paper's simulator does not do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from ..errors import NonstickError
from ..lcp.base import Method
from ..lcp.linear import LinearSolve
from ..linear.cg import CG
from ..precond.ainv import AINV
from ..scenes.scene import Scene
from ..sim.simulation import Simulation
from . import figures, published
from .means import Trace, mean_row
from .measure import measure
from .registry import Plan, benchmark
from .row import Row
from .snapshots import Snapshot, snapshots

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
SLOWER = "LCP slower by %"
MORE = "LCP takes % more iterations"


@benchmark("andersen-table1", "Andersen table 1: Newton's slowdown against PCG in 2D", sizes=(64, 128), methods=())
def table1(plan: Plan) -> Iterator[Row]:
    if plan.methods:
        raise NonstickError("andersen-table1 compares pairs of its own: leave --methods out")
    case = "andersen-table1"
    for n, percent in published.ANDERSEN_TABLE1.items():
        yield Row(f"{case} (published)", n, None, "paper's setup", converged=True, extra={SLOWER: float(percent)})
    phases: dict[str, dict[int, dict[str, float]]] = {}
    for n in plan.sizes:
        rows: dict[str, list[Row]] = {}
        traces: dict[str, list[Trace]] = {}
        around: list[tuple[float, float]] = []
        for k, snapshot in enumerate(snapshots(SCENE, n, FRAMES)):
            plan.announce(f"{SCENE} at {n}, frame {snapshot.frame} of {FRAMES}")
            plan.done((plan.sizes.index(n) + snapshot.frame / FRAMES) / len(plan.sizes))
            if k % max(n // 64, 1):
                continue
            around.append(_around(snapshot))
            for pair in PAIRS.values():
                for label, method in pair.items():
                    trace: Trace = []
                    row = measure(case, n, method, snapshot.build, plan, label, repeats=1, trace=trace)
                    rows.setdefault(label, []).append(row)
                    traces.setdefault(label, []).append(trace)
        before, after = np.mean(around, axis=0)
        means = {}
        for label, found in rows.items():
            means[label] = row = mean_row(case, n, label, found)
            if row.seconds is not None:
                setup = row.setup_seconds or 0.0
                phases.setdefault(label, {})[n] = {
                    "initialisation": before, "setup": setup, "computation": row.seconds - setup, "finalisation": after
                }  # fmt: skip
            yield row
        for name, pair in PAIRS.items():
            linear, lcp = (means[label] for label in pair)
            if linear.seconds and lcp.seconds and linear.iterations and lcp.iterations:
                extra = {
                    SLOWER: round(100 * (lcp.seconds / linear.seconds - 1), 1),
                    MORE: round(100 * (lcp.iterations / linear.iterations - 1), 1),
                }
                yield Row(case, n, linear.unknowns, name, converged=True, extra=extra)
        units = {"newton+paper": "inner iterations", "newton": "inner iterations", "auto": "cycles", "mg-cg": "cycles"}
        plan.draw(f"{case}-{n}-convergence", figures.spread, _by_kind(traces), units)
    plan.draw(f"{case}-phases", figures.phases, _by_kind(phases))


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
        raise NonstickError("andersen-volume is about walls, not about methods: leave --methods out")
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
                yield Row(
                    "andersen-volume", n, None, f"scene {k} {label}", converged=not missed, reason=reason, extra=extra
                )
        plan.draw(f"andersen-volume-{n}", figures.volume, scenes)


SECONDS = 5.0
#: label → walls, and whether crowded particles are moved apart, which corrects volume too
WALLS = {"slip": ("none", False), "separating": ("cut", False), "sep. evened out": ("cut", True)}


def _volume(scene: str, n: int, walls: str, even: bool, plan: Plan) -> tuple[np.ndarray, np.ndarray, int]:
    """Times, change of volume in percent, and how many pressure solves failed."""
    keys = {
        "domain.resolution": n,
        "walls.pressure": walls,
        "volume.correct": False,
        "particles.even_out": even,
        "particles.transfer": "flip",  # the paper's simulator
        "time.fps": 30.0,
        "solver.rtol": plan.rtol,
    }
    simulation = Simulation(Scene.load(scene, keys))
    start = simulation.liquid.ledger.measured
    times, change, missed = [0.0], [0.0], 0
    while simulation.time < SECONDS - 1e-9:
        missed += sum(not row["converged"] for row in simulation.next_frame())
        times.append(simulation.time)
        change.append(100 * (simulation.liquid.ledger.measured / start - 1))
    return np.array(times), np.array(change), missed
