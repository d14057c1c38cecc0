"""Sources: regions kept full of liquid, which may move; what they emit and where there is room for it.

A step of length dt carries the liquid in a source by v dt relative to the source, so what has to be filled are the
points that were outside the source a step ago, in the source's own frame: `x - v dt ∉ S`. They lie on a lattice that
moves with the liquid, so that each enters once and the flow is right to the particle. Filling only cells that have run
empty would lose the part of a cell that a step leaves behind, a third of the flow at three cells a step.
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

    def fresh(self, points: list[np.ndarray], time: float, dt: float, width: float) -> np.ndarray:
        """Which points are filled anew after a step of length dt (0: all in the region).

        `width` is the lattice's. Both ends of a step use one bound a little inside the region: where the lattice comes
        to lie on the surface itself, rounding would else let a row in twice or never.
        """
        bound = -1.37e-4 * width
        region = self.at(time)
        here = np.asarray(region(*points)) < bound
        if dt <= 0.0 or not self.flows(time - dt):
            return here
        back = [x - dt * v for x, v in zip(points, self.spec.velocity)]
        return here & (np.asarray(region(*back)) >= bound)

    def phase(self, time: float, width: float) -> np.ndarray:
        """How far the lattice of its liquid, of this width, has moved on from a whole number of widths, in metres."""
        way = time * np.array(self.spec.velocity)
        if self.mover is not None:
            way = way + self.mover.at(time)[0]
        return way - width * np.round(way / width)
