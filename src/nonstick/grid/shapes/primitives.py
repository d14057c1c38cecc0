"""Shapes with an exact distance: balls, boxes, half-spaces, capsules, rings and cylinders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from ...errors import NonstickError
from .base import Corners, Direction, Moments, Positive, Probes, Shape, Vector

#: probes along the longest side of a box, along a capsule, on a quarter of a ring
ALONG = 9


def norm(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Length of vectors given by their components."""
    return np.sqrt(reduce(np.add, (p * p for p in parts)))


def _unit(axis: Sequence[float]) -> np.ndarray:
    return np.array(axis, float) / np.linalg.norm(axis)


@dataclass(frozen=True)
class Ball(Shape):
    """A disc in 2D, a ball in 3D.

    Examples
    --------
    >>> from nonstick.grid import Ball
    >>> float(Ball((0.0, 0.0), 1.0)(3.0, 4.0))
    4.0
    """

    kind = "ball"
    is_round = True
    _ends = "centre", "centre"
    centre: Vector
    radius: Positive

    def distance(self, *x):
        return norm(a - c for a, c in zip(x, self.centre)) - self.radius

    def bounds(self, dimension: int) -> Corners:
        c = np.array(self.centre, float)
        return c - self.radius, c + self.radius

    def exact_moments(self, dimension: int) -> Moments:
        r, c = self.radius, np.array(self.centre, float)
        if dimension == 2:
            return Moments(np.pi * r**2, c, np.pi / 4 * r**4 * np.eye(2))
        return Moments(4 / 3 * np.pi * r**3, c, 4 / 15 * np.pi * r**5 * np.eye(3))

    def probes(self, dimension: int) -> Probes:
        return Probes.round(np.array(self.centre, float)[:, None], self.radius)


@dataclass(frozen=True)
class Box(Shape):
    """An axis-aligned box between two corners.

    Examples
    --------
    >>> from nonstick.grid import Box
    >>> crate = Box((0.0, 0.0), (2.0, 1.0))
    >>> float(crate(1.0, 0.5)), crate.moments(2).centre.tolist()
    (-0.5, [1.0, 0.5])
    """

    kind = "box"
    _ends = "low", "high"
    low: Vector
    high: Vector

    @classmethod
    def from_scene(cls, low: Vector, high: Vector) -> Box:
        if len(low) != len(high):
            raise NonstickError("low and high need the same number of coordinates")
        if any(a >= b for a, b in zip(low, high)):
            raise NonstickError("every coordinate of low must be below that of high")
        return cls(low, high)

    def distance(self, *x):
        q = [np.maximum(lo - a, a - hi) for a, lo, hi in zip(x, self.low, self.high)]
        outside = norm(np.maximum(a, 0.0) for a in q)
        return outside + np.minimum(reduce(np.maximum, q), 0.0)

    def bounds(self, dimension: int) -> Corners:
        return np.array(self.low, float), np.array(self.high, float)

    def facets(self):
        low, high = self.bounds(3)
        if len(low) != 3 or not np.isfinite([low, high]).all():
            return None
        corners = np.array([[(low, high)[i >> a & 1][a] for a in range(3)] for i in range(8)])
        # for each axis the side at its end, seen from outside; the opposite side goes the other way round
        sides = [(1, 3, 7, 5), (2, 6, 7, 3), (4, 5, 7, 6)]
        faces = []
        for axis, (a, b, c, d) in enumerate(sides):
            faces += [(a, b, c), (a, c, d)]
            a, b, c, d = (corner - (1 << axis) for corner in (d, c, b, a))
            faces += [(a, b, c), (a, c, d)]
        return corners, np.array(faces)

    def exact_moments(self, dimension: int) -> Moments:
        low, high = self.bounds(dimension)
        side = high - low
        volume = float(np.prod(side))
        return Moments(volume, 0.5 * (low + high), np.diag(volume * side**2 / 12))

    def probes(self, dimension: int) -> Probes:
        low, high = self.bounds(dimension)
        side = high - low
        counts = [max(2, int(np.ceil((ALONG - 1) * s / side.max())) + 1) for s in side]
        lines = [np.linspace(a, b, n) for a, b, n in zip(low, high, counts)]
        parts = []
        for axis, (value, sign) in product(range(dimension), enumerate((-1.0, 1.0))):
            there = [np.array([(low, high)[value][a]]) if a == axis else lines[a] for a in range(dimension)]
            x = np.stack([m.ravel() for m in np.meshgrid(*there, indexing="ij")])
            normal = np.zeros(x.shape)
            normal[axis] = sign
            parts.append(Probes.flat(x, normal))
        return Probes.join(parts, dimension)


@dataclass(frozen=True)
class HalfSpace(Shape):
    """Everything behind the plane through `point`, on the side that `normal` points away from.

    Examples
    --------
    >>> from nonstick.grid import HalfSpace
    >>> float(HalfSpace((0.0, 0.4), (0.0, 1.0))(0.0, 0.9))
    0.5
    """

    kind = "halfspace"
    _ends = "point", "point"
    point: Vector
    normal: Vector

    def distance(self, *x):
        length = float(np.linalg.norm(self.normal))
        if not length > 0:
            raise NonstickError("the normal of a half-space must not be zero")
        return reduce(np.add, ((a - p) * (n / length) for a, p, n in zip(x, self.point, self.normal)))


