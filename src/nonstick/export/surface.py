"""The liquid's surface as a mesh for pictures: closed, smooth, cut by the walls, moving with its velocity.

Three ways to find it. `grid` takes the level set of the simulation, between whose samples films thinner than a cell
are rows of dashes. `particles` measures the distance to the particles on samples finer than the grid: films are sheets
and drops are drops. `splashsurf` hands the particles to pysplashsurf, which works without the walls.

Walls. Liquid next to a wall has no particles on the other side, which would round its surface off and lift it from the
wall. Particles near a wall therefore count together with their mirror images in it, along the horizontal at a steep
wall, so that a level surface stays level up to the wall, and φ goes on into the wall as if it were not there. A level
set becomes max(φ, -distance to the wall). A mesh is cut one sample further back, and its vertices in the wall are then
brought to the wall: a film thinner than a sample would otherwise end in dashes, and this way the line of contact is
as smooth as the surface itself, and no vertex lies in a wall.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..errors import NonstickError
from ..optional import need
from . import _surface
from .frame import Frame
from .mesh import Mesh, of_level_set, of_plane
from .shot import Shot
from .velocity import at_points

Kind = Literal["grid", "particles", "splashsurf"]
KINDS = ("grid", "particles", "splashsurf")

#: share of a full neighbourhood of particles that only samples in a body of liquid have, and none in a film
CORE = 0.58
#: passes of the filter per refinement
PASSES = 1
#: φ reaches at most this far from a particle, in distances between particles
LARGEST = 1.5
#: by how much the balls of single particles are larger, times the square of the refinement, in cells
DROP = 0.56
#: largest shift of the level set that brings the volume to the ledger's, in cells
SHIFT = 0.3
#: how far behind walls a mesh is cut, in samples
BEHIND = 1.0
#: samples outside the domain on every side
PAD = 3


def liquid_mesh(shot: Shot, frame: Frame, kind: Kind = "particles", refine: int = 2) -> Mesh:
    """The liquid of a frame as a closed mesh with velocities (2D: flat triangles at z = 0).

    Parameters
    ----------
    shot : Shot
        The run.
    frame : Frame
        One of its frames.
    kind : str
        "grid", "particles" or "splashsurf".
    refine : int
        Samples a cell along each axis.

    Examples
    --------
    >>> shot = Shot("runs/sphere")                                   # doctest: +SKIP
    >>> liquid_mesh(shot, shot.frame(40), refine=2).open_edges()     # doctest: +SKIP
    0
    """
    kind = usable(shot, frame, kind)
    if kind == "splashsurf":
        mesh = _splashsurf(shot, frame, refine)
    else:
        h = frame.dx / refine
        phi, solid = _distances(shot, frame, kind, refine)
        corner = [(0.5 - PAD) * h] * frame.dimension
        of = of_level_set if frame.dimension == 3 else of_plane
        mesh = of(_cut_behind(phi, solid, h), h, corner)
        mesh = mesh.with_(vertices=_out_of_walls(mesh.vertices, solid, h, corner))
    return mesh.with_(velocity=_velocity(frame, mesh.vertices))


def usable(shot: Shot, frame: Frame, kind: Kind) -> Kind:
    """The kind of surface a frame can give: 2D frames and liquid tracked on the grid have the grid's only."""
    if kind not in KINDS:
        raise NonstickError(f"--surface is one of {', '.join(KINDS)}, not {kind!r}")
    tracked = shot.scene.model.surface.track == "grid"
    if frame.dimension == 2 or tracked or not frame.count:
        return "grid"
    return kind


def level_set(shot: Shot, frame: Frame, kind: Kind, refine: int) -> np.ndarray:
    """φ in metres, cut by the walls, on cells `refine` times as fine as the grid, with PAD more on every side."""
    phi, solid = _distances(shot, frame, kind, refine)
    return np.maximum(phi, -solid)


def _distances(shot: Shot, frame: Frame, kind: Kind, refine: int) -> tuple[np.ndarray, np.ndarray]:
    """φ, going on into walls, and the distance to walls, both in metres."""
    solid = shot.solid(frame, refine, PAD)
    return (_from_particles(shot, frame, refine, solid) if kind == "particles" else _from_grid(frame, refine)), solid


def _cut_behind(phi: np.ndarray, solid: np.ndarray, h: float) -> np.ndarray:
    """φ that ends one sample behind the walls.

    Where two walls meet the distance to both is zero in the seam; samples there count as behind a wall too, unless
    they are next to one that is not in a wall.
    """
    from scipy.ndimage import maximum_filter

    near = maximum_filter((solid > 0.0).view(np.uint8), 3)
    return np.maximum(phi, np.where(near, -solid - np.float32(BEHIND * h), np.float32(0.5 * h)))


