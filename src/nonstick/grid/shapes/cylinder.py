"""A cylinder with flat ends, along any axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from ...errors import NonstickError
from .base import Corners, Moments, Positive, Probes, Shape, Vector
from .primitives import ALONG, _halfway, norm


@dataclass(frozen=True)
class Cylinder(Shape):
    """All points within `radius` of the line from `start` to `end`, between two flat ends; in 2D a rectangle.

    Examples
    --------
    >>> from nonstick.grid import Cylinder
    >>> can = Cylinder((0.0, 0.0, 0.0), (0.0, 2.0, 0.0), 0.5)
    >>> float(can(0.0, 3.0, 0.0)), float(can(1.5, 1.0, 0.0)), round(can.moments(3).volume, 4)
    (1.0, 1.0, 1.5708)
    """

    kind = "cylinder"
    start: Vector
    end: Vector
    radius: Positive

    @classmethod
    def from_scene(cls, start: Vector, end: Vector, radius: Positive) -> Cylinder:
        if len(start) != len(end):
            raise NonstickError("start and end need the same number of coordinates")
        if tuple(start) == tuple(end):
            raise NonstickError("start and end are the same point, so the cylinder has no length: move one of them")
        return cls(start, end, radius)

    @property
    def _axis(self) -> tuple[np.ndarray, float]:
        """Unit vector from start to end, and the length."""
        way = np.array(self.end, float) - np.array(self.start, float)
        length = float(np.linalg.norm(way))
        if not length > 0:
            raise NonstickError("start and end are the same point, so the cylinder has no length: move one of them")
        return way / length, length

    def distance(self, *x):
        axis, length = self._axis
        r = [a - m for a, m in zip(x, self.middle)]
        along = reduce(np.add, (a * n for a, n in zip(r, axis)))
        out = np.abs(along) - 0.5 * length
        side = norm(a - along * n for a, n in zip(r, axis)) - self.radius
        return norm((np.maximum(out, 0.0), np.maximum(side, 0.0))) + np.minimum(np.maximum(out, side), 0.0)

    def bounds(self, dimension: int) -> Corners:
        axis, _ = self._axis
        a, b = np.array(self.start, float), np.array(self.end, float)
        reach = self.radius * np.sqrt(np.maximum(1.0 - axis**2, 0.0))
        return np.minimum(a, b) - reach, np.maximum(a, b) + reach

    def exact_moments(self, dimension: int) -> Moments:
        axis, length = self._axis
        r = self.radius
        volume = 2 * r * length if dimension == 2 else np.pi * r**2 * length
        across = volume * r**2 / (3 if dimension == 2 else 4)
        along = volume * length**2 / 12
        second = across * np.eye(dimension) + (along - across) * np.outer(axis, axis)
        return Moments(volume, np.array(self.middle, float), second)

    def probes(self, dimension: int) -> Probes:
        """Points on the side, and on the ends in rings; the rims have one probe for the side and one for the end."""
        axis, length = self._axis
        middle = np.array(self.middle, float)[:, None]
        out = _around(axis)
        heights = np.linspace(-0.5 * length, 0.5 * length, ALONG)
        side = np.concatenate([middle + h * axis[:, None] + self.radius * out for h in heights], axis=1)
        parts = [Probes.flat(side, np.tile(out, ALONG))]
        for sign in (-1.0, 1.0):
            rings = [r * self.radius * out for r in (1.0, 0.5)] + [np.zeros((dimension, 1))]
            end = middle + 0.5 * sign * length * axis[:, None] + np.concatenate(rings, axis=1)
            parts.append(Probes.flat(end, np.broadcast_to(sign * axis[:, None], end.shape).copy()))
        return Probes.join(parts, dimension)

    @property
    def middle(self) -> Vector:
        return _halfway(self.start, self.end)


def _around(axis: np.ndarray) -> np.ndarray:
    """Unit vectors (d, n) all around an axis."""
    if axis.size == 2:
        return np.array([[-axis[1], axis[1]], [axis[0], -axis[0]]])
    one = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    one /= np.linalg.norm(one)
    t = np.arange(4 * ALONG) * (2 * np.pi / (4 * ALONG))
    return np.outer(one, np.cos(t)) + np.outer(np.cross(axis, one), np.sin(t))
