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
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.optional import need
from ...errors import NonstickError
from ...grid.box import IndexBox
from ...grid.faces import lifted
from ...grid.levelset import flat_distance, smooth
from ...grid.mac import Grid
from . import _surface
from .frame import Frame, at_points, widen
from .mesh import TriangleMesh, of_level_set, of_plane
from .shot import FAR, Shot, between_samples

Kind = Literal["grid", "particles", "splashsurf"]
KINDS = ("grid", "particles", "splashsurf")

#: samples outside the domain on every side
PAD = 3


@dataclass(frozen=True)
class ExportSettings:
    """How the surface is made from particles; lengths are in cells."""

    #: φ reaches at most this far from a particle, in distances between particles
    largest: float = 1.5
    #: by how much the balls of single particles are larger, times the square of the refinement
    drop: float = 0.56
    #: largest shift of the level set that brings the volume to the ledger's
    shift: float = 0.3
    #: cells from which on pages and pictures have one sample a cell and axis, and below two
    fine: int = 60**3


SETTINGS = ExportSettings()
#: steps of φ in which samples near the surface are counted, to find the shift that brings the volume
LEVELS = 1024


def liquid_mesh(shot: Shot, frame: Frame, kind: Kind = "particles", refine: int = 2) -> TriangleMesh:
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
        h, d = frame.dx / refine, frame.dimension
        phi, solid, first = _distances(shot, frame, kind, refine)
        behind, close = np.float32(1.0 / refine), np.float32(0.5 / refine)  # one sample, and half of one
        _surface._cut_behind(lifted(phi), lifted(solid), behind, close)
        corner = [(n + 0.5) * h for n in first]
        # in samples, so that walls are met before anything is rounded
        mesh = (of_level_set if d == 3 else of_plane)(phi, 1.0, [0.0] * d, 1e-4 / refine)
        mesh = mesh.with_(vertices=_in_metres(_out_of_walls(mesh.vertices, solid, refine), h, corner))
    return mesh.with_(velocity=_velocity(frame, mesh.vertices))


def usable(shot: Shot, frame: Frame, kind: Kind) -> Kind:
    """The kind of surface a frame can give: 2D frames and liquid tracked on the grid have the grid's only."""
    if kind not in KINDS:
        raise NonstickError(f"--surface is one of {', '.join(KINDS)}, not {kind!r}")
    tracked = shot.scene.model.surface.track == "grid"
    if frame.dimension == 2 or tracked or not frame.count:
        return "grid"
    return kind


def samples_of_pictures(grid: Grid) -> int:
    """Samples a cell and axis for pages and pictures, which show many frames."""
    return 1 if int(np.prod(grid.shape)) > SETTINGS.fine else 2


def continued(shot: Shot, frame: Frame, kind: Kind, refine: int) -> np.ndarray:
    """φ in metres on cells of the domain `refine` times as fine, going on into walls, for pictures of both."""
    if kind == "particles":
        phi, _, first = _from_particles(shot, frame, refine)
    else:
        phi, first = _from_grid(frame, refine), (-PAD,) * frame.dimension
    out = np.full([n * refine for n in frame.grid.shape], _span(refine), np.float32)
    low = [max(a, 0) for a in first]
    high = [min(a + n, most) for a, n, most in zip(first, phi.shape, out.shape)]
    there = tuple(slice(a, b) for a, b in zip(low, high))
    out[there] = phi[tuple(slice(a - f, b - f) for a, b, f in zip(low, high, first))]
    return out * np.float32(frame.dx)


