"""Sources: regions kept full of liquid, which may move; the liquid they emit, and the room for it.

A step of length dt moves the liquid in a source by v dt relative to the source. The particles for the space behind it
have their places on lines that move with the liquid (`streams`), so that each of them enters once and the flow is
velocity times area. Filling only the empty cells would lose the part of a cell that a step leaves empty: a third of the
flow at three cells per step.

Under water the room behind the source is not empty: the liquid that enters must push other liquid away. The pressure
solve gets the divergence for this, `div u = volume entered / dt` (`crowding`). A full chamber takes no more liquid
(`Chambers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ...bodies.motion import Prescribed
from ...grid.shapes import Box, Shape, sample_meshes
from ...scenes.scene import Scene
from ...scenes.schema import Inflow
from .alone import Alone
from .seeding import region
from .solids import Solids
from .streams import Lines, Stream

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

    def began(self, time: float, dt: float) -> bool:
        """True if it flows for the first time in this step."""
        return dt <= 0.0 or not self.flows(time - dt)

    def supported(self, points: list[np.ndarray], time: float, dt: float) -> np.ndarray:
        """Seconds of gravity to take from the velocity at points in it, so that a step of length dt is right.

        In a source nothing falls. Liquid that stays in it for the step moves by v dt if half the gravity of the step is
        taken, and liquid that leaves it after s seconds has the right velocity then if s of it are. The grid mixes the
        two, so there is a step of transition. Without this, jets would fall as if they had left too early.
        """
        region = self.at(time)

        def inside(way: np.ndarray | float) -> np.ndarray:
            return np.asarray(region(*(x + way * v for x, v in zip(points, self.spec.velocity)))) < 0.0

        stays = inside(2.0 * dt)
        low, high = np.zeros(stays.shape), np.full(stays.shape, 2.0 * dt)
        for _ in range(0 if stays.all() else 12):
            middle = 0.5 * (low + high)
            within = inside(middle)
            low, high = np.where(within, middle, low), np.where(within, high, middle)
        return np.where(stays, 0.5 * dt, np.minimum(low, 1.5 * dt - 0.5 * low))

    @property
    def turns(self) -> bool:
        """True if its region may turn, so that the shadow of the region changes."""
        motion = self.spec.motion
        return motion is not None and bool(
            motion.spin or motion.angle is not None or (motion.keys is not None and motion.keys.angles is not None)
        )

    def offset(self, time: float) -> np.ndarray:
        """How far its region has moved, turning not counted."""
        return np.zeros(len(self.spec.velocity)) if self.mover is None else self.mover.at(time)[0]

    def lines(self, time: float, width: float, solids: Solids) -> Lines:
        """The lines of its liquid, for particles of this width in metres; shifted by the offset of this time.

        A source that stays where it is ends at walls at rest: its liquid comes out of them, or flows along them.
        """
        velocity, d = self.spec.velocity, len(self.spec.velocity)
        size = solids.scene.model.domain.size
        if self.mover is not None:
            shape = self.at(time).move(tuple(-self.offset(time)))
            if not np.all(np.isfinite(shape.bounds(d))):
                shape = shape & Box(tuple(-s for s in size), tuple(2.0 * s for s in size))
            return Stream(shape, velocity, width).lines(fit=not self.turns)
        shape = self.shape & Box((0.0,) * d, tuple(size))
        low, high = shape.bounds(d)
        for solid in solids.list:
            if solid.motion is None and solid.body is None:
                wall = sample_meshes(solid.shape, solids.scene.dx)
                ends = wall.bounds(d)
                if solid.container:
                    shape = shape & wall
                elif np.all(ends[0] < high) and np.all(ends[1] > low):
                    shape = shape - wall
        return Stream(shape, velocity, width).lines()


def has_room(left: np.ndarray) -> np.ndarray:
    """Mask of cells to fill, which have room for `left` more particles: less than one may be missing by chance.

    A cell that a wall cuts is full with fewer particles than others.
    """
    return left > PARTLY


def crowding(
    there: np.ndarray, new: np.ndarray, space: np.ndarray, region: np.ndarray, x: np.ndarray, ranks: Alone
) -> np.ndarray:
    """Volume of liquid that must move away because a source adds liquid, over cells; all volumes in cells.

    `there` was in the cells before and `new` comes in; `region` is the mask of the source's cells; `x` are the
    particles in and around them, each of the volume `x[3]`. In the open, the liquid has moved away and left enough
    room; under water there is no room. Liquid that was crowded there before may also move away, up to the same volume
    again.

    A single cell may have one particle more or less by chance, so all cells of the source are counted together: those
    without a new particle too, because it is often missing where there is no room. Rows of particles that leave a
    region would change its count in jumps, so a particle counts for all cells less than a cell away (`smooth_count`).
    """
    wet = region & (there >= 0.5 * space)
    added = ranks.sum(float(new[wet].sum()))
    if added == 0.0:
        return np.zeros_like(new)
    before = smooth_count(x, there.shape) - smooth_space(space)
    excess = min(max(ranks.sum(float((before + new)[wet].sum())), 0.0), 2.0 * added)
    return np.where(wet, new * (excess / added), 0.0)


def smooth_count(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Volume in cells of particles at `x[:3]`, of the volumes `x[3]`, each spread over a cube two cells wide.

    The weight falls linearly along every axis, so that evenly spaced particles give the same count wherever they are.
    """
    out = np.zeros(shape)
    low = np.floor(x[:3] - 0.5).astype(np.int64)
    part = x[:3] - 0.5 - low
    axes = [axis for axis in range(3) if shape[axis] > 1]
    for corner in product((0, 1), repeat=len(axes)):
        at, weight = [np.zeros(x.shape[1], np.int64)] * 3, x[3]
        for axis, bit in zip(axes, corner):
            at[axis] = low[axis] + bit
            weight = weight * (part[axis] if bit else 1.0 - part[axis])
        known = np.all([(a >= 0) & (a < n) for a, n in zip(at, shape)], axis=0)
        np.add.at(out, tuple(a[known] for a in at), weight[known])
    return out


def smooth_space(space: np.ndarray) -> np.ndarray:
    """The same for full cells: an eighth of a cell counts for each neighbour along an axis."""
    for axis, size in enumerate(space.shape):
        if size > 1:
            padded = np.pad(space, [(int(a == axis),) * 2 for a in range(3)])
            first, last = ((slice(None),) * axis + (s,) for s in (slice(0, -2), slice(2, None)))
            space = 0.75 * space + 0.125 * (padded[first] + padded[last])
    return space


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
