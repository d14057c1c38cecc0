"""Flow through a plane: what the probe counts is what the volume ledger says.

Water flows through a channel at 0.5 m/s, fed at one end and removed at the other. The volume that has passed the plane
in the middle is the volume that was removed plus what has gathered between the plane and the end.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

SPEED, WIDTH, MIDDLE = 0.5, 0.3, 0.5


def measure(size: Size) -> Measured:
    """Volume counted by the probe over that of the ledger, and the flow over the exact flow."""
    box = {"type": "box", "high": [0.85, WIDTH]}
    scene: Scene = Scene(
        {
            "name": "channel",
            "domain": {"size": [1.0, WIDTH], "resolution": size.cells},
            "physics": {"gravity": [0.0, 0.0]},
            "liquid": [{"shape": {**box, "low": [0.0, 0.0]}, "velocity": [SPEED, 0.0]}],
            "inflow": [{"shape": {"type": "box", "low": [-0.1, 0.0], "high": [0.1, WIDTH]}, "velocity": [SPEED, 0.0]}],
            "outflow": [{"shape": {"type": "box", "low": [0.85, -1.0], "high": [2.0, 2.0]}}],
            "time": {"fps": 60.0, "min_substeps": size.steps},
            "probe": [{"name": "gate", "type": "flow", "at": [MIDDLE, 0.0], "normal": [1.0, 0.0]}],
        }
    )
    simulation = Simulation(scene)

    def beyond() -> float:
        own = simulation.particles
        return own.volume * float(np.count_nonzero(own.position[:, 0] >= MIDDLE))

    first = beyond()
    while simulation.time < 1.0 - 1e-9:
        simulation.next_frame()
    table = simulation.probe_table()
    removed = simulation.liquid.ledger.outflow * scene.dx**2
    exact = SPEED * WIDTH
    return Measured(
        {
            "ledger": table["gate.volume"][-1] / (removed + beyond() - first),
            "flow": float(np.mean(table["gate.flow"])) / exact,
            "volume": table["gate.volume"][-1] / (exact * simulation.time),
        },
        {"flow": (table.time, table["gate.flow"] / exact)},
    )


CASES = (
    Case(
        "channel",
        "Flow through a plane in a channel: probe against ledger",
        "Exact: conservation of volume",
        (
            Published("ledger", "volume counted over that of the ledger", 1.0, 1e-9),
            Published("flow", "flow over speed times area", 1.0, 0.01),
            Published("volume", "volume counted over speed times area times time", 1.0, 0.03),
        ),
        measure,
        quick=(Size(20), Size(40), Size(80)),
        full=(Size(20), Size(40), Size(80), Size(160), Size(80, 2)),
        axes=("time in s", "flow over speed times area"),
    ),
)
