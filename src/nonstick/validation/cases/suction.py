"""A box is pulled up from the surface of water: does the water let go of it?

The box lies in the water with a tenth of its height and is thrown up at 1 m/s; one step of 1/100 s. In free flight it
keeps v - g dt. With separating conditions the pressure can only push, so its velocity is that or, as long as buoyancy
still acts from below, a little more. The linear solve drags liquid along, and the box is held back.
"""

from __future__ import annotations

import numpy as np

from ...discretise.coupling import Body
from ...discretise.pressure import PressureProblem
from ...grid.mac import Grid
from ...grid.shapes import Box
from ..case import Case, Measured, Published, Size

G, DT, SPEED = 9.81, 0.01, 1.0
#: density of the box over that of water
RATIOS = (0.1, 0.5, 2.0)


def lift(dimension: int, n: int, ratio: float, speed: float = SPEED, dt: float = DT) -> dict[str, float]:
    """Velocities of the box after one step: in free flight, with separating walls, with the linear solve."""
    grid = Grid.unit(n, dimension)
    low, high = np.full(dimension, 0.3), np.full(dimension, 0.7)
    low[1], high[1] = 0.48, 0.68
    box = Box(tuple(low), tuple(high)).sample(grid.nodes())
    velocity = np.zeros(dimension)
    velocity[1] = speed - G * dt
    body = Body(box, 0.5 * (low + high), velocity, 0.0, density=1000.0 * ratio)
    liquid = [np.zeros(grid.face_shape(a)) for a in range(dimension)]
    liquid[1] -= G * dt
    phi = np.broadcast_to(grid.cells()[1] - 0.5, grid.shape)
    problem = PressureProblem(phi_liquid=phi, velocity=tuple(liquid), dt=dt, dx=grid.dx, walls="cut", bodies=[body])
    free, held = problem.solve("auto", rtol=1e-9), problem.solve("mg-cg", rtol=1e-9)
    return {
        "flight": velocity[1],
        "separating": float(free.bodies[0].velocity[1]),
        "linear": float(held.bodies[0].velocity[1]),
        "push": float(free.bodies[0].impulse[1]),
        "suction": float(held.bodies[0].impulse[1]),
        "least_pressure": float(free.pressure.min()),
    }


def measure(size: Size) -> Measured:
    """Velocity after a step over that of free flight, for three densities in 3D."""
    values = {}
    for ratio in RATIOS:
        found = lift(3, size.cells, ratio, dt=DT / size.steps)
        values[f"{ratio}"] = found["separating"] / found["flight"]
        values[f"linear-{ratio}"] = found["linear"] / found["flight"]
    return Measured(values)


CASES = (
    Case(
        "suction",
        "A box is thrown up off the surface of water: the water lets go of it",
        "Exact: free flight, v - g dt",
        tuple(Published(f"{r}", f"velocity of a box of ratio {r} over free flight", 1.0, 0.02) for r in RATIOS),
        measure,
        quick=(Size(12), Size(16), Size(24)),
        full=(Size(16), Size(32), Size(48), Size(48, 2)),
    ),
)
