"""Velocities on faces that do not touch liquid: extrapolated from the liquid, and corrected at walls."""

from __future__ import annotations

import numpy as np

from ._extrapolate import (
    _constrain,
    _continue_into_solids,
    _extrapolate,
    _hold_surface,
    _keep_known,
    _known_faces,
    _put,
)
from ._falling import _free_share
from .solids import Solids


def fill_gaps(u: np.ndarray, mass: np.ndarray, axis: int, phi: np.ndarray, solids: Solids) -> None:
    """Set faces of one axis without particles to the mean of their neighbours, two layers deep, in place."""
    known = np.empty(u.shape, np.int8)
    _known_faces(known, solids.open[axis], mass, phi, axis, False)
    _extrapolate(u, known, np.empty(u.size, np.int32), 2)


def fill_beyond(values: list[np.ndarray], phi: np.ndarray, solids: Solids) -> None:
    """Set faces that do not touch liquid: one layer to the mean of their neighbours, others to 0, in place."""
    for axis in solids.layout.axes:
        u = values[axis]
        known = np.empty(u.shape, np.int8)
        _known_faces(known, solids.open[axis], np.zeros(u.shape), phi, axis, True)
        _keep_known(np.empty(u.shape[0] * u.shape[1]), u, known)
        _extrapolate(u, known, np.empty(u.size, np.int32), 1)


def hold_surface(
    velocity: list[np.ndarray],
    before: list[np.ndarray],
    taken: list[np.ndarray],
    push: np.ndarray,
    mass: list[np.ndarray],
    phi: np.ndarray,
    solids: Solids,
    thin: float = 1.0,
) -> None:
    """Let the pressure act on particles in cells that the surface cuts below their centres, in place.

    `before` is the velocity without the pressure, `push` (3) what gravity gave, and `taken`, from `fill_beyond`, what
    the pressure took. `thin` is 1 without viscosity and 0 for thick liquid.
    """
    if not push.any():
        return
    free = np.empty(phi.shape)
    _free_share(free, *taken, *solids.open, *push, solids.layout.first)
    for axis in solids.layout.axes:
        around = solids.open[axis], mass[axis], phi, axis
        _hold_surface(velocity[axis], before[axis], taken[axis], push[axis], free, thin, *around)


def extend(
    velocity: list[np.ndarray],
    mass: list[np.ndarray],
    phi: np.ndarray,
    solids: Solids,
    sticky: np.ndarray,
    layers: int,
) -> float:
    """Extrapolate velocities `layers` faces beyond the liquid and, linearly, into walls, in place.

    At walls only the forbidden part of the velocity is removed: `sticky` is 1 in cells whose walls do not let liquid
    separate. Returns the largest velocity on a face of the liquid.
    """
    axes = solids.layout.axes
    filled = []
    fastest = 0.0
    for axis in axes:
        u = velocity[axis]
        known = np.empty(u.shape, np.int8)
        _known_faces(known, solids.open[axis], mass[axis], phi, axis, True)
        queue = np.empty(u.size, np.int32)
        largest = np.empty(u.shape[0] * u.shape[1])
        _keep_known(largest, u, known)
        fastest = max(fastest, float(largest.max(initial=0.0)))
        grade = known.copy()
        count = _extrapolate(u, known, queue, layers)
        _continue_into_solids(u, grade, queue, count, solids.open[axis], solids.velocity[axis], solids.moving, axis)
        filled.append((queue, count))
    results = []  # all axes are read before any is written
    for axis, (queue, count) in zip(axes, filled):
        values = np.empty(count)
        _constrain(
            values, queue, count, axis, *velocity, solids.open[axis], solids.nodes, *solids.velocity,
            solids.moving, sticky, solids.layout.first,
        )  # fmt: skip
        results.append(values)
    for axis, (queue, count), values in zip(axes, filled, results):
        _put(velocity[axis], queue, count, values)
    solids.ranks.fill_faces(velocity)
    return solids.ranks.max(fastest)
