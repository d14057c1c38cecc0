"""Probes at points and on lines: velocity, pressure (also the mean over a piece of wall), water height."""

from __future__ import annotations

import numpy as np

from ....scenes.probes import WALLS
from .observed import AXES, Observed, Probe, sample
from .patches import Surroundings


class Velocity(Probe):
    """The velocity of the liquid at a point; not a number where there is no liquid."""

    kind = "velocity"

    @property
    def parts(self) -> dict[str, str]:
        return {f"v{a}": "m/s" for a in AXES[: self.d]}

    def read(self, seen: Observed) -> list[float]:
        wet = float(seen.surface_distance(self.point)[0]) < 0.0
        return seen.velocity_at(self.point)[0].tolist() if wet else [np.nan] * self.d


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


class Height(Probe):
    """Length of the vertical line above a point that lies in liquid; over a line of gauges mean, least and most."""

    kind = "height"

    @property
    def parts(self) -> dict[str, str]:
        names = ("height",) if self.table.to is None else ("mean", "least", "most")
        return dict.fromkeys(names, "m")

    @property
    def feet(self) -> np.ndarray:
        """Lower ends of the gauges (n, d)."""
        if self.table.to is None:
            return self.point
        share = np.linspace(0.0, 1.0, self.table.points)[:, None]
        return (1.0 - share) * self.point + share * np.array([self.table.to], float)

    def late(self, seen: Observed) -> list[float]:
        heights = wet_lengths(seen, self.feet)
        if self.table.to is None:
            return [float(heights[0])]
        return [float(heights.mean()), float(heights.min()), float(heights.max())]


def wet_lengths(seen: Observed, feet: np.ndarray) -> np.ndarray:
    """Length of liquid on the vertical lines above points (n, d), outside solids.

    Between the centres of cells the distance to the surface is linear, so the height of a flat surface is exact.
    """
    solids = seen.liquid.solids
    grid = solids.grid
    top = grid.size[1]
    y = np.concatenate([[0.0], grid.cells()[1].ravel(), [top]])
    lines = np.repeat(feet[:, None, :], len(y), axis=1)
    lines[:, :, 1] = y
    flat = lines.reshape(-1, feet.shape[1])
    # nearest in y: below the first centre and above the last the value goes on
    phi = seen.surface_distance(flat)
    if solids.list:
        phi = np.maximum(phi, -sample(solids.phi, flat, grid.dx, 0.0))
    phi = phi.reshape(len(feet), len(y))
    out = np.zeros(len(feet))
    for k in range(len(y) - 1):
        low = np.clip(feet[:, 1], y[k], y[k + 1])  # a foot inside a piece cuts it
        share = (low - y[k]) / (y[k + 1] - y[k])
        a, b = phi[:, k] + share * (phi[:, k + 1] - phi[:, k]), phi[:, k + 1]
        out += (y[k + 1] - low) * _negative(a, b)
    return out


def _negative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Share of a segment on which a linear function from a to b is below zero."""
    least, most = np.minimum(a, b), np.maximum(a, b)
    part = np.divide(-least, most - least, out=np.zeros(a.shape), where=most > least)
    return np.where(most < 0.0, 1.0, np.where(least >= 0.0, 0.0, part))
