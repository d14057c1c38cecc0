"""The particles that sources emit in a step: those whose places have come in, and those of cells that are empty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...scenes.scene import Scene
from .cloud import Cloud
from .seeding import wall_distance
from .solids import Solids
from .sources import PARTLY, Chambers, Source, crowding, has_room, smooth_space
from .streams import Lines

#: a place that is deeper in a wall, in widths of a particle, gets none; particles on a wall are moved out of it later
DEEPEST = 0.25


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
    choked: bool


class Taps:
    """Chooses the particles that sources emit, and their velocity."""

    def __init__(self, scene: Scene, solids: Solids):
        self.setting, self.dx = scene.model.particles, scene.dx
        self.solids, self.grid, self.ranks = solids, solids.grid, solids.ranks
        self._chambers: Chambers | None = None
        #: by the number of the source
        self._lines: dict[int, Lines] = {}
        #: indices of sources without room for their liquid
        self._choked: set[int] = set()

    def open(self, source: Source, index: int, time: float, last_dt: float, cloud: Cloud, worth: float) -> Emitted:
        """The particles that a source emits at a time; the particles are sorted, and of volume `worth`.

        Every process looks at the positions in its own cells; they have numbers among those of all processes.
        """
        ranks, began = self.ranks, source.began(time, last_dt)
        counts = np.diff(cloud.start)
        x, mine, every = ranks.born(iter([self._places(source, index, time, last_dt)]))
        x, due = x[:3], x[3] > 0.0
        mine = np.arange(every) if mine is None else mine
        cells = np.ravel_multi_index(tuple(ranks.here(x).astype(np.int64)), self.grid.three)
        space = self.solids.space.reshape(-1)[cells] / worth
        room = has_room(space - counts[cells])
        within = np.asarray(source.at(time)(*(self.dx * c for c in x[self.grid.axes.start :]))) < 0.0
        # space that is full already is not filled; a cell that the source fills only in part may be empty by chance
        share, coming = (np.bincount(cells, mask, minlength=counts.size)[cells] for mask in (within, due))
        empty = (counts[cells] == 0) & (coming == 0.0) & (share > PARTLY * space)
        fresh = within & room if began else due | (within & empty)
        wall = wall_distance((self.solids.user_nodes, 0), ranks.here(x)[self.grid.axes.start :])
        fresh &= wall > -DEEPEST / self.setting.per_axis
        there = worth * counts.reshape(self.grid.three)
        chosen, wanted = self._chosen(fresh, cells, mine, every, there, worth)
        choked = len(chosen) < wanted and index not in self._choked
        if choked:
            self._choked.add(index)
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
        return Emitted(x, place, len(chosen), crowding(there, new, self.solids.space, region, spread, ranks), choked)

    def impose(
        self, source: Source, time: float, dt: float, cloud: Cloud, points: list[np.ndarray], gravity: np.ndarray,
        fallen: bool,
    ) -> float:  # fmt: skip
        """Give the particles in a source, at `points`, its velocity; returns the share of gravity that nothing holds.

        Without `fallen` the share is not known, and taken as zero.
        """
        inside = np.flatnonzero(np.asarray(source.at(time)(*points)) < 0.0)
        fall = cloud.fall[inside].astype(float) if fallen else np.zeros(inside.size)
        own = self.ranks.mine(self.ranks.position(cloud.x[:, inside]))
        count, total = self.ranks.sum(float(own.sum())), self.ranks.sum(float(fall[own].sum()))
        if inside.size:
            velocity = self.velocity(source, [c[inside] for c in points], time, dt, fall * gravity[:, None])
            for row, v in zip(cloud.vel[self.grid.axes.start :], velocity):
                row[inside] = v
            cloud.fall[inside] = 1.0
            if cloud.affine and not source.turns:
                cloud.aff[:, inside] = 0.0
        return total / count if count else float(fallen)

    def velocity(
        self, source: Source, points: list[np.ndarray], time: float, dt: float, pull: np.ndarray
    ) -> list[np.ndarray]:
        """The velocity of a source's liquid at points, less what it holds of a pull (3,) or (3, n) in this step."""
        held = source.supported(points, time, dt)
        return [source.velocity(a, points, time) - held * g for a, g in enumerate(pull[self.grid.axes.start :])]

    def _places(self, source: Source, index: int, time: float, last_dt: float) -> np.ndarray:
        """Places in a source, or due in this step, of this process's lines: rows x, y, z in cells, and 1 if due."""
        lines = self._lines.get(index)
        if lines is None or source.turns:
            every = source.lines(time, self.dx / self.setting.per_axis, self.solids)
            lines = self._lines[index] = every.part(self.ranks.rank, self.ranks.size)
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
        if self._chambers is None or self.solids.moving:
            self._chambers = Chambers(self.solids.space, self.ranks)
        chamber = np.zeros(every, np.int64)
        chamber[mine] = np.where(fresh, 1 + self._chambers.of(cells), 0)
        chamber = self.ranks.total(chamber)
        wanted = np.flatnonzero(chamber)
        return wanted[self._chambers.admit(chamber[wanted] - 1, there, worth)], len(wanted)
