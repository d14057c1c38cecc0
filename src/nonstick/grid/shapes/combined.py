"""Shapes made of others: union, intersection, difference, complement, the hollow form; moved and turned shapes.

The surface of a combination is exact; away from it the distance is a lower bound, which is enough for face fractions.
The `middle` of a shape that is moved or turned is that of the shape before it was placed. Scene files have always meant
this, and old runs rely on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product

import numpy as np

from .base import Corners, Moments, Positive, Probes, Shape, Vector, sample_surface
from .primitives import Box


class Combined(Shape):
    """Base of shapes made of others."""

    @property
    def middle(self) -> Vector | None:
        """That of the first part, before it was placed."""
        return next(self._parts()).middle


@dataclass(frozen=True)
class Shell(Combined):
    """The hollow form of a shape: all points within half the `thickness` of its surface.

    Examples
    --------
    >>> from nonstick.grid import Ball, Shell
    >>> round(float(Shell(Ball((0.0, 0.0), 1.0), 0.2)(1.0, 0.0)), 6)
    -0.1
    """

    kind = "shell"
    shape: Shape
    thickness: Positive

    @classmethod
    def from_scene(cls, of: Shape, thickness: Positive) -> Shell:
        return cls(of, thickness)

    def distance(self, *x):
        return np.abs(self.shape(*x)) - 0.5 * self.thickness

    def bounds(self, dimension: int) -> Corners:
        low, high = self.shape.bounds(dimension)
        return low - 0.5 * self.thickness, high + 0.5 * self.thickness


@dataclass(frozen=True)
class Union(Combined):
    """All points in any of the shapes."""

    kind = "union"
    shapes: tuple[Shape, ...]

    @classmethod
    def from_scene(cls, of: tuple[Shape, ...]) -> Union:
        return cls(of)

    def distance(self, *x):
        return reduce(np.minimum, (s(*x) for s in self.shapes))

    def bounds(self, dimension: int) -> Corners:
        parts = [s.bounds(dimension) for s in self.shapes]
        return np.min([p[0] for p in parts], axis=0), np.max([p[1] for p in parts], axis=0)

    def probes(self, dimension: int) -> Probes:
        """Probes of the parts that lie on the surface of the whole."""
        parts = []
        for k, part in enumerate(self.shapes):
            own = part.probes(dimension)
            keep = np.ones(own.n, bool)
            for j, other in enumerate(self.shapes):
                if j != k and own.n:
                    keep &= np.asarray(other(*own.x)) > -own.radius - 1e-9
            parts.append(own.keep(keep))
        return Probes.join(parts, dimension)


@dataclass(frozen=True)
class Intersection(Combined):
    """All points in all of the shapes."""

    kind = "intersection"
    shapes: tuple[Shape, ...]

    @classmethod
    def from_scene(cls, of: tuple[Shape, ...]) -> Intersection:
        return cls(of)

    def distance(self, *x):
        return reduce(np.maximum, (s(*x) for s in self.shapes))

    def bounds(self, dimension: int) -> Corners:
        parts = [s.bounds(dimension) for s in self.shapes]
        return np.max([p[0] for p in parts], axis=0), np.min([p[1] for p in parts], axis=0)

    def probes(self, dimension: int) -> Probes:
        return sample_surface(self, dimension, self.shapes)


class Difference(Intersection):
    """The first shape without the others."""

    kind = "difference"

    @classmethod
    def from_scene(cls, of: tuple[Shape, ...]) -> Difference:
        return cls((of[0], *(~s for s in of[1:])))


@dataclass(frozen=True)
class Complement(Combined):
    """Everything outside: a container's solid is the complement of its inside."""

    shape: Shape

    def distance(self, *x):
        return -self.shape(*x)


def union(*shapes: Shape) -> Shape:
    """All points in any of the shapes."""
    return Union(shapes)


def intersection(*shapes: Shape) -> Shape:
    """All points in all of the shapes."""
    return Intersection(shapes)


def difference(shape: Shape, *others: Shape) -> Shape:
    """The part of a shape that lies in none of the others."""
    return Difference.from_scene((shape, *others))


