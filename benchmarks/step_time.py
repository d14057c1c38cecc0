"""Seconds a substep of a scene takes, stage by stage, and the memory of the run; nothing is written.

The first frame loads the compiled code and is left out. Asked of `sphere` on two cores: 0.25, 0.8 and 2.0 s and 400,
800 and 1200 MB at 64, 96 and 128 cells, as means over 100 frames.
Run: python benchmarks/step_time.py [cells [frames [scene]]]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from nonstick import Scene, Simulation
from nonstick.sim.liquid.stats import STAGES
from nonstick.sim.run.findings import peak_bytes


def main(n: int = 64, frames: int = 100, scene: str = "sphere") -> float:
    simulation = Simulation(Scene.load(scene, {"domain.resolution": n}))
    simulation.next_frame()
    rows = []
    began = time.perf_counter()
    while simulation.frame < frames:
        rows += simulation.next_frame()
    mean = (time.perf_counter() - began) / max(len(rows), 1)
    parts = ", ".join(f"{s} {np.mean([r[f'{s}_seconds'] for r in rows]):.3f}" for s in STAGES)
    print(f"{scene}, {n} cells: {len(rows)} substeps of {mean:.3f} s ({parts}), {peak_bytes() / 2**20:.0f} MB")
    return mean


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])  # type: ignore[arg-type]
