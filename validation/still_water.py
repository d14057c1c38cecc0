"""Still water stays still, in an upright tank and in one whose walls cut the cells, with separating walls.

After 2 s: largest particle speed against √(g h), and how far the surface strays from flat.
Run: python validation/still_water.py [cells]
"""

from __future__ import annotations

import sys

import numpy as np

from nonstick import Scene, Simulation

#: depth of the water in each scene, m
DEPTH = {"still": 0.5, "tilted-tank": 0.6 * (np.cos(np.radians(20)) + np.sin(np.radians(20)))}


def settle(name: str, n: int = 64, seconds: float = 2.0) -> dict[str, float]:
    simulation = Simulation(Scene.load(name, {"domain.resolution": n}))
    while simulation.time < seconds - 1e-9:
        simulation.next_frame()
    liquid = simulation.liquid
    speed = float(np.sqrt((liquid.tracker.cloud.vel.astype(float) ** 2).sum(axis=0)).max())
    heights = surface_heights(liquid)
    return {
        "speed": speed / float(np.sqrt(9.81 * DEPTH[name])),
        "unevenness": float(np.ptp(heights)) / 2,  # in cells, from the middle
        "volume_error": liquid.ledger.error,
    }


def surface_heights(liquid) -> np.ndarray:
    """Height of the surface in cells in every column of a 2D run, away from walls by half a cell."""
    phi, out = liquid.tracker.phi[0], []
    for i, column in enumerate(phi):
        crossing = np.flatnonzero((column[:-1] < 0) & (column[1:] >= 0))
        if crossing.size and liquid.solids.centre[0, i, crossing[-1]] > 0.5:
            j = crossing[-1]
            out.append(j + 0.5 + column[j] / (column[j] - column[j + 1]))
    return np.array(out)


def main(n: int = 64) -> dict[str, dict[str, float]]:
    out = {name: settle(name, n) for name in DEPTH}
    for name, r in out.items():
        print(f"{name} {n}²: largest speed {100 * r['speed']:.2f} % of √(g h), flat to {r['unevenness']:.2f} cells")
    return out


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
