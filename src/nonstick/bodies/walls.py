"""Walls: obstacles that bodies cannot move, the sides of the domain and the solids of a scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..grid.shapes import HalfSpace, Probes, Shape


@dataclass
class Wall:
    """An obstacle that bodies collide with but cannot move.

    Parameters
    ----------
    name : str
        Used in messages.
    shape : Shape
        The solid at time 0.
    place : callable, optional
        `place(t)` is the shape at time t; without it the wall never moves.
    speed : callable, optional
        `speed(t, x)` is its velocity at points (d, n).
    probes : Probes, optional
        Probes of its surface at time 0, for a bounded wall.
    pose : callable, optional
        `pose(t)` moves the probes: rotation matrix, centre of rotation, offset.

    Examples
    --------
    >>> from nonstick.bodies import Wall
    >>> from nonstick.grid import Box
    >>> step = Box((0.0, 0.0), (0.5, 0.2))
    >>> wall = Wall("step", step, probes=step.probes(2))
    """

    name: str
    shape: Shape
    place: Callable[[float], Shape] | None = None
    speed: Callable[[float, np.ndarray], np.ndarray] | None = None
    probes: Probes | None = None
    pose: Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None


def box_walls(size: Sequence[float]) -> list[Wall]:
    """The sides of a box from the origin to `size`.

    Examples
    --------
    >>> from nonstick.bodies import box_walls
    >>> len(box_walls((1.0, 1.0, 1.0)))
    6
    """
    d = len(size)
    out = []
    for axis in range(d):
        for value, sign in ((0.0, 1.0), (float(size[axis]), -1.0)):
            point, normal = np.zeros(d), np.zeros(d)
            point[axis], normal[axis] = value, sign
            out.append(Wall(f"the domain's side {'xyz'[axis]} = {value:g}", HalfSpace(tuple(point), tuple(normal))))
    return out
