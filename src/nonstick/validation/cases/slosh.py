"""The period of the first sloshing mode: ω² = g k tanh(k h), k = π/L; L = 1 m, h = 0.5 m: 1.1818 s."""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

EXACT = float(2 * np.pi / np.sqrt(9.81 * np.pi * np.tanh(0.5 * np.pi)))


def history(size: Size, seconds: float = 3.6) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the mean of cos(π x) over the particles: it moves with the first mode and does not see the others."""
    simulation = Simulation(Scene.load("slosh", {"domain.resolution": size.cells, "time.min_substeps": size.steps}))
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
    return Measured({"period": period(t, a)}, {"first mode": (t, a / a[0])})


CASES = (
    Case(
        "slosh",
        "Water sloshes in a tank: period of the first mode",
        "Lamb, Hydrodynamics, 6th edition 1932, §228: linear waves in water of finite depth",
        (Published("period", "period", EXACT, 0.02, "s", quick=0.06),),
        measure,
        quick=(Size(24), Size(32), Size(48)),
        full=(Size(32), Size(64), Size(128), Size(128, 2)),
        axes=("time in s", "first mode, relative to its start"),
    ),
)
