"""φ of particles, and the gaps between walls and liquid that φ counts as liquid."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ....grid.faces import FaceField
from ....grid.levelset import continue_linearly, flat_distance
from ..particles.storage import Cloud
from ..solids.on_grid import Solids
from ._gaps import _gap_planes
from ._levelset_moves import _move_level
from ._surface import (
    FARTHEST,
    INSIDE,
    OUTSIDE,
    RADIUS,
    UNSURE,
    _continue_at_walls,
    _correct,
    _fill_holes,
    _straighten,
    _surface_band,
    _surface_particles,
    _weigh,
    _widen,
)


class Pressing(NamedTuple):
    """How liquid pressed on walls in the last step."""

    #: 1 in cells next to walls that do not let liquid separate
    sticky: np.ndarray
    pressure: np.ndarray
    #: liquid presses where the pressure is above this
    least: float


#: before the first step
NOT_KNOWN = Pressing(np.empty((0, 0, 0), np.int8), np.empty((0, 0, 0)), 0.0)


class ParticleSurface:
    """Finds the surface of sorted particles among solids.

    `per_cell` is the number of particles of a full cell and `up` the unit vector against gravity (zero without
    gravity).
    """

    def __init__(self, solids: Solids, per_cell: int, up: np.ndarray):
        self.solids, self.per_cell, self.up = solids, float(per_cell), up

    @cached_property
    def _table(self) -> np.ndarray:
        dimension = self.solids.grid.dimension
        return RADIUS * flat_distance(dimension, spacing=self.per_cell ** (-1.0 / dimension) / RADIUS)

    def outline(
        self,
        phi: np.ndarray,
        cloud: Cloud,
        solids: Any = None,
        filled: np.ndarray | None = None,
        moved: np.ndarray | None = None,
        pressing: Pressing | None = None,
    ) -> np.ndarray:
        """Write φ of the present particles among these solids, or all; returns the weight of each particle.

        `filled` is the `start` of the cloud if cells without particles hold liquid too (`particles.deep`), `moved` the
        surface that has moved with the liquid, and `pressing` how it pressed on walls in the last step.
        """
        solids = self.solids if solids is None else solids
        kind = np.empty(phi.shape, np.int8)
        _surface_band(kind, cloud.start if filled is None else filled, solids.centre, solids.space, self.per_cell, True)
        weight = np.empty(cloud.n)
        _weigh(weight, cloud.start, solids.space, self.per_cell)
        _surface_particles(
            phi, kind, cloud.x, weight, cloud.start, solids.nodes, solids.centre, solids.space, self._table,
            self.per_cell, True, self.up,
        )  # fmt: skip
        solids.partition.fill_cells(phi)
        for _ in range(2):  # the second time from neighbours that are right already
            _straighten(phi, phi.copy(), solids.centre)
            solids.partition.fill_cells(phi)
        if moved is not None:
            walls = solids.centre, *(pressing or NOT_KNOWN)
            _correct(phi, moved, *walls, self.up, UNSURE)
            solids.partition.fill_cells(phi)
            inside = solids.centre < 0.0
            if inside.any():
                continued = continue_linearly(np.where(inside, np.nan, phi), inside, solids.centre)
                _continue_at_walls(phi, continued, moved, *walls)
            solids.partition.fill_cells(phi)  # all ranks exchange, those without walls too
        _fill_holes(phi, phi.copy(), solids.centre, *solids.open)
        solids.partition.fill_cells(phi)
        phi[phi >= OUTSIDE] = FARTHEST
        phi[(phi <= INSIDE) & (solids.centre >= 0.0)] = -FARTHEST
        for _ in range(3):  # what moves φ looks at so many cells
            _widen(phi, phi.copy(), solids.centre)
            solids.partition.fill_cells(phi)
        return weight

    def moved(self, phi: np.ndarray, velocity: FaceField, dt: float) -> np.ndarray:
        """φ moved with liquid that goes along straight lines for dt.

        How far φ is moved depends on φ alone: the fastest liquid of a scene is not near all of it.
        """
        out = np.empty_like(phi)
        _move_level(out, phi, *velocity, dt / self.solids.grid.dx, FARTHEST - 1.0)
        self.solids.partition.fill_cells(out)
        return out

    def gaps(
        self, phi: np.ndarray, cloud: Cloud, weight: np.ndarray, space: np.ndarray, pressure: np.ndarray, least: float,
        solids: Any = None,
    ) -> float:  # fmt: skip
        """Volume in cells of the gaps between walls and liquid that does not press on them; φ counts it as liquid.

        `weight` comes from `outline`, `pressure` from the last step; liquid presses if it is above `least`. `space` is
        that of the cells to look at.
        """
        solids, partition = self.solids if solids is None else solids, self.solids.partition
        partial = np.empty(phi.shape[0])
        _gap_planes(
            partial, phi, cloud.x, weight, cloud.start, solids.nodes, solids.centre, space,
            pressure, least, self._table, self.per_cell,
        )  # fmt: skip
        return partition.comm.total(float(partial.sum()))
