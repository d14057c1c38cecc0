"""Andersen's open question (§7): do slip walls lose more momentum on coarse grids than separating walls?

andersen-momentum  a ball of water thrown against a circle (`cm-circle`) and liquid around two circles (`andersen-2`)
                   for half a second, with slip and with separating walls. Vertical momentum and kinetic energy are
                   compared frame by frame with the run with separating walls on the finest grid asked for, as roots
                   of mean squares. And how much of the mechanical energy (heights from the floor) is left at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import NonstickError
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from .registry import Plan, benchmark
from .row import Row
from .version import version

SCENES = ("cm-circle", "andersen-2")
FRAMES = 30
WALLS = {"slip": "none", "separating": "cut"}
MOMENTUM = "momentum differs by %"
KINETIC = "kinetic energy differs by %"
LEFT = "energy left in %"


@benchmark(
    "andersen-momentum", "Andersen §7: momentum on coarse grids, slip against separating walls",
    sizes=(16, 32, 64), methods=(), parts=SCENES, simulated=True,
)  # fmt: skip
def momentum(plan: Plan) -> Iterator[Row]:
    if plan.methods or plan.samples:
        raise NonstickError("andersen-momentum compares walls in every frame: remove --methods and --samples")
    for scene in plan.chosen(SCENES):
        curves = {}
        for n in plan.sizes:
            for label, walls in WALLS.items():
                plan.announce(f"{scene} {label} at {n}")
                curves[n, label] = _run(plan, scene, n, walls)
        finest = curves[max(plan.sizes), "separating"]
        for (n, label), curve in curves.items():
            far = [_distance(curve[:, k], finest[:, k]) for k in range(2)]
            extra = {MOMENTUM: far[0], KINETIC: far[1], LEFT: round(100 * float(curve[-1, 2] / curve[0, 2]), 2)}
            yield Row(f"andersen-momentum {scene}", n, None, label, converged=True, extra=extra, version=version())


def _distance(curve: np.ndarray, reference: np.ndarray) -> float:
    return round(100 * float(np.linalg.norm(curve - reference) / np.linalg.norm(reference)), 2)


def _run(plan: Plan, scene: str, n: int, walls: str) -> np.ndarray:
    """Mean vertical velocity, kinetic and mechanical energy, at the start and after each frame."""
    frames = plan.frames or FRAMES
    keys = {"domain.resolution": n, "walls.pressure": walls, **plan.keys}
    key = ("andersen-momentum", scene, frames, *map(str, keys.items()))
    if (known := plan.journal.get(*key)) is not None:
        return np.array(known)
    simulation = Simulation(Scene.load(scene, keys))
    curve = [_state(simulation)]
    for _ in range(frames):
        simulation.next_frame()
        curve.append(_state(simulation))
    plan.journal.keep([list(state) for state in curve], *key)
    return np.array(curve)


def _state(simulation: Simulation) -> tuple[float, float, float]:
    velocity = simulation.particles.velocity
    kinetic, potential = simulation.liquid.energy()
    return float(velocity[:, 1].mean()), kinetic, kinetic + potential
