"""A standing wave without viscosity keeps its energy: ω² = g k tanh(k h), k = 2π/L; L = 1 m, h = 0.7 m: 0.8004 s.

The water starts level with the velocity of the linear wave in deep water, 0.3 m/s at most; its amplitude is then
3.8 cm, k a = 0.24. Waves of this height are slower by the share (k a)²/8 = 0.7 % (Rayleigh 1915; in water that is not
quite deep a little less). The energy lost in a period is found from a line through the logarithms of the maxima of the
kinetic energy. A size of n cells stands for n cells along the wave.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

SPEED, DEPTH, NUMBER = 0.3, 0.7, 2.0 * np.pi
FREQUENCY = float(np.sqrt(9.81 * NUMBER * np.tanh(NUMBER * DEPTH)))
PERIOD = 2.0 * np.pi / FREQUENCY
#: that of the wave with its height
SLOWER = PERIOD * (1.0 + (NUMBER * SPEED / FREQUENCY) ** 2 / 8.0)


def history(size: Size, periods: float = 3.2) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the kinetic energy in joule."""
    size_of_wave = f"{SPEED} * exp(2*pi*(y - {DEPTH}))"
    scene: Scene = Scene(
        {
            "name": "standing-wave",
            "domain": {"size": [1.0, 1.0], "resolution": size.cells},
            "walls": {"viscous": "slip"},
            "liquid": [
                {
                    "shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, DEPTH]},
                    "velocity": [f"-sin(2*pi*x) * {size_of_wave}", f"cos(2*pi*x) * {size_of_wave}"],
                }
            ],
            "time": {"fps": 120.0, "min_substeps": size.steps},
        }
    )
    simulation = Simulation(scene)
    times, kinetic = [0.0], [simulation.liquid.energy()[0]]
    while simulation.time < periods * PERIOD:
        simulation.next_frame()
        times.append(simulation.time)
        kinetic.append(simulation.liquid.energy()[0])
    return np.array(times), np.array(kinetic)


def maxima(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and heights of the maxima, one a half period: parabolas through seven points around the largest."""
    places, heights = [], []
    for turn in range(1, int(t[-1] / (0.5 * PERIOD)) + 1):
        near = np.flatnonzero(np.abs(t - 0.5 * turn * PERIOD) < 0.15 * PERIOD)
        peak = near[np.argmax(y[near])]
        if 3 <= peak < t.size - 3:
            a, b, c = np.polyfit(t[peak - 3 : peak + 4] - t[peak], y[peak - 3 : peak + 4], 2)
            places.append(t[peak] - b / (2 * a))
            heights.append(c - b * b / (4 * a))
    return np.array(places), np.array(heights)


def measure(size: Size) -> Measured:
    """The energy lost in a period, and the period."""
    t, kinetic = history(size)
    places, heights = maxima(t, kinetic)
    period = 2.0 * float(np.polyfit(np.arange(places.size), places, 1)[0])
    loss = 1.0 - float(np.exp(PERIOD * np.polyfit(places, np.log(heights), 1)[0]))
    return Measured({"loss": loss, "period": period}, {"kinetic energy": (t, kinetic / kinetic[0])})


CASES = (
    Case(
        "standing-wave",
        "A standing wave without viscosity: energy lost in a period, and its period",
        "Lamb, Hydrodynamics, 6th edition 1932, §228; Rayleigh, Philosophical Magazine 30 (1915): finite height",
        (
            Published("loss", "share of the energy lost in a period", 0.0, 0.02, scale=1.0, quick=0.03),
            Published("period", "period", SLOWER, 0.02, "s"),
        ),
        measure,
        quick=(Size(32), Size(48)),
        full=(Size(32), Size(48), Size(96), Size(96, 2)),
        axes=("time in s", "kinetic energy, of that at first"),
    ),
)
