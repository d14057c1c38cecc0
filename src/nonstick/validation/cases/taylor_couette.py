"""Viscous liquid between two cylinders, of which the inner one turns: u = A r + B/r (Couette 1890, Taylor 1923).

Radii 0.2 and 0.45 m, one radian a second, ν = 0.05 m²/s; the flow starts from rest and is measured after 3 s, which
is 2.4 times the time (R - r)²/ν of viscosity between the cylinders. A size of n cells stands for n cells along the side
of the domain, which is 1 m long: a quarter of n lies between the cylinders.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size
from ..rings import compare

INNER, OUTER, RATE, NU, END = 0.2, 0.45, 1.0, 0.05, 3.0


def exact(r: np.ndarray) -> np.ndarray:
    """The speed at the radius r."""
    a = -RATE * INNER**2 / (OUTER**2 - INNER**2)
    return a * (r - OUTER**2 / r)


def measure(size: Size) -> Measured:
    """Angular momentum over the exact one, and the error of the speed in ten rings."""
    circle = {"type": "ball", "centre": [0.5, 0.5]}
    scene: Scene = Scene(
        {
            "name": "taylor-couette",
            "domain": {"size": [1.0, 1.0], "resolution": size.cells},
            "physics": {"gravity": [0.0, 0.0], "viscosity": 1000.0 * NU},
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "solid": [
                {"shape": circle | {"radius": OUTER}, "container": True},
                {"shape": circle | {"radius": INNER}, "motion": {"spin": float(np.degrees(RATE)), "about": [0.5, 0.5]}},
            ],
            "liquid": [{"shape": circle | {"radius": 0.6}}],
            "time": {"fps": 30.0, "cfl": 20.0, "min_substeps": size.steps},
        }
    )
    simulation = Simulation(scene)
    while simulation.time < END - 1e-9:
        simulation.next_frame()
    return compare(simulation, 0.5, (INNER, OUTER), exact, RATE * INNER)


CASES = (
    Case(
        "taylor-couette",
        "Liquid between a turning cylinder and one at rest: angular momentum and profile",
        "Exact: u = A r + B/r (Couette 1890; Taylor, Phil. Trans. R. Soc. A 223, 1923)",
        (
            Published("momentum", "angular momentum over the exact one", 1.0, 0.02, quick=0.04),
            Published(
                "profile", "largest error of the speed in a ring, of the cylinder's", 0.0, 0.02, scale=1.0, quick=0.04
            ),
        ),
        measure,
        quick=(Size(24), Size(32)),
        full=(Size(24), Size(32), Size(64), Size(64, 2)),
        axes=("radius in m", "speed in m/s"),
        data={"exact": (np.linspace(INNER, OUTER, 11), exact(np.linspace(INNER, OUTER, 11)))},
    ),
)
