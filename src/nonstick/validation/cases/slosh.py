"""The period of the first sloshing mode: ω² = g k tanh(k h), k = π/L; L = 1 m, h = 0.5 m: 1.1818 s.

The water starts level, with the velocity of the linear wave, u = U sin(kx) cosh(ky)/cosh(kh) and v = -U cos(kx)
sinh(ky)/cosh(kh). So it holds no other mode, and its amplitude, 3.4 cm, is resolved on coarse grids too. (The scene
`slosh` starts with a tilted surface and half of this amplitude.)
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

#: the formulas of the velocity; U = 0.2 m/s
LEVEL = {
    "shape": {"type": "halfspace", "point": [0.5, 0.5], "normal": [0.0, 1.0]},
    "velocity": [
        "0.2 * sin(pi*x) * (exp(pi*y) + exp(-pi*y)) / (exp(pi/2) + exp(-pi/2))",
        "-0.2 * cos(pi*x) * (exp(pi*y) - exp(-pi*y)) / (exp(pi/2) + exp(-pi/2))",
    ],
}
EXACT = float(2 * np.pi / np.sqrt(9.81 * np.pi * np.tanh(0.5 * np.pi)))


def history(size: Size, seconds: float = 3.6) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the mean of cos(π x) over the particles: it moves with the first mode and does not see the others."""
    scene: Scene = Scene.load("slosh", {"domain.resolution": size.cells, "time.min_substeps": size.steps})
    simulation = Simulation(scene.replace({"liquid": [LEVEL]}))
    times, mode = [0.0], [_mode(simulation)]
    while simulation.time < seconds - 1e-9:
        simulation.next_frame()
        times.append(simulation.time)
        mode.append(_mode(simulation))
    return np.array(times), np.array(mode)


def _mode(simulation: Simulation) -> float:
    return float(np.cos(np.pi * simulation.frame_arrays()["position"][:, 0]).mean())


def period(t: np.ndarray, a: np.ndarray) -> float:
    """From a line through all zero crossings, which are half a period apart."""
    k = np.flatnonzero(a[:-1] * a[1:] < 0)
    zeros = t[k] - a[k] * (t[k + 1] - t[k]) / (a[k + 1] - a[k])
    return float(2 * np.polyfit(np.arange(zeros.size), zeros, 1)[0])


def measure(size: Size) -> Measured:
    """The period, and the first mode over time."""
    t, a = history(size)
    return Measured({"period": period(t, a)}, {"first mode": (t, a)})


CASES = (
    Case(
        "slosh",
        "Water sloshes in a tank: period of the first mode",
        "Lamb, Hydrodynamics, 6th edition 1932, §228: linear waves in water of finite depth",
        (Published("period", "period", EXACT, 0.02, "s", quick=0.04),),
        measure,
        quick=(Size(24), Size(32), Size(48)),
        full=(Size(32), Size(64), Size(128), Size(128, 2)),
        axes=("time in s", "mean of cos(π x) over the water"),
    ),
)
