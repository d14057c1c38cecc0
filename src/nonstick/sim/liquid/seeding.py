"""First positions of particles: a lattice that fills a shape up to the walls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ...grid.shapes import Shape
from .solids import Solids

#: least distance of a particle from a wall, in cells
MARGIN = 0.02
#: particles that are less than this many cells below the surface start on the lattice itself
CALM = 1.0
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
    shift: np.ndarray | None = None,
) -> np.ndarray:
    """Positions (3, n) in cells that fill a shape outside solids, `per_axis` along each axis of a cell.

    A position represents a small cube of space. If a wall leaves the share f of the cubes open, this share of them gets
    a particle. So the number of particles matches the volume up to the wall (`owed` keeps the remainder). With too many
    or too few particles along a wall, evening them out would set still water in motion. Cubes that the surface of the
    shape cuts get particles in the same way, spread as evenly as possible (`_turn`). So liquid has its true depth, and
    a slight slope is no staircase. A moved lattice ends with whole cubes: a source adds its next layer in time.

    Positions deviate from the lattice by `jitter` of its width. `shift` (d) moves the lattice, in cells, by less than
    its width. Planes of cells are treated one at a time, so that memory grows with the liquid, not with the grid.
    """
    pieces = list(seed_slabs(shape, solids, per_axis, jitter, rng, shift))
    return np.concatenate(pieces, axis=1)


def seed_slabs(
    shape: Shape,
    solids: Solids,
    per_axis: int,
    jitter: float,
    rng: np.random.Generator,
    shift: np.ndarray | None = None,
) -> Iterator[np.ndarray]:
    """The positions of `seed`, plane by plane, in cells of the whole domain.

    Several processes make the same positions in the same order, so that a particle does not depend on their number.
    """
    grid, lift = solids.whole, solids.layout.lift_points
    yield lift(np.empty((len(grid.shape), 0)))
    fine = [np.arange(n * per_axis) for n in grid.shape]
    owed = 0.0
    for slab in range(grid.shape[0]):
        centre = _centre_distance(shape, grid, slab)
        inside, deep = centre < 1.0, centre < -DEEP
        if not inside.any():
            continue
        walls = solids.nodes_near(slab)
        for sub in range(per_axis):
            index = np.meshgrid([slab * per_axis + sub], *fine[1:], indexing="ij")
            at = np.stack([i.ravel() for i in index])
            wide = _finer(inside, per_axis)
            at, sure = at[:, wide], _finer(deep, per_axis)[wide]
            stray = jitter * (rng.random(at.shape) - 0.5)
            x = (at + 0.5) / per_axis
            if shift is not None:
                x += shift[:, None]
                within = np.all((x > 0.0) & (x < np.array(grid.shape)[:, None]), axis=0)
                x, stray, sure = x[:, within], stray[:, within], sure[within]
            # near the surface positions stay on the lattice: a rough surface would make short waves that last for
            # seconds
            depth = -_distance(shape, grid, x, sure)
            moved = x + stray * np.clip((depth - CALM) / CALM, 0.0, 1.0) / per_axis
            outside = np.any((moved <= 0.0) | (moved >= np.array(grid.shape)[:, None]), axis=0)
            x = np.where(outside, x, moved)
            share, wall = _fit(x, partial(wall_distance, walls), 1.0 / per_axis)
            if shift is None:
                y = x.copy()
                full, edge = _fit(y, lambda y: -_distance(shape, grid, y), 1.0 / per_axis, depth)
                alone = ~wall.any(axis=0)
                x[:, alone] = y[:, alone]
                # where the shape ends at a wall, the wall alone cuts the cube
                full[(wall * edge).sum(axis=0) > 0.7] = 1.0
                keep = (share > 0.0) & (full > _turn(at)) & (wall_distance(walls, x) > MARGIN)
            else:
                keep = (share > 0.0) & (_distance(shape, grid, x, sure) < 0.0)
            x, total = x[:, keep], owed + np.cumsum(share[keep])
            if total.size:
                keep = np.floor(total) > np.floor(total - share[keep])
                owed = float(total[-1] % 1.0)
                x = x[:, keep]
            yield lift(x)


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
    """A mask over the cells of a plane as a flat mask over the positions in it."""
    for axis in range(mask.ndim):
        mask = mask.repeat(per_axis, axis)
    return mask.ravel()


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
