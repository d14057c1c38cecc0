"""Probes in still water: pressure ρ g h, the floor carries the weight, a side the half of ρ g h² (per metre)."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

G, DEPTH = 9.81, 0.5
#: the pressure is read at this height
AT = 0.1
#: a ball fixed under water, in the middle of the tank
RADIUS = 0.1


def measure(size: Size, track: str) -> Measured:
    """Pressure at a point and forces on walls after half a second, over their exact values."""
    ball = {"name": "ball", "shape": {"type": "ball", "centre": [0.5, 0.25], "radius": RADIUS}}
    probes = [
        {"name": "point", "type": "pressure", "at": [0.2, AT]},
        {"name": "floor", "type": "force", "on": "bottom"},
        {"name": "side", "type": "force", "on": "right"},
        {"name": "ball", "type": "force", "on": "ball"},
    ]
    scene: Scene = Scene(
        {
            "name": "hydrostatics",
            "domain": {"size": [1.0, 0.8], "resolution": size.cells},
            "liquid": [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, DEPTH]}}],
            "solid": [ball],
            "surface": {"track": track},
            "time": {"fps": 60.0, "min_substeps": size.steps},
            "probe": probes,
        }
    )
    simulation = Simulation(scene)
    while simulation.time < 0.5 - 1e-9:
        simulation.next_frame()
    table = simulation.probe_table()
    weight = 1000.0 * G
    return Measured(
        {
            "point": table["point.pressure"][-1] / (weight * (DEPTH - AT)),
            "floor": -table["floor.fy"][-1] / (weight * DEPTH),
            "side": table["side.fx"][-1] / (0.5 * weight * DEPTH**2),
            "ball": table["ball.fy"][-1] / (weight * np.pi * RADIUS**2),
        },
        {"floor": (table.time, -table["floor.fy"] / (weight * DEPTH))},
    )


def _case(track: str, tolerance: float, ball: float) -> Case:
    words = {"grid": "level set on the grid", "particles": "surface of particles"}
    return Case(
        f"hydrostatics-{track}",
        f"Probes in still water, {words[track]}: pressure, weight on the floor, push on a side, lift of a ball",
        "Exact: p = ρ g h; the lift is the weight of the water displaced (Archimedes)",
        (
            Published("point", "pressure at a point over ρ g h", 1.0, tolerance),
            Published("floor", "force on the floor over the weight it carries", 1.0, tolerance),
            Published("side", "force on a side over ρ g h²/2", 1.0, max(tolerance, 1e-3)),
            Published("ball", "lift of a ball over the weight of the water it displaces", 1.0, ball),
        ),
        partial(measure, track=track),
        quick=(Size(20), Size(40), Size(80)),
        full=(Size(20), Size(40), Size(80), Size(160), Size(80, 2)),
        axes=("time in s", "force on the floor over the weight"),
    )


CASES = (_case("grid", 1e-5, 0.01), _case("particles", 0.005, 0.02))
