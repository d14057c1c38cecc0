"""Pieces of walls: small areas with their place, the cell they belong to, and their normal.

The wall area in a cell follows from its open faces by the divergence theorem: along each axis it is dx^(d-1) times the
open share of the lower face minus that of the upper face. So the areas of a closed body add up to zero, and those above
a floor to the floor, wherever walls cut the cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ....grid.fractions import centre_distance, open_fractions
from ....grid.mac import Grid
from ....grid.shapes import Shape
from ....scenes.probes import SIDES, WALLS
from ..solids.on_grid import Solids
from .observed import sample

#: points along each tangent on which a piece of wall is looked at
FINE = {2: 8, 3: 4}


@dataclass(frozen=True)
class Patches:
    """Pieces of wall, one a row."""

    #: cell that the piece bounds (n, d)
    cell: np.ndarray
    #: middle of the piece in metres (n, d)
    x: np.ndarray
    #: area times the unit normal into the solid, in m² (2D: m) (n, d)
    area: np.ndarray

    @classmethod
    def none(cls, d: int) -> Patches:
        return cls(np.empty((0, d), np.int64), np.empty((0, d)), np.empty((0, d)))

    @classmethod
    def join(cls, parts: list[Patches], d: int) -> Patches:
        parts = parts or [cls.none(d)]
        return cls(*(np.concatenate([getattr(p, key) for p in parts]) for key in ("cell", "x", "area")))

    def keep(self, which: np.ndarray) -> Patches:
        return Patches(self.cell[which], self.x[which], self.area[which])


def solid_patches(grid: Grid, phi: np.ndarray, mine: np.ndarray | None = None) -> Patches:
    """The surface of solids given by their distance at the nodes, in metres; `mine` is a mask over cells."""
    d, dx = grid.dimension, grid.dx
    area = []
    for axis, w in enumerate(open_fractions(phi)):
        n = w.shape[axis]
        area.append(dx ** (d - 1) * (np.take(w, range(n - 1), axis) - np.take(w, range(1, n), axis)))
    there = np.any([a != 0.0 for a in area], axis=0)
    if mine is not None:
        there &= mine
    cell = np.argwhere(there)
    if not cell.size:
        return Patches.none(d)
    at = tuple(cell.T)
    whole = np.stack([a[at] for a in area], axis=1)
    x, which = _points_on(grid, phi, cell, whole)
    share = np.bincount(which, minlength=len(cell))
    return Patches(cell[which], x, whole[which] / share[which][:, None])


def _points_on(grid: Grid, phi: np.ndarray, cell: np.ndarray, area: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of the wall in each cell, spread over it, and the row of the cell each belongs to.

    From the foot of the cell's centre on the wall the points go along its tangents as far as the cell reaches. A cell
    in which none lies (the wall cuts off only a corner) has the point of the cell nearest to the wall.
    """
    d, dx = grid.dimension, grid.dx
    normal = area / np.linalg.norm(area, axis=1)[:, None]
    centre = dx * (cell + 0.5)
    # along the normal, which points into the solid, the distance to the wall falls to zero
    foot = centre + centre_distance(phi)[tuple(cell.T)][:, None] * normal
    steps = (2.0 * dx) * ((np.arange(2 * FINE[d]) + 0.5) / (2 * FINE[d]) - 0.5)
    parts, rows = [], []
    for offsets in product(steps, repeat=d - 1):
        x = foot + sum(o * t for o, t in zip(offsets, _tangents(normal)))
        inside = (np.abs(x - centre) <= dx * (0.5 + 1e-9)).all(axis=1)
        parts.append(x[inside])
        rows.append(np.flatnonzero(inside))
    found = np.concatenate(rows)
    missing = np.setdiff1d(np.arange(len(cell)), found)
    nearest = np.clip(foot[missing], centre[missing] - 0.5 * dx, centre[missing] + 0.5 * dx)
    return np.concatenate([*parts, nearest]), np.concatenate([found, missing])


def _tangents(normal: np.ndarray) -> list[np.ndarray]:
    """Unit vectors normal to `normal` (n, d) and to each other."""
    if normal.shape[1] == 2:
        return [np.stack([-normal[:, 1], normal[:, 0]], axis=1)]
    other = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
    first = np.cross(normal, other)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return [first, np.cross(normal, first)]


