"""A cylinder sinks between two walls in a very viscous liquid: its speed with the drag that Faxén found.

A disc of radius a in the middle of a channel 2 l wide, k = a/l = 0.2. In slow flow (Re = 0.06 here) the drag on a metre
of the cylinder is

    F = 4π μ U / λ,    λ = -log k - 0.9157 + 1.7244 k² - 1.7302 k⁴ + 2.4056 k⁶ - 4.5913 k⁸

(Faxén, Proc. R. Swedish Acad. Eng. Sci. 187, 1946; Happel, Brenner, Low Reynolds Number Hydrodynamics, 1965), so it
sinks at U = Δρ g a² λ/(4 μ). The channel is 30 radii long; the disc starts from rest, 20 radii above its floor, and the
speed is the slope of its way between 0.5 and 1 s: the time l²/(π² ν) of the flow is 0.1 s. A size of n cells stands for
n cells between the walls: the diameter has a fifth of them.
"""

from __future__ import annotations

import math

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

HALF, RADIUS, VISCOSITY, DENSITY, MORE, GRAVITY = 0.1, 0.02, 10.0, 1000.0, 200.0, 9.81
RATIO = RADIUS / HALF
SLOW = -math.log(RATIO) - 0.9157 + 1.7244 * RATIO**2 - 1.7302 * RATIO**4 + 2.4056 * RATIO**6 - 4.5913 * RATIO**8
SPEED = MORE * GRAVITY * RADIUS**2 * SLOW / (4.0 * VISCOSITY)
FIRST, LAST = 0.5, 1.0


def measure(size: Size) -> Measured:
    """The speed in mm/s."""
    scene: Scene = Scene(
        {
            "name": "faxen",
            "domain": {"size": [2.0 * HALF, 6.0 * HALF], "resolution": 3 * size.cells},
            "physics": {"viscosity": VISCOSITY, "density": DENSITY, "gravity": [0.0, -GRAVITY]},
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, 5.9 * HALF]}}],
            "bodies": [
                {
                    "shape": {"type": "ball", "centre": [HALF, 4.0 * HALF], "radius": RADIUS},
                    "density": DENSITY + MORE,
                }
            ],
            "time": {"fps": 60.0, "min_substeps": size.steps},
        }
    )
    simulation = Simulation(scene)
    times, heights = [], []
    while simulation.time < LAST - 1e-9:
        simulation.next_frame()
        times.append(simulation.time)
        heights.append(float(simulation.bodies[0].centre[1]))
    time, height = np.array(times), np.array(heights)
    late = time > FIRST
    speed = -float(np.polyfit(time[late], height[late], 1)[0])
    return Measured({"speed": 1e3 * speed}, {"way": (time, 4.0 * HALF - height)})


CASES = (
    Case(
        "faxen",
        "A cylinder sinks slowly between two walls: speed",
        "Faxén, Proc. R. Swedish Acad. Eng. Sci. 187, 1946; Happel, Brenner, Low Reynolds Number Hydrodynamics, 1965",
        (Published("speed", "speed", 1e3 * SPEED, 0.03, "mm/s", quick=0.06),),
        measure,
        quick=(Size(16), Size(32)),
        full=(Size(16), Size(32), Size(64), Size(64, 2)),
        axes=("time in s", "way in m"),
    ),
)
