"""A slab of water at the ceiling: separating walls let it fall at once, sticky walls hold it.

Free fall clears a layer of 1.5 cells of a box of 2 m at 64 cells in √(2·1.5·dx/g) = 0.098 s.
Run: python validation/ceiling.py [cells]
"""

from __future__ import annotations

import sys

import numpy as np

from nonstick import Scene, Simulation


def clearing_time(walls: str, n: int = 64, until: float = 0.3) -> float:
    """First time (s) at which no particle is within 1.5 cells of the ceiling; inf if never before `until`."""
    fps = 100.0
    scene = Scene.load("ceiling", {"domain.resolution": n, "walls.pressure": walls, "time.fps": fps})
    simulation = Simulation(scene)
    top = scene.shape[1]
    while simulation.time < until - 1e-9:
        simulation.next_frame()
        if simulation.liquid.tracker.cloud.x[1].max() < top - 1.5:
            return simulation.time
    return float("inf")


def main(n: int = 64) -> dict[str, float]:
    out = {walls: clearing_time(walls, n) for walls in ("cut", "none")}
    free = float(np.sqrt(2 * 1.5 * (2.0 / n) / 9.81))
    print(
        f"{n}³: separating walls clear the ceiling after {out['cut']:.3f} s (free fall {free:.3f} s), "
        f"sticky walls after {out['none']:.3f} s"
    )
    return {**out, "free": free}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
