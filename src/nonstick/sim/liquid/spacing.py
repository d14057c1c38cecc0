"""Evening out particles: a potential flow of positions from crowded to thin places; velocities stay.

`L q = ρ_p/ρ_0 - 1` with the pressure operator (walls closed, q = 0 in air), by a fixed number of red-black
sweeps: local crowding goes at once, long waves over several steps. After Kugelstadt et al. 2019 (implicit
density projection), who solve this system exactly.
"""

from __future__ import annotations

import numpy as np

from ...discretise.pressure import PressureProblem
from ...kernels._solids import _crowding, _displace
from ...kernels._stencil import _stencil_relax
from ._particles import _scatter_density
from .particles import Particles
from .solids import Solids

SWEEPS = 12
#: with the level set shifted by this many cells or more, five times as many sweeps (from half of it on, more than
#: usual): liquid was crushed at a wall
CRUSHED = 0.25
STRENGTH = 0.5
SLACK = 0.15
#: part of the largest pressure from which on a cell counts as pressed
PRESSED = 1e-6
#: largest excess of volume of a cell, in cells, that counts in a step
MOST = 2.0
#: most a particle is moved in a step, in cells
LIMIT = 0.2


def displacement(
    particles: Particles,
    phi: np.ndarray,
    solids: Solids,
    problem: PressureProblem,
    pressure: np.ndarray,
    per_cell: int,
    offset: float,
) -> list[np.ndarray]:
    """Face arrays of the shift in cells; φ in cells on three axes."""
    density = np.zeros(solids.three)
    _scatter_density(density, particles.x, particles.start, particles.plane)
    source = np.empty(solids.three)
    density /= per_cell
    # Whether a clamped cell holds 0 or a solver's rounding must not decide what moves.
    least = PRESSED * float(pressure.max(initial=0.0))
    _crowding(source, density, solids.room, phi, pressure.reshape(solids.three), least, STRENGTH, SLACK, MOST)
    rows, box, bodies = problem.rows, problem.problem.box, problem.problem.A.bodies
    A = (problem.problem.A if bodies is None else bodies.base).stencil
    assert A is not None
    b = rows.from_grid(source) * (problem.dt / (problem.rho * problem.dx**2))
    q = np.zeros(rows.n)
    if rows.n:
        sweeps = round(SWEEPS * (1.0 + 4.0 * min(max(2.0 * abs(offset) / CRUSHED - 1.0, 0.0), 1.0)))
        for sweep in range(2 * sweeps):
            _stencil_relax(
                q, b, box.lower, box.upper, *A.weights, A.diagonal, rows.start, rows.offset, rows.parity,
                sweep & 1, 1.5, False,
            )  # fmt: skip
    grid = rows.to_grid(q).reshape(solids.three)
    out = [np.zeros((2, 1, 1))] * (3 - solids.d)
    for axis in range(3 - solids.d, 3):
        shift = np.empty(solids.open[axis].shape)
        _displace(shift, grid, phi, solids.open[axis], axis, LIMIT)
        out.append(shift)
    return out
