"""Water swings in a U-tube: its period (Newton, Principia, book II, proposition 44; in 2D, with the bend exact).

Two legs of width b and a bend between the radii r and r + b. In a slow swing the flow has a potential: it is uniform in
the legs and falls with the radius in the bend. Its kinetic energy is that of a straight column of the length

    L = 2 l + π b / log(1 + b/r),    T = 2π √(L / 2g),

for water that stands at the height l in the legs, measured from the bend. The water starts 0.04 m higher in one leg and
lower in the other. Gauges across the legs give their difference; the period is the slope of the times at which it is
zero. A size of n cells stands for n cells in a metre: b is 0.15 of them.
"""

from __future__ import annotations

import math

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

INNER, OUTER, LEG, START, BEND, GRAVITY = 0.2, 0.35, 0.2, 0.04, 0.4, 9.81
WIDE = OUTER - INNER
PERIOD = 2.0 * math.pi * math.sqrt((2.0 * LEG + math.pi * WIDE / math.log(OUTER / INNER)) / (2.0 * GRAVITY))


def measure(size: Size) -> Measured:
    """The period, and the largest difference of the legs after three periods over that at first."""
    circle = {"type": "ball", "centre": [0.5, BEND]}
    bend = {
        "type": "intersection",
        "of": [
            {"type": "difference", "of": [circle | {"radius": OUTER}, circle | {"radius": INNER}]},
            {"type": "box", "low": [0.0, -1.0], "high": [1.0, BEND]},
        ],
    }
    legs = [{"type": "box", "low": [x, BEND - 1e-6], "high": [x + WIDE, 2.0]} for x in (0.5 - OUTER, 0.5 + INNER)]
    levels = BEND + LEG + START, BEND + LEG - START
    feet = 0.5 - OUTER, 0.5 + INNER
    scene: Scene = Scene(
        {
            "name": "u-tube",
            "domain": {"size": [1.0, 1.0], "resolution": size.cells},
            "physics": {"gravity": [0.0, -GRAVITY]},
            "solid": [{"shape": {"type": "union", "of": [bend, *legs]}, "container": True}],
            "liquid": [
                {"shape": {"type": "box", "low": [0.5 * k, 0.0], "high": [0.5 + 0.5 * k, level]}}
                for k, level in enumerate(levels)
            ],
            "time": {"fps": 60.0, "min_substeps": size.steps},
            "probe": [
                {
                    "name": name,
                    "type": "height",
                    "at": [x + 0.1 * WIDE, BEND],
                    "to": [x + 0.9 * WIDE, BEND],
                    "points": 9,
                }
                for name, x in zip(("left", "right"), feet)
            ],
        }
    )
    simulation = Simulation(scene)
    while simulation.time < 3.3 * PERIOD:
        simulation.next_frame()
    table = simulation.probe_table()
    time, rise = table.time, table["left.mean"] - table["right.mean"]
    at = np.flatnonzero(rise[:-1] * rise[1:] < 0.0)
    zeros = time[at] + (time[at + 1] - time[at]) * rise[at] / (rise[at] - rise[at + 1])
    period = 2.0 * float(np.polyfit(np.arange(zeros.size), zeros, 1)[0])
    last = float(np.abs(rise[(time > zeros[-2]) & (time < zeros[-1])]).max())
    return Measured({"period": period, "left": last / (2.0 * START)}, {"difference": (time, rise)})


MARKS = np.linspace(0.0, 3.0 * PERIOD, 37)
CASES = (
    Case(
        "u-tube",
        "Water swings in a U-tube: period and what is left of the swing",
        "Exact for small swings without viscosity: T = 2π √(L/2g) (Newton, Principia, 1687, book II), with the length "
        "of the potential flow in the bend",
        (
            Published("period", "period", PERIOD, 0.01, "s"),
            Published("left", "largest difference of the legs after three periods, over that at first", 1.0, 0.06),
        ),
        measure,
        quick=(Size(32), Size(64)),
        full=(Size(32), Size(64), Size(128), Size(64, 2)),
        axes=("time in s", "difference of the legs in m"),
        data={"exact": (MARKS, 2.0 * START * np.cos(2.0 * math.pi * MARKS / PERIOD))},
    ),
)
