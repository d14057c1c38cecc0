"""The liquid at the beginning: regions of the scene, particles that fill them up to the walls,
and its first velocity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import map_coordinates

from ....bodies.expression import Expression
from ....errors import NonstickError
from ....grid.levelset import continue_linearly
from ....grid.shapes import Shape, sample_meshes
from ....parallel.comm import Comm
from ....scenes.geometry import ShapeTable, build
from ....scenes.scene import Scene
from ....scenes.schema import LiquidTable
from ..settings import SEEDING
from ..solids.on_grid import Solids

MARGIN, CALM = SEEDING.margin, SEEDING.calm
#: a cell whose centre is this many cells below the surface lies in the liquid as a whole, and in no calm part of it:
#: its particles need no look at the shape, which takes long for a mesh
DEEP = 2.0 * CALM + 2.0
#: the golden section, √2 - 1 and √3 - 1: far from fractions with small denominators
RATIOS = (0.6180339887498949, 0.4142135623730951, 0.7320508075688772)
#: a share of a cube above 1 minus this is that of a whole cube
ROUNDING = 1e-6


def seed(
    shape: Shape,
    solids: Solids,
    per_axis: int,
    jitter: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Positions (3, n) in cells that fill a shape outside solids, `per_axis` along each axis of a cell.

    A position represents a small cube of space. If a wall leaves the share f of the cubes open, this share of them gets
    a particle. So the number of particles matches the volume up to the wall (`owed` keeps the remainder). With too many
    or too few particles along a wall, evening them out would set still water in motion. Cubes that the surface of the
    shape cuts get particles in the same way, spread as evenly as possible (`_turn`). So liquid has its true depth, and
    a slight slope is no staircase.

    Positions deviate from the lattice by `jitter` of its width. Planes of cells are treated one at a time, so that
    memory grows with the liquid, not with the grid.
    """
    pieces = list(seed_slabs(shape, solids, per_axis, jitter, rng))
    return np.concatenate(pieces, axis=1)


def seed_slabs(
    shape: Shape,
    solids: Solids,
    per_axis: int,
    jitter: float,
    rng: np.random.Generator,
) -> Iterator[np.ndarray]:
    """The positions of `seed`, plane by plane, in cells of the whole domain.

    Each of several processes makes those of some planes. All together make the positions of one process, in its order,
    so that a particle does not depend on their number.
    """
    lattice = _Lattice(shape, solids, per_axis, jitter)
    yield lattice.lift(np.empty((len(lattice.grid.shape), 0)))
    if not solids.partition.shared:
        owed = 0.0
        for slab in range(lattice.planes):
            for _, x, share in lattice.positions(slab, rng):
                x, owed = _thinned(x, np.cumsum(share), share, owed)
                yield lattice.lift(x)
        return
    low, high, before, after = lattice.share(solids.partition.comm)
    _skip(rng, before)
    found = [piece for slab in range(low, high) for piece in lattice.positions(slab, rng)]
    _skip(rng, after)
    sums = np.zeros(lattice.planes * per_axis)
    for number, _, share in found:
        sums[number] = np.cumsum(share)[-1] if share.size else 0.0
    sums = solids.partition.comm.total(sums)
    owed, number = 0.0, 0
    for here, x, share in found:
        for total in sums[number:here]:  # of the planes before this one
            owed = float((owed + total) % 1.0)
        x, owed = _thinned(x, np.cumsum(share), share, owed)
        number = here + 1
        yield lattice.lift(x)


def _thinned(x: np.ndarray, total: np.ndarray, share: np.ndarray, owed: float) -> tuple[np.ndarray, float]:
    """The positions that get a particle, and the remainder for the next ones; `total` are the sums of the shares."""
    if not total.size:
        return x, owed
    total = owed + total
    return x[:, np.floor(total) > np.floor(total - share)], float(total[-1] % 1.0)


def _skip(rng: np.random.Generator, numbers: int) -> None:
    """Skip this many random numbers."""
    rng.bit_generator.advance(numbers)  # type: ignore[attr-defined]


