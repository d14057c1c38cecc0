"""Solids and liquids as signed distances: negative inside, in 2D and 3D alike.

A shape is called with coordinate arrays that broadcast against each other, `shape(x, y)` or `shape(x, y, z)`,
and combines by operators: `a | b` union, `a & b` intersection, `a - b` difference, `~a` complement (a tank
is the complement of what it holds). Primitives are exact distances; combinations have the exact zero set
and a lower bound of the distance away from it, which is all that face fractions need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..errors import NonstickError

Vector = tuple[float, ...]


class Shape(ABC):
    """A signed distance function."""

    @abstractmethod
    def __call__(self, *x: np.ndarray) -> np.ndarray:
        """Distance at points with coordinates x[0], x[1](, x[2])."""

    def sample(self, coordinates: tuple[np.ndarray, ...], dtype=np.float64) -> np.ndarray:
        """The distance on a whole mesh (`grid.nodes()`, `grid.cells()`), a slab at a time to save memory."""
        first, *rest = coordinates
        out = np.empty(np.broadcast_shapes(*(c.shape for c in coordinates)), dtype)
        plane = max(1, out[0].size)
        step = max(1, 2_000_000 // plane)
        for i in range(0, out.shape[0], step):
            out[i : i + step] = self(first[i : i + step], *rest)
        return out

    def rotate(self, angle: float, axis: Vector = (0.0, 0.0, 1.0), centre: Vector | None = None) -> Shape:
        """Turned by `angle` (radians) about `centre`; in 3D about the direction `axis`."""
        return Rotated(self, angle, axis, centre)

    def move(self, offset: Vector) -> Shape:
        return Moved(self, tuple(offset))

    def __or__(self, other: Shape) -> Shape:
        return Union((self, other))

    def __and__(self, other: Shape) -> Shape:
        return Intersection((self, other))

    def __sub__(self, other: Shape) -> Shape:
        return Intersection((self, ~other))

    def __invert__(self) -> Shape:
        return Complement(self)


def _check(x, *vectors: Vector) -> None:
    for v in vectors:
        if len(v) != len(x):
            raise NonstickError(f"a shape with {len(v)} coordinates cannot be evaluated in {len(x)} dimensions")


def _norm(parts) -> np.ndarray:
    parts = list(parts)
    return np.sqrt(reduce(np.add, (p * p for p in parts)))


@dataclass(frozen=True)
class Ball(Shape):
    """A disc in 2D, a ball in 3D."""

    centre: Vector
    radius: float

    def __call__(self, *x):
        _check(x, self.centre)
        return _norm(a - c for a, c in zip(x, self.centre)) - self.radius


@dataclass(frozen=True)
class Box(Shape):
    """An axis-aligned box between two corners."""

    low: Vector
    high: Vector

    def __call__(self, *x):
        _check(x, self.low, self.high)
        q = [np.maximum(lo - a, a - hi) for a, lo, hi in zip(x, self.low, self.high)]
        outside = _norm(np.maximum(a, 0.0) for a in q)
        return outside + np.minimum(reduce(np.maximum, q), 0.0)


@dataclass(frozen=True)
class HalfSpace(Shape):
    """Everything on the side of `point` that `normal` points away from."""

    point: Vector
    normal: Vector

    def __call__(self, *x):
        _check(x, self.point, self.normal)
        length = float(np.linalg.norm(self.normal))
        if not length > 0:
            raise NonstickError("the normal of a half-space must not be zero")
        return reduce(np.add, ((a - p) * (n / length) for a, p, n in zip(x, self.point, self.normal)))


@dataclass(frozen=True)
class Capsule(Shape):
    """All points within `radius` of the segment from `start` to `end`."""

    start: Vector
    end: Vector
    radius: float

    def __call__(self, *x):
        _check(x, self.start, self.end)
        way = [b - a for a, b in zip(self.start, self.end)]
        length2 = sum(w * w for w in way) or 1.0
        t = reduce(np.add, ((c - a) * w for c, a, w in zip(x, self.start, way))) / length2
        t = np.clip(t, 0.0, 1.0)
        return _norm(c - a - t * w for c, a, w in zip(x, self.start, way)) - self.radius


@dataclass(frozen=True)
class Torus(Shape):
    """A ring of radius `major` and thickness 2 `minor` about `axis`; in 2D an annulus."""

    centre: Vector
    major: float
    minor: float
    axis: Vector = (0.0, 1.0, 0.0)

    def __call__(self, *x):
        _check(x, self.centre)
        d = [a - c for a, c in zip(x, self.centre)]
        if len(d) == 2:
            return np.abs(_norm(d) - self.major) - self.minor
        n = np.asarray(self.axis) / np.linalg.norm(self.axis)
        along = reduce(np.add, (a * m for a, m in zip(d, n)))
        across = _norm(a - along * m for a, m in zip(d, n))
        return _norm((across - self.major, along)) - self.minor


@dataclass(frozen=True)
class Shell(Shape):
    """The hollow form of a shape: all points within half the `thickness` of its surface."""

    shape: Shape
    thickness: float

    def __call__(self, *x):
        return np.abs(self.shape(*x)) - 0.5 * self.thickness


@dataclass(frozen=True)
class Moved(Shape):
    """A shape shifted by `offset`."""

    shape: Shape
    offset: Vector

    def __call__(self, *x):
        _check(x, self.offset)
        return self.shape(*(a - o for a, o in zip(x, self.offset)))


@dataclass(frozen=True)
class Rotated(Shape):
    """A shape turned counterclockwise by `angle` (radians) about `centre` (in 3D about `axis` through it)."""

    shape: Shape
    angle: float
    axis: Vector = (0.0, 0.0, 1.0)
    centre: Vector | None = None

    def matrix(self, dimension: int) -> np.ndarray:
        """The rotation applied to the shape."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        if dimension == 2:
            return np.array([[c, -s], [s, c]])
        n = np.asarray(self.axis, dtype=float) / np.linalg.norm(self.axis)
        cross = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
        return c * np.eye(3) + s * cross + (1 - c) * np.outer(n, n)

    def __call__(self, *x):
        centre = self.centre or (0.0,) * len(x)
        _check(x, centre)
        R = self.matrix(len(x))
        d = [a - o for a, o in zip(x, centre)]
        # Points are turned back, so the columns of R are the new axes seen from the shape.
        back = (reduce(np.add, (d[i] * R[i, j] for i in range(len(x)))) + centre[j] for j in range(len(x)))
        return self.shape(*back)


