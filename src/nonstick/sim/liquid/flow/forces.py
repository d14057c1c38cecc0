"""Forces of a scene: accelerations that act everywhere or in a region, for a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....grid.mac import Grid
from ....scenes.geometry import build
from ....scenes.scene import Scene
from ....scenes.schema import ForceTable


class Force:
    """One force of a scene."""

    def __init__(self, scene: Scene, table: ForceTable, index: int):
        self.table = table
        self._faces: tuple[Grid | None, Sequence[np.ndarray | bool]] = None, []
        where = f"{scene.where}: force.{index}.shape"
        self._region = None if table.shape is None else build(table.shape, scene.folder, where)

    @classmethod
    def all(cls, scene: Scene) -> list[Force]:
        """The forces of a scene, in its order."""
        return [cls(scene, table, index) for index, table in enumerate(scene.model.force)]

    def acts(self, time: float) -> bool:
        """True if it acts at this time."""
        return self.table.start <= time and (self.table.stop is None or time < self.table.stop)

    def push(self, velocity: Sequence[np.ndarray], grid: Grid, time: float, lag: float, dt: float) -> None:
        """Accelerate the faces of a grid in place, over the last `lag` of a step before `time` and half of the next."""
        share = lag * self.acts(time - 2.0 * lag) + 0.5 * dt * self.acts(time)
        share *= np.cos(2 * np.pi * self.table.frequency * time) if self.table.frequency else 1.0
        for axis, (u, a) in enumerate(zip(velocity, self.table.acceleration)):
            if a != 0.0 and share != 0.0:
                u += share * a * self._inside(grid)[axis]

    def _inside(self, grid: Grid) -> Sequence[np.ndarray | bool]:
        """Masks of the faces in the region, one per axis; it does not move, so they are made once for a grid."""
        axes = range(grid.dimension)
        if self._region is None:
            return [True for _ in axes]
        if self._faces[0] != grid:
            self._faces = grid, [self._region.sample(grid.faces(axis)) < 0 for axis in axes]
        return self._faces[1]
