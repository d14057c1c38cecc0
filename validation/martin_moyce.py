"""The dam break of Martin and Moyce (Phil. Trans. R. Soc. A 244, 1952), n² = 2, front position.

Z = x/a against T = t √(2 g/a), a = 2.25 in. The gate of the experiment shifts t = 0, so the speed is
judged, and the position after one fitted shift of time.
Run: python validation/martin_moyce.py [cells] [2 or 3]
"""

from __future__ import annotations

import sys

import numpy as np

from nonstick import Scene, Simulation

A = 0.05715
# (T, Z) of the paper's table for n² = 2, a = 2.25 in
MEASURED = np.array(
    [[0.832, 1.217], [1.219, 1.474], [1.997, 2.292], [2.547, 2.995], [3.345, 4.134], [4.034, 4.944], [4.418, 5.881],
     [5.091, 6.980]]
)  # fmt: skip


def front(n: int = 180, dimension: int = 2, until: float = 3.7) -> tuple[np.ndarray, np.ndarray]:
    """T and Z of the computed front: the farthest column whose layer above the floor is half full."""
    name = "martin-moyce" if dimension == 2 else "martin-moyce-3d"
    simulation = Simulation(Scene.load(name, {"domain.resolution": n}))
    scale = np.sqrt(2 * 9.81 / A)
    T, Z = [0.0], [1.0]
    while T[-1] < until:
        simulation.next_frame()
        T.append(simulation.time * scale)
        Z.append(_reach(simulation) / A)
    return np.array(T), np.array(Z)


def _reach(simulation: Simulation) -> float:
    liquid = simulation.liquid
    x = liquid.layout.drop_points(liquid.tracker.cloud.x)
    low = x[0][x[1] < 1.0]  # the layer of cells on the floor
    counts = np.bincount(low.astype(int), minlength=liquid.solids.grid.shape[0])
    full = liquid.tracker.per_cell * int(np.prod(liquid.solids.grid.shape[2:]))
    column = int(np.flatnonzero(counts >= 0.5 * full).max())
    # within the next column, as far as it is filled
    part = counts[column + 1] / full if column + 1 < counts.size else 0.0
    return (column + 1 + min(part, 1.0)) * simulation.scene.dx


def judge(T: np.ndarray, Z: np.ndarray) -> dict[str, float]:
    window = (T >= 1.5) & (T <= 3.4)
    speed = float(np.polyfit(T[window], Z[window], 1)[0])
    data = MEASURED[MEASURED[:, 0] <= 3.4]
    shifts = np.linspace(-0.6, 0.6, 241)
    gaps = [np.abs(np.interp(data[:, 0] + s, T, Z) / data[:, 1] - 1).max() for s in shifts]
    best = int(np.argmin(gaps))
    return {"speed": speed, "shift": float(shifts[best]), "position_error": float(gaps[best])}


def main(n: int = 180, dimension: int = 2) -> dict[str, float]:
    out = judge(*front(n, dimension))
    print(
        f"{dimension}D, {n} cells: dZ/dT = {out['speed']:.3f} (measured 1.34-1.37), position within "
        f"{100 * out['position_error']:.1f} % after a shift of T by {out['shift']:+.2f}"
    )
    return out


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
