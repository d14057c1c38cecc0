"""A viscous liquid spreads over a floor: the front of a gravity current of constant volume (Huppert 1982).

In two dimensions x_N = 1.411 (g A³/(3ν))^(1/5) t^(1/5), A the area of the liquid. The current forgets its start, a box,
but time does not begin there: x_N⁵ grows linearly, and its slope is compared. Theory holds for thin currents, so the
last part of the run counts. Cells are counted along the height of the box.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

#: side of the box in metres, kinematic viscosity, gravity, length of the tank, times between which the slope is taken
SIDE, NU, G, LENGTH, FROM, TO = 0.1, 0.1, 9.81, 0.36, 3.0, 12.0
RATE = 1.411**5 * G * SIDE**6 / (3.0 * NU)


def fronts(size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Times and positions of the front: the farthest point where the level set above the floor is liquid."""
    dx = SIDE / size.cells
    columns, rows = round(LENGTH / dx), size.cells + 2
    scene: Scene = Scene(
        {
            "name": "huppert",
            "domain": {"size": [dx * columns, dx * rows], "resolution": columns},
            "physics": {"density": 1000.0, "viscosity": 1000.0 * NU, "gravity": [0.0, -G]},
            "walls": {"viscous": "no-slip", "left": {"viscous": "slip"}},
            "liquid": [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [SIDE, SIDE]}}],
            "time": {"fps": 10.0, "min_substeps": 2 * size.steps},
        }
    )
    simulation = Simulation(scene)
    times, front = [], []
    while simulation.time < TO - 1e-9:
        simulation.next_frame()
        phi = simulation.grid.level_set[:, 0]
        i = int(np.flatnonzero(phi < 0.0)[-1])
        ahead = phi[min(i + 1, phi.size - 1)]
        times.append(simulation.time)
        front.append(dx * (i + 0.5 + (phi[i] / (phi[i] - ahead) if ahead > 0.0 else 0.0)))
    return np.array(times), np.array(front)


def measure(size: Size) -> Measured:
    """The fifth root of the slope of x_N⁵ over that of theory: how far the front goes, relative to theory."""
    t, x = fronts(size)
    late = t >= FROM
    slope = float(np.polyfit(t[late], x[late] ** 5, 1)[0])
    return Measured({"front": (slope / RATE) ** 0.2}, {"front": (t, x)})


CASES = (
    Case(
        "huppert",
        "A viscous liquid spreads over a floor: position of its front",
        "Huppert, J. Fluid Mech. 121 (1982): x_N = 1.411 (g A³/(3ν))^(1/5) t^(1/5)",
        (Published("front", "position of the front over that of theory", 1.0, 0.03, quick=0.1),),
        measure,
        quick=(Size(12), Size(16)),
        full=(Size(12), Size(16), Size(24), Size(16, 2)),
        axes=("time in s", "front in m"),
    ),
)
