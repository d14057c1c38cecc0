"""A slab of water at the ceiling: separating walls let it fall at once, sticky walls hold it.

Free fall clears a layer of 1.5 cells in √(2·1.5·dx/g). A particle stands for a cube of water, so the top of the slab is
half a cube above its highest particles. The slab must never be ahead of free fall, neither its top nor its centroid.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

G, FPS, CLEAR = 9.81, 60.0, 1.5


def fall(walls: str, cells: int, until: float, fps: float = FPS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, and how far the top of the slab and its centroid have fallen, in cells."""
    scene = Scene.load("ceiling", {"domain.resolution": cells, "walls.pressure": walls, "time.fps": fps})
    simulation = Simulation(scene)
    rows = []
    while True:
        y = simulation.particles.position[:, 1]
        rows.append((simulation.time, -y.max() / scene.dx, -y.mean() / scene.dx))
        if simulation.time > until - 1e-9:
            break
        simulation.next_frame()
    time, top, centroid = np.array(rows).T
    return time, top - top[0], centroid - centroid[0]


def free_fall(cells: int) -> float:
    """Time that free fall takes for 1.5 cells of the scene, 2 m high."""
    return float(np.sqrt(2 * CLEAR * (2.0 / cells) / G))


def measure(size: Size) -> Measured:
    """Time over that of free fall, and the lead over free fall, with separating walls; the way with sticky ones."""
    free, dx = free_fall(size.cells), 2.0 / size.cells
    time, top, centroid = fall("cut", size.cells, 1.5 * free, FPS * size.steps)
    way = 0.5 * G * time**2 / dx
    lead = float(max((top - way).max(), (centroid - way).max(), 0.0))
    # between frames the way grows with the square of time
    cleared = float(np.sqrt(np.interp(CLEAR, top, time**2))) if top[-1] > CLEAR else float("inf")
    hung = fall("none", size.cells, 3.0 * free)[1][-1]
    return Measured(
        {"time": cleared / free, "lead": lead, "hung": float(hung)},
        {"top": (time / free, top)},
    )


CASES = (
    Case(
        "ceiling",
        "A slab of water falls off the ceiling: time to clear 1.5 cells, and lead over free fall",
        "Exact: free fall; with sticky walls the water hangs",
        (
            Published("time", "time over that of free fall", 1.0, 0.01),
            Published("lead", "largest lead over free fall in cells, of top and centroid", 0.0, 0.005, scale=1.0),
            Published("hung", "cells fallen with sticky walls after three times as long", 0.0, 0.2, scale=1.0),
        ),
        measure,
        quick=(Size(10), Size(12), Size(16)),
        full=(Size(16), Size(32), Size(48), Size(32, 2)),
        axes=("time over that of free fall", "way of the top in cells"),
    ),
)
