"""Liquid in a square box whose lid moves along: the steady flow at Re = 100 (Ghia, Ghia, Shin 1982).

The box is 1 m wide and high. Its lid lies at a share of a cell above a grid line, and so does its floor; left and right
are the sides of the domain. The flow starts from rest and is measured after 12 s at three places of the middle lines,
where Ghia et al. have the extrema of their velocities. Cells are counted along the box.
"""

from __future__ import annotations

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

REYNOLDS, END = 100.0, 12.0
#: cells that floor and lid are above a grid line
OFFSET = 0.3
#: steps in which the lid crosses the box, per cell of it
STEPS = 1.5
#: name → place, component of the velocity, value of Ghia et al., tables I and II
PLACES = {
    "back": ((0.5, 0.4531), "x", -0.21090),
    "up": ((0.2344, 0.5), "y", 0.17527),
    "down": ((0.8047, 0.5), "y", -0.24533),
}


def scene_of(size: Size) -> Scene:
    """The scene."""
    dx = 1.0 / size.cells
    floor = (2 + OFFSET) * dx
    walls = [
        {"shape": {"type": "box", "low": [-9.0, -9.0], "high": [9.0, floor]}},
        {
            "shape": {"type": "box", "low": [-99.0, floor + 1.0], "high": [99.0, 9.0]},
            "motion": {"velocity": [1.0, 0.0]},
        },
    ]
    probes = [
        {"name": name, "type": "velocity", "at": [x, y + floor]} for name, ((x, y), _, _) in PLACES.items()
    ]  # fmt: skip
    return Scene(
        {
            "name": "cavity",
            "domain": {"size": [1.0, 1.0 + 5 * dx], "resolution": size.cells + 5},
            "physics": {"gravity": [0.0, 0.0], "viscosity": 1000.0 / REYNOLDS},
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "solid": walls,
            "liquid": [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, 3.0]}}],
            "time": {"fps": STEPS * size.cells, "cfl": 20.0, "min_substeps": size.steps},
            "probe": probes,
        }
    )


def measure(size: Size) -> Measured:
    """Velocities, as means over the last second."""
    simulation = Simulation(scene_of(size))
    while simulation.time < END - 1e-9:
        simulation.next_frame()
    table = simulation.probe_table()
    late = table.time > END - 1.0
    return Measured({name: float(table[f"{name}.v{axis}"][late].mean()) for name, (_, axis, _) in PLACES.items()})


def _published(name: str) -> Published:
    (x, y), axis, value = PLACES[name]
    return Published(name, f"velocity along {axis} at ({x:g}, {y:g}), of the lid's", value, 0.03, quick=0.1)


CASES = (
    Case(
        "cavity",
        "Liquid in a box with a moving lid, Re = 100: velocities on the middle lines",
        "Ghia, Ghia, Shin, J. Comput. Phys. 48 (1982), tables I and II",
        tuple(map(_published, PLACES)),
        measure,
        quick=(Size(16), Size(20)),
        full=(Size(20), Size(40), Size(60), Size(40, 2)),
    ),
)
