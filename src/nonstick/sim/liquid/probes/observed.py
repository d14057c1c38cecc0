"""What a probe sees of a step: surface, velocity, and the pressure of the whole step and its gradient.

A step with split viscosity has several projections; their pressures add up to the force that acted. The pressure of a
cell is its mean over the liquid of the cell, so it belongs to the centre of mass of this liquid. From one cell to the
next, pressure times liquid fraction changes by the gradient times the hat mass between them (`flow.masses`): exactly,
for a linear pressure and a plane surface. In a cell the pressure is linear, the gradient being the mean of the open
faces. This is exact in still water, up to the walls and the surface, for walls anywhere in the cell.

Walls are patches: small areas with their place, the cell they belong to, and their normal. The wall area in a cell
follows from its open faces by the divergence theorem: along each axis it is dx^(d-1) times the open share of the lower
face minus that of the upper face. So the areas of a closed body add up to zero, and those above a floor to the floor,
wherever walls cut the cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar

import numpy as np

from ....discretise._moments import liquid_centres
from ....discretise._pressure import TRACE
from ....grid.faces import lower, upper
from ....grid.fractions import centre_distance, open_fractions
from ....grid.mac import Grid
from ....grid.shapes import Shape
from ....scenes.geometry import SIDES, WALLS, ProbeEntry, build
from ....scenes.scene import Scene
from ..flow.masses import Masses
from ..flow.pressure import PressureResult
from ..solids.on_grid import Solids
from ..step import Liquid


def sample(values: np.ndarray, points: np.ndarray, dx: float, offset: np.ndarray | float) -> np.ndarray:
    """Linear interpolation of an array whose first entry lies `offset` cells from the corner, at points (n, d)."""
    from scipy.ndimage import map_coordinates  # slow to load, and few scenes have probes

    return map_coordinates(np.asarray(values, float), (points / dx - offset).T, order=1, mode="nearest")


class Load:
    """The sum over all projections of a step; arrays are in the user's dimension and in SI units."""

    def __init__(self, dx: float) -> None:
        self.dx, self.count = dx, 0
        self.pressure = np.zeros(())
        self.gradient: list[np.ndarray] = []

    def add(self, outcome: PressureResult, masses: Masses) -> None:
        """Another projection of the step."""
        problem, pressure, rows = outcome.problem, outcome.solution.pressure, outcome.problem.rows
        fraction, hats = masses.fraction.reshape(pressure.shape), masses.hat.user
        #: cells with an unknown
        self.known = rows.to_grid(np.ones(rows.n, np.int8)).astype(bool)
        total = np.where(self.known, pressure * fraction, 0.0)
        slopes = [_gradient(total, hat, axis, self.dx) for axis, hat in enumerate(hats)]
        before = self.pressure
        if self.count:
            self.pressure = self.pressure + pressure
            self.gradient = [a + b for a, b in zip(self.gradient, slopes)]
        else:
            self.pressure, self.gradient = pressure, slopes
            self.centre = liquid_centres(masses.phi)[3 - pressure.ndim :].reshape(-1, *pressure.shape)
        self.count += 1
        self.phi = problem.phi_liquid
        self._weights, self._shares = problem.weights, [w * hat for w, hat in zip(problem.weights, hats)]
        #: least pressure that a cell can have
        least = problem.problem.box.lower / np.maximum(rows.from_grid(fraction), TRACE)
        self.least = before + rows.to_grid(least, fill=-np.inf)
        self._slopes: list[np.ndarray] | None = None

    @property
    def slopes(self) -> list[np.ndarray]:
        """The gradient in cells, one array per axis: the mean over the open faces, weighted by their masses."""
        if self._slopes is None:
            self._slopes = []
            for axis, (g, w) in enumerate(zip(self.gradient, self._shares)):
                low, high = lower(w, axis), upper(w, axis)
                total = low + high
                mean = np.divide(
                    low * lower(g, axis) + high * upper(g, axis), total, out=np.zeros(total.shape), where=total > 0.0
                )
                self._slopes.append(mean)
        return self._slopes

    def at(self, points: np.ndarray, cells: np.ndarray | None = None) -> np.ndarray:
        """Pressure at points (n, d), or at points of the walls of given `cells` (n, d); 0 where there is air."""
        shape = self.known.shape
        if cells is None:
            cells = np.clip(np.floor(points / self.dx).astype(np.int64), 0, np.array(shape) - 1)
        cells = self._wet(cells)
        at = tuple(cells.T)
        away = points - self.dx * (cells + np.stack([c[at] for c in self.centre], axis=1))
        out = self.pressure[at] + sum(g[at] * away[:, axis] for axis, g in enumerate(self.slopes))
        out = np.maximum(out, self.least[at])
        surface = sample(self.phi, points, self.dx, 0.5)
        return np.where(self.known[at] & (surface < 0.0), out, 0.0)

    def _wet(self, cells: np.ndarray) -> np.ndarray:
        """The cells, and in place of a cell without a pressure its neighbour that is deepest in the liquid.

        The centre of a cell may be above the surface while a part of its walls is wet.
        """
        dry = np.flatnonzero(~self.known[tuple(cells.T)])
        if dry.size == 0:
            return cells
        out = cells.copy()
        best = np.zeros(dry.size)
        for axis in range(cells.shape[1]):
            for step in (-1, 1):
                there = cells[dry].copy()
                there[:, axis] += step
                inside = (there[:, axis] >= 0) & (there[:, axis] < self.known.shape[axis])
                there[:, axis] = np.clip(there[:, axis], 0, self.known.shape[axis] - 1)
                at = tuple(there.T)
                face = np.maximum(cells[dry], there)
                open_ = self._weights[axis][tuple(face.T)] > 0.0
                better = inside & open_ & self.known[at] & (self.phi[at] < best)
                out[dry[better]] = there[better]
                best[better] = self.phi[at][better]
        return out