@dataclass(frozen=True)
class Union(Shape):
    shapes: tuple[Shape, ...]

    def __call__(self, *x):
        return reduce(np.minimum, (s(*x) for s in self.shapes))


@dataclass(frozen=True)
class Intersection(Shape):
    shapes: tuple[Shape, ...]

    def __call__(self, *x):
        return reduce(np.maximum, (s(*x) for s in self.shapes))


@dataclass(frozen=True)
class Complement(Shape):
    """Everything outside: a container's solid is the complement of its inside."""

    shape: Shape

    def __call__(self, *x):
        return -self.shape(*x)


def rotated_box(centre: Vector, half: Vector, angle: float, axis: Vector = (0.0, 0.0, 1.0)) -> Shape:
    """A box of half extents `half` turned about its centre."""
    low = tuple(c - h for c, h in zip(centre, half))
    high = tuple(c + h for c, h in zip(centre, half))
    return Box(low, high).rotate(angle, axis, tuple(centre))


def union(*shapes: Shape) -> Shape:
    return Union(shapes)


def intersection(*shapes: Shape) -> Shape:
    return Intersection(shapes)


def difference(shape: Shape, *others: Shape) -> Shape:
    """The part of a shape that lies in none of the others."""
    return Intersection((shape, *(~s for s in others)))
