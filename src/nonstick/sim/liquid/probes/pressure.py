"""Pressure at a point, or the mean over a piece of wall."""

from __future__ import annotations

import numpy as np

from ....scenes.probes import WALLS
from .base import Probe
from .observed import Observed
from .surroundings import Surroundings


class Pressure(Probe):
    """The pressure above that of the air, which is zero; also zero where there is no liquid."""

    kind = "pressure"
    walls: Surroundings

    @property
    def parts(self) -> dict[str, str]:
        return {"pressure": "Pa"}

    def read(self, seen: Observed) -> list[float]:
        if self.table.at is not None:
            return [float(seen.load.at(self.point)[0])]
        found, _ = self.walls.patches(self.table.on or WALLS, self.region)
        size = np.linalg.norm(found.area, axis=1)
        total = float(size.sum())
        return [float(size @ seen.load.at(found.x, found.cell)) / total if total > 0.0 else np.nan]
