"""Velocities on faces that do not touch liquid: extrapolated from the liquid, and corrected at walls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....grid._extrapolate import _extrapolate
from ....grid.faces import FaceField, at_faces
from ._into_solids import _constrain, _continue_into_solids, _keep_closed, _keep_known, _put, _put_found


@dataclass
class LiquidFaces:
    """The faces on which a step finds the velocity of the liquid."""

    #: open shares; 0 too on faces with their middles in a wall, which have the velocity of the wall in a viscous step
    open: FaceField
    #: distances of the faces to walls, in cells, NaN in those to which no liquid clings; of size 1 if it clings to none
    no_slip_distance: FaceField = field(default_factory=lambda: FaceField([np.zeros((1, 1, 1))] * 3))

    def seen_from(self, seen: FaceField, nodes: np.ndarray) -> LiquidFaces:
        """The faces that one side of thin walls sees, with its distance at the nodes; all others are in solids."""
        away = self.no_slip_distance
        if any(a.size > 1 for _, a in away.each()):
            away = FaceField((np.where(np.isnan(d), d, at_faces(nodes, a)) for a, d in away.each()), away.axes)
        return LiquidFaces(seen.where(self.open, 0.0), away)


def fill_gaps(u: np.ndarray, known: np.ndarray) -> None:
    """Set faces of one axis that are not known to the mean of their neighbours, two layers deep, in place."""
    _extrapolate(u, known, np.empty(u.size, np.int32), 2)


def extend(
    velocity: FaceField,
    mass: FaceField,
    phi: np.ndarray,
    solids: Any,
    liquid_faces: LiquidFaces,
    sticky: np.ndarray,
    layers: int,
) -> float:
    """Extrapolate velocities `layers` faces beyond the liquid and, linearly, into walls, in place.

    At walls only the forbidden part of the velocity is removed: `sticky` is 1 in cells whose walls do not let liquid
    separate. Returns the largest velocity on a face of the liquid.
    """
    axes = solids.grid.axes
    closed = []
    fastest = 0.0
    for axis in axes:
        u, around = velocity[axis], (liquid_faces.open[axis], mass[axis], phi, axis)
        known, largest = np.empty(u.shape, np.int8), np.empty(u.shape[0] * u.shape[1])
        _keep_known(largest, known, u, *around)
        fastest = max(fastest, float(largest.max(initial=0.0)))
        grade, queue = known.copy(), np.empty(u.size, np.int32)
        count = _extrapolate(u, known, queue, layers)
        closed.append(queue[: _keep_closed(queue, count, liquid_faces.open[axis])].copy())
        _into_solids(u, grade, closed[-1], solids, axis, liquid_faces.no_slip_distance[axis])
    results = []  # all axes are read before any is written
    for axis, faces in zip(axes, closed):
        values = np.empty(faces.size)
        _constrain(
            values,
            faces,
            axis,
            *velocity,
            solids.nodes,
            *solids.velocity,
            solids.moving,
            sticky,
            solids.grid.axes.start,
        )
        results.append(values)
    for axis, faces, values in zip(axes, closed, results):
        _put(velocity[axis], faces, values)
    solids.partition.fill_faces(velocity)
    return solids.partition.comm.largest(fastest)


def _into_solids(
    u: np.ndarray, grade: np.ndarray, faces: np.ndarray, solids: Any, axis: int, no_slip_distance: np.ndarray
) -> None:
    """Continue the velocity linearly on closed faces, two layers deep; the second layer uses the first one."""
    values = np.empty(faces.size)
    for _layer in range(2):
        _continue_into_solids(values, faces, u, grade, solids.velocity[axis], solids.moving, axis, no_slip_distance)
        _put_found(u, grade, faces, values)
