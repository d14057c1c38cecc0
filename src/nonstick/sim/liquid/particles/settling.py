"""Settles the first particles: moves those at the surface until the level set of particles is that of their shapes.

The surface of particles that fill a shape is rough: where the shape cuts a layer of them, some columns have a particle
more than others, and their level set is off by up to a tenth of a cell. Under gravity that is a field of waves, which
take seconds to die. So at the start each cell near the surface pulls the particles around along the normal of the
shape, by half of what φ lacks there and by a part of its last pull, for a number of sweeps.

A cell tells where the surface is if the nearest point of the shape is a free surface: it is not in a wall, at a side of
the domain or in another liquid, and the shape is smooth there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....grid.shapes import Shape
from ..settings import SEEDING
from ..solids.on_grid import Solids
from ._settling import _settle
from .storage import Cloud

#: an edge of the shape is near where its distance rises by less than this over a cell
SMOOTH = 0.98


class Settling:
    """What the first level set should be among these solids, and how far the particles have been moved for it."""

    def __init__(self, shapes: Sequence[Shape], solids: Any, domain: Solids):
        grid = domain.grid
        cells, d = grid.cells(), grid.dimension
        to_shapes = [np.broadcast_to(np.asarray(s(*cells)), grid.shape) / grid.dx for s in shapes]
        goal = np.min(to_shapes, axis=0)
        walls = [grid.drop(solids.centre)]
        for axis, size in enumerate(domain.whole.size):
            walls.append(np.broadcast_to(np.minimum(cells[axis], size - cells[axis]) / grid.dx, grid.shape))
        if len(shapes) > 1:
            walls.append(np.partition(to_shapes, 1, axis=0)[1])
        slope = np.array(np.gradient(goal)).reshape(d, *grid.shape)
        good = (np.abs(goal) < SEEDING.surface) & (np.linalg.norm(slope, axis=0) > SMOOTH) & (walls[0] >= 0.0)
        for wall in walls:
            along = (np.array(np.gradient(wall)).reshape(slope.shape) * slope).sum(axis=0)
            there = wall - goal * along  # the distance to the wall of the nearest point of the surface
            good &= (there >= 0.0) & ((there > 0.25) | (along > -0.5))
        self.solids, self.good, self.goal = solids, good, goal
        three = (3, *grid.three)
        self._normal = np.zeros(three)
        self._normal[3 - d :] = slope.reshape(d, *grid.three) * good.reshape(grid.three)
        self._near = np.ascontiguousarray(good, dtype=float).reshape(grid.three)
        self._way = np.zeros(grid.three)
        self._sum = np.zeros(grid.three)

    @property
    def any(self) -> bool:
        """True if there is a free surface."""
        return bool(self.good.any())

    def pull(self, cloud: Cloud, phi: np.ndarray) -> None:
        """Move particles by what φ, in cells on three axes, lacks."""
        lack = np.where(self._near > 0.0, phi - self.goal.reshape(phi.shape), 0.0)
        way = SEEDING.pull * lack + SEEDING.again * self._way
        self._way = np.clip(self._sum + way, -SEEDING.farthest, SEEDING.farthest) - self._sum
        self._sum += self._way
        ways = self._normal * self._way
        _settle(
            cloud.x, cloud.vel, cloud.aff, *ways, self._near, self.solids.nodes, SEEDING.margin,
            3 - self.solids.grid.dimension,
        )  # fmt: skip