@dataclass(frozen=True)
class Capsule(Shape):
    """All points within `radius` of the segment from `start` to `end`.

    Examples
    --------
    >>> from nonstick.grid import Capsule
    >>> float(Capsule((0.0, 0.0), (2.0, 0.0), 0.5)(1.0, 2.0))
    1.5
    """

    kind = "capsule"
    _ends = "start", "end"
    start: Vector
    end: Vector
    radius: Positive

    def distance(self, *x):
        way = [b - a for a, b in zip(self.start, self.end)]
        length2 = sum(w * w for w in way) or 1.0
        t = reduce(np.add, ((c - a) * w for c, a, w in zip(x, self.start, way))) / length2
        t = np.clip(t, 0.0, 1.0)
        return norm(c - a - t * w for c, a, w in zip(x, self.start, way)) - self.radius

    def bounds(self, dimension: int) -> Corners:
        a, b = np.array(self.start, float), np.array(self.end, float)
        return np.minimum(a, b) - self.radius, np.maximum(a, b) + self.radius

    def exact_moments(self, dimension: int) -> Moments:
        a, b, r = np.array(self.start, float), np.array(self.end, float), self.radius
        length = float(np.linalg.norm(b - a))
        axis = (b - a) / length if length > 0 else np.eye(dimension)[0]
        # a straight part, and two half-balls, whose centroids lie length/2 plus their own offset from the middle
        if dimension == 2:
            straight, caps, lever = 2 * r * length, np.pi * r**2, 4 * r / (3 * np.pi)
            across = straight * r**2 / 3 + caps * r**2 / 4
            own = caps * r**2 / 4
        else:
            straight, caps, lever = np.pi * r**2 * length, 4 / 3 * np.pi * r**3, 3 * r / 8
            across = straight * r**2 / 4 + caps * r**2 / 5
            own = caps * r**2 / 5
        along = straight * length**2 / 12 + own + caps * (length**2 / 4 + length * lever)
        second = across * np.eye(dimension) + (along - across) * np.outer(axis, axis)
        return Moments(straight + caps, 0.5 * (a + b), second)

    def probes(self, dimension: int) -> Probes:
        a, b = np.array(self.start, float), np.array(self.end, float)
        return Probes.round((a + np.linspace(0, 1, ALONG)[:, None] * (b - a)).T, self.radius)


@dataclass(frozen=True)
class Torus(Shape):
    """A ring of radius `major` and thickness 2 `minor` about `axis`; in 2D an annulus.

    Examples
    --------
    >>> from nonstick.grid import Torus
    >>> round(float(Torus((0.0, 0.0, 0.0), 1.0, 0.25)(1.0, 0.0, 0.0)), 6)
    -0.25
    """

    kind = "torus"
    _ends = "centre", "centre"
    centre: Vector
    major: Positive
    minor: Positive
    axis: Direction = (0.0, 1.0, 0.0)

    @classmethod
    def from_scene(
        cls, centre: Vector, major: Positive, minor: Positive, ring_axis: Direction = (0.0, 1.0, 0.0)
    ) -> Torus:
        return cls(centre, major, minor, ring_axis)

    def distance(self, *x):
        d = [a - c for a, c in zip(x, self.centre)]
        if len(d) == 2:
            return np.abs(norm(d) - self.major) - self.minor
        n = _unit(self.axis)
        along = reduce(np.add, (a * m for a, m in zip(d, n)))
        across = norm(a - along * m for a, m in zip(d, n))
        return norm((across - self.major, along)) - self.minor

    def bounds(self, dimension: int) -> Corners:
        c = np.array(self.centre, float)
        reach = np.full(dimension, self.major)
        if dimension == 3:
            reach = self.major * np.sqrt(np.maximum(1.0 - _unit(self.axis) ** 2, 0.0))
        return c - reach - self.minor, c + reach + self.minor

    def exact_moments(self, dimension: int) -> Moments | None:
        if self.minor > self.major:  # the ring overlaps itself
            return None
        R, r, c = self.major, self.minor, np.array(self.centre, float)
        if dimension == 2:
            outer, inner = R + r, R - r
            return Moments(np.pi * (outer**2 - inner**2), c, np.pi / 4 * (outer**4 - inner**4) * np.eye(2))
        n = _unit(self.axis)
        volume = 2 * np.pi**2 * R * r**2
        along = volume * r**2 / 4
        across = volume * (R**2 / 2 + 3 * r**2 / 8)
        return Moments(volume, c, across * np.eye(3) + (along - across) * np.outer(n, n))

    def probes(self, dimension: int) -> Probes:
        if dimension == 2:
            return super().probes(dimension)
        return Probes.round(np.array(self.centre)[:, None] + self.major * _around(_unit(self.axis)), self.minor)


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
    _ends = "start", "end"
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


def _around(axis: np.ndarray) -> np.ndarray:
    """Unit vectors (d, n) all around an axis."""
    if axis.size == 2:
        return np.array([[-axis[1], axis[1]], [axis[0], -axis[0]]])
    one = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    one /= np.linalg.norm(one)
    t = np.arange(4 * ALONG) * (2 * np.pi / (4 * ALONG))
    return np.outer(one, np.cos(t)) + np.outer(np.cross(axis, one), np.sin(t))
