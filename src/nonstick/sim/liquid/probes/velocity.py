"""Velocity at a point."""

from __future__ import annotations

import numpy as np

from .base import AXES, Probe
from .observed import Observed


class Velocity(Probe):
    """The velocity of the liquid at a point; not a number where there is no liquid."""

    kind = "velocity"

    @property
    def parts(self) -> dict[str, str]:
        return {f"v{a}": "m/s" for a in AXES[: self.d]}

    def read(self, seen: Observed) -> list[float]:
        wet = float(seen.surface_distance(self.point)[0]) < 0.0
        return seen.velocity_at(self.point)[0].tolist() if wet else [np.nan] * self.d
