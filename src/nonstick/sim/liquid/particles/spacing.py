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

from ....discretise.pressure import PressureProblem
from ....grid.faces import FaceField
from ....kernels._stencil import _stencil_relax
from ....operators.rows import Rows
from ....parallel.partition import Partition
from ..settings import SPACING
from ..solids.on_grid import Solids
from ._spacing import _centre, _crowding, _displace, _expansion
from .storage import Cloud


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
