"""Particles: positions in cells, velocities in m/s, APIC matrix, viscosity; seeding, sorting, adding, removing."""

from __future__ import annotations

import numpy as np

from ...grid.shapes import Shape
from ._particles import BATCH, _cell_of, _fastest, _reorder, _scale, _sort_by_cell
from .solids import Solids

#: closest a particle may come to a wall, in cells
MARGIN = 0.02
#: below the surface of a body of liquid by less than this many cells its first particles form a lattice
CALM = 1.0


class Particles:
    """Columns over particles. Positions are float64, all else float32; `mu` is empty unless the viscosity varies."""

    def __init__(self, three: tuple[int, ...], affine: bool, thick: bool = False):
        self.three = three
        self.affine = affine
        self.thick = thick
        self.x = np.empty((3, 0))
        self.vel = np.empty((3, 0), np.float32)
        self.aff = np.empty((9, 0), np.float32)
        self.mu = np.empty(0, np.float32)
        self.start = np.zeros(int(np.prod(three)) + 1, np.int64)

    @property
    def n(self) -> int:
        return self.x.shape[1]

    @property
    def first(self) -> int:
        """1 on a 2D grid: the component to begin with."""
        return 1 if self.three[0] == 1 else 0

    @property
    def plane(self) -> int:
        """Cells per plane of the scattering blocks."""
        return self.three[2] if self.first else self.three[1] * self.three[2]

    def add(self, x: np.ndarray, vel: np.ndarray, mu: np.ndarray | float = 0.0) -> None:
        """More particles; `mu` is their viscosity, unused where it does not vary."""
        if self.thick:
            self.mu = np.concatenate([self.mu, np.broadcast_to(np.float32(mu), x.shape[1:])])
        self.x = np.concatenate([self.x, x], axis=1)
        self.vel = np.concatenate([self.vel, vel.astype(np.float32)], axis=1)
        aff = np.zeros((9 if self.affine else 0, x.shape[1]), np.float32)
        self.aff = np.concatenate([self.aff[: aff.shape[0]], aff], axis=1)

    def keep(self, mask: np.ndarray) -> None:
        self.x = np.ascontiguousarray(self.x[:, mask])
        self.vel = np.ascontiguousarray(self.vel[:, mask])
        self.aff = np.ascontiguousarray(self.aff[:, mask])
        if self.thick:
            self.mu = self.mu[mask]

    def sort(self) -> None:
        """Bring the particles into the order of their cells; stable, so the order is unique."""
        n = self.n
        cell = np.empty(n, np.int32)
        _cell_of(cell, self.x, *self.three)
        order = np.empty(n, np.int32)
        _sort_by_cell(order, self.start, cell)
        del cell
        _reorder(self.x, np.empty(n), order, self.first)
        room = np.empty(n, np.float32)
        _reorder(self.vel, room, order, self.first)
        _reorder(self.aff, room, order, 3 * self.first)
        if self.thick:
            _reorder(self.mu.reshape(1, n), room, order, 0)

    def fastest(self) -> float:
        """The largest velocity component."""
        largest = np.zeros(-(-self.n // BATCH), np.float32)
        _fastest(largest, self.vel)
        return float(largest.max(initial=0.0))

    def slow(self, factor: float) -> None:
        _scale(self.vel, np.float32(factor))
        _scale(self.aff, np.float32(factor))


def seed(
    shape: Shape,
    solids: Solids,
    per_axis: int,
    jitter: float,
    rng: np.random.Generator,
    shift: np.ndarray | None = None,
) -> np.ndarray:
    """Positions (3, n) in cells that fill a shape outside solids, stratified in each cell.

    Of the pieces of space that a wall leaves open by a share f that share gets a particle, so that their number is
    the volume up to the wall (`owed` carries the remainder on). Particles too many or too few along a wall would
    be spread by evening out, which sets still water in motion.

    A plane of cells is treated at a time, so that memory follows the liquid. `shift` (d) moves the lattice, by less
    than its width, in cells.
    """
    grid, d = solids.grid, solids.d
    first = 3 - d
    fine = [np.arange(n * per_axis) for n in grid.shape]
    out = []
    owed = 0.0
    for slab in range(grid.shape[0]):
        inside = _near(shape, grid, slab)
        if not inside.any():
            continue
        for sub in range(per_axis):
            index = np.meshgrid([slab * per_axis + sub], *fine[1:], indexing="ij")
            at = np.stack([i.ravel() for i in index])
            wide = inside
            for axis in range(d - 1):
                wide = wide.repeat(per_axis, axis)
            at = at[:, wide.ravel()]
            stray = jitter * (rng.random(at.shape) - 0.5)
            x = (at + 0.5) / per_axis
            if shift is not None:
                x += shift[:, None]
                within = np.all((x > 0.0) & (x < np.array(grid.shape)[:, None]), axis=0)
                x, stray = x[:, within], stray[:, within]
            # a rough surface is a field of short waves, which take seconds to die: near it the lattice stays
            depth = -np.asarray(shape(*(grid.dx * c for c in x))) / grid.dx
            x += stray * np.clip((depth - CALM) / CALM, 0.0, 1.0) / per_axis
            share = _fit_walls(x, solids, 1.0 / per_axis)
            keep = (share > 0.0) & (shape(*(grid.dx * c for c in x)) < 0)
            x, total = x[:, keep], owed + np.cumsum(share[keep])
            if total.size:
                keep = np.floor(total) > np.floor(total - share[keep])
                owed = float(total[-1] % 1.0)
                x = x[:, keep]
            out.append(x)
    x = np.concatenate(out, axis=1) if out else np.empty((d, 0))
    return np.concatenate([np.full((first, x.shape[1]), 0.5), x])


def _fit_walls(x: np.ndarray, solids: Solids, width: float) -> np.ndarray:
    """Open share of the pieces of space, `width` cells wide, around the positions (d, n).

    Positions whose piece a wall cuts are moved, in place, to the middle of what is open.
    """
    s = _wall_distance(solids, x)
    share = np.clip(0.5 + s / width, 0.0, 1.0)
    cut = (share > 0.0) & (share < 1.0)
    if cut.any():
        y = x[:, cut]
        step = 0.25 * np.eye(len(x))[:, :, None]
        n = np.stack([_wall_distance(solids, y + e) - _wall_distance(solids, y - e) for e in step])
        # between two walls the distance is flat: the position stays
        y += (0.5 * width * share[cut] - s[cut]) * n / np.maximum(np.sqrt((n**2).sum(axis=0)), 1e-3)
        x[:, cut] = y
        share[cut] *= _wall_distance(solids, y) > MARGIN
    return share


def _near(shape: Shape, grid, slab: int) -> np.ndarray:
    """Cells of one plane that the shape may reach: distances may be underestimates, never over by a cell."""
    cells = grid.cells()
    here = np.broadcast_to(shape(cells[0][slab : slab + 1], *cells[1:]), (1, *grid.shape[1:]))[0]
    return here < grid.dx


def _wall_distance(solids: Solids, x: np.ndarray) -> np.ndarray:
    """Trilinear distance to the solids in cells at positions (d, n)."""
    phi = solids.phi / solids.grid.dx
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
