"""A dam breaks over water: a bore runs into the shallow part (Stoker 1957). Depths 0.4 and 0.1 m, a channel of 4 m.

Between the bore and the wave that runs back the depth h and the speed u are constant:

    u = 2 (√(g h₁) - √(g h)),   S (h - h₀) = h u,   S = √(g h (h + h₀) / (2 h₀))

with the depths h₁ and h₀ of both parts and the speed S of the bore. The bore breaks, so its place is that of a step
which holds the same volume: the volume above h₀, from a place 0.2 m beyond the dam on, over the height of the step. A
size of n cells stands for n cells along the channel.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

LENGTH, DEEP, SHALLOW, GRAVITY = 4.0, 0.4, 0.1, 9.81


def _bore(h: float) -> float:
    return float(np.sqrt(GRAVITY * h * (h + SHALLOW) / (2 * SHALLOW)))


#: depth behind the bore and the speed of the bore
DEPTH = float(
    brentq(lambda h: _bore(h) * (h - SHALLOW) - 2 * h * (np.sqrt(GRAVITY * DEEP) - np.sqrt(GRAVITY * h)), SHALLOW, DEEP)
)
SPEED = _bore(DEPTH)
#: the bore is followed from one time to the other; the volume counts from this place on
FROM, END, FOOT = 0.45, 0.85, 2.2


def measure(size: Size) -> Measured:
    """Speed of the bore, and the depth behind it."""
    half = LENGTH / 2
    scene: Scene = Scene(
        {
            "name": "stoker",
            "domain": {"size": [LENGTH, 0.6], "resolution": size.cells},
            "walls": {"viscous": "slip"},
            "liquid": [
                {"shape": {"type": "box", "low": [0.0, 0.0], "high": [half, DEEP]}},
                {"shape": {"type": "box", "low": [half, 0.0], "high": [LENGTH, SHALLOW]}},
            ],
            "time": {"fps": 60.0, "min_substeps": size.steps},
        }
    )
    simulation = Simulation(scene)
    bins = 100
    middles = (np.arange(bins) + 0.5) * LENGTH / bins
    times, volumes, depths, depth = [], [], [], np.zeros(bins)
    while simulation.time < END - 1e-9:
        simulation.next_frame()
        p = simulation.particles
        depth = np.histogram(p.position[:, 0], bins, (0.0, LENGTH))[0] * p.volume * bins / LENGTH
        if simulation.time > FROM:
            behind = (middles > FOOT) & (middles < half + 0.75 * SPEED * simulation.time)
            times.append(simulation.time)
            depths.append(depth[behind].mean())
            volumes.append((depth - SHALLOW)[middles > FOOT].sum() * LENGTH / bins)
    step = float(np.mean(depths)) - SHALLOW
    values = {"speed": float(np.polyfit(times, volumes, 1)[0]) / step, "depth": step + SHALLOW}
    return Measured(values, {f"depth after {END} s": (middles, depth)})


CASES = (
    Case(
        "stoker",
        "A dam breaks over shallow water: speed of the bore, and the depth behind it",
        "Stoker, Water Waves (1957), §10.8: shallow water",
        (
            Published("speed", "speed of the bore", SPEED, 0.03, "m/s", quick=0.05),
            Published("depth", "depth behind the bore", DEPTH, 0.03, "m", quick=0.05),
        ),
        measure,
        quick=(Size(120), Size(200)),
        full=(Size(120), Size(200), Size(400), Size(400, 2)),
        axes=("x in m", "depth in m"),
        data={
            "Stoker": (np.array([2.2, 2 + SPEED * END, 2 + SPEED * END, 4.0]), np.array([DEPTH] * 2 + [SHALLOW] * 2))
        },
    ),
)
