"""What a probe sees of a step: surface, velocity, and the pressure of the whole step and its gradient.

A step with split viscosity has several projections; their pressures add up to the force that acted. The pressure of a
cell is its mean over the liquid of the cell, so it belongs to the centre of mass of this liquid. From one cell to the
next, pressure times liquid fraction changes by the gradient times the hat mass between them (`flow.masses`): exactly,
for a linear pressure and a plane surface. In a cell the pressure is linear, the gradient being the mean of the open
faces. This is exact in still water, up to the walls and the surface, for walls anywhere in the cell.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ....discretise._moments import liquid_centres
from ....discretise._pressure import TRACE
from ....grid.faces import lower, upper
from ....grid.shapes import Shape
from ....scenes.geometry import build
from ....scenes.probes import ProbeEntry
from ....scenes.scene import Scene
from ..flow.masses import Masses
from ..flow.pressure import PressureResult
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