def _out_of_walls(vertices: np.ndarray, solid: np.ndarray, h: float, corner: Sequence[float]) -> np.ndarray:
    """Vertices in walls brought to the nearest point of the wall, by a few steps along the slope of the distance."""
    if not len(vertices):
        return vertices
    d = solid.ndim
    x = np.full(vertices.shape, 0.5)
    x[:, :d] = (vertices[:, :d] - np.asarray(corner)) / h  # in samples
    wall = solid / np.float32(h)
    wall = wall if d == 3 else np.repeat(wall[:, :, None], 2, axis=2)
    seam = np.empty(len(x), bool)
    _surface._bring_out(x, seam, wall)
    if seam.any():
        x[seam] = _towards_open(x[seam], wall)
    out = vertices.copy()
    out[:, :d] = x[:, :d] * h + np.asarray(corner)
    return out


def _towards_open(x: np.ndarray, solid: np.ndarray) -> np.ndarray:
    """Where the way from points in walls to the nearest sample that is not in a wall leaves the wall.

    For points near a seam of two walls, where the distance is zero although all is wall.
    """
    from scipy.ndimage import map_coordinates

    steps = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    around = np.clip(np.round(x).astype(np.int64) + steps, 0, np.array(solid.shape) - 1)
    far = np.where(solid[tuple(np.moveaxis(around, -1, 0))] > 0.0, ((around - x) ** 2).sum(axis=-1), np.inf)
    best = far.argmin(axis=0)
    found = np.isfinite(far.min(axis=0))
    goal = around[best, np.arange(len(x))].astype(float)
    low, high = np.zeros(len(x)), np.ones(len(x))
    for _ in range(8):
        middle = 0.5 * (low + high)
        here = (x + middle[:, None] * (goal - x)).T
        inside = map_coordinates(solid, here, order=1, mode="nearest") < -0.005
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return np.where(found[:, None], x + high[:, None] * (goal - x), x)


def _from_grid(frame: Frame, refine: int) -> np.ndarray:
    """The level set of the simulation, smoothed a little, linear between its samples."""
    from scipy.ndimage import correlate1d

    from .shot import _between

    phi = np.asarray(frame.level, np.float32)
    for axis in range(phi.ndim):
        # one pass of a ⅛-¾-⅛ filter takes the grain of single particles out of the surface
        phi = correlate1d(phi, np.array([0.125, 0.75, 0.125], np.float32), axis, mode="nearest")
    for axis, n in enumerate(frame.grid.shape):
        phi = _between(phi, (np.arange(-PAD, n * refine + PAD) + 0.5) / refine - 0.5, axis)
    return phi


def _from_particles(shot: Shot, frame: Frame, refine: int, solid: np.ndarray) -> np.ndarray:
    from scipy.ndimage import maximum_filter

    dx = frame.dx
    per_cell = shot.scene.model.particles.per_axis**3
    spacing = per_cell ** (-1 / 3)
    table = _surface.flat_distance()
    # A single particle becomes a ball where T is zero; this reach gives the ball the particle's volume.
    zero = float(np.interp(0.0, table, np.linspace(0.0, 1.0, table.size)))
    radius = (3.0 / (4.0 * np.pi * per_cell)) ** (1 / 3)
    reach = radius / zero
    # A mesh of few triangles lies within its ball: a larger ball gives the mesh the volume.
    drop = radius + DROP / refine**2
    margin = int(np.ceil(reach))
    x = np.asarray(frame.arrays["position"], np.float32) / np.float32(dx)
    own = len(x)
    x = np.ascontiguousarray(_with_images(x, shot, frame, reach), np.float32)
    box = tuple(n + 2 * margin for n in frame.grid.shape)
    end = np.zeros(box, np.int64)
    order = np.empty(len(x), np.int64)
    _surface._sort(order, end, x, margin)
    count = np.diff(end.ravel(), prepend=0).reshape(box)
    x = np.ascontiguousarray(x[order].T)
    cell = np.repeat(np.arange(count.size), count.ravel())
    # the particles of a crowded cell weigh together as much as those of a full one
    weight = np.minimum(1.0, per_cell / np.maximum(count, 1)).astype(np.float32).ravel()[cell]
    shape = tuple(n * refine + 2 * PAD for n in frame.grid.shape)
    phi, share, again = (np.empty(shape, np.float32) for _ in range(3))
    full = per_cell * 64.0 / 315.0 * np.pi * reach**3
    _surface._particle_distance(
        phi, share, solid / np.float32(dx), x, weight, end, _kinds(count, per_cell), margin, refine, PAD, reach,
        LARGEST * spacing, drop, table, full,
    )  # fmt: skip
    bulk = maximum_filter((share > CORE).view(np.uint8), 2 * refine + 1)
    for _ in range(PASSES * refine):
        _surface._smooth(again, phi, bulk)
        phi, again = again, phi
    # Volume is held by shifting the bulk; drops and films have theirs.
    place = (frame.arrays["position"].T * (refine / dx)).astype(np.int64) + PAD
    place = np.clip(place, 0, np.array(shape)[:, None] - 1)
    thick = float(np.count_nonzero(bulk[tuple(place)])) / own
    ledger = shot.volume(frame)
    target = thick * (own / per_cell if ledger is None else ledger / dx**3) * refine**3
    np.add(phi, _shift(phi, solid / np.float32(dx), bulk, target, refine), out=phi, where=bulk.view(bool))
    return phi * np.float32(dx)


