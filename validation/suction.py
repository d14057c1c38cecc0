"""A box is pulled up from the surface of water: does the water let go of it?

The box lies in the water with a tenth of its height and is thrown up at 1 m/s; one step of 1/100 s. In free flight
it keeps v - g dt. With separating conditions the pressure can only push, so its velocity is that or, as long as
buoyancy still acts from below, a little more. The linear solve drags liquid along, and the box is held back.
Run: python validation/suction.py [cells]
"""

from __future__ import annotations

import sys

import numpy as np

from nonstick import PressureProblem
from nonstick.discretise.coupling import Body
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Box

G, DT, SPEED = 9.81, 0.01, 1.0


def lift(dimension: int, n: int, ratio: float, speed: float = SPEED) -> dict[str, float]:
    """Velocities of the box after one step: in free flight, with separating walls, with the linear solve."""
    grid = Grid.unit(n, dimension)
    low, high = np.full(dimension, 0.3), np.full(dimension, 0.7)
    low[1], high[1] = 0.48, 0.68
    box = Box(tuple(low), tuple(high)).sample(grid.nodes())
    velocity = np.zeros(dimension)
    velocity[1] = speed - G * DT
    body = Body(box, 0.5 * (low + high), velocity, 0.0, density=1000.0 * ratio)
    liquid = [np.zeros(grid.face_shape(a)) for a in range(dimension)]
    liquid[1] -= G * DT
    phi = np.broadcast_to(grid.cells()[1] - 0.5, grid.shape)
    problem = PressureProblem(phi_liquid=phi, velocity=liquid, dt=DT, dx=grid.dx, walls="cut", bodies=[body])
    free, held = problem.solve("auto", rtol=1e-9), problem.solve("mg-cg", rtol=1e-9)
    return {
        "flight": velocity[1],
        "separating": float(free.bodies[0].velocity[1]),
        "linear": float(held.bodies[0].velocity[1]),
        "push": float(free.bodies[0].impulse[1]),
        "suction": float(held.bodies[0].impulse[1]),
        "least_pressure": float(free.pressure.min()),
    }


def main(n: int = 32) -> dict[tuple[int, float], dict[str, float]]:
    out = {}
    for dimension in (2, 3):
        for ratio in (0.1, 0.5, 2.0):
            r = out[dimension, ratio] = lift(dimension, n, ratio)
            print(
                f"{dimension}D, density ratio {ratio}: free flight {r['flight']:.4f} m/s, separating "
                f"{r['separating']:.4f}, linear {r['linear']:.4f} (impulse {r['push']:.3g} against {r['suction']:.3g})"
            )
    return out


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
