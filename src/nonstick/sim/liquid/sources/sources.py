"""Sources: regions kept full of liquid, which may move; the liquid they emit, and the room for it.

A step of length dt moves the liquid in a source by v dt relative to the source. The particles for the space behind it
have their places on lines that move with the liquid (`streams`), so that each of them enters once and the flow is
velocity times area. Filling only the empty cells would lose the part of a cell that a step leaves empty: a third of the
flow at three cells per step.

Under water the room behind the source is not empty: the liquid that enters must push other liquid away. The pressure
solve gets the divergence for this, `div u = volume entered / dt` (`crowding`). A full chamber takes no more liquid
(`admitted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ....bodies.motion import Prescribed
from ....grid.box import IndexBox
from ....grid.faces import lower, upper
from ....grid.mac import Grid
from ....grid.shapes import Box, Shape, sample_meshes
from ....parallel.partition import Partition
from ....scenes.scene import Scene
from ....scenes.schema import Inflow
from ..particles.seeding import region, wall_distance
from ..particles.storage import Cloud
from ..partition import cells_between
from ..settings import SEEDING
from ..solids.chambers import Chambers
from ..solids.on_grid import Solids
from .streamlines import Lines, Stream


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

    def cells(self, time: float, last_dt: float, dx: float, domain: Sequence[int]) -> IndexBox:
        """The cells that it fills at this time, and those that its liquid has come to in the last step."""
        low, high = self.at(time).bounds(len(domain))
        way = last_dt * max(map(abs, self.spec.velocity))
        return cells_between((low - way) / dx, (high + way) / dx, domain)

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
    return left > SEEDING.partly


def crowding(
    there: np.ndarray, new: np.ndarray, space: np.ndarray, region: np.ndarray, x: np.ndarray, partition: Partition
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
    added = partition.comm.total(float(new[wet].sum()))
    if added == 0.0:
        return np.zeros_like(new)
    before = smooth_count(x, there.shape) - smooth_space(space)
    excess = min(max(partition.comm.total(float((before + new)[wet].sum())), 0.0), 2.0 * added)
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


def admitted(chambers: Chambers, mine: np.ndarray, there: np.ndarray, worth: float, partition: Partition) -> np.ndarray:
    """Mask of the particles, given by their chambers `mine`, that fit; `there` is the liquid in cells.

    Each of them fills the volume `worth`.
    """
    which, volume = (partition.own(a).ravel() for a in (chambers.which, there))
    liquid = partition.comm.total(np.bincount(which, volume, minlength=chambers.count + 1))
    left = np.maximum(chambers.rooms - liquid, 0.0)
    out = np.zeros(mine.size, bool)
    for chamber in np.unique(mine):
        here = np.flatnonzero(mine == chamber)
        out[here[: int(left[chamber] / worth + 1e-6)]] = True
    return out


@dataclass
class Emitted:
    """New particles of one source."""

    #: positions (3, n) of those in own cells, in cells of the domain
    x: np.ndarray
    #: their places in the order of births, and the number of births in all processes
    places: np.ndarray
    count: int
    #: volume in cells that must move away for them, over cells on three axes
    crowding: np.ndarray
    #: True if the source has no room for all its liquid for the first time
    blocked: bool


class Taps:
    """Chooses the particles that sources emit, and their velocity."""

    def __init__(self, scene: Scene, solids: Solids):
        self.setting, self.dx = scene.model.particles, scene.dx
        self.solids, self.partition = solids, solids.partition
        #: by the number of the source
        self._lines: dict[int, Lines] = {}
        #: indices of sources without room for their liquid
        self._blocked: set[int] = set()

    @property
    def grid(self) -> Grid:
        """The grid of the solids: the active box."""
        return self.solids.grid

    def open(self, source: Source, index: int, time: float, last_dt: float, cloud: Cloud, worth: float) -> Emitted:
        """The particles that a source emits at a time; the particles are sorted, and of volume `worth`.

        Every process looks at the positions in its own cells; they have numbers among those of all processes.
        """
        partition, began = self.partition, source.began(time, last_dt)
        counts = np.diff(cloud.start)
        x, mine, every = partition.born(iter([self._places(source, index, time, last_dt)]))
        x, due = x[:3], x[3] > 0.0
        mine = np.arange(every) if mine is None else mine
        cells = np.ravel_multi_index(tuple(partition.here(x).astype(np.int64)), self.grid.three)
        space = self.solids.space.reshape(-1)[cells] / worth
        room = has_room(space - counts[cells])
        within = np.asarray(source.at(time)(*(self.dx * c for c in x[self.grid.axes.start :]))) < 0.0
        # space that is full already is not filled; a cell that the source fills only in part may be empty by chance
        share, coming = (np.bincount(cells, mask, minlength=counts.size)[cells] for mask in (within, due))
        empty = (counts[cells] == 0) & (coming == 0.0) & (share > SEEDING.partly * space)
        fresh = within & room if began else due | (within & empty)
        wall = wall_distance((self.solids.user_nodes, 0), partition.here(x)[self.grid.axes.start :])
        fresh &= wall > -SEEDING.deepest / self.setting.per_axis
        there = worth * counts.reshape(self.grid.three)
        chosen, wanted = self._chosen(fresh, cells, mine, every, there, worth)
        blocked = len(chosen) < wanted and index not in self._blocked
        if blocked:
            self._blocked.add(index)
        region = np.bincount(cells, minlength=there.size).reshape(there.shape) > 0
        place = np.full(every, -1)
        place[chosen] = np.arange(len(chosen))
        place = place[mine]
        x, cells, place = x[:, place >= 0], cells[place >= 0], place[place >= 0]
        new = worth * np.bincount(cells, minlength=there.size).reshape(there.shape)
        spread = np.empty((4, 0))
        if new.any():
            near = np.flatnonzero(smooth_space(region.astype(float)))
            lengths = counts[near]
            first = np.repeat(cloud.start[near] - np.cumsum(lengths) + lengths, lengths)
            spread = np.vstack([cloud.x[:, first + np.arange(first.size)], np.full(first.size, worth)])
        return Emitted(
            x, place, len(chosen), crowding(there, new, self.solids.space, region, spread, partition), blocked
        )

    def set_velocity(
        self, source: Source, time: float, dt: float, lag: float, cloud: Cloud, points: list[np.ndarray],
        gravity: np.ndarray, free: np.ndarray | None,
    ) -> float:  # fmt: skip
        """Give the particles in a source, at `points`, its velocity; returns the share of gravity that nothing holds.

        `free` is this share over cells; None if it is not known yet, and then taken as zero. Velocities are those of
        `lag` seconds ago.
        """
        inside = np.flatnonzero(np.asarray(source.at(time)(*points)) < 0.0)
        fall = np.zeros(inside.size)
        if free is not None:
            at = (np.clip(c[inside].astype(np.int64), 0, n - 1) for c, n in zip(cloud.x, free.shape))
            fall = free[tuple(at)]
        own = self.partition.mine(self.partition.position(cloud.x[:, inside]))
        count, total = self.partition.comm.total(float(own.sum())), self.partition.comm.total(float(fall[own].sum()))
        if inside.size:
            velocity = self.velocity(source, [c[inside] for c in points], time, dt, lag, fall, gravity)
            for row, v in zip(cloud.vel[self.grid.axes.start :], velocity):
                row[inside] = v
            if cloud.affine and not source.turns:
                cloud.aff[:, inside] = 0.0
        return total / count if count else float(free is not None)

    def velocity(
        self, source: Source, points: list[np.ndarray], time: float, dt: float, lag: float,
        free: np.ndarray | float, gravity: np.ndarray,
    ) -> list[np.ndarray]:  # fmt: skip
        """The velocity of a source's liquid at points `lag` seconds ago, with which a step of dt is right.

        Nothing holds the share `free` of gravity there.
        """
        held = lag + free * source.supported(points, time, dt)
        return [source.velocity(a, points, time) - held * g for a, g in enumerate(gravity[self.grid.axes.start :])]

    def _places(self, source: Source, index: int, time: float, last_dt: float) -> np.ndarray:
        """Places in a source, or due in this step, of this process's lines: rows x, y, z in cells, and 1 if due."""
        lines = self._lines.get(index)
        if lines is None or source.turns:
            every = source.lines(time, self.dx / self.setting.per_axis, self.solids)
            lines = self._lines[index] = every.part(self.partition.comm.rank, self.partition.comm.size)
        speed = max(map(abs, source.spec.velocity))
        x, due = lines.places(speed * time, speed * last_dt)
        x = (x + source.offset(time)[:, None]) / self.dx
        inside = np.all((x > 0.0) & (x < np.array(self.solids.whole.shape)[:, None]), axis=0)
        return np.vstack([self.grid.lift_points(x[:, inside]), due[inside]])

    def _chosen(
        self, fresh: np.ndarray, cells: np.ndarray, mine: np.ndarray, every: int, there: np.ndarray, worth: float
    ) -> tuple[np.ndarray, int]:
        """Numbers, among `every` position, of the fresh ones that have room; also the number of fresh ones.

        `fresh` and `cells` describe the positions with the numbers `mine`; `there` is the liquid in the cells.
        """
        chambers, chamber = self.solids.chambers(), np.zeros(every, np.int64)
        chamber[mine] = np.where(fresh, 1 + chambers.which.ravel()[cells], 0)
        chamber = self.partition.comm.total(chamber)
        wanted = np.flatnonzero(chamber)
        return wanted[admitted(chambers, chamber[wanted] - 1, there, worth, self.partition)], len(wanted)


def free_share(pressure: np.ndarray, gravity: np.ndarray, head: float) -> np.ndarray:
    """The share of gravity that no pressure holds, over cells: 1 in flight, 0 at rest.

    `head` is rho dx. The pressure rises between two cells that have one: beyond others there is air or a wall.
    """
    held, wet = np.zeros(pressure.shape), pressure != 0.0
    size = float(gravity @ gravity)
    for axis, g in enumerate(gravity):
        if g and pressure.shape[axis] > 1:
            both = lower(wet, axis) & upper(wet, axis)
            rise = np.where(both, np.diff(pressure, axis=axis) / (head * g), 0.0)
            total, count = np.zeros(pressure.shape), np.zeros(pressure.shape)
            for side in (lower, upper):
                side(total, axis)[...] += rise
                side(count, axis)[...] += both
            held += g * g / size * np.clip(total / np.maximum(count, 1.0), 0.0, 1.0)
    return 1.0 - held
