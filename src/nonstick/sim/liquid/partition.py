"""The partition of a simulation: its box of cells with ghost layers, and the particles in it.

A step runs on the cells of a process (`parallel.partition`). On many ranks particles are dealt with like cells:

- particles in ghost cells are copies of those of other ranks, made anew in each step (`surround`); they take part in
  what particles tell the grid, and are dropped before particles move (`release`);
- φ, velocities, the pressure and what evens out particles are exchanged after each stage that reads far;
- a particle that leaves the own cells moves to its new owner at the end of the step (`migrate`).

Positions of particles are in cells from the corner of the rank's grid, or of the active box. They are rounded as
positions in the domain, so that adding and subtracting the corner is exact: all ranks agree on the cell of a particle,
and a particle moves in the same way whatever the box.

The active box: the cells that a step works on. It follows the liquid, so that a step costs what its liquid costs.

Every array of a step covers the active box and nothing else (`parallel.partition.Partition.hold`). Outside there is no
liquid: φ is that of air, and pressure and velocity are zero. The box holds all particles and the sources that flow,
with as many layers around them as a stage of the step reads or a particle moves; a step with faster particles makes it
wider before they move (`Liquid._make_room`).

The box depends on positions, time and the last step alone: a resumed run has the same boxes. It begins at multiples of
`align`, so that it seldom changes, and so that blocks of cells, and blocks of blocks, are those of the domain.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...core.columns import FIELDS, PARTICLES
from ...errors import NonstickError
from ...grid.box import IndexBox
from ...parallel.comm import Comm
from ...parallel.halo import Boxes
from ...parallel.partition import Partition
from ...scenes.scene import Scene
from .settings import BOX

#: the domain is cut again if a rank has this many times the mean number of particles
UNEVEN = 1.3
#: cuts lie at multiples of one of these, the first for which every rank gets a box
ALIGN = (8, 4, 2)
#: fewest ghost layers: the surface at a steep wall looks at particles five cells away, and at the cells beside them
WIDTH = 6


def ghost_layers(cfl: float) -> int:
    """Ghost layers for steps of this CFL number.

    Velocities are continued ⌈CFL⌉ + 2 layers beyond the liquid and then corrected by their neighbours, and particles
    move with the result: more than twice as far as the CFL number says, if the pressure speeds them up.
    """
    return max(WIDTH, math.ceil(cfl) + 4)


def part_of(scene: Scene, comm: Comm, boxes: Boxes) -> ParticlePartition:
    """This rank's part of the domain."""
    return ParticlePartition(comm, boxes, scene.dx, ghost_layers(scene.model.time.cfl))


def cut(scene: Scene, comm: Comm, own: IndexBox, load: np.ndarray) -> Boxes:
    """Boxes with about equal loads; every rank knows the load of the cells in `own`."""
    for align in ALIGN[:-1]:
        try:
            return Boxes.by_liquid(comm, scene.shape, own, load, align)
        except NonstickError:  # on all ranks
            continue
    return Boxes.by_liquid(comm, scene.shape, own, load, ALIGN[-1])


