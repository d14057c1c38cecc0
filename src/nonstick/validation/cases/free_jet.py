"""A jet leaves its inflow along x and falls: its middle is the parabola y = -g x²/(2 v²) (Galilei 1638).

A source 0.06 m high sends water into the air at 1.5 m/s. The fall is measured 0.4 m behind the end of the source, from
particles within 0.05 m of this place, and is 0.349 m there. A size of n cells stands for n cells in a metre.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

SPEED, WIDTH, HEIGHT, MOUTH, AWAY, NEAR, GRAVITY = 1.5, 0.06, 0.85, 0.1, 0.4, 0.05, 9.81


def fall(x: np.ndarray) -> np.ndarray:
    """How far the jet has fallen at the distance x from its source."""
    return GRAVITY * x**2 / (2.0 * SPEED**2)


def measure(size: Size) -> Measured:
    """The fall of the middle over the exact one, and the path of the middle."""
    scene: Scene = Scene(
        {
            "name": "free-jet",
            "domain": {"size": [1.0, 1.0], "resolution": size.cells},
            "inflow": [
                {
                    "shape": {
                        "type": "box",
                        "low": [0.0, HEIGHT - 0.5 * WIDTH],
                        "high": [MOUTH, HEIGHT + 0.5 * WIDTH],
                    },
                    "velocity": [SPEED, 0.0],
                }
            ],
            "outflow": [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [2.0, 0.15]}}],
            "time": {"fps": 240.0, "min_substeps": size.steps},
        }
    )
    simulation = Simulation(scene)
    places, drops = [], []
    while simulation.time < 0.7 - 1e-9:
        simulation.next_frame()
        if simulation.time > 0.45:
            x, y = simulation.particles.position.T
            places.append(x - MOUTH)
            drops.append(HEIGHT - y)
    x, drop = np.concatenate(places), np.concatenate(drops)
    there = np.abs(x - AWAY) < NEAR
    error = float((drop[there] - fall(x[there])).mean())
    middle = np.linspace(0.05, 0.5, 10)
    path = np.array([drop[np.abs(x - m) < 0.01].mean() for m in middle])
    return Measured({"fall": 1.0 + error / float(fall(np.array(AWAY)))}, {"fall": (middle, path)})


MARKS = np.linspace(0.0, 0.5, 11)
CASES = (
    Case(
        "free-jet",
        "A jet out of an inflow falls: the path of its middle",
        "Exact: a parabola (Galilei, Discorsi, 1638)",
        (Published("fall", "fall 0.4 m behind the source over the exact one", 1.0, 0.02),),
        measure,
        quick=(Size(32), Size(64)),
        full=(Size(32), Size(64), Size(128), Size(64, 2)),
        axes=("distance from the source in m", "fall in m"),
        data={"exact": (MARKS, fall(MARKS))},
    ),
)
