"""A slab of water at the ceiling: separating walls let it fall at once, sticky walls hold it.

Free fall clears a layer of 1.5 cells in √(2·1.5·dx/g). The time is read from the frames, 400 a second.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

FPS = 400.0


def clearing_time(walls: str, cells: int, until: float, fps: float = 100.0) -> float:
    """First time (s) at which no particle is within 1.5 cells of the ceiling; inf if never before `until`."""
    scene = Scene.load("ceiling", {"domain.resolution": cells, "walls.pressure": walls, "time.fps": fps})
    simulation = Simulation(scene)
    top = scene.model.domain.size[1] - 1.5 * scene.dx
    while simulation.time < until - 1e-9:
        simulation.next_frame()
        if simulation.particles.position[:, 1].max() < top:
            return simulation.time
    return float("inf")


def free_fall(cells: int) -> float:
    """Time that free fall takes for 1.5 cells of the scene, 2 m high."""
    return float(np.sqrt(2 * 1.5 * (2.0 / cells) / 9.81))


def measure(size: Size) -> Measured:
    """Time as a multiple of free fall with separating walls; whether sticky walls hold for three times as long."""
    free = free_fall(size.cells)
    found = clearing_time("cut", size.cells, 3.0 * free, FPS * size.steps)
    held = clearing_time("none", size.cells, 3.0 * free) == float("inf")
    return Measured({"time": found / free, "held": float(held)})


CASES = (
    Case(
        "ceiling",
        "A slab of water falls off the ceiling: time to clear 1.5 cells",
        "Exact: free fall; with sticky walls the water hangs",
        (
            Published("time", "time of free fall", 1.0, 0.15),
            Published("held", "1 if sticky walls hold it three times as long", 1.0, 0.0),
        ),
        measure,
        quick=(Size(10), Size(12), Size(16)),
        full=(Size(16), Size(32), Size(64), Size(32, 2)),
    ),
)
