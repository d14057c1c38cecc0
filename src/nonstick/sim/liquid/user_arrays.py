"""The liquid of a simulation as arrays for users: SI units, two or three axes, coordinates beside the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import NonstickError
from ...grid.faces import between
from .particles.tracker import Particles
from .step import Liquid


@dataclass(frozen=True)
class ParticleArrays:
    """The particles of a simulation at one moment; all arrays are copies.

    Attributes
    ----------
    position : ndarray
        (n, d) in metres from the domain's lower corner.
    velocity : ndarray
        (n, d) in m/s.
    id : ndarray
        (n,) a number that stays with a particle, also when the order of the rows changes.
    volume : float
        What a particle stands for, in m³ (2D: m²).
    """

    position: np.ndarray
    velocity: np.ndarray
    id: np.ndarray
    volume: float


@dataclass(frozen=True)
class GridArrays:
    """The grid of a simulation at one moment; all arrays are copies.

    Attributes
    ----------
    cells : tuple of ndarray
        Coordinates of the centres of cells along x, y (and z), in metres. Arrays over cells have one axis for each.
    level_set : ndarray
        Distance to the surface at the centres in metres, negative in the liquid; right near the surface only.
    solid : ndarray
        Distance to the nearest solid at the centres, negative inside; the sides of the domain are not part of it.
    pressure : ndarray
        Pressure of the last step at the centres in Pa, zero in the air.
    velocity : tuple of ndarray
        Velocity in m/s: component a on the faces normal to axis a, so that array is one longer along that axis. Zero on
        faces that no liquid is near.

    Examples
    --------
    >>> from nonstick import Scene, Simulation
    >>> simulation = Simulation(Scene.load("still", {"domain.resolution": 16}))
    >>> _ = simulation.next_frame()
    >>> grid = simulation.grid
    >>> x, y = grid.cells
    >>> grid.pressure.shape, bool(abs(grid.pressure[8, 0] / (9810 * (0.5 - y[0])) - 1) < 0.02)
    ((16, 16), True)
    >>> grid.velocity[0].shape, [len(c) for c in grid.faces(0)]
    ((17, 16), [17, 16])
    """

    cells: tuple[np.ndarray, ...]
    level_set: np.ndarray
    solid: np.ndarray
    pressure: np.ndarray
    velocity: tuple[np.ndarray, ...]

    @property
    def dx(self) -> float:
        """Size of a cell in metres."""
        return 2.0 * float(self.cells[0][0])

    @property
    def liquid(self) -> np.ndarray:
        """True in cells whose centre is in the liquid and outside solids."""
        return (self.level_set < 0.0) & (self.solid >= 0.0)

    @property
    def centre_velocity(self) -> np.ndarray:
        """Velocity (d, ...) at the centres of cells: the mean of two faces for each component."""
        return np.stack([between(u, axis) for axis, u in enumerate(self.velocity)])

    def faces(self, axis: int) -> tuple[np.ndarray, ...]:
        """Coordinates of the centres of the faces normal to an axis."""
        line = self.dx * np.arange(len(self.cells[axis]) + 1)
        return tuple(line if a == axis else c for a, c in enumerate(self.cells))


def read_particles(liquid: Liquid) -> ParticleArrays:
    """The particles of a liquid."""
    tracker = with_particles(liquid)
    cloud = tracker.cloud
    return ParticleArrays(
        np.stack(tracker.points(), axis=1),
        np.ascontiguousarray(cloud.vel[liquid.grid.axes.start :].T, dtype=float),
        cloud.id.copy(),
        tracker.worth * liquid.scene.dx**liquid.scene.dimension,
    )


def read_grid(liquid: Liquid) -> GridArrays:
    """The fields of a liquid on its grid."""
    tracker = liquid.tracker
    if isinstance(tracker, Particles) and not tracker.surface_is_current:
        liquid.update_surface()
    grid, held, whole = liquid.solids.whole, liquid.partition.held.three(), liquid.partition.own_box.three()
    return GridArrays(
        tuple(c.ravel().copy() for c in grid.cells()),
        liquid.phi(),
        liquid.scene.dx * grid.drop(liquid.solids.everywhere("centre")),
        grid.drop(held.moved(liquid.pressure, whole)),
        tracker.face_velocity().map(lambda u: held.moved(u, whole)).user,
    )


def with_particles(liquid: Liquid) -> Particles:
    """The tracker of a liquid, if it has particles."""
    if not isinstance(liquid.tracker, Particles):
        raise NonstickError(
            f"{liquid.scene.where}: there are no particles with surface.track = grid; use `simulation.grid`, or "
            "surface.track = particles"
        )
    return liquid.tracker


def checked(name: str, values, shape: tuple[int, ...]) -> np.ndarray:
    """An array of users: numbers of this shape."""
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise NonstickError(f"{name} has the shape {array.shape}, and {shape} is needed: one row for each particle")
    if not np.isfinite(array).all():
        raise NonstickError(f"{name} contains NaN or infinite numbers; replace them")
    return array


def write_particles(liquid: Liquid, position=None, velocity=None, gradient=None) -> None:
    """Change the particles of a liquid; arrays that are not given stay as they are."""
    tracker, d = with_particles(liquid), liquid.scene.dimension
    n = tracker.count
    if gradient is not None and velocity is None:
        raise NonstickError("a gradient belongs to a velocity: give both")
    x = None
    if position is not None:
        x = checked("position", position, (n, d))
        size = np.array(liquid.solids.whole.size)
        outside = np.flatnonzero(((x < 0.0) | (x > size)).any(axis=1))
        if outside.size:
            where = ", ".join(f"{c:.4g}" for c in x[outside[0]])
            raise NonstickError(f"position has {outside.size} points outside the domain, the first at ({where}) m")
        x = x.T / liquid.scene.dx
    v = None if velocity is None else checked("velocity", velocity, (n, d)).T
    slopes = np.zeros((n, d, d)) if gradient is None else checked("gradient", gradient, (n, d, d))
    tracker.place(x, v, liquid.scene.dx * np.moveaxis(slopes, 0, 2))
