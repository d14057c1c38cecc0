"""A sphere sinking in silicone oil, ten Cate et al. 2002: largest speed on the way down.

Sphere of 15 mm and 1120 kg/m³ in a tank of 100 × 160 × 100 mm full of liquid, released at rest with its centre 127.5 mm
above the floor. Pressure and viscosity are both solved with the body's velocity as an unknown. The measured peaks are
0.953 and 0.955 of the terminal velocities in unbounded liquid, 60 and 128 mm/s. Cells are counted along a diameter.
From 8 cells on, steps become shorter as cells do.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

DIAMETER, SOLID, START = 0.015, 1120.0, 0.1275
#: liquid density, viscosity, measured peak, seconds after which to stop at the latest
EXPERIMENTS = {"E2": (965.0, 0.212, 0.953 * 0.060, 1.2), "E4": (960.0, 0.058, 0.955 * 0.128, 1.1)}
#: the peak is reached when these seconds have brought no more than GAIN
WAIT, GAIN = 0.25, 0.003


def tank(name: str, size: Size, extent=(0.1, 0.16, 0.1), **overrides) -> Scene:
    """The scene of an experiment."""
    rho, mu, _, _ = EXPERIMENTS[name]
    centre = [0.5 * extent[0], START - 0.16 + extent[1], 0.5 * extent[2]]
    scene: Scene = Scene(
        {
            "name": "ten-cate",
            "domain": {"size": list(extent), "resolution": round(size.cells * max(extent) / DIAMETER)},
            "physics": {"density": rho, "viscosity": mu},
            "liquid": [{"shape": {"type": "box", "low": [-1.0] * 3, "high": [1.0] * 3}}],
            "bodies": [
                {
                    "name": "sphere",
                    "shape": {"type": "ball", "centre": centre, "radius": 0.5 * DIAMETER},
                    "density": SOLID,
                }
            ],
            # liquid and sphere hold on to each other: no surface, nothing to let go
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "time": {"fps": max(60.0, 7.5 * size.cells), "cfl": 2.0, "min_substeps": size.steps},
        }
    )
    return scene.replace(overrides) if overrides else scene


def sink(name: str, size: Size, **options) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the speed of the sphere on its way down until it grows no more."""
    simulation = Simulation(tank(name, size, **options))
    body = simulation.bodies[0]
    seconds = EXPERIMENTS[name][3]
    frames = round(WAIT * simulation.scene.model.time.fps)
    times, speeds, peaks = [0.0], [0.0], [0.0]
    while simulation.time < seconds - 1e-9 and body.centre[1] > 1.5 * DIAMETER:
        simulation.next_frame()
        times.append(simulation.time)
        speeds.append(-float(body.velocity[1]))
        peaks.append(max(speeds))
        if len(peaks) > 2 * frames and peaks[-1] < (1.0 + GAIN) * peaks[-1 - frames]:
            break
    return np.array(times), np.array(speeds)


def measure(size: Size, name: str) -> Measured:
    """The largest speed, and the speed over time."""
    times, speeds = sink(name, size)
    return Measured({"peak": 1000.0 * float(speeds.max())}, {"speed": (times, 1000.0 * speeds)})


def _case(name: str) -> Case:
    return Case(
        f"ten-cate-{name.lower()}",
        f"A sphere sinks in silicone oil, experiment {name}: largest speed",
        "Ten Cate, Nieuwstad, Derksen, Van den Akker, Phys. Fluids 14 (2002): u_max/u∞ = 0.953 (E2), 0.955 (E4)",
        (Published("peak", "largest speed", 1000.0 * EXPERIMENTS[name][2], 0.03, "mm/s", quick=0.25),),
        partial(measure, name=name),
        quick=(Size(3), Size(4)),
        full=(Size(8), Size(8, 2), Size(10), Size(12)),
        axes=("time in s", "speed in mm/s"),
    )


CASES = tuple(_case(name) for name in EXPERIMENTS)
