"""Shapes that are moved or turned.

Their `middle` is that of the shape before it was placed. Scene files have always meant this, and old runs rely on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from .base import Corners, Moments, Probes, Shape, Vector
from .primitives import Box


@dataclass(frozen=True)
class Moved(Shape):
    """A shape shifted by `offset`."""

    shape: Shape
    offset: Vector

    def distance(self, *x):
        return self.shape(*(a - o for a, o in zip(x, self.offset)))

    def bounds(self, dimension: int) -> Corners:
        low, high = self.shape.bounds(dimension)
        return low + np.array(self.offset), high + np.array(self.offset)

    def exact_moments(self, dimension: int) -> Moments | None:
        own = self.shape.exact_moments(dimension)
        return None if own is None else Moments(own.volume, own.centre + np.array(self.offset), own.second)

    def probes(self, dimension: int) -> Probes:
        own = self.shape.probes(dimension)
        return Probes(own.x + np.array(self.offset)[:, None], own.normal, own.radius)

    def triangles(self):
        own = self.shape.triangles()
        return None if own is None else (own[0] + np.array(self.offset), own[1])

    def facets(self):
        own = self.shape.facets()
        return None if own is None else (own[0] + np.array(self.offset), own[1])

    @property
    def middle(self) -> Vector | None:
        return self.shape.middle


@dataclass(frozen=True)
class Posed(Shape):
    """A shape turned by the matrix R about `origin` and moved to `centre`."""

    shape: Shape
    R: np.ndarray
    origin: np.ndarray
    centre: np.ndarray

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return len(self.centre)

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
            return super().bounds(dimension)
        if self.shape.is_round:
            middle = self._forward(0.5 * (low + high)[None])[0]
            return middle - 0.5 * (high - low), middle + 0.5 * (high - low)
        corners = self._forward(np.array(list(product(*zip(low, high)))))
        return corners.min(axis=0), corners.max(axis=0)

    def _forward(self, points: np.ndarray) -> np.ndarray:
        return (points - self.origin) @ self.R.T + self.centre

    def exact_moments(self, dimension: int) -> Moments | None:
        own = self.shape.exact_moments(dimension)
        if own is None:
            return None
        return Moments(own.volume, self.R @ (own.centre - self.origin) + self.centre, self.R @ own.second @ self.R.T)

    def probes(self, dimension: int) -> Probes:
        return self.shape.probes(dimension).placed(self.R, self.origin, self.centre)

    def triangles(self):
        own = self.shape.triangles()
        return None if own is None else (self._forward(own[0]), own[1])

    def facets(self):
        own = self.shape.facets()
        return None if own is None else (self._forward(own[0]), own[1])

    @property
    def middle(self) -> Vector | None:
        return self.shape.middle


@dataclass(frozen=True)
class Rotated(Shape):
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
        """The same as a matrix and a centre."""
        centre = np.array(self.centre if self.centre is not None else (0.0,) * dimension)
        return Posed(self.shape, self.matrix(dimension), centre, centre)

    def distance(self, *x):
        return self.pose(len(x)).distance(*x)

    def bounds(self, dimension: int) -> Corners:
        return self.pose(dimension).bounds(dimension)

    def exact_moments(self, dimension: int) -> Moments | None:
        return self.pose(dimension).exact_moments(dimension)

    def probes(self, dimension: int) -> Probes:
        return self.pose(dimension).probes(dimension)

    def triangles(self):
        return self.pose(3).triangles()

    def facets(self):
        return self.pose(3).facets()

    @property
    def middle(self) -> Vector | None:
        return self.shape.middle


def rotated_box(centre: Vector, half: Vector, angle: float, axis: Sequence[float] = (0.0, 0.0, 1.0)) -> Shape:
    """A box of half extents `half` turned about its centre."""
    low = tuple(c - h for c, h in zip(centre, half))
    high = tuple(c + h for c, h in zip(centre, half))
    return Box(low, high).rotate(angle, axis, tuple(centre))
