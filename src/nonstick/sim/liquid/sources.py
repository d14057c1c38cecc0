"""Sources: regions kept full of liquid, which may move; the liquid they emit, and the room for it.

A step of length dt moves the liquid in a source by v dt relative to the source. So the points to fill are those that
were outside the source one step ago, in the source's own frame: `x - v dt ∉ S`. They lie on a lattice that moves with
the liquid, so that each point enters once. The flow of a line of the lattice is exact to one particle; a stream has a
whole number of lines, so it may be half a particle too thick or too thin on each side. Filling only the empty cells
would lose the part of a cell that a step leaves empty: a third of the flow at three cells per step.

Under water the room behind the source is not empty: the liquid that enters must push other liquid away. The pressure
solve gets the divergence for this, `div u = volume entered / dt` (`crowding`). A full chamber takes no more liquid
(`Chambers`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...bodies.motion import Prescribed
from ...grid.shapes import Shape
from ...scenes.scene import Scene
from ...scenes.schema import Inflow
from .alone import Alone
from .regions import region

#: particles for which a cell must have room to be filled
PARTLY = 0.75


@dataclass(frozen=True)
class Source:
    """One inflow of a scene."""

    spec: Inflow
    #: the region at time 0
    shape: Shape
    mover: Prescribed | None

    @classmethod
    def all(cls, scene: Scene) -> list[Source]:
        """The inflows of a scene, in its order."""
        middle = [0.5 * s for s in scene.model.domain.size]
        return [
            cls(
                s,
                region(scene, s.shape, f"inflow.{index}.shape"),
                None if s.motion is None else Prescribed(s.motion, middle, scene.dimension),
            )
            for index, s in enumerate(scene.model.inflow)
        ]

    def flows(self, time: float) -> bool:
        """True if it emits liquid at this time."""
        return self.spec.start <= time and (self.spec.stop is None or time < self.spec.stop)

    def at(self, time: float) -> Shape:
        """The region at this time."""
        return self.shape if self.mover is None else self.mover.placed(self.shape, time)

    def velocity(self, axis: int, points, time: float) -> np.ndarray | float:
        """One component of the velocity of its liquid at points: its own velocity plus that of the source."""
        own = self.spec.velocity[axis]
        return own if self.mover is None else own + self.mover.velocity(axis, points, time)

    def fresh(self, points: list[np.ndarray], time: float, dt: float, width: float) -> np.ndarray:
        """Mask of the points to fill after a step of length dt (0: all points in the region).

        `width` is the width of the lattice. Both ends of a step use the same bound, a little inside the region.
        Otherwise rounding could let a row of the lattice on the surface itself enter twice or never.
        """
        bound = -1.37e-4 * width
        region = self.at(time)
        here = np.asarray(region(*points)) < bound
        if self.began(time, dt):
            return here
        back = [x - dt * v for x, v in zip(points, self.spec.velocity)]
        return here & (np.asarray(region(*back)) >= bound)

    def began(self, time: float, dt: float) -> bool:
        """True if it flows for the first time in this step."""
        return dt <= 0.0 or not self.flows(time - dt)

    def drift(self, time: float, width: float) -> Callable[[np.ndarray], np.ndarray]:
        """The shift of the lattice of its liquid, modulo its width, at positions (d, n); all in metres.

        The lattice moves with the liquid along the axis of the largest velocity. Its lines along this axis are slanted
        like the velocity and stand still: if they moved sideways, a stream would be a line of particles thicker or
        thinner every few steps, which is seen as bands.
        """
        velocity = np.array(self.spec.velocity, float)
        main = int(np.argmax(np.abs(velocity)))
        offset = np.zeros(len(velocity)) if self.mover is None else np.array(self.mover.at(time)[0], float)
        slant = velocity / velocity[main] if velocity[main] else np.zeros(len(velocity))
        low, high = self.shape.bounds(len(velocity))
        start = (high if velocity[main] < 0.0 else low)[main]
        start = start if np.isfinite(start) else 0.0
        along = offset[main] + time * velocity[main]
        along -= width * np.round(along / width)

        def shift(x: np.ndarray) -> np.ndarray:
            way = offset[:, None] + slant[:, None] * (x[main] + along - offset[main] - start)
            way -= width * np.round(way / width)
            way[main] = along
            return way

        return shift


def has_room(left: np.ndarray) -> np.ndarray:
    """Mask of cells to fill, which have room for `left` more particles: less than one may be missing by chance.

    A cell that a wall cuts is full with fewer particles than others.
    """
    return left > PARTLY


def crowding(there: np.ndarray, new: np.ndarray, space: np.ndarray, ranks: Alone) -> np.ndarray:
    """Volume of liquid that must move away because a source adds liquid, over cells; all volumes in cells.

    `there` was in the cells before and `new` comes in. In the open, the liquid has moved away and left enough room;
    under water there is no room. A single cell may have one particle more or less by chance, so all cells are counted
    together. Liquid that was crowded there before may also move away, up to the same volume again.
    """
    wet = (new > 0.0) & (there >= 0.5 * space)
    added = ranks.sum(float(new[wet].sum()))
    if added == 0.0:
        return np.zeros_like(new)
    excess = min(max(ranks.sum(float((there + new - space)[wet].sum())), 0.0), 2.0 * added)
    return np.where(wet, new * (excess / added), 0.0)


class Chambers:
    """The separate parts of the space outside solids, and the volume of liquid that still fits into each."""

    def __init__(self, space: np.ndarray, ranks: Alone):
        self.space, self.ranks = space, ranks
        #: 0 in solids
        self.which, self.count = ranks.parts(space)

    def left(self, there: np.ndarray) -> np.ndarray:
        """Volume that each chamber can still take, in cells; entry 0 is for solids. `there` is over cells."""
        which, room = (self.ranks.own(a).ravel() for a in (self.which, self.space - there))
        return np.maximum(self.ranks.total(np.bincount(which, room, minlength=self.count + 1)), 0.0)

    def of(self, cells: np.ndarray) -> np.ndarray:
        """The chambers of cells, given by flat indices."""
        return self.which.ravel()[cells]

    def admit(self, chambers: np.ndarray, there: np.ndarray, worth: float) -> np.ndarray:
        """Mask of the particles, given by their chambers, that fit; each fills the volume `worth`."""
        left = self.left(there)
        out = np.zeros(chambers.size, bool)
        for chamber in np.unique(chambers):
            here = np.flatnonzero(chambers == chamber)
            out[here[: int(left[chamber] / worth + 1e-6)]] = True
        return out
