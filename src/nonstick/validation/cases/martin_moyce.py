"""The dam break of Martin and Moyce 1952, n² = 2: position of the front on a dry floor.

Z = x/a against T = t √(2 g/a), a = 2.25 in. The gate of the experiment shifts t = 0, so the speed is judged, and the
position after one fitted shift of time.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

A = 0.05715
#: (T, Z) of the paper's table for n² = 2, a = 2.25 in
DATA = np.array(
    [[0.832, 1.217], [1.219, 1.474], [1.997, 2.292], [2.547, 2.995], [3.345, 4.134], [4.034, 4.944], [4.418, 5.881],
     [5.091, 6.980]]
)  # fmt: skip
#: the front is followed until this T
UNTIL = 3.7


def front(size: Size, dimension: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """T and Z of the computed front: the farthest column whose layer above the floor is half full."""
    name = "martin-moyce" if dimension == 2 else "martin-moyce-3d"
    scene = Scene.load(name, {"domain.resolution": size.cells})
    scene = scene.replace({"time.fps": size.steps * scene.model.time.fps, "time.min_substeps": size.steps})
    simulation = Simulation(scene)
    scale = np.sqrt(2 * 9.81 / A)
    T, Z = [0.0], [1.0]
    while T[-1] < UNTIL:
        simulation.next_frame()
        T.append(simulation.time * scale)
        Z.append(_reach(simulation) / A)
    return np.array(T), np.array(Z)


def _reach(simulation: Simulation) -> float:
    dx, shape = simulation.scene.dx, simulation.scene.shape
    x = simulation.particles.position / dx
    low = x[x[:, 1] < 1.0, 0]  # the layer of cells on the floor
    counts = np.bincount(low.astype(int), minlength=shape[0])
    full = simulation.scene.model.particles.per_axis ** len(shape) * int(np.prod(shape[2:]))
    column = int(np.flatnonzero(counts >= 0.5 * full).max())
    # within the next column, as far as it is filled
    part = counts[column + 1] / full if column + 1 < counts.size else 0.0
    return (column + 1 + min(part, 1.0)) * dx


def judge(T: np.ndarray, Z: np.ndarray) -> dict[str, float]:
    """Speed of the front, and the largest error of its position after the best shift of time."""
    window = (T >= 1.5) & (T <= 3.4)
    speed = float(np.polyfit(T[window], Z[window], 1)[0])
    data = DATA[DATA[:, 0] <= 3.4]
    shifts = np.linspace(-0.6, 0.6, 241)
    gaps = [np.abs(np.interp(data[:, 0] + s, T, Z) / data[:, 1] - 1).max() for s in shifts]
    best = int(np.argmin(gaps))
    return {"speed": speed, "shift": float(shifts[best]), "position": float(gaps[best])}


def measure(size: Size, dimension: int = 2) -> Measured:
    """The front over time, and its speed."""
    T, Z = front(size, dimension)
    found = judge(T, Z)
    return Measured(found, {"front": (T - found["shift"], Z)})


def _case(dimension: int, quick: tuple[Size, ...], full: tuple[Size, ...]) -> Case:
    return Case(
        "martin-moyce" if dimension == 2 else "martin-moyce-3d",
        f"A column of water collapses on a dry floor, {dimension}D: front of the dam break",
        "Martin, Moyce, Phil. Trans. R. Soc. A 244 (1952), n² = 2, a = 2.25 in; four digitisations give a speed of "
        "1.34 to 1.37",
        (
            Published("speed", "dZ/dT, 1.5 ≤ T ≤ 3.4", 1.355, 0.06, quick=0.1),
            Published("position", "largest error of Z after a shift of time", 0.0, 0.05, scale=1.0, quick=0.08),
        ),
        partial(measure, dimension=dimension),
        quick,
        full,
        axes=("T, shifted by one number for each run", "Z"),
        data={"measured": (DATA[:5, 0], DATA[:5, 1])},
    )


CASES = (
    _case(2, (Size(45), Size(60), Size(90)), (Size(60), Size(90), Size(180), Size(180, 2))),
    _case(3, (Size(24), Size(36), Size(48)), (Size(36), Size(48), Size(72), Size(48, 2))),
)