def _kinds(count: np.ndarray, per_cell: int) -> np.ndarray:
    """Of every cell: 0 if it and its 26 neighbours are empty, 2 if all of them are well filled, else 1."""
    from scipy.ndimage import maximum_filter, minimum_filter

    near = maximum_filter((count > 0).view(np.uint8), 3, mode="constant")
    full = minimum_filter((count >= 0.5 * per_cell).view(np.uint8), 3, mode="constant")
    return near + full


def _with_images(x: np.ndarray, shot: Shot, frame: Frame, reach: float) -> np.ndarray:
    """Particles in cells, and their mirror images in walls nearer than the reach."""
    if shot.walls or shot.bodies:
        gravity = np.array(shot.scene.gravity, float)
        up = -gravity / max(float(np.linalg.norm(gravity)), 1e-300)
        image, good = np.empty_like(x), np.empty(len(x), bool)
        _surface._mirror(image, good, x, shot.inner_walls(frame), reach, up)
        x = np.concatenate([x, image[good]])
    for axis, size in enumerate(np.array(shot.scene.model.domain.size) / frame.dx):
        low, high = x[x[:, axis] < reach], x[x[:, axis] > size - reach]
        low[:, axis] *= -1
        high[:, axis] = 2 * size - high[:, axis]
        x = np.concatenate([x, low, high])
    return x


def _shift(phi: np.ndarray, solid: np.ndarray, bulk: np.ndarray, target: float, refine: int) -> np.float32:
    """What to add to φ (in cells) so that the volume in samples of the bulk, outside walls, is the target; bounded."""
    here = (bulk != 0) & (solid > -0.5 / refine) & (phi < SHIFT + 0.5 / refine)
    room = np.clip(0.5 + solid[here] * refine, 0.0, 1.0)
    value = phi[here]
    deep = value <= -(SHIFT + 0.5 / refine)
    inside = float(room[deep].sum())
    room, value = room[~deep], value[~deep]
    low, high = -SHIFT, SHIFT
    for _ in range(12):
        middle = 0.5 * (low + high)
        volume = inside + float((room * np.clip(0.5 - (value + middle) * refine, 0.0, 1.0)).sum())
        low, high = (middle, high) if volume > target else (low, middle)
    return np.float32(0.5 * (low + high))


def _splashsurf(shot: Shot, frame: Frame, refine: int) -> Mesh:
    need("surface", "pysplashsurf")
    import pysplashsurf

    spacing = frame.dx / shot.scene.model.particles.per_axis
    position = np.ascontiguousarray(frame.arrays["position"], np.float64)
    result = pysplashsurf.reconstruction_pipeline(
        position, particle_radius=0.5 * spacing, smoothing_length=2.0, cube_size=4.0 / refine,
        iso_surface_threshold=0.6, mesh_smoothing_weights=True, mesh_smoothing_iters=15, mesh_cleanup=False,
    )  # fmt: skip
    made: Any = result[0]
    made = getattr(made, "mesh", made)  # with attributes, or without
    return Mesh(np.asarray(made.vertices, np.float32), np.asarray(made.triangles).astype(np.int32))


def _velocity(frame: Frame, vertices: np.ndarray) -> np.ndarray:
    out = np.zeros((len(vertices), 3), np.float32)
    if len(vertices):
        out[:, : frame.dimension] = at_points(frame.cell_velocity, vertices[:, : frame.dimension], frame.dx)
    return out
