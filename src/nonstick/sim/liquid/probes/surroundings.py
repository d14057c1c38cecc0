"""The walls that probes look at, by name: sides of the domain, solids, all of them."""

from __future__ import annotations

import numpy as np

from ....grid.fractions import centre_distance
from ....grid.shapes import Shape
from ....scenes.probes import SIDES, WALLS
from ..solids import Solids
from .patches import Patches, side_patches, solid_patches


class Surroundings:
    """Pieces of the walls of a scene; those that never move are found once."""

    def __init__(self, solids: Solids):
        self.solids = solids
        self.names = solids.scene.model.solid_names
        self._found: dict[str, tuple[Patches, np.ndarray]] = {}
        self._time = -1.0

    def patches(self, name: str, region: Shape | None = None) -> tuple[Patches, np.ndarray]:
        """Pieces of the wall of that name, in a region, and the velocity (n, d) of the wall there."""
        if self.solids.driven and self._time != self.solids.time:
            self._found.clear()
            self._time = self.solids.time
        key = f"{name}/{id(region)}"
        if key not in self._found:
            found = self._of(name)
            if region is not None:
                found = found.keep(np.asarray(region(*found.x.T)) < 0.0)
            self._found[key] = found, self._moving(found)
        return self._found[key]

    def _of(self, name: str) -> Patches:
        solids, d = self.solids, self.solids.grid.dimension
        static = [k for k, s in enumerate(solids.list) if s.body is None]
        phi = np.minimum.reduce([solids.distances[k] for k in static]) if static else None
        parts = []
        for index, side in enumerate(SIDES[: 2 * d]):
            if name in (side, WALLS):
                parts.append(side_patches(solids.grid, phi, index // 2, bool(index % 2)))
        if phi is not None:
            owner = np.argmin([centre_distance(solids.distances[k]) for k in static], axis=0)
            for k in static:
                if k >= len(self.names):  # the sides of a domain that is not a whole number of cells
                    around = solid_patches(solids.grid, phi, owner == k)
                    parts += [around] if name == WALLS else [_facing(around, name)] if name in SIDES else []
                elif name in (self.names[k], WALLS):
                    parts.append(solid_patches(solids.grid, phi, owner == k))
        return Patches.join(parts, d)

    def _moving(self, found: Patches) -> np.ndarray:
        """The velocity of the solids at pieces of their walls."""
        solids, out = self.solids, np.zeros(found.x.shape)
        if not solids.driven:
            return out
        static = [k for k, s in enumerate(solids.list) if s.body is None]
        owner = np.argmin([centre_distance(solids.distances[k]) for k in static], axis=0)[tuple(found.cell.T)]
        inside = np.min([centre_distance(solids.distances[k]) for k in static], axis=0)[tuple(found.cell.T)]
        for row, k in enumerate(static):
            solid = solids.list[k]
            here = np.flatnonzero((owner == row) & (inside < solids.grid.dx))
            if solid.motion is not None and here.size:
                for axis in range(solids.grid.dimension):
                    out[here, axis] = solid.motion.velocity(axis, tuple(found.x[here].T), solids.time)
        return out


def _facing(found: Patches, side: str) -> Patches:
    """The pieces whose normal is that of a side of the domain."""
    axis, upper = divmod(SIDES.index(side), 2)
    most = np.argmax(np.abs(found.area), axis=1) == axis
    return found.keep(most & ((found.area[:, axis] > 0) == bool(upper)))