def _gradient(total: np.ndarray, hat: np.ndarray, axis: int, dx: float) -> np.ndarray:
    """The gradient on the faces of an axis, from pressure times liquid fraction; 0 on the sides of the grid."""
    out, inner = np.zeros(hat.shape), (slice(None),) * axis + (slice(1, -1),)
    out[inner] = np.diff(total, axis=axis) / (dx * np.maximum(hat[inner], TRACE))
    return out


@dataclass
class Observed:
    """Fields of one step, in the user's dimension and in SI units."""

    liquid: Liquid
    load: Load
    #: every projection of the step, for the bodies in it
    outcomes: list[PressureResult] = field(default_factory=list)
    #: velocity on the faces, continued into air and walls
    velocity: Sequence[np.ndarray] = ()
    #: distance to the surface at the centres of cells
    phi: np.ndarray = field(default_factory=lambda: np.zeros(()))
    dt: float = 0.0
    #: the time in which forces and pressure acted on the velocities
    kick: float = 0.0

    @property
    def dx(self) -> float:
        return self.liquid.scene.dx

    def surface_distance(self, points: np.ndarray) -> np.ndarray:
        """Distance to the surface at points (n, d): negative in liquid."""
        return sample(self.phi, points, self.dx, 0.5)

    def velocity_at(self, points: np.ndarray) -> np.ndarray:
        """Velocity (n, d) at points."""
        d = points.shape[1]
        out = np.empty(points.shape)
        for axis, u in enumerate(self.velocity):
            offset = np.full(d, 0.5)
            offset[axis] = 0.0
            out[:, axis] = sample(u, points, self.dx, offset)
        return out


AXES = "xyz"


class Probe(ABC):
    """One entry of `[[probe]]`.

    A subclass has the name of its `type` and the columns it fills. `read` is called once for each step, after the
    pressure is known and before the liquid moves; `late` once the surface at the end of the step is known.
    """

    kind: ClassVar[str]

    def __init__(self, name: str, table: ProbeEntry, scene: Scene, key: str):
        self.name, self.table = name, table
        self.d = scene.dimension
        self.scene = scene
        self.region: Shape | None = None
        if table.shape is not None:
            self.region = build(table.shape, scene.folder, f"{scene.where}: {key}.shape")

    @property
    @abstractmethod
    def parts(self) -> dict[str, str]:
        """Names of its numbers, and their units."""

    @property
    def columns(self) -> dict[str, str]:
        """Columns of probes.csv with their units."""
        return {f"{self.name}.{part}": unit for part, unit in self.parts.items()}

    def read(self, seen: Observed) -> list[float] | None:
        """Its numbers in a step; None if they need the surface at the end of the step."""
        return None

    def late(self, seen: Observed) -> list[float]:
        """Its numbers, from the surface at the end of a step."""
        raise NotImplementedError

    def unit(self, in_space: str, in_plane: str) -> str:
        """A unit in 3D, or in 2D, where lengths are per metre of depth."""
        return in_space if self.d == 3 else in_plane

    @property
    def point(self) -> np.ndarray:
        """The point `at` (1, d)."""
        return np.array([self.table.at], float)


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
