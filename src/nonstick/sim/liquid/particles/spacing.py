"""Evens out the spacing of particles: moves them from crowded to thin places and does not change their velocities.

Incompressible flow keeps the density of particles even, but a step has errors: liquid that hits a wall is crushed, and
particles gather there. The displacement of a step is the gradient of a potential q with

    L q = density of particles / density of a full cell - 1

where L is the pressure operator: particles do not move through walls, and q = 0 in air. The displacement is that of a
pressure q, so like a pressure it leaves the centre of mass where it is, unless a wall pushes. A fixed number of
red-black sweeps solves it roughly. Local crowding disappears at once, long waves over several steps. Kugelstadt et al.
2019 (implicit density projection) solve this system exactly.

The density of a cell does not say where in the cell its particles are. Beside a wall, where the displacement ends, it
therefore has a value on the closed face too, which centres the particles of the cell: liquid that falls on a floor
stops at a distance, and the gap would stay for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....discretise._pressure import _lightness
from ....discretise.pressure import PressureProblem
from ....grid.faces import FaceField
from ....kernels import merged, parallel, prange
from ....kernels._stencil import _stencil_relax
from ....operators.rows import Rows
from ....parallel.partition import Partition
from ..settings import SPACING
from ..solids.on_grid import Solids
from .storage import Cloud


@parallel
def _crowding(excess, inside, density, per_cell, room, phi, pressure, least):
    """excess = density / per_cell - room in liquid cells, 0 in others; `inside` is 1 in cells that may also contract.

    A cell with air beside it may be less than full. Inside the liquid, thin cells contract too, if their pressure
    exceeds `least`: liquid that has fallen on a wall must close the gap, but liquid that leaves a wall must not be
    pulled back. Cells with little room are omitted.
    """
    nx, ny, nz = excess.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                excess[i, j, k] = 0.0
                inside[i, j, k] = 0
                if phi[i, j, k] < 0.0 and room[i, j, k] > 0.3:
                    excess[i, j, k] = density[i, j, k] / per_cell - room[i, j, k]
                    deep = pressure[i, j, k] > least
                    deep = deep and (i == 0 or phi[i - 1, j, k] < 0.0 or room[i - 1, j, k] < 0.3)
                    deep = deep and (i == nx - 1 or phi[i + 1, j, k] < 0.0 or room[i + 1, j, k] < 0.3)
                    deep = deep and (j == 0 or phi[i, j - 1, k] < 0.0 or room[i, j - 1, k] < 0.3)
                    deep = deep and (j == ny - 1 or phi[i, j + 1, k] < 0.0 or room[i, j + 1, k] < 0.3)
                    deep = deep and (k == 0 or phi[i, j, k - 1] < 0.0 or room[i, j, k - 1] < 0.3)
                    deep = deep and (k == nz - 1 or phi[i, j, k + 1] < 0.0 or room[i, j, k + 1] < 0.3)
                    inside[i, j, k] = deep


@parallel
def _expansion(source, excess, inside, strength, noise, slack, limit):
    """How far each liquid cell should expand, in cells, at most `limit`.

    Inside the liquid the mean of the cells around counts only beyond `noise`: what a cell has more, others have less,
    and particles trade places. Otherwise liquid at rest would rise and sink with the noise of its particles, and that
    is energy. Beside air only crowding beyond `slack` counts. (Without slack only one sign of the noise would count,
    and the liquid would swell.)
    """
    nx, ny, nz = source.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                value = excess[i, j, k]
                if inside[i, j, k]:
                    total, count = 0.0, 0
                    for a in range(max(i - 1, 0), min(i + 2, nx)):
                        for b in range(max(j - 1, 0), min(j + 2, ny)):
                            for c in range(max(k - 1, 0), min(k + 2, nz)):
                                if inside[a, b, c]:
                                    total += excess[a, b, c]
                                    count += 1
                    mean = total / count
                    value -= min(max(mean, -noise), noise)
                else:
                    value = max(value - slack, 0.0)
                source[i, j, k] = strength * min(max(value, -0.5), limit)


@parallel
def _displace(out, q, open_share, mass, axis, limit):
    """Displacement at the faces of one axis down the potential q: w/m (q_low - q_high), at most `limit`.

    q is 0 in air; the displacement is 0 at closed faces.
    """
    nx, ny, nz = out.shape
    cx, cy, cz = q.shape
    for turn in prange(nx * ny):
        row = np.int64(turn)
        i, j = row // ny, row % ny
        for k in range(nz):
            a, b, c = i - (axis == 0), j - (axis == 1), k - (axis == 2)
            out[i, j, k] = 0.0
            if a >= 0 and b >= 0 and c >= 0 and i < cx and j < cy and k < cz:
                fall = q[a, b, c] - q[i, j, k]
                if fall != 0.0:
                    way = _lightness(open_share[i, j, k], mass[i, j, k]) * fall
                    out[i, j, k] = min(max(way, -limit), limit)


@merged
def _gap(x, first, end, axis, corner, h, at_low):
    """Twice the distance of the mean place of particles from the middle of their space h, away from a wall, over h.

    `corner` is the low end of the cell along the axis; the wall is there, or at the other end.
    """
    mean = 0.0
    for p in range(first, end):
        mean += x[axis, p]
    mean = mean / (end - first) - corner
    height = mean - (1.0 - h) if at_low else h - mean
    return 2.0 * height / h - 1.0


@parallel
def _centre(out, x, start, inside, space, open_share, axis, strength, limit):
    """Displacement at closed faces of one axis: brings the particles of the cells beside to the middle of their space.

    Over the height h of a cell the displacement is linear, 0 on the other side. At the wall it is twice the distance of
    the mean place from h/2, over h: particles that fill the space but for a gap at the wall fill all of it. The cell
    must be inside the liquid, and open on the other side. If liquid lies on both sides of the face, both count.
    """
    nx, ny, nz = out.shape
    cx, cy, cz = inside.shape
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    for turn in prange(nx * ny):
        row = np.int64(turn)
        i, j = row // ny, row % ny
        for k in range(nz):
            if open_share[i, j, k] > 0.0:
                continue
            way = 0.0
            corner = i if axis == 0 else j if axis == 1 else k
            if i < cx and j < cy and k < cz and inside[i, j, k] and open_share[i + di, j + dj, k + dk] >= 1.0:
                cell = (i * cy + j) * cz + k
                if start[cell + 1] > start[cell]:
                    gap = _gap(x, start[cell], start[cell + 1], axis, corner, space[i, j, k], True)
                    way -= min(max(strength * gap, -limit), limit)
            a, b, c = i - di, j - dj, k - dk
            if a >= 0 and b >= 0 and c >= 0 and inside[a, b, c] and open_share[a, b, c] >= 1.0:
                cell = (a * cy + b) * cz + c
                if start[cell + 1] > start[cell]:
                    gap = _gap(x, start[cell], start[cell + 1], axis, corner - 1, space[a, b, c], False)
                    way += min(max(strength * gap, -limit), limit)
            out[i, j, k] = way


def displacement(
    parts: Sequence[tuple[Cloud, np.ndarray, Any, np.ndarray]],
    solids: Solids,
    problem: PressureProblem,
    pressure: np.ndarray,
    least: float,
    per_cell: int,
    mass: FaceField,
) -> list[FaceField]:
    """The displacement of particles at the faces, in cells, for each part.

    Parameters
    ----------
    parts
        The particles, sorted, their distance to the surface, in cells on three axes, the solids among them, and their
        density in cells (`_particles._scatter_velocity`): one part, or one for each layer beside thin walls.
    problem, pressure
        The pressure problem of the step and its solution over the grid.
    least
        The pressure above which a cell counts as pressed.
    per_cell
        Particles of a full cell.
    mass
        Of the particles, on faces.
    """
    found = [_excess(density, phi, view, pressure, least, per_cell) for _, phi, view, density in parts]
    excess = found[0][0] if solids.layers is None else solids.layers.cells([e for e, _ in found])
    q = _potential(problem, excess, solids.partition).reshape(excess.shape)
    out = []
    for c, ((cloud, _, view, _), (_, inside)) in enumerate(zip(parts, found)):
        one = solids.open.map(np.empty_like)
        for axis, shift in one.each():
            _displace(shift, q, solids.open[axis], mass[axis], axis, SPACING.longest)
            if solids.layers is not None:
                shift *= solids.layers.seen(c)[axis]
            beside = cloud.x, cloud.start, inside, view.space, view.open[axis]
            _centre(shift, *beside, axis, SPACING.strength, SPACING.longest)
        out.append(one)
    return out


def _excess(
    density: np.ndarray, phi: np.ndarray, solids: Any, pressure: np.ndarray, least: float, per_cell: int
) -> tuple[np.ndarray, np.ndarray]:
    """Volume in cells by which each liquid cell should expand, and the cells that may also contract."""
    grid = solids.grid
    excess, inside, out = np.empty(grid.three), np.empty(grid.three, np.int8), np.empty(grid.three)
    _crowding(excess, inside, density, float(per_cell), solids.room, phi, pressure, least)
    solids.partition.fill_cells(excess)
    solids.partition.fill_cells(inside)
    _expansion(out, excess, inside, SPACING.strength, SPACING.noise, SPACING.slack, SPACING.largest)
    solids.partition.fill_cells(out)
    return out, inside


def _potential(problem: PressureProblem, excess: np.ndarray, partition: Partition) -> np.ndarray:
    """The potential whose gradient moves particles, over cells in the user's dimension."""
    rows, box, bodies = problem.rows, problem.problem.box, problem.problem.A.bodies
    A = (problem.problem.A if bodies is None else bodies.base).stencil
    assert A is not None
    b = rows.from_grid(excess) * (problem.dt / (problem.rho * problem.dx**2))
    q = np.zeros(rows.n)
    for sweep in range(2 * SPACING.sweeps):
        if partition.depth and sweep % partition.depth == 0 and sweep:  # a half sweep spoils one layer of ghost cells
            q = _renewed(q, rows, partition)
        if rows.n:
            _stencil_relax(
                q, b, box.lower, box.upper, *A.weights, A.diagonal, rows.start, rows.offset, rows.parity,
                partition.colour(sweep), 1.5, False,
            )  # fmt: skip
    grid = rows.to_grid(q)
    partition.fill_cells(grid)
    return grid


def _renewed(q: np.ndarray, rows: Rows, partition: Partition) -> np.ndarray:
    """The vector with the values of other processes in ghost cells."""
    grid = rows.to_grid(q)
    partition.fill_cells(grid)
    return rows.from_grid(grid)