class _Lattice:
    """The lattice in a shape; its planes of positions are numbered along the first axis."""

    def __init__(self, shape: Shape, solids: Solids, per_axis: int, jitter: float):
        self.shape, self.solids, self.per_axis, self.jitter = shape, solids, per_axis, jitter
        self.grid, self.lift = solids.whole, solids.grid.lift_points
        self.planes = self.grid.shape[0]

    def share(self, comm: Comm) -> tuple[int, int, int, int]:
        """The first plane of cells of this process and the end; the random numbers for planes before and after."""
        sizes = np.zeros(self.planes, np.int64)
        for slab in range(self.planes * comm.rank // comm.size, self.planes * (comm.rank + 1) // comm.size):
            sizes[slab] = np.count_nonzero(_centre_distance(self.shape, self.grid, slab) < 1.0)
        sizes = comm.total(sizes) * (len(self.grid.shape) * self.per_axis ** len(self.grid.shape))
        ends = np.concatenate([[0], np.cumsum(sizes)])
        low, high = np.searchsorted(ends, [ends[-1] * r // comm.size for r in (comm.rank, comm.rank + 1)]).tolist()
        if comm.rank == comm.size - 1:
            high = self.planes
        return low, high, int(ends[low]), int(ends[-1] - ends[high])

    def positions(self, slab: int, rng: np.random.Generator) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For every plane of positions of a plane of cells: its number, its positions, and the share of their cubes."""
        shape, solids, per_axis = self.shape, self.solids, self.per_axis
        grid = self.grid
        centre = _centre_distance(shape, grid, slab)
        inside, deep = centre < 1.0, centre < -DEEP
        if not inside.any():
            return
        walls = solids.nodes_near(slab)
        wide = _finer(inside, per_axis)
        across, sure = np.nonzero(wide), _finer(deep, per_axis)[wide]
        for sub in range(per_axis):
            at = np.stack([np.full(sure.size, slab * per_axis + sub), *across])
            stray = self.jitter * (rng.random(at.shape) - 0.5)
            x = (at + 0.5) / per_axis
            # near the surface positions stay on the lattice: a rough surface would make short waves that last for
            # seconds
            depth = -_distance(shape, grid, x, sure)
            moved = x + stray * np.clip((depth - CALM) / CALM, 0.0, 1.0) / per_axis
            outside = np.any((moved <= 0.0) | (moved >= np.array(grid.shape)[:, None]), axis=0)
            x = np.where(outside, x, moved)
            share, wall = _fit(x, partial(wall_distance, walls), 1.0 / per_axis)
            y = x.copy()
            full, edge = _fit(y, lambda y: -_distance(shape, grid, y), 1.0 / per_axis, depth)
            alone = ~wall.any(axis=0)
            x[:, alone] = y[:, alone]
            # where the shape ends at a wall, the wall alone cuts the cube
            full[(wall * edge).sum(axis=0) > 0.7] = 1.0
            keep = (share > 0.0) & (full > _turn(at)) & (wall_distance(walls, x) > MARGIN)
            yield slab * per_axis + sub, x[:, keep], share[keep]


def _fit(
    x: np.ndarray, distance: Callable[[np.ndarray], np.ndarray], width: float, s: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Share of the cubes of space, `width` cells wide, around the positions (d, n) whose distance is positive.

    A position whose cube is cut is moved, in place, to the middle of this part. `s` is the distance at the positions,
    if it is known. Also returns the normals (d, n) of the cuts, zero for other cubes.
    """
    s = distance(x) if s is None else s
    share = np.clip(0.5 + s / width, 0.0, 1.0)
    share[share > 1.0 - ROUNDING] = 1.0
    normal = np.zeros_like(x)
    cut = (share > 0.0) & (share < 1.0)
    if cut.any():
        y = x[:, cut]
        step = 0.25 * np.eye(len(x))[:, :, None]
        n = np.stack([distance(y + e) - distance(y - e) for e in step])
        # between two walls the gradient of the distance is zero: the position is not moved
        n /= np.maximum(np.sqrt((n**2).sum(axis=0)), 1e-3)
        x[:, cut] = y + (0.5 * width * share[cut] - s[cut]) * n
        normal[:, cut] = n
    return share, normal


def _turn(at: np.ndarray) -> np.ndarray:
    """Numbers between 0 and 1 for positions (d, n) of the lattice: a cube that is cut is kept if its share is larger.

    Multiples of quadratic irrational numbers, modulo 1, spread the kept cubes along each axis more evenly than chance
    would.
    """
    return (0.5 + sum(i * ratio for i, ratio in zip(at, RATIOS))) % 1.0


def _centre_distance(shape: Shape, grid, slab: int) -> np.ndarray:
    """Distance to the shape in cells at the centres of one plane; it is never too large by a cell."""
    cells = grid.cells()
    here = shape(cells[0][slab : slab + 1], *cells[1:])
    return np.broadcast_to(here, (1, *grid.shape[1:]))[0] / grid.dx


def _finer(mask: np.ndarray, per_axis: int) -> np.ndarray:
    """A mask over the cells of a plane as a mask over the positions in it."""
    for axis in range(mask.ndim):
        mask = mask.repeat(per_axis, axis)
    return mask


def _distance(shape: Shape, grid, x: np.ndarray, sure: np.ndarray | None = None) -> np.ndarray:
    """Distance to the shape in cells at positions (d, n); -DEEP where it is `sure` that they are as deep."""
    out = np.full(x.shape[1], -DEEP)
    there = np.arange(x.shape[1]) if sure is None else np.flatnonzero(~sure)
    if there.size:
        out[there] = np.asarray(shape(*(grid.dx * c[there] for c in x))) / grid.dx
    return out


def wall_distance(walls: tuple[np.ndarray, int], x: np.ndarray) -> np.ndarray:
    """Distance to the solids in cells at positions (d, n), interpolated linearly along each axis.

    `walls` are the distances at nodes and the number of their first plane, from `Solids.nodes_near`.
    """
    phi, first = walls
    base = [np.clip(np.floor(c).astype(int), 0, n - 2) for c, n in zip(x, (first + phi.shape[0], *phi.shape[1:]))]
    part = [c - b for c, b in zip(x, base)]
    base[0] = np.maximum(base[0] - first, 0)
    total = np.zeros(x.shape[1])
    for corner in range(2 ** len(x)):
        bits = [(corner >> a) & 1 for a in range(len(x))]
        weight = np.ones(x.shape[1])
        for f, bit in zip(part, bits):
            weight = weight * (f if bit else 1.0 - f)
        total += weight * phi[tuple(b + bit for b, bit in zip(base, bits))]
    return total


#: names of the coordinates in formulas
COORDINATES = ("x", "y", "z")


def first_velocity(spec: LiquidTable, size, points, where: str = "") -> list[np.ndarray | float]:
    """The components of a liquid's initial velocity at points (metres).

    `size` is the size of the domain, `where` what messages begin with.
    """
    given = spec.velocity or (0.0,) * len(points)
    try:
        out: list[np.ndarray | float] = [
            _formula(v, len(points)).field(*points)[0] if isinstance(v, str) else v for v in given
        ]
    except NonstickError as error:
        raise NonstickError(f"{where}.velocity: {error}") from None
    if spec.spin:
        about = spec.about or [0.5 * s for s in size]
        out = [v + rotation(spec.spin, spec.axis, about, a, points) for a, v in enumerate(out)]
    return out


def first_gradient(spec: LiquidTable, dx: float, points) -> np.ndarray:
    """The gradient (d, d, n) of that velocity at points, in m/s per cell."""
    d, n = len(points), np.size(points[0])
    out = np.zeros((d, d, n))
    if spec.spin:
        steps, origin = dx * np.eye(d), (0.0,) * d
        turn = [[rotation(spec.spin, spec.axis, origin, a, e) for e in steps] for a in range(d)]
        out += np.array(turn)[:, :, None]
    for a, v in enumerate(spec.velocity or ()):
        if isinstance(v, str):
            out[a] += dx * np.array(_formula(v, d).field(*points)[1])
    return out


def varies(spec: LiquidTable) -> bool:
    """True if the initial velocity is not the same everywhere."""
    return bool(spec.spin) or any(isinstance(v, str) for v in spec.velocity or ())


def _formula(text: str, dimension: int) -> Expression:
    return Expression(text, COORDINATES[:dimension])


def rotation(spin: float, turning: tuple[float, ...], about, axis: int, points) -> np.ndarray:
    """One component of a rotation by `spin` degrees per second about a point (3D: about the direction `turning`)."""
    rate = float(np.radians(spin))
    r = [p - c for p, c in zip(points, about)]
    if len(r) == 2:
        return -rate * r[1] if axis == 0 else rate * r[0]
    n = np.asarray(turning, float) / np.linalg.norm(turning) * rate
    b, c = (axis + 1) % 3, (axis + 2) % 3
    return n[b] * r[c] - n[c] * r[b]


def region(scene: Scene, table: ShapeTable, key: str) -> Shape:
    """The shape of a table of the scene, its meshes sampled for the scene's grid; messages name the key."""
    return sample_meshes(build(table, scene.folder, f"{scene.where}: {key}"), scene.dx)


def first_surface(shapes: Sequence[Shape], solids: Any) -> np.ndarray:
    """φ of the first liquid in cells, on three axes, continued into walls; NaN where the shapes do not tell.

    Where a shape ends at a wall or in it, its liquid has no surface there: a distance to such a place does not count.
    """
    grid = solids.grid
    phi = np.full(grid.shape, np.inf)
    for shape in shapes:
        phi = np.minimum(phi, shape.sample(grid.cells()) / grid.dx)
    phi = np.clip(grid.lift(phi), -DEEP, DEEP)
    at = np.stack(np.nonzero(np.abs(phi) < 1.0))
    slope = np.zeros(at.shape)
    for a in (a for a in grid.axes if phi.shape[a] > 1):
        low, high = at.copy(), at.copy()
        low[a], high[a] = np.maximum(at[a] - 1, 0), np.minimum(at[a] + 1, phi.shape[a] - 1)
        slope[a] = (phi[tuple(high)] - phi[tuple(low)]) / (high[a] - low[a])
    steep = (slope**2).sum(axis=0)
    foot = at + 0.5 - phi[tuple(at)] / np.maximum(steep, 0.25) * slope
    wall = map_coordinates(solids.nodes, foot, order=1, mode="nearest")
    for a in grid.axes:
        wall = np.minimum(wall, np.minimum(foot[a], phi.shape[a] - foot[a]))
    unknown = solids.centre < 0.0
    unknown[tuple(at)] |= (wall < MARGIN) | (steep < 0.25)
    return continue_linearly(np.where(unknown, np.nan, phi), unknown, solids.centre)