class Placed(Combined):
    """Base of shapes that are another shape elsewhere; `pose` says where."""

    shape: Shape

    def pose(self, dimension: int) -> Posed:
        """The same by a matrix, an origin and a centre."""
        raise NotImplementedError

    def distance(self, *x):
        return self.pose(len(x)).distance(*x)

    def bounds(self, dimension: int) -> Corners:
        return self.pose(dimension).bounds(dimension)

    def exact_moments(self, dimension: int) -> Moments | None:
        own, to = self.shape.exact_moments(dimension), self.pose(dimension)
        if own is None:
            return None
        return Moments(own.volume, to.R @ (own.centre - to.origin) + to.centre, to.R @ own.second @ to.R.T)

    def probes(self, dimension: int) -> Probes:
        to = self.pose(dimension)
        return self.shape.probes(dimension).placed(to.R, to.origin, to.centre)

    def triangles(self):
        own = self.shape.triangles()
        return None if own is None else (self.pose(3).forward(own[0]), own[1])

    def facets(self):
        own = self.shape.facets()
        return None if own is None else (self.pose(3).forward(own[0]), own[1])


@dataclass(frozen=True)
class Posed(Placed):
    """A shape turned by the matrix R about `origin` and moved to `centre`."""

    shape: Shape
    R: np.ndarray
    origin: np.ndarray
    centre: np.ndarray

    def pose(self, dimension: int) -> Posed:
        return self

    @cached_property
    def dimension(self) -> int | None:
        return len(self.centre)

    def forward(self, points: np.ndarray) -> np.ndarray:
        """Points (n, d) of the shape where they are."""
        return (points - self.origin) @ self.R.T + self.centre

    def distance(self, *x):
        r = [a - c for a, c in zip(x, self.centre)]
        d = len(r)
        back = []
        # Points are turned back, so the columns of R are the new axes in the coordinates of the shape.
        for j in range(d):
            total = r[0] * self.R[0, j]
            for i in range(1, d):
                total = total + r[i] * self.R[i, j]
            back.append(total + self.origin[j])
        return self.shape(*back)

    def bounds(self, dimension: int) -> Corners:
        low, high = self.shape.bounds(dimension)
        if not np.isfinite([low, high]).all():
            return Shape.bounds(self, dimension)
        if self.shape.is_round:
            middle = self.forward(0.5 * (low + high)[None])[0]
            return middle - 0.5 * (high - low), middle + 0.5 * (high - low)
        corners = self.forward(np.array(list(product(*zip(low, high)))))
        return corners.min(axis=0), corners.max(axis=0)


@dataclass(frozen=True)
class Moved(Placed):
    """A shape shifted by `offset`."""

    shape: Shape
    offset: Vector

    def pose(self, dimension: int) -> Posed:
        return Posed(self.shape, np.eye(dimension), np.zeros(dimension), np.array(self.offset, float))

    def distance(self, *x):
        return self.shape(*(a - o for a, o in zip(x, self.offset)))

    def bounds(self, dimension: int) -> Corners:
        low, high = self.shape.bounds(dimension)
        return low + np.array(self.offset), high + np.array(self.offset)


@dataclass(frozen=True)
class Rotated(Placed):
    """A shape turned counterclockwise by `angle` (radians) about `centre` (in 3D about `axis` through it)."""

    shape: Shape
    angle: float
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    centre: Vector | None = None

    def matrix(self, dimension: int) -> np.ndarray:
        """The rotation applied to the shape."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        if dimension == 2:
            return np.array([[c, -s], [s, c]])
        n = np.asarray(self.axis, dtype=float) / np.linalg.norm(self.axis)
        cross = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
        return c * np.eye(3) + s * cross + (1 - c) * np.outer(n, n)

    def pose(self, dimension: int) -> Posed:
        centre = np.array(self.centre if self.centre is not None else (0.0,) * dimension)
        return Posed(self.shape, self.matrix(dimension), centre, centre)


def rotated_box(centre: Vector, half: Vector, angle: float, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> Shape:
    """A box of half extents `half` turned about its centre."""
    low = tuple(c - h for c, h in zip(centre, half))
    high = tuple(c + h for c, h in zip(centre, half))
    return Box(low, high).rotate(angle, axis, tuple(centre))
