"""First positions of particles: a lattice that fills a shape up to the walls."""

from __future__ import annotations

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
    or too few particles along a wall, evening them out would set still water in motion.

    Positions deviate from the lattice by `jitter` of its width. `shift` (d) moves the lattice, in cells, by less than
    its width. Planes of cells are treated one at a time, so that memory grows with the liquid, not with the grid.
    """
    grid = solids.grid
    fine = [np.arange(n * per_axis) for n in grid.shape]
    out = []
    owed = 0.0
    for slab in range(grid.shape[0]):
        centre = _centre_distance(shape, grid, slab)
        inside, deep = centre < 1.0, centre < -DEEP
        if not inside.any():
            continue
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
            share = _fit_walls(x, solids, 1.0 / per_axis)
            keep = (share > 0.0) & (_distance(shape, grid, x, sure) < 0.0)
            x, total = x[:, keep], owed + np.cumsum(share[keep])
            if total.size:
                keep = np.floor(total) > np.floor(total - share[keep])
                owed = float(total[-1] % 1.0)
                x = x[:, keep]
            out.append(x)
    return solids.layout.lift_points(np.concatenate(out, axis=1) if out else np.empty((len(grid.shape), 0)))


def _fit_walls(x: np.ndarray, solids: Solids, width: float) -> np.ndarray:
    """Open share of the cubes of space, `width` cells wide, around the positions (d, n).

    A position whose cube a wall cuts is moved, in place, to the middle of the open part.
    """
    s = wall_distance(solids, x)
    share = np.clip(0.5 + s / width, 0.0, 1.0)
    cut = (share > 0.0) & (share < 1.0)
    if cut.any():
        y = x[:, cut]
        step = 0.25 * np.eye(len(x))[:, :, None]
        n = np.stack([wall_distance(solids, y + e) - wall_distance(solids, y - e) for e in step])
        # between two walls the gradient of the distance is zero: the position is not moved
        y += (0.5 * width * share[cut] - s[cut]) * n / np.maximum(np.sqrt((n**2).sum(axis=0)), 1e-3)
        x[:, cut] = y
        share[cut] *= wall_distance(solids, y) > MARGIN
    return share


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


def _distance(shape: Shape, grid, x: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Distance to the shape in cells at positions (d, n); -DEEP where it is `sure` that they are as deep."""
    out = np.full(x.shape[1], -DEEP)
    there = np.flatnonzero(~sure)
    if there.size:
        out[there] = np.asarray(shape(*(grid.dx * c[there] for c in x))) / grid.dx
    return out


def wall_distance(solids: Solids, x: np.ndarray) -> np.ndarray:
    """Distance to the solids in cells at positions (d, n), interpolated linearly along each axis."""
    phi = solids.layout.drop_nodes(solids.nodes)
    base = [np.clip(np.floor(c).astype(int), 0, n - 2) for c, n in zip(x, phi.shape)]
    part = [c - b for c, b in zip(x, base)]
    total = np.zeros(x.shape[1])
    for corner in range(2 ** len(x)):
        bits = [(corner >> a) & 1 for a in range(len(x))]
        weight = np.ones(x.shape[1])
        for f, bit in zip(part, bits):
            weight = weight * (f if bit else 1.0 - f)
        total += weight * phi[tuple(b + bit for b, bit in zip(base, bits))]
    return total
