"""What a substep costs if the domain grows and the liquid does not: a ball and a stream in larger and larger boxes.

CPU seconds of a substep after the first frame, and the peak memory; cells have the same size in every domain. The ball
is 12 cells wide and falls; the stream is 6 cells wide and falls along a corner of the domain.
Run: python benchmarks/active_box.py [ball|stream [frames [cells…]]]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from nonstick import Scene, Simulation
from nonstick.sim.run.findings import peak_bytes

DX = 1 / 48


def ball(n: int) -> Scene:
    size, middle = n * DX, 0.5 * n * DX
    return Scene.from_text(
        f"""
        name = "ball"
        [domain]
        size = [{size}, {size}, {size}]
        resolution = {n}
        [[liquid]]
        shape = {{type = "ball", centre = [{middle}, {middle}, {middle}], radius = {6 * DX}}}
        """
    )


def stream(n: int) -> Scene:
    """The height of the fall is the same in every domain."""
    size, low, high = n * DX, 8 * DX, 14 * DX
    return Scene.from_text(
        f"""
        name = "stream"
        [domain]
        size = [{size}, {size}, {size}]
        resolution = {n}
        [[liquid]]
        shape = {{type = "box", low = [{low}, {2 * DX}, {low}], high = [{high}, {40 * DX}, {high}]}}
        velocity = [0.0, -1.0, 0.0]
        """
    )


def main(kind: str = "ball", frames: int = 10, *cells: int) -> None:
    for n in cells or (48, 96, 144):
        simulation = Simulation((ball if kind == "ball" else stream)(n))
        simulation.next_frame()
        began, steps = time.process_time(), 0
        while simulation.frame < frames:
            steps += len(simulation.next_frame())
        mean = 1e3 * (time.process_time() - began) / max(steps, 1)
        middle = np.asarray(simulation.particles.position).mean(0)
        print(
            f"{kind} in {n}³: {steps} substeps of {mean:.1f} ms, {simulation.liquid.count} particles, "
            f"peak {peak_bytes() / 2**20:.0f} MB, centre {middle - 0.5 * n * DX}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