def side_patches(grid: Grid, phi: np.ndarray | None, axis: int, upper: bool) -> Patches:
    """The part of a side of the grid that lies outside solids."""
    d, dx = grid.dimension, grid.dx
    shape = list(grid.shape)
    shape[axis] = 1
    cell = np.argwhere(np.ones(shape, bool))
    cell[:, axis] = (grid.shape[axis] - 1) * upper
    open_ = np.ones(len(cell))
    if phi is not None:
        face = cell.copy()
        face[:, axis] += upper
        open_ = open_fractions(phi)[axis][tuple(face.T)]
    steps = (np.arange(FINE[d]) + 0.5) / FINE[d] - 0.5
    parts, rows = [], []
    for offsets in product(steps, repeat=d - 1):
        x = dx * (cell + 0.5)
        x[:, axis] = grid.size[axis] * upper
        for a, o in zip([a for a in range(d) if a != axis], offsets):
            x[:, a] += o * dx
        free = open_ > 0.0
        if phi is not None:
            free &= sample(phi, x, dx, 0.0) >= 0.0
        parts.append(x[free])
        rows.append(np.flatnonzero(free))
    which = np.concatenate(rows)
    share = np.bincount(which, minlength=len(cell))
    area = np.zeros((len(which), d))
    area[:, axis] = (1.0 if upper else -1.0) * dx ** (d - 1) * open_[which] / share[which]
    return Patches(cell[which], np.concatenate(parts), area)


class Surroundings:
    """Pieces of the walls of a scene; those that never move are found once."""

    def __init__(self, solids: Solids):
        self.solids = solids
        self.names = solids.scene.model.solid_names
        self._found: dict[str, tuple[Patches, np.ndarray]] = {}
        self._time = -1.0

    def patches(self, name: str, region: Shape | None = None) -> tuple[Patches, np.ndarray]:
        """Pieces of the wall of that name, in a region, and the velocity (n, d) of the wall there."""
        if self.solids.driven and self._time != self.solids.time:
            self._found.clear()
            self._time = self.solids.time
        key = f"{name}/{id(region)}"
        if key not in self._found:
            found = self._of(name)
            if region is not None:
                found = found.keep(np.asarray(region(*found.x.T)) < 0.0)
            self._found[key] = found, self._moving(found)
        return self._found[key]

    def _of(self, name: str) -> Patches:
        solids, d = self.solids, self.solids.grid.dimension
        static = [k for k, s in enumerate(solids.list) if s.body is None]
        phi = np.minimum.reduce([solids.distances[k] for k in static]) if static else None
        parts = []
        for index, side in enumerate(SIDES[: 2 * d]):
            if name in (side, WALLS):
                parts.append(side_patches(solids.grid, phi, index // 2, bool(index % 2)))
        if phi is not None:
            owner = np.argmin([centre_distance(solids.distances[k]) for k in static], axis=0)
            for k in static:
                if k >= len(self.names):  # the sides of a domain that is not a whole number of cells
                    around = solid_patches(solids.grid, phi, owner == k)
                    parts += [around] if name == WALLS else [_facing(around, name)] if name in SIDES else []
                elif name in (self.names[k], WALLS):
                    parts.append(solid_patches(solids.grid, phi, owner == k))
        return Patches.join(parts, d)

    def _moving(self, found: Patches) -> np.ndarray:
        """The velocity of the solids at pieces of their walls."""
        solids, out = self.solids, np.zeros(found.x.shape)
        if not solids.driven:
            return out
        static = [k for k, s in enumerate(solids.list) if s.body is None]
        owner = np.argmin([centre_distance(solids.distances[k]) for k in static], axis=0)[tuple(found.cell.T)]
        inside = np.min([centre_distance(solids.distances[k]) for k in static], axis=0)[tuple(found.cell.T)]
        for row, k in enumerate(static):
            solid = solids.list[k]
            here = np.flatnonzero((owner == row) & (inside < solids.grid.dx))
            if solid.motion is not None and here.size:
                for axis in range(solids.grid.dimension):
                    out[here, axis] = solid.motion.velocity(axis, tuple(found.x[here].T), solids.time)
        return out


def _facing(found: Patches, side: str) -> Patches:
    """The pieces whose normal is that of a side of the domain."""
    axis, upper = divmod(SIDES.index(side), 2)
    most = np.argmax(np.abs(found.area), axis=1) == axis
    return found.keep(most & ((found.area[:, axis] > 0) == bool(upper)))
