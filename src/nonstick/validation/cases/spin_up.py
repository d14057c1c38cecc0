"""A closed circle of viscous liquid begins to turn: the flow from rest to a rigid rotation, in time.

A cylinder of radius R = 0.4 m, full of liquid of ν = 0.05 m²/s, turns at ω = 1 rad/s from the beginning. Then

    u(r, t) = ω r + 2 ω R Σ J₁(λ r/R) / (λ J₀(λ)) exp(-ν λ² t/R²),    J₁(λ) = 0

(Batchelor, An Introduction to Fluid Dynamics, 1967, section 4.5). The angular momentum and the speed in ten rings are
compared after 0.4 s, when the middle turns at 0.61 ω and the liquid has 0.91 of its last angular momentum.
Viscosity is taken at the end of a step, so the error falls with the length of the steps and hardly with the grid. A
size of n cells stands for n cells in a metre: the diameter has 0.8 of them.
"""

from __future__ import annotations

import math

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size
from ..rings import compare

RADIUS, RATE, NU, END = 0.4, 1.0, 0.05, 0.4


def exact(r: np.ndarray, time: float) -> np.ndarray:
    """The speed at the radius r."""
    from scipy.special import j0, j1, jn_zeros

    out = RATE * r
    for zero in jn_zeros(1, 60):
        share = math.exp(-NU * zero**2 * time / RADIUS**2) / (zero * j0(zero))
        out = out + 2.0 * RATE * RADIUS * share * j1(zero * r / RADIUS)
    return out


def measure(size: Size) -> Measured:
    """Angular momentum over the exact one, and the largest error of the speed in a ring."""
    circle = {"type": "ball", "centre": [0.5, 0.5]}
    scene: Scene = Scene(
        {
            "name": "spin-up",
            "domain": {"size": [1.0, 1.0], "resolution": size.cells},
            "physics": {"gravity": [0.0, 0.0], "viscosity": 1000.0 * NU},
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "solid": [
                {
                    "shape": circle | {"radius": RADIUS},
                    "container": True,
                    "motion": {"spin": math.degrees(RATE), "about": [0.5, 0.5]},
                }
            ],
            "liquid": [{"shape": circle | {"radius": 0.5}}],
            "time": {"fps": 120.0, "cfl": 20.0, "min_substeps": size.steps},
            "solver": {"viscosity_rtol": 1e-6},
        }
    )
    simulation = Simulation(scene)
    while simulation.time < END - 1e-9:
        simulation.next_frame()
    return compare(simulation, 0.5, (0.0, RADIUS), lambda r: exact(r, simulation.time), RATE * RADIUS)


def _marks() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    r = np.linspace(0.0, RADIUS, 11)
    return {"exact": (r, exact(r, END))}


CASES = (
    Case(
        "spin-up",
        "A closed circle of viscous liquid begins to turn: angular momentum and profile in time",
        "Exact: a series of Bessel functions (Batchelor, An Introduction to Fluid Dynamics, 1967, section 4.5)",
        (
            Published("momentum", "angular momentum after 0.4 s over the exact one", 1.0, 0.01),
            Published("profile", "largest error of the speed in a ring, of the wall's", 0.0, 0.01, scale=1.0),
        ),
        measure,
        quick=(Size(24), Size(48)),
        full=(Size(24), Size(48), Size(96), Size(48, 2)),
        axes=("radius in m", "speed in m/s"),
        data=_marks(),
    ),
)
