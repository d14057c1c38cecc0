"""A small standing wave in viscous liquid: how its height changes (Prosperetti 1981, exact for small waves).

The liquid starts level with the velocity of a wave without viscosity, 0.15 m/s at most; L = 1 m, h = 0.7 m. Walls let
it slip. ν k²/ω is 0.02: half of the energy is lost in 1.4 periods. For one liquid, with a velocity u₀ of the crest at
first,

    a(t) = -u₀ Σ zᵢ/Zᵢ exp((zᵢ² - c) t) erfc(zᵢ √t),   c = ν k²,   Zᵢ = Π (zⱼ - zᵢ), j ≠ i,

over the four roots of z⁴ + 2 c z² + 4 c^(3/2) z + c² + ω² = 0. The height of the wave is a quarter of the sum of the
heights at both sides less twice that in the middle. A size of n cells stands for n cells along the wave.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size
from .standing_wave import DEPTH, FREQUENCY, NUMBER, PERIOD

SPEED, DAMPING = 0.15, 0.02
VISCOSITY = DAMPING * FREQUENCY / NUMBER**2


def exact(t: np.ndarray) -> np.ndarray:
    """a(t), in metres."""
    from scipy.special import wofz

    c = VISCOSITY * NUMBER**2
    roots = np.roots([1.0, 0.0, 2.0 * c, 4.0 * c**1.5, c * c + FREQUENCY**2])
    out = np.zeros(t.shape, complex)
    for i, z in enumerate(roots):
        others = np.prod(np.delete(roots, i) - z)
        # exp(z² t) erfc(z √t) without overflow
        out -= SPEED * z / others * np.exp(-c * t) * wofz(1j * z * np.sqrt(t))
    return out.real


def history(size: Size, periods: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the height of the wave in metres."""
    first = f"{SPEED} * exp(2*pi*(y - {DEPTH}))"
    half = 0.5 / size.cells
    scene: Scene = Scene(
        {
            "name": "viscous-wave",
            "domain": {"size": [1.0, 1.0], "resolution": size.cells},
            "physics": {"viscosity": 1000.0 * VISCOSITY},
            "walls": {"viscous": "slip"},
            "liquid": [
                {
                    "shape": {"type": "box", "low": [0.0, 0.0], "high": [1.0, DEPTH]},
                    "velocity": [f"-sin(2*pi*x) * {first}", f"cos(2*pi*x) * {first}"],
                }
            ],
            "probe": [
                {"name": name, "type": "height", "at": [x, 0.5]}
                for name, x in (("left", half), ("middle", 0.5), ("right", 1.0 - half))
            ],
            "time": {"fps": 120.0, "min_substeps": size.steps},
        }
    )
    simulation = Simulation(scene)
    while simulation.time < periods * PERIOD:
        simulation.next_frame()
    table = simulation.probe_table()
    left, middle, right = (table[f"{name}.height"] for name in ("left", "middle", "right"))
    return table.time, 0.25 * (left + right - 2.0 * middle)


def measure(size: Size) -> Measured:
    """The factor of the exact curve that fits best in the second period, and the mean error over both."""
    t, height = history(size)
    right = exact(t)
    late = t > PERIOD
    share = float(height[late] @ right[late] / (right[late] @ right[late]))
    error = float(np.sqrt(np.mean((height - right) ** 2)) / np.abs(right).max())
    return Measured({"share": share, "error": error}, {"height of the wave": (t, height)})


TIMES = np.linspace(0.0, 2.0 * PERIOD, 97)[1:]

CASES = (
    Case(
        "viscous-wave",
        "A small standing wave in viscous liquid: its height over two periods",
        "Prosperetti, Physics of Fluids 24 (1981) 1217",
        (
            Published("share", "height in the second period over the exact one", 1.0, 0.05, quick=0.15),
            Published("error", "mean error over two periods, of the largest height", 0.0, 0.05, scale=1.0, quick=0.1),
        ),
        measure,
        quick=(Size(32),),
        full=(Size(32), Size(48), Size(96), Size(96, 2)),
        axes=("time in s", "height of the wave in m"),
        data={"exact": (TIMES, exact(TIMES))},
    ),
)
