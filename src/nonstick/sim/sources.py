"""Sources: regions kept full of liquid, which may move; what they emit and where there is room for it.

A step of length dt carries the liquid in a source by v dt relative to the source, so what has to be filled are the
points that were outside the source a step ago, in the source's own frame: `x - v dt ∉ S`. Filling only cells that have
run empty would lose the part of a cell that a step leaves behind, a third of the flow at three cells a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..bodies.motion import Prescribed
from ..grid.shapes import Shape
from ..scenes.geometry import build
from ..scenes.scene import Scene
from ..scenes.schema import Inflow


@dataclass(frozen=True)
class Source:
    """One inflow of a scene."""

    spec: Inflow
    #: the region at time 0
    shape: Shape
    mover: Prescribed | None

    @classmethod
    def all(cls, scene: Scene) -> list[Source]:
        middle = [0.5 * s for s in scene.model.domain.size]
        return [
            cls(
                s,
                build(s.shape, scene.folder),
                None if s.motion is None else Prescribed(s.motion, middle, scene.dimension),
            )
            for s in scene.model.inflow
        ]

    def flows(self, time: float) -> bool:
        return self.spec.start <= time and (self.spec.stop is None or time < self.spec.stop)

    def at(self, time: float) -> Shape:
        return self.shape if self.mover is None else self.mover.placed(self.shape, time)

    def velocity(self, axis: int, points, time: float) -> np.ndarray | float:
        """One component of the velocity of its liquid at points: its own and that of the source."""
        own = self.spec.velocity[axis]
        return own if self.mover is None else own + self.mover.velocity(axis, points, time)

    def fresh(self, points: list[np.ndarray], time: float, dt: float) -> np.ndarray:
        """Which points of the region at `time` are filled anew after a step of length dt (0: all of them)."""
        if dt <= 0.0 or not self.flows(time - dt):
            return np.ones(points[0].shape, bool)
        back = [x - dt * np.asarray(self.velocity(a, points, time)) for a, x in enumerate(points)]
        return np.asarray(self.at(time - dt)(*back)) >= 0.0