def level_set(shot: Shot, frame: Frame, kind: Kind, refine: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """φ in metres, cut by the walls, on cells `refine` times as fine as the grid, and the index of its first one.

    Index 0 is the first fine cell of the domain. Where there is no sample, there is no liquid near.
    """
    phi, solid, first = _distances(shot, frame, kind, refine)
    return np.maximum(phi, -solid) * np.float32(frame.dx), first


def _distances(shot: Shot, frame: Frame, kind: Kind, refine: int) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """φ, going on into walls, and the distance to walls, both in cells, and the index of their first sample."""
    if kind == "particles":
        return _from_particles(shot, frame, refine)
    whole = IndexBox.whole(frame.grid.shape)
    return _from_grid(frame, refine), _solid(shot, frame, refine, whole), _first(whole, refine)


def _first(box: IndexBox, refine: int) -> tuple[int, ...]:
    """The index of the first sample of a box of cells, with PAD more on every side; 0 is the first in the domain."""
    return tuple(a * refine - PAD for a in box.low)


def _solid(shot: Shot, frame: Frame, refine: int, box: IndexBox) -> np.ndarray:
    """Distance to walls in cells, at the samples of a box."""
    return shot.solid(frame, refine, PAD, box.low, box.high) / np.float32(frame.dx)


def _out_of_walls(vertices: np.ndarray, solid: np.ndarray, refine: int) -> np.ndarray:
    """Vertices in walls brought to the nearest point of the wall, by a few steps along the slope of the distance.

    Vertices are in samples and the distance in cells.
    """
    if not len(vertices):
        return vertices
    extra = 3 - solid.ndim  # a plane is half-way between two equal ones along the first axis
    x = np.roll(vertices, extra, axis=1) + np.array([0.5 * extra, 0.0, 0.0], np.float32)
    solid = np.repeat(solid[None], 2, axis=0) if extra else solid
    seam = np.empty(len(x), bool)
    _surface._bring_out(x, seam, solid, float(refine))
    if seam.any():
        x[seam] = _towards_open(x[seam], solid * np.float32(refine))
    return np.roll(x, -extra, axis=1)


def _in_metres(x: np.ndarray, h: float, corner: Sequence[float]) -> np.ndarray:
    """Places of vertices in samples; 2D is at z = 0."""
    out = np.zeros((len(x), 3), np.float32)
    out[:, : len(corner)] = x[:, : len(corner)] * np.float32(h) + np.asarray(corner, np.float32)
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
    phi = smooth(np.asarray(frame.level, np.float32))
    for axis, n in enumerate(frame.grid.shape):
        phi = between_samples(phi, (np.arange(-PAD, n * refine + PAD) + 0.5) / refine - 0.5, axis)
    return phi / np.float32(frame.dx)


def _from_particles(shot: Shot, frame: Frame, refine: int) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """φ and the distance to walls, in cells, in the box around the particles; the index of their first sample."""
    dx = frame.dx
    per_cell = shot.scene.model.particles.per_axis**3
    spacing = per_cell ** (-1 / 3)
    table = flat_distance(3)
    # A single particle becomes a ball where T is zero; this reach gives the ball the particle's volume.
    zero = float(np.interp(0.0, table, np.linspace(0.0, 1.0, table.size)))
    radius = (3.0 / (4.0 * np.pi * per_cell)) ** (1 / 3)
    reach = radius / zero
    # A mesh of few triangles lies within its ball: a larger ball gives the mesh the volume.
    drop = radius + SETTINGS.drop / refine**2
    # Farther from the surface the mean of particles says little about the distance: the filter would take this noise,
    # and the step to cells that are not looked at, to the surface, which would tremble.
    limit = _span(refine)
    margin = int(np.ceil(reach))
    x = _in_cells(frame)
    own, images = _with_images(shot, frame, x, reach)
    # particles can matter in three more cells on every side
    box = (IndexBox.around(own) or IndexBox.whole(own.shape)).grown(3, own.shape)
    solid = _solid(shot, frame, refine, box)
    inner = tuple(slice(margin, margin + n) for n in box.shape)
    count = np.zeros(tuple(n + 2 * margin for n in box.shape), np.int32)
    count[inner] = own = own[box.slices]
    first = np.array(box.low, np.int64) - margin
    _surface._count(count, images, first)
    kind = _kinds(count, per_cell)
    sorted_, end = _by_cell((x, images), count, kind, margin, reach - 0.5 / refine, box, per_cell)
    # cells outside the box of particles have none near
    phi = np.full(solid.shape, limit, np.float32)
    core, band = np.zeros_like(kind), np.zeros_like(kind)
    full = per_cell * 64.0 / 315.0 * np.pi * reach**3
    found, grid = (phi, core, band, solid, sorted_, end, kind), (margin, refine, PAD)
    _surface._particle_distance(*found, *grid, reach, SETTINGS.largest * spacing, limit, drop, table, full)
    # The filter would make drops and films smaller, so only the bulk is smoothed. Far from the band φ is constant.
    bulk = widen(core, 1)
    here = bulk & widen(band, 1)
    _surface._smooth(phi, here, margin, refine, PAD, refine)
    # Volume is held by shifting the bulk; drops and films have theirs.
    held = frame.count + per_cell * frame.deep.size
    share = float(own[bulk[inner] != 0].sum()) / held
    ledger = shot.volume(frame)
    target = share * (held / per_cell if ledger is None else ledger / dx**3) * refine**3
    plain = (kind == 2) & (here == 0)
    _surface._add(phi, here, margin, refine, PAD, _shift(phi, solid, bulk, plain, margin, target, refine))
    return phi, solid, _first(box, refine)


def _by_cell(points, count, kind, margin, far, box, per_cell) -> tuple[np.ndarray, np.ndarray]:
    """Particles and their images as columns, in the order of cells, where a sample looks; the ends of the cells.

    `far` is how far a sample looks beyond its cell.
    """
    needed, end = widen(kind == 1, int(np.ceil(far))), np.empty(count.shape, np.int32)
    out = np.empty((4, _surface._begin(end, count, needed)), np.float32)
    corner = np.array(box.low, np.int64)
    for x in points:
        _surface._sort(out, end, x, corner, margin, count, needed, per_cell)
    return out, end


def _kinds(count: np.ndarray, per_cell: int) -> np.ndarray:
    """Of every cell: 0 if it and its 26 neighbours are empty, 2 if all of them are well filled, else 1."""
    return widen(count > 0, 1) + (1 - widen(count < 0.5 * per_cell, 1, outside=True))


def _in_cells(frame: Frame) -> np.ndarray:
    """Positions of the particles in cells, inside the domain also where a damaged file has them elsewhere.

    So all loops find a particle in the cell in which it was counted, and none is written beside its list.
    """
    most = np.nextafter(np.array(frame.grid.shape, np.float32), np.float32(0.0))
    with np.errstate(over="ignore"):
        x = np.clip(frame.arrays["position"] * np.float32(1.0 / frame.dx), np.float32(0.0), most)
    return np.ascontiguousarray(x, np.float32)


def _with_images(shot: Shot, frame: Frame, x: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """How many particles x are in each cell; the mirror images of those nearer to a wall than the reach; in cells."""
    count = np.zeros(frame.grid.shape, np.int32)
    walls = bool(shot.solids)
    nodes = shot.inner_walls(frame) if walls else np.full((1, 1, 1), FAR, np.float32)
    wall, side = np.empty(len(x), np.int32), np.empty(len(x), np.int32)
    # a distance changes by at most √3 over a cell
    n, m = _surface._survey(count, wall, side, x, nodes, np.float32(reach + 1.8), reach)
    deep = count.reshape(-1)
    deep[frame.deep] = np.maximum(deep[frame.deep], shot.scene.model.particles.per_axis**3)
    parts = []
    near = x[side[:m]]
    size = np.array(frame.grid.shape, np.float32)
    if walls:
        gravity = np.array(shot.scene.gravity, float)
        up = -gravity / max(float(np.linalg.norm(gravity)), 1e-300)
        beside = x[wall[:n]]
        image, good = np.empty_like(beside), np.empty(n, bool)
        _surface._mirror(image, good, beside, nodes, reach, up)
        parts.append(image[good])
        near = np.concatenate([near, parts[0][((parts[0] < reach) | (parts[0] > size - reach)).any(axis=1)]])
    first = len(near)
    for axis in range(3):
        low, high = near[near[:, axis] < reach], near[near[:, axis] > size[axis] - reach]
        low[:, axis] *= -1
        high[:, axis] = 2 * size[axis] - high[:, axis]
        near = np.concatenate([near, low, high])
    return count, np.concatenate([*parts, near[first:]])


def _span(refine: int) -> float:
    """Samples with larger |φ| (in cells) are inside or outside whatever the shift is."""
    return SETTINGS.shift + 0.5 / refine


def _shift(
    phi: np.ndarray, solid: np.ndarray, bulk: np.ndarray, plain: np.ndarray, margin: int, target: float, refine: int
) -> np.float32:
    """What to add to φ (in cells) so that the volume in samples of the bulk, outside walls, is the target; bounded.

    In `plain` cells φ is as low as it can be.
    """
    span, steps = _span(refine), np.zeros((len(bulk), 1 + LEVELS))
    _surface._room_by_level(steps, phi, solid, bulk, plain, margin, refine, PAD, np.float32(span))
    deep, *room = steps.sum(axis=0)
    level = span * ((2.0 * np.arange(LEVELS) + 1.0) / LEVELS - 1.0)
    low, high = -SETTINGS.shift, SETTINGS.shift
    for _ in range(12):
        middle = 0.5 * (low + high)
        volume = deep + float(np.clip(0.5 - (level + middle) * refine, 0.0, 1.0) @ room)
        low, high = (middle, high) if volume > target else (low, middle)
    return np.float32(0.5 * (low + high))


def _splashsurf(shot: Shot, frame: Frame, refine: int) -> TriangleMesh:
    need("surface", "pysplashsurf")
    import pysplashsurf

    spacing = frame.dx / shot.scene.model.particles.per_axis
    position = frame.dx * _in_cells(frame).astype(np.float64)
    if frame.deep.size:  # as if its particles lay on a lattice
        per_axis = shot.scene.model.particles.per_axis
        parts = (np.indices((per_axis,) * 3).reshape(3, -1).T + 0.5) / per_axis
        corners = np.stack(np.unravel_index(frame.deep, frame.grid.shape), axis=1)
        position = np.concatenate([position, frame.dx * (corners[:, None] + parts).reshape(-1, 3)])
    result = pysplashsurf.reconstruction_pipeline(
        position,
        particle_radius=0.5 * spacing,
        smoothing_length=2.0,
        cube_size=4.0 / refine,
        iso_surface_threshold=0.6,
        mesh_smoothing_weights=True,
        mesh_smoothing_iters=15,
        mesh_cleanup=False,
    )
    made: Any = result[0]
    made = getattr(made, "mesh", made)  # with attributes, or without
    return TriangleMesh(np.asarray(made.vertices, np.float32), np.asarray(made.triangles).astype(np.int32))


def _velocity(frame: Frame, vertices: np.ndarray) -> np.ndarray:
    out = np.zeros((len(vertices), 3), np.float32)
    if len(vertices):
        out[:, : frame.dimension] = at_points(frame.cell_velocity, vertices[:, : frame.dimension], frame.dx)
    return out
