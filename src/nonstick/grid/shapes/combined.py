"""Shapes made of others: union, intersection, difference, complement, and the hollow form.

The surface of a combination is exact; away from it the distance is a lower bound, which is enough for face fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from .base import Corners, Positive, Probes, Shape, Vector
from .sampling import sample_surface


@dataclass(frozen=True)
class Shell(Shape):
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

    @property
    def middle(self) -> Vector | None:
        return self.shape.middle


class _Several(Shape):
    """Base of union and intersection."""

    shapes: tuple[Shape, ...]

    @property
    def middle(self) -> Vector | None:
        return self.shapes[0].middle


@dataclass(frozen=True)
class Union(_Several):
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
class Intersection(_Several):
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
class Complement(Shape):
    """Everything outside: a container's solid is the complement of its inside."""

    shape: Shape

    def distance(self, *x):
        return -self.shape(*x)

    @property
    def middle(self) -> Vector | None:
        return self.shape.middle


def union(*shapes: Shape) -> Shape:
    """All points in any of the shapes."""
    return Union(shapes)


def intersection(*shapes: Shape) -> Shape:
    """All points in all of the shapes."""
    return Intersection(shapes)


def difference(shape: Shape, *others: Shape) -> Shape:
    """The part of a shape that lies in none of the others."""
    return Difference.from_scene((shape, *others))