class ParticlePartition(Partition):
    """One process's part of the domain of a simulation, with its particles."""

    def __init__(self, comm: Comm, boxes: Boxes, dx: float, width: int = WIDTH):
        super().__init__(comm, boxes, dx, width)
        self._bounds = _bounds(self.own_box, boxes.shape)
        near = [box.grown(width, boxes.shape) for box in boxes.boxes]
        #: ranks with ghosts among the own cells, and where these are
        self._around = {
            r: _bounds(box, boxes.shape)
            for r, box in enumerate(near)
            if r != comm.rank and box.intersection(self.own_box).size
        }
        #: True if the particles include those in ghost cells
        self._mixed = False

    @property
    def corner(self) -> np.ndarray:
        """Corner of the grid in cells of the domain, on three axes."""
        return np.array(self.held.three().low, float)

    def position(self, x: np.ndarray) -> np.ndarray:
        """Positions in cells from the corner of the domain."""
        return x + self.corner[:, None] if any(self.held.low) else x

    def here(self, x: np.ndarray) -> np.ndarray:
        """Own positions in cells from the corner of this process's grid."""
        return x - self.corner[:, None] if any(self.held.low) else x

    def mine(self, x: np.ndarray) -> np.ndarray:
        """Mask of the positions, in cells from the corner of the domain, that lie in own cells."""
        return _inside(x, *self._bounds)

    def own_starts(self, start: np.ndarray) -> np.ndarray:
        """`start` of a sorted cloud without particles in ghost cells."""
        if not self.shared:
            return start
        out = np.zeros_like(start)
        counts = np.diff(start).reshape(self.grid.shape)
        inside = np.zeros_like(counts)
        self.own(inside)[...] = self.own(counts)
        np.cumsum(inside.reshape(-1), out=out[1:])
        return out

    def born(self, pieces: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Of new particles that the processes have made, in the order of ranks: the positions of mine, their places in
        the order of all, and the number of all. Rows after the three coordinates go with the positions."""
        x = np.concatenate(list(pieces), axis=1)
        if not self.shared:
            return x, None, x.shape[1]
        counts = self.comm.gathered(x.shape[1])
        place = sum(counts[: self.comm.rank]) + np.arange(x.shape[1])
        owner = self.boxes.owner(np.floor(x[3 - len(self.boxes.shape) : 3]).astype(np.int64).T)
        rows = np.column_stack([x.T, place])  # numbers up to 2^53 are exact
        got = self.comm.swapped({int(r): rows[owner == r] for r in np.unique(owner)})
        rows = np.concatenate([np.zeros((0, len(x) + 1)), *got.values()])  # in the order of ranks, so places rise
        return np.ascontiguousarray(rows[:, :-1].T), rows[:, -1].astype(np.int64), sum(counts)

    def own_particles(self, cloud: Any) -> Any:
        """The cloud without particles in ghost cells; the cloud itself is not changed."""
        if not self._mixed:
            return cloud
        out = copy.copy(cloud)
        out.keep(self.mine(self.position(cloud.x)))
        return out

    def surround(self, cloud: Any) -> None:
        """Replace the particles in ghost cells by copies of those that other ranks have there now."""
        if not self.shared:
            return
        x = self.position(cloud.x)
        if self._mixed:
            mine = self.mine(x)
            cloud.keep(mine)
            x = x[:, mine]
        sent = {r: _packed(cloud, x, np.flatnonzero(_inside(x, *box))) for r, box in self._around.items()}
        self._receive(cloud, self.comm.swapped(sent))
        self._mixed = True

    def release(self, cloud: Any) -> None:
        """Remove particles in ghost cells."""
        if self.shared:
            cloud.keep(self.mine(self.position(cloud.x)))
            self._mixed = False

    def migrate(self, cloud: Any) -> None:
        """Send particles to the processes in whose cells they are."""
        if not self.shared:
            return
        x = self.position(cloud.x)
        mine = self.mine(x)
        if not mine.all():
            gone = np.flatnonzero(~mine)
            owner = self.boxes.owner(np.floor(x[3 - len(self.boxes.shape) :, gone]).astype(np.int64).T)
            sent = {int(r): _packed(cloud, x, gone[owner == r]) for r in np.unique(owner)}
            cloud.keep(mine)
        else:
            sent = {}
        self._receive(cloud, self.comm.swapped(sent))

    def _receive(self, cloud: Any, pieces: dict[int, np.ndarray]) -> None:
        """Append particles that other ranks have sent."""
        for piece in pieces.values():
            _append(cloud, piece, self.here)

    def moved(self, state: dict[str, np.ndarray], boxes: Boxes) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint after the domain was cut again: own cells and particles of the new box."""
        out = dict(state)
        cells = np.floor(state["x"][3 - len(boxes.shape) :]).astype(np.int64).T
        owner = boxes.owner(cells)
        thick = self.comm.any(len(state["mu"]) > 0)
        for name in PARTICLES:
            values = state[name].T  # particles along the first axis
            if {"aff": len(state["aff"]) == 9, "mu": thick}.get(name, True):  # the same on all ranks
                sent = {int(r): values[owner == r] for r in np.unique(owner)}
                got = self.comm.swapped(sent)
                empty = np.empty((0, *values.shape[1:]), values.dtype)
                out[name] = np.ascontiguousarray(np.concatenate([empty, *got.values()]).T)
        if out["aff"].shape[0] != 9:
            out["aff"] = np.zeros((len(state["aff"]), out["x"].shape[1]), np.float32)
        new = boxes[self.comm.rank]
        for name in [name for name in FIELDS if name in state]:  # the same on all ranks
            both = {r: self.own_box.intersection(boxes[r]) for r in range(self.comm.size)}
            sent = {r: state[name][b.within(self.own_box)].reshape(-1) for r, b in both.items() if b.size}
            field = np.zeros(new.shape, state[name].dtype)
            for r, values in self.comm.swapped(sent).items():
                there = new.intersection(self.boxes[r])
                field[there.within(new)] = values.reshape(there.shape)
            out[name] = field
        return out


def _bounds(box: IndexBox, shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of a box in cells on three axes; infinite at the ends of the grid."""
    low = [-np.inf if l == 0 else float(l) for l in box.low]
    high = [np.inf if h == n else float(h) for h, n in zip(box.high, shape)]
    none = 3 - len(shape)
    return np.array([-np.inf] * none + low), np.array([np.inf] * none + high)


def _inside(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Mask of positions (3, n) between two corners."""
    out = np.ones(x.shape[1], bool)
    for row, a, b in zip(x, low, high):
        if a > -np.inf:
            out &= row >= a
        if b < np.inf:
            out &= row < b
    return out


def _columns(cloud: Any) -> list[tuple[str, int]]:
    """Columns of a cloud that travel besides positions, and their rows."""
    return [(name, width) for name, width in cloud.columns().items() if width and name != "x"]


def _packed(cloud: Any, x: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Some particles as rows of bytes; x are their positions in cells of the domain."""
    parts = [x] + [getattr(cloud, name) for name, _ in _columns(cloud)]
    rows = [np.ascontiguousarray(np.atleast_2d(p)[:, which].T).view(np.uint8) for p in parts]
    return np.concatenate(rows, axis=1)


def _append(cloud: Any, rows: np.ndarray, here: Callable[[np.ndarray], np.ndarray]) -> None:
    """Append particles that `_packed` has packed."""
    at = 0

    def take(kind: Any, width: int) -> np.ndarray:
        nonlocal at
        size = np.dtype(kind).itemsize * width
        piece = np.ascontiguousarray(rows[:, at : at + size]).view(kind)
        at += size
        return piece.T

    cloud.x = np.concatenate([cloud.x, here(take(float, 3))], axis=1)
    for name, width in _columns(cloud):
        column = getattr(cloud, name)
        new = take(column.dtype, width)
        setattr(cloud, name, np.concatenate([column, new if column.ndim == 2 else new[0]], axis=-1))
    if not cloud.affine:
        cloud.aff = np.zeros((cloud.aff.shape[0], cloud.x.shape[1]), np.float32)


def active_box(parts: Iterable[IndexBox], margin: int, domain: Sequence[int]) -> IndexBox:
    """The box around parts of a domain of this many cells, with at least `margin` layers around them.

    Without parts it is a corner of the domain. A box that fills most of the domain is the domain.

    Examples
    --------
    >>> active_box([IndexBox((40, 21), (50, 30))], 6, (200, 100))
    IndexBox(low=(32, 8), high=(56, 40))
    >>> active_box([IndexBox((40, 21), (190, 95))], 6, (200, 100))
    IndexBox(low=(0, 0), high=(200, 100))
    """
    whole = IndexBox.whole(domain)
    found = [box for box in (part.intersection(whole) for part in parts) if box.size]
    around = reduce(IndexBox.union, found).grown(margin, domain) if found else IndexBox(whole.low, (1,) * len(domain))
    low = tuple(l // BOX.align * BOX.align for l in around.low)
    high = tuple(min(-(-h // BOX.align) * BOX.align, n) for h, n in zip(around.high, domain))
    box = IndexBox(low, high)
    return whole if box.size > BOX.most * whole.size else box


def cells_between(
    low: Sequence[float] | np.ndarray, high: Sequence[float] | np.ndarray, domain: Sequence[int]
) -> IndexBox:
    """The cells of a domain between two corners, in cells, which may be infinite."""
    ends = np.array(domain, float)
    first = np.floor(np.clip(low, 0.0, ends - 1.0)).astype(int)
    last = np.floor(np.clip(high, 0.0, ends - 1.0)).astype(int) + 1
    return IndexBox(tuple(first.tolist()), tuple(last.tolist()))
