"""Evens out the spacing of particles: moves them from crowded to thin places and does not change their velocities.

Incompressible flow keeps the density of particles even, but a step has errors: liquid that hits a wall is crushed, and
particles gather there. The displacement of a step is the gradient of a potential q with

    L q = density of particles / density of a full cell - 1

where L is the pressure operator: particles do not move through walls, and q = 0 in air. A fixed number of red-black
sweeps solves it roughly. Local crowding disappears at once, long waves over several steps. Kugelstadt et al. 2019
(implicit density projection) solve this system exactly.
"""

from __future__ import annotations

import numpy as np

from ....discretise.pressure import PressureProblem
from ....grid.faces import FaceField
from ....kernels._stencil import _stencil_relax
from ....operators.rows import Rows
from ....parallel.partition import Partition
from ..settings import SPACING
from ..solids.on_grid import Solids
from ._particles import _scatter_density
from ._spacing import _crowding, _displace, _moments, _spread, _wall_cells
from .storage import Cloud


class WallLayer:
    """Spreads particles in two layers of cells at flat walls that follow the grid.

    The displacement above is linear inside a cell and zero at a wall. It keeps a cell full, but it cannot see where in
    the cell the particles are. Liquid that falls on a floor stops at a distance, and the gap would stay for ever, with
    the particles that fill the cell crowded above it.
    """

    def __init__(self, solids: Solids):
        self.solids = solids
        self._of: object = None

    def spread(self, cloud: Cloud, phi: np.ndarray, pressure: np.ndarray, least: float, margin: float) -> np.ndarray:
        """Move the sorted particles of cells with a pressure above `least`, except where the wall pushes liquid off.

        Returns the sum of their ways (3), in cells.
        """
        if self._of is not self.solids.open:
            self._of, self._cells = self.solids.open, self._find()
        if np.any(self.solids.separation):
            pressure = np.where(np.asarray(self.solids.separation) > 0.0, 0.0, pressure)
        way = np.zeros(3)
        for cells in self._cells:  # one after the other, because columns of one group have no cells in common
            moved = np.empty(cells[0].size)
            _spread(moved, cloud.x, cloud.start, *cells, phi, pressure, least, 1.0, margin)
            way[cells[2]] += moved.sum()
        return way

    def _find(self) -> list[tuple]:
        """Cells, heights, axis and side, grouped by axis and side."""
        around = self.solids.space, *self.solids.open, self.solids.grid.axes.start, SPACING.flat
        none = (np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.bool_), np.empty(0))
        n = _wall_cells(*none, *around)
        cells = (np.empty(n, np.int64), np.empty(n, np.int8), np.empty(n, np.bool_), np.empty(n))
        _wall_cells(*cells, *around)
        cell, axis, low, height = cells
        groups = [(a, side, (axis == a) & (low == side)) for a in self.solids.grid.axes for side in (True, False)]
        return [(cell[mine], height[mine], a, side) for a, side, mine in groups if mine.any()]


def displacement(
    cloud: Cloud,
    phi: np.ndarray,
    solids: Solids,
    problem: PressureProblem,
    pressure: np.ndarray,
    least: float,
    per_cell: int,
    offset: float,
) -> FaceField:
    """The displacement of particles at the faces, in cells.

    Parameters
    ----------
    cloud
        The particles, sorted.
    phi
        Distance to the surface, in cells on three axes.
    problem, pressure
        The pressure problem of the step and its solution over the grid.
    least
        The pressure above which a cell counts as pressed.
    per_cell
        Particles of a full cell.
    offset
        The shift of the level set that held its volume, in cells.
    """
    excess = _excess(cloud, phi, solids, pressure, least, per_cell)
    sweeps = round(SPACING.sweeps * (1.0 + (SPACING.many_times - 1.0) * crushed(offset)))
    q = _potential(problem, excess, solids.partition, sweeps)
    out = solids.open.zeros()
    for axis, shift in out.each():
        _displace(shift, q.reshape(phi.shape), phi, solids.open[axis], axis, SPACING.longest)
    return out


def in_flight(solids: Solids, pressure: np.ndarray, least: float) -> bool:
    """True if no wall carries liquid: the pressure there is at most `least`."""
    return not solids.touched(pressure, least)


def crushed(offset: float) -> float:
    """0 if a shift of the level set by `offset` cells is small, 1 if it shows that liquid was crushed."""
    return min(max(2.0 * abs(offset) / SPACING.crushed - 1.0, 0.0), 1.0)


def keep_centre(shift: FaceField, mass: FaceField, way: np.ndarray, share: float, partition: Partition) -> None:
    """Take the share `share` of its mean from a displacement, in place; `way` (3) is a sum of ways made besides.

    Liquid in free flight cannot move its centre of mass. And where liquid was not crushed, ways that lift or lower all
    of it are noise: those that lower it would lose energy, and those that lift it would have to be paid for.
    """
    for axis, s in shift.each():
        moment, weight = moments(s, mass[axis], axis, partition)
        s -= share * (moment + way[axis]) / max(weight, 1.0)


def moments(values: np.ndarray, mass: np.ndarray, axis: int, partition: Partition) -> tuple[float, float]:
    """Sums of mass times value and of mass, over the faces of an axis."""
    values, mass = partition.own_faces(values, axis), partition.own_faces(mass, axis)
    moment, weight = np.empty(len(values)), np.empty(len(values))
    _moments(moment, weight, values, mass)
    return partition.comm.total(float(moment.sum())), partition.comm.total(float(weight.sum()))


def _excess(
    cloud: Cloud, phi: np.ndarray, solids: Solids, pressure: np.ndarray, least: float, per_cell: int
) -> np.ndarray:
    """Volume in cells by which each liquid cell should expand."""
    grid = solids.grid
    density = np.zeros(grid.three)
    _scatter_density(density, cloud.x, cloud.start, grid.plane)
    out = np.empty(grid.three)
    counted = SPACING.strength, SPACING.noise, SPACING.largest
    _crowding(out, density, float(per_cell), solids.room, phi, pressure, least, *counted)
    solids.partition.fill_cells(out)
    return out


def _potential(problem: PressureProblem, excess: np.ndarray, partition: Partition, sweeps: int) -> np.ndarray:
    """The potential whose gradient moves particles, over cells in the user's dimension."""
    rows, box, bodies = problem.rows, problem.problem.box, problem.problem.A.bodies
    A = (problem.problem.A if bodies is None else bodies.base).stencil
    assert A is not None
    b = rows.from_grid(excess) * (problem.dt / (problem.rho * problem.dx**2))
    q = np.zeros(rows.n)
    for sweep in range(2 * sweeps):
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
