"""The particles that sources emit in a step: those of the lattice in a source that have become empty and have room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...scenes.scene import Scene
from .seeding import seed_slabs
from .solids import Solids
from .sources import Chambers, Source, crowding, has_room


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
    """Chooses the particles that sources emit."""

    def __init__(self, scene: Scene, solids: Solids):
        self.setting, self.dx = scene.model.particles, scene.dx
        self.solids, self.layout, self.ranks = solids, solids.layout, solids.ranks
        self._chambers: Chambers | None = None
        #: indices of sources without room for their liquid
        self._choked: set[int] = set()

    def open(
        self, source: Source, index: int, time: float, step: int, last_dt: float, start: np.ndarray, worth: float
    ) -> Emitted:
        """The particles that a source emits at a time; `start` is that of the sorted particles, of volume `worth`.

        Every process looks at the positions in its own cells; they have numbers among those of all processes.
        """
        setting, ranks = self.setting, self.ranks
        width = self.dx / setting.per_axis
        counts = np.diff(start)
        rng = np.random.default_rng([setting.seed, index, step])
        drift = source.drift(time, width)
        slabs = seed_slabs(
            source.at(time), self.solids, setting.per_axis, setting.jitter, rng, lambda x: drift(self.dx * x) / self.dx
        )
        x, mine, every = ranks.born(slabs)
        mine = np.arange(every) if mine is None else mine
        cells = np.ravel_multi_index(tuple(ranks.here(x).astype(np.int64)), self.layout.three)
        fresh = source.fresh([self.dx * c for c in self.layout.drop_points(x)], time, last_dt, width)
        room = has_room(self.solids.space.reshape(-1)[cells] / worth - counts[cells])
        fresh &= room | (not source.began(time, last_dt))  # space that is full already is not filled
        fresh |= (counts[cells] == 0) & room
        there = worth * counts.reshape(self.layout.three)
        chosen, wanted = self._chosen(fresh, cells, mine, every, there, worth)
        choked = len(chosen) < wanted and index not in self._choked
        if choked:
            self._choked.add(index)
        place = np.full(every, -1)
        place[chosen] = np.arange(len(chosen))
        place = place[mine]
        x, cells, place = x[:, place >= 0], cells[place >= 0], place[place >= 0]
        new = worth * np.bincount(cells, minlength=there.size).reshape(there.shape)
        return Emitted(x, place, len(chosen), crowding(there, new, self.solids.space, ranks), choked)

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
