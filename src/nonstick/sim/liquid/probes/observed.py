"""What a probe sees of a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..liquid import Liquid
from ..pressure import PressureResult
from .load import Load
from .sample import sample


@dataclass
class Observed:
    """Fields of one step, in the user's dimension and in SI units."""

    liquid: Liquid
    load: Load
    #: every projection of the step, for the bodies in it
    outcomes: list[PressureResult] = field(default_factory=list)
    #: velocity on the faces, continued into air and walls
    velocity: Sequence[np.ndarray] = ()
    #: distance to the surface at the centres of cells
    phi: np.ndarray = field(default_factory=lambda: np.zeros(()))
    dt: float = 0.0
    #: the time in which forces and pressure acted on the velocities
    kick: float = 0.0

    @property
    def dx(self) -> float:
        return self.liquid.scene.dx

    def surface_distance(self, points: np.ndarray) -> np.ndarray:
        """Distance to the surface at points (n, d): negative in liquid."""
        return sample(self.phi, points, self.dx, 0.5)

    def velocity_at(self, points: np.ndarray) -> np.ndarray:
        """Velocity (n, d) at points."""
        d = points.shape[1]
        out = np.empty(points.shape)
        for axis, u in enumerate(self.velocity):
            offset = np.full(d, 0.5)
            offset[axis] = 0.0
            out[:, axis] = sample(u, points, self.dx, offset)
        return out
