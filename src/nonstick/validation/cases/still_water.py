"""Still water stays still and flat: in an upright tank, and in one whose walls cut the cells."""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

#: depth of the water in each scene, m
DEPTH = {"still": 0.5, "tilted-tank": 0.6 * (np.cos(np.radians(20)) + np.sin(np.radians(20)))}


def settle(name: str, size: Size, seconds: float = 2.0) -> dict[str, float]:
    """Largest particle speed as a share of √(g h), and how far the surface strays from flat, in cells."""
    simulation = Simulation(Scene.load(name, {"domain.resolution": size.cells, "time.min_substeps": size.steps}))
    while simulation.time < seconds - 1e-9:
        simulation.next_frame()
    speed = float(np.linalg.norm(simulation.particles.velocity, axis=1).max())
    heights = surface_heights(simulation)
    return {
        "speed": speed / float(np.sqrt(9.81 * DEPTH[name])),
        "unevenness": float(np.ptp(heights)) / 2,
        "volume": simulation.liquid.ledger.error,
    }


def surface_heights(simulation: Simulation) -> np.ndarray:
    """Height of the surface in cells in every column of a 2D run, away from walls by half a cell."""
    grid, out = simulation.grid, []
    for column, solid in zip(grid.level_set, grid.solid):
        crossing = np.flatnonzero((column[:-1] < 0) & (column[1:] >= 0))
        if crossing.size and solid[crossing[-1]] > 0.5 * grid.dx:
            j = crossing[-1]
            out.append(j + 0.5 + column[j] / (column[j] - column[j + 1]))
    return np.array(out)


def _case(name: str, title: str) -> Case:
    return Case(
        "still-water" if name == "still" else name,
        title,
        "Exact: water at rest does not move",
        (
            Published("speed", "largest speed after 2 s, of √(g h)", 0.0, 0.01, scale=1.0),
            Published("unevenness", "largest distance from flat in cells", 0.0, 0.1, scale=1.0),
        ),
        lambda size: Measured(settle(name, size)),
        quick=(Size(24), Size(32), Size(48)),
        full=(Size(40), Size(80), Size(128), Size(80, 2)),
    )


CASES = (
    _case("still", "Water at rest in an upright tank stays at rest"),
    _case("tilted-tank", "Water at rest in a tank turned by 20° stays at rest"),
)
