"""Deep liquid without particles: a band of cells below the surface and along walls has them, the rest is on the grid.

A deep cell stands for the particles of a full one, on a lattice, and nothing else changes. On a face the velocity is
the mean of particles and deep liquid by mass, as it is of particles alone; inside the deep liquid the mass is 1. In a
move the liquid goes along the straight lines of particles: particles take the velocity of the grid with them, and deep
liquid takes it from where it was, by cubics. Where deep liquid comes to a cell that is not deep any more, the particles
of its lattice are born, with the velocity and the gradient that they would have; in cells that become deep particles
are retired, because the grid has their velocity (Ferstl et al. 2016 switch between the two by depth as well).

Which cells are deep follows from the particles after a move alone: those with full cells, without solids, for `band`
layers around. So there is no state but these cells and the velocity on their faces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....core.columns import check_array
from ....errors import NonstickError
from ....grid.box import IndexBox
from ....grid.faces import FaceField
from ..partition import ParticlePartition
from ..settings import STEP
from ..tracking import StepFields
from ._deep import Way, _add_deep, _arrivals, _bear, _carry, _deep_energy, _drift, _layers, _occupy, _shares
from ._particles import _cell_of
from .storage import Cloud


class DeepLiquid:
    """The cells whose liquid has no particles, and its velocity on their faces.

    `band` layers of cells around them have particles; `per_axis` is the number of particles of a cell along an axis.
    """

    def __init__(self, solids: Any, band: int, per_axis: int, reach: float):
        self.solids, self.band, self.per_axis = solids, band, per_axis
        #: a solid that moves comes no nearer in a step, in cells
        self._reach = reach
        #: particles that have retired, and those of cells that are not deep any more, less those born
        self.owed = 0
        self._choose(np.zeros(solids.grid.three, np.int8))

    @property
    def partition(self) -> ParticlePartition:
        """The cells of this process."""
        return self.solids.partition

    @property
    def per_cell(self) -> int:
        """Particles of a full cell."""
        return int(self.per_axis**self.solids.grid.dimension)

    @property
    def count(self) -> int:
        """Number of deep cells."""
        return self._count

    # -- which cells are deep -------------------------------------------------------------------------

    def _choose(self, cells: np.ndarray, known: int = 4) -> None:
        """Let these cells be deep, and deep liquid at rest in them; `known` is the number of layers to count."""
        axes, shape = self.solids.grid.axes, cells.shape
        self.cells, self._count, self._known = cells, int(np.count_nonzero(cells)), known
        self._find_edges()
        self.moved = np.zeros((3, *shape), np.float32)
        shapes = [tuple(n + (a == axis) for a, n in enumerate(shape)) for axis in axes]
        #: the share of deep liquid in the mass of faces, and in the density of cells
        self.shares = FaceField([np.zeros(s, np.float32) for s in shapes], axes)
        self._density, self._content = np.zeros(shape, np.float32), np.zeros(shape, np.int8)
        self.velocity, self._next = self.shares.zeros(np.float32), self.shares.zeros(np.float32)
        self._moved_by(0.0)

    def _moved_by(self, farthest: float) -> None:
        """Follow `moved`, whose largest number this is: find the shares of deep liquid."""
        self._farthest = farthest
        if self._count:
            first, corner, reach = self.solids.grid.axes.start, self.partition.corner, self._look(farthest + 1.0)
            for axis, share in [*self.shares.each(), (-1, self._density)]:
                _shares(share, self.cells, *self._edges, reach, self.moved, axis, first, corner)
            #: the number of particles that the deep liquid in each cell stands for
            self._content = np.rint(self._density * np.float32(self.per_cell)).astype(np.int8)

    def _find_edges(self) -> None:
        #: layers of deep cells and of all others, and the cells at the edge between them, as far as they are known
        self._edges = self._layers(self.cells, self._known), self._layers(1 - self.cells, self._known, edge=True)
        inner, outer = self._edges
        self._edge = np.flatnonzero((inner < self._known) & (outer < self._known))

    def _look(self, way: float) -> int:
        """Layers to look at for liquid that moves so far, in cells; as many are known."""
        reach = self._reach_of(way)
        if reach > self._known:
            self._known = reach
            self._find_edges()
        return reach

    @staticmethod
    def _reach_of(way: float) -> int:
        """Layers that are enough to look at for liquid that moves so far, in cells."""
        return int(min(np.ceil(way) + 1, 100))

    def _layers(self, inside: np.ndarray, most: int, edge: bool = False) -> np.ndarray:
        out, along, across = (np.empty(inside.shape, np.int8) for _ in range(3))
        _layers(out, along, across, inside, most, edge, self.solids.grid.axes.start)
        return out

    def _depth(self, there: np.ndarray, kept: Sequence[IndexBox]) -> np.ndarray:
        """Distance of cells, in layers, to the nearest without liquid `there`, or that may not be deep."""
        solids, held = self.solids, self.partition.held.three()
        full = there & (solids.space > 1.0 - 1e-9)
        if not solids.rests:
            full &= solids.centre > self._reach
        for box in kept:
            part = box.three().intersection(held)
            if part.size:
                full[part.within(held)] = False
        return self._layers(full.view(np.int8), self.band + 3)

    def begin(self, counts: np.ndarray, kept: Sequence[IndexBox]) -> None:
        """Choose the first deep cells, by the number of particles that cells would have; nothing moves yet."""
        there = (counts > 0).reshape(self.cells.shape)
        self._choose((self._depth(there, kept) > self.band).astype(np.int8))

    def set_velocity(self, axis: int, faces: np.ndarray, values: np.ndarray | float) -> None:
        """Give faces of an axis, by their numbers, a velocity."""
        self.velocity[axis].reshape(-1)[faces] = values

    def held(self, start: np.ndarray) -> np.ndarray:
        """Number of particles in cells by the `start` of a sorted cloud, with those that deep liquid stands for."""
        return np.diff(start) + self._content.reshape(-1)

    def filled(self, start: np.ndarray) -> np.ndarray:
        """The `start` of a sorted cloud as if deep cells, and those around them that lack particles, were full.

        So liquid beside deep liquid is inside, whatever the noise of its particles is, and the surface is not looked
        for where particles are missing.
        """
        if not self._count:
            return start
        held, empty = self.held(start), (self._content == 0).astype(np.int8)
        near = self._layers(empty, STEP.deep + 1, edge=True).reshape(-1) <= STEP.deep
        held[near] = np.maximum(held[near], self.per_cell)
        out = np.zeros_like(start)
        np.cumsum(held, out=out[1:])
        return out

    def outside(self, x: np.ndarray) -> np.ndarray:
        """True for positions (3, n) that are not in deep cells."""
        return self.cells.reshape(-1)[self._cells_of(x)] == 0

    def _cells_of(self, x: np.ndarray) -> np.ndarray:
        out = np.empty(x.shape[1], np.int32)
        _cell_of(out, x, *self.cells.shape)
        return out

    def counts(self, x: np.ndarray) -> np.ndarray:
        """How many of the positions (3, n) are in each cell."""
        return np.bincount(self._cells_of(x), minlength=self.cells.size)

    def follow(self, old: IndexBox, new: IndexBox) -> None:
        """Let the fields cover another box of cells, on three axes."""
        velocity, moved = self.velocity.map(lambda a: old.moved(a, new)), [old.moved(a, new) for a in self.moved]
        farthest = self._farthest
        self._choose(old.moved(self.cells, new), self._known)
        self.velocity, self.moved = velocity, np.stack(moved)
        self._moved_by(farthest)

    # -- a step ---------------------------------------------------------------------------------------

    def add_to(self, pairs: Sequence[np.ndarray], density: np.ndarray) -> None:
        """Add mass and momentum to the sums over particles on the faces of each axis, and to their density."""
        if self._count:
            for axis, share in self.shares.each():
                _add_deep(pairs[axis], share, self.velocity[axis], float(self.per_cell))
            density += self._density * np.float32(self.per_cell)

    def hold(self, density: np.ndarray) -> None:
        """Let the density of particles be even wherever deep liquid has a part in it."""
        density[self._density > 0.0] = self.per_cell

    def close(self, shift: FaceField) -> None:
        """Let what evens out particles move none through faces of deep liquid, which is even."""
        for axis, share in self.shares.each():
            shift[axis][share > 0.0] = 0.0

    def move(self, cloud: Cloud, step: StepFields) -> None:
        """Move the deep liquid after the particles have moved; if it is time, let particles be born and retire."""
        cells, corner, rate = self._cells_of(cloud.x), self.partition.corner, step.dt / self.solids.grid.dx
        found = np.zeros((3, 0), np.float32)
        if self._count:
            self._look(step.way + self._farthest + 1.0)
            found = np.empty((3, self._edge.size), np.float32)
            _drift(found, self._edge, self.moved, *step.velocity, rate, corner)
        before, edge = self.moved.reshape(3, -1)[:, self._edge], self._edge
        self.moved.reshape(3, -1)[:, edge] = found
        self._moved_by(float(np.abs(found).max(initial=0.0)))
        there = self._content > 0
        _occupy(there.view(np.int8).reshape(-1), cells)
        depth = self._depth(there, step.kept)
        if self._is_time(depth):
            self.moved.reshape(3, -1)[:, edge] = before
            self._exchange(cloud, cells, depth, step)
        for axis, out in self._next.each() if self._count else ():
            _carry(out, self.shares[axis], step.velocity[axis], *step.velocity, self.cells, rate, axis, corner)
        self.velocity, self._next = self._next, self.velocity

    def _is_time(self, depth: np.ndarray) -> bool:
        """True if deep liquid has moved far, or has come too near to the surface, or the surface is far away."""
        if not self.band:
            return self._count > 0
        inside = self._density > 0.5
        near, far = inside & (depth < self.band), ~inside & (depth > self.band + 2)
        return self._farthest > STEP.deep or bool(near.any() or far.any())

    def _exchange(self, cloud: Cloud, cells: np.ndarray, depth: np.ndarray, step: StepFields) -> None:
        """Choose the deep cells anew: the particles in them retire, and deep liquid elsewhere becomes particles.

        `moved` is that before the step.
        """
        old, before, moved, outer = self.cells, self._count, self.moved, self._edges[1]
        grid = self.solids.grid
        way = Way(step.dt / grid.dx, self.per_axis, grid.axes.start, self.partition.corner, step.number)
        new = ((depth > self.band) & (self.band > 0)).astype(np.int8)
        where = np.flatnonzero((outer < self._known) & (new == 0))
        numbers, places = np.zeros(where.size, np.int64), np.zeros(where.size, np.uint64)
        if before:
            _arrivals(numbers, places, where, old, moved, step.velocity.arrays, way)
        self._choose(new)
        gone = new.reshape(-1)[cells] != 0
        self.owed += int(np.count_nonzero(gone)) + self.per_cell * (before - self._count)
        if gone.any():
            cloud.keep(~gone)
        if numbers.any():
            self._bear(cloud, (where, places), numbers, step.velocity, way)

    def _bear(self, cloud: Cloud, at: tuple[np.ndarray, ...], numbers: np.ndarray, u: FaceField, way: Way) -> None:
        """Add particles at these places of cells, so many in each, but no more than are owed: then some, evenly."""
        begin, n = np.cumsum(numbers) - numbers, int(numbers.sum())
        x, vel, aff = np.full((3, n), 0.5), np.zeros((3, n), np.float32), np.zeros((9, n), np.float32)
        _bear((x, vel, aff), *at, begin, u.arrays, way, cloud.affine, self.cells.shape)
        most = min(max(self.owed, 0), n)
        if most < n:
            turns = np.arange(n + 1) * most // n
            some = turns[1:] > turns[:-1]
            x, vel, aff = x[:, some], vel[:, some], aff[:, some]
        cloud.add(x, vel)
        if cloud.affine:
            cloud.aff[:, cloud.n - most :] = aff
        self.owed -= most

    # -- numbers --------------------------------------------------------------------------------------

    def fastest(self) -> float:
        """The largest velocity component."""
        return self.velocity.largest() if self._count else 0.0

    def energy(self, gravity: np.ndarray, back: float) -> tuple[float, float]:
        """Sums as those of `accounts.energy`, for the particles that deep cells stand for."""
        if not self._count:
            return 0.0, 0.0
        kinetic, height = 0.0, 0.0
        for axis, share in self.shares.each():
            squares, sums = np.empty(share.shape[0]), np.empty(share.shape[0])
            _deep_energy(squares, sums, share, self.velocity[axis])
            kinetic += 0.5 * float(squares.sum())
            height += gravity[axis] * back * float(sums.sum())
            across = tuple(a for a in range(3) if a != axis)
            places = np.arange(share.shape[axis] - 1) + 0.5 + self.partition.corner[axis]
            height -= gravity[axis] * float(self._density.sum(axis=across, dtype=float) @ places)
        return self.per_cell * kinetic, self.per_cell * height

    # -- checkpoints ----------------------------------------------------------------------------------

    def everywhere(self) -> np.ndarray:
        """The numbers of the deep cells among those of the domain."""
        return self._numbers(self.cells)

    def _numbers(self, mask: np.ndarray) -> np.ndarray:
        held, whole = self.partition.held.three(), self.solids.whole.three
        at = np.nonzero(mask)
        return np.ravel_multi_index(tuple(a + l for a, l in zip(at, held.low)), whole).astype(np.int64)

    def state(self) -> dict[str, np.ndarray]:
        """The deep cells and the velocity of the faces with a share of them, axis by axis."""
        values = [self.velocity[axis][share > 0] for axis, share in self.shares.each()]
        moved = np.any(self.moved != 0.0, axis=0)
        return {
            "deep": self.everywhere(), "deep_velocity": np.concatenate(values),
            "deep_owed": np.array([self.owed, self._known]),
            "deep_edge": self._numbers(moved), "deep_moved": self.moved[:, moved],
        }  # fmt: skip

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Deep liquid of a checkpoint, on a grid that covers the domain; none if it has none."""
        cells, moved = np.zeros(self.cells.size, np.int8), np.zeros((3, self.cells.size), np.float32)
        if "deep" in state:
            cells[state["deep"]] = 1
            moved[:, state["deep_edge"]] = state["deep_moved"]
        self.owed, known = map(int, state.get("deep_owed", (0, 4)))
        self._choose(cells.reshape(self.cells.shape), known)
        self.moved = moved.reshape(self.moved.shape)
        self._moved_by(float(np.abs(moved).max(initial=0.0)))
        values = state.get("deep_velocity", np.zeros(0, np.float32))
        if values.size != sum(int(np.count_nonzero(share)) for _, share in self.shares.each()):
            raise NonstickError("deep_velocity has not as many numbers as deep liquid has faces")
        begin = 0
        for axis, share in self.shares.each():
            there = share > 0
            end = begin + int(np.count_nonzero(there))
            self.velocity[axis][there] = values[begin:end]
            begin = end


def check_deep(state: Mapping[str, np.ndarray], domain: Sequence[int]) -> None:
    """Refuse deep liquid of a checkpoint that a domain of this many cells cannot have."""
    if not any(name.startswith("deep") for name in state):
        return
    for name in ("deep", "deep_edge"):
        cells = check_array(name, state, (None,), np.int64, 0, int(np.prod(domain)) - 1)
        if (np.diff(cells) <= 0).any():
            raise NonstickError(f"{name} does not rise")
    check_array("deep_moved", state, (3, state["deep_edge"].size), np.float32, -90.0, 90.0)
    check_array("deep_velocity", state, (None,), np.float32)
    check_array("deep_owed", state, (2,), np.int64)
    check_array("deep_owed", {"deep_owed": state["deep_owed"][1:]}, (1,), np.int64, 4, 100)
