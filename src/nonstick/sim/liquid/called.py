"""The pressure that viscosity calls for, kept from step to step.

Viscosity adds divergence, and the projection after it removes this by a pressure p₂. The solve for viscosity did not
know p₂, so a slip of dt/ρ ∂p₂/∂s is left at walls. If a step begins with the p₂ of the last one, steady flow has no
slip left, however viscous the liquid and however long the steps (incremental pressure correction: van Kan, SIAM J.
Sci. Stat. Comput. 7, 1986). In a box whose lid creeps along (μ dt/ρ = 240 dx²) the liquid is up to 33 % too slow
without it, and within 3 % with it.

Where the surface moves, p₂ also holds what was true of the surface of the last step. So it fades near the surface, or
such errors would add up: a drop of pitch that turns freely would lose 2 % of its energy in half a turn, not 0.8 %.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
from scipy.ndimage import binary_dilation

from .pressure import PressureResult
from .solids import Solids

#: cells from the air in which p₂ fades, and what a step leaves of it there
NEAR, FADED = 3, 0.9


class CalledFor:
    """p₂ of the last step, in pascal."""

    def __init__(self, solids: Solids):
        self.solids = solids
        self.pressure = np.zeros(solids.grid.three)

    def after(self, first: PressureResult) -> PressureResult:
        """What follows the first projection of a step if p₂ of the last step acts: no wall pulls more than it may.

        The pressure of the result is that beyond the first projection.
        """
        problem, box, done = first.problem, first.problem.problem.box, first.solution
        together = problem.rows.to_grid(box.project(problem.rows.from_grid(first.pressure + self.pressure)))
        later = copy.copy(problem)
        later.velocity = done.velocity
        solution = replace(done, pressure=together - done.pressure, velocity=problem.update(together))
        return replace(first, problem=later, solution=solution)

    def keep(self, pressure: np.ndarray, phi: np.ndarray) -> None:
        """Remember p₂ for the next step."""
        solids = self.solids
        air = (phi >= 0.0) & (solids.centre >= 0.0)
        near = binary_dilation(air, iterations=NEAR) if air.any() else False
        self.pressure = np.where(near, FADED, 1.0) * pressure
        solids.ranks.fill_cells(self.pressure)
