"""Rigid bodies in liquid: how deep they float, how fast they sink, and whether water lets go of them."""

from __future__ import annotations

import numpy as np

from ...discretise.coupling import Body
from ...discretise.pressure import PressureProblem
from ...files.formats.mesh import of_body
from ...grid.mac import Grid
from ...grid.shapes import Box
from ...sim.liquid.simulation import Simulation
from ..library import surface


def water_level(simulation: Simulation) -> float:
    """Mean height of the surface over the outermost columns of cells."""
    columns, _, height = surface(simulation)
    edge = np.ones([n for axis, n in enumerate(simulation.grid.level_set.shape) if axis != 1], bool)
    edge[tuple(slice(2, -2) for _ in edge.shape)] = False
    return float(np.mean(height[edge[columns]])) * simulation.grid.dx


# -- bodies dropped into a pool -----------------------------------------------------------------------


def skins(simulation: Simulation) -> list[np.ndarray]:
    """Points on the surface of each body, about its centre."""
    return [of_body(b.shape, b.origin).vertices[:, : b.d] for b in simulation.bodies]


def landed(simulation: Simulation, skins: list[np.ndarray]) -> list[bool]:
    """Which bodies touch the floor; a bounce falls between frames, so near it and on the way up counts as well."""
    low = [(b.rotation @ skin.T)[1].min() + b.centre[1] for b, skin in zip(simulation.bodies, skins)]
    near = [2.5 if b.velocity[1] > 0.1 else 0.5 for b in simulation.bodies]
    return [bool(y < cells * simulation.scene.dx) for y, cells in zip(low, near)]


def buried(simulation: Simulation) -> int:
    """How many particles are more than half a cell inside a body."""
    x, dx = simulation.particles.position, simulation.scene.dx
    return sum(int((np.asarray(b.phi(*x.T)) < -0.5 * dx).sum()) for b in simulation.bodies)


def peaked(speeds: list[float], pause: int, gain: float) -> bool:
    """True if the last `pause` frames have raised the largest speed by less than the share `gain`."""
    if len(speeds) <= 2 * pause:
        return False
    return max(speeds) < (1.0 + gain) * max(speeds[:-pause])


# -- a box pulled up from the surface -----------------------------------------------------------------


def lift(dimension: int, n: int, ratio: float, speed: float = 1.0, dt: float = 0.01) -> dict[str, float]:
    """Velocities of the box after one step: in free flight, with separating walls, with the linear solve."""
    grid, gravity = Grid.unit(n, dimension), 9.81
    low, high = np.full(dimension, 0.3), np.full(dimension, 0.7)
    low[1], high[1] = 0.48, 0.68
    box = Box(tuple(low), tuple(high)).sample(grid.nodes())
    velocity = np.zeros(dimension)
    velocity[1] = speed - gravity * dt
    body = Body(box, 0.5 * (low + high), velocity, 0.0, density=1000.0 * ratio)
    liquid = [np.zeros(grid.face_shape(a)) for a in range(dimension)]
    liquid[1] -= gravity * dt
    phi = np.broadcast_to(grid.cells()[1] - 0.5, grid.shape)
    problem = PressureProblem(phi_liquid=phi, velocity=tuple(liquid), dt=dt, dx=grid.dx, walls="cut", bodies=[body])
    free, held = problem.solve("auto", rtol=1e-9), problem.solve("mg-cg", rtol=1e-9)
    return {
        "flight": velocity[1],
        "separating": float(free.bodies[0].velocity[1]),
        "linear": float(held.bodies[0].velocity[1]),
    }
