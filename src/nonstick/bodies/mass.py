"""Volume, centre and second moments of shapes.

Exact for balls, boxes, capsules, rings and closed meshes, moved or turned; combinations by quadrature of
their signed distance: cells of a fine lattice, each filled by clip(½ - φ/h, 0, 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NonstickError
from ..grid import shapes as sd
from ..scenes.mesh import MeshShape
from .extent import bounds

#: lattice cells of the quadrature
POINTS = {2: 400_000, 3: 1_000_000}


@dataclass(frozen=True)
class Moments:
    """Volume (2D: area), centroid, and ∫ (x-c)(x-c)ᵀ dx."""

    volume: float
    centre: np.ndarray
    second: np.ndarray

    def inertia(self, density: float) -> np.ndarray:
        """The inertia tensor about the centroid: (3, 3), in 2D (1, 1)."""
        trace = np.trace(self.second)
        if len(self.centre) == 2:
            return np.array([[density * trace]])
        return density * (trace * np.eye(3) - self.second)


def moments(shape: sd.Shape, dimension: int) -> Moments:
    """The moments of a bounded shape."""
    exact = _exact(shape, dimension)
    found = exact if exact is not None else _quadrature(shape, dimension)
    if not found.volume > 0.0:
        raise NonstickError("the shape of a body is empty, so it has no mass")
    return found


def _exact(shape: sd.Shape, d: int) -> Moments | None:
    if isinstance(shape, sd.Ball):
        r, c = shape.radius, np.array(shape.centre, float)
        if d == 2:
            return Moments(np.pi * r**2, c, np.pi / 4 * r**4 * np.eye(2))
        return Moments(4 / 3 * np.pi * r**3, c, 4 / 15 * np.pi * r**5 * np.eye(3))
    if isinstance(shape, sd.Box):
        low, high = np.array(shape.low, float), np.array(shape.high, float)
        side = high - low
        volume = float(np.prod(side))
        return Moments(volume, 0.5 * (low + high), np.diag(volume * side**2 / 12))
    if isinstance(shape, sd.Capsule):
        return _capsule(shape, d)
    if isinstance(shape, sd.Torus) and shape.minor <= shape.major:
        return _ring(shape, d)
    if isinstance(shape, MeshShape):
        return _mesh(shape)
    if isinstance(shape, sd.Moved):
        inner = _exact(shape.shape, d)
        return None if inner is None else Moments(inner.volume, inner.centre + np.array(shape.offset), inner.second)
    if isinstance(shape, sd.Rotated):
        inner = _exact(shape.shape, d)
        if inner is None:
            return None
        R = shape.matrix(d)
        about = np.array(shape.centre if shape.centre is not None else (0.0,) * d)
        return Moments(inner.volume, R @ (inner.centre - about) + about, R @ inner.second @ R.T)
    return None


def _capsule(shape: sd.Capsule, d: int) -> Moments:
    a, b, r = np.array(shape.start, float), np.array(shape.end, float), shape.radius
    length = float(np.linalg.norm(b - a))
    axis = (b - a) / length if length > 0 else np.eye(d)[0]
    # a straight part, and two halves of a ball that sit length/2 (and the way to their centroid) off the middle
    if d == 2:
        straight, caps, lever = 2 * r * length, np.pi * r**2, 4 * r / (3 * np.pi)
        across = straight * r**2 / 3 + caps * r**2 / 4
        own = caps * r**2 / 4
    else:
        straight, caps, lever = np.pi * r**2 * length, 4 / 3 * np.pi * r**3, 3 * r / 8
        across = straight * r**2 / 4 + caps * r**2 / 5
        own = caps * r**2 / 5
    along = straight * length**2 / 12 + own + caps * (length**2 / 4 + length * lever)
    second = across * np.eye(d) + (along - across) * np.outer(axis, axis)
    return Moments(straight + caps, 0.5 * (a + b), second)


def _ring(shape: sd.Torus, d: int) -> Moments:
    R, r, c = shape.major, shape.minor, np.array(shape.centre, float)
    if d == 2:
        outer, inner = R + r, R - r
        return Moments(np.pi * (outer**2 - inner**2), c, np.pi / 4 * (outer**4 - inner**4) * np.eye(2))
    n = np.array(shape.axis, float)
    n /= np.linalg.norm(n)
    volume = 2 * np.pi**2 * R * r**2
    along = volume * r**2 / 4
    across = volume * (R**2 / 2 + 3 * r**2 / 8)
    return Moments(volume, c, across * np.eye(3) + (along - across) * np.outer(n, n))


def _mesh(shape: MeshShape) -> Moments:
    """Sums over the tetrahedra between the triangles and a point (the divergence theorem)."""
    origin = shape.vertices.mean(axis=0)
    a, b, c = np.moveaxis(shape.vertices[shape.faces] - origin, 1, 0)
    six = np.einsum("ij,ij->i", a, np.cross(b, c))
    if six.sum() < 0:  # triangles seen from inside
        six = -six
    volume = float(six.sum()) / 6
    if not volume > 0:
        raise NonstickError("the mesh of a body encloses no volume")
    s = a + b + c
    centre = np.einsum("i,ij->j", six, s) / (24 * volume)
    second = sum(np.einsum("i,ij,ik->jk", six, v, v) for v in (a, b, c, s)) / 120
    return Moments(volume, centre + origin, second - volume * np.outer(centre, centre))


def _quadrature(shape: sd.Shape, d: int) -> Moments:
    low, high = bounds(shape, d)
    if not np.isfinite([low, high]).all():
        raise NonstickError(
            "a body needs a shape that ends: a half-space or the outside of a shape has no mass; cut it by a box "
            '(type = "intersection")'
        )
    side = high - low
    if (side <= 0).any():
        raise NonstickError("the shape of a body is empty, so it has no mass")
    h = float((np.prod(side) / POINTS[d]) ** (1 / d))
    h = max(h, float(side.max()) / 2000)
    axes = [np.arange(max(1, int(np.ceil(s / h)))) for s in side]
    steps = [s / len(n) for s, n in zip(side, axes)]
    points = [lo + (n + 0.5) * step for lo, n, step in zip(low, axes, steps)]
    mesh = np.meshgrid(*points, indexing="ij", sparse=True)
    share = np.clip(0.5 - shape.sample(tuple(mesh)) / h, 0.0, 1.0)
    cell = float(np.prod(steps))
    volume = float(share.sum()) * cell
    if not volume > 0:
        raise NonstickError("the shape of a body is empty, so it has no mass")
    sums = [share.sum(axis=tuple(b for b in range(d) if b != a)) for a in range(d)]
    centre = np.array([float(s @ x) for s, x in zip(sums, points)]) * cell / volume
    second = np.zeros((d, d))
    for a in range(d):
        r = points[a] - centre[a]
        # a cell adds its own width, so that a box comes out exact
        second[a, a] = float(sums[a] @ (r * r + steps[a] ** 2 / 12)) * cell
        for b in range(a):
            plane = share if d == 2 else share.sum(axis=3 - a - b)
            second[a, b] = second[b, a] = float((points[b] - centre[b]) @ plane @ r) * cell
    return Moments(volume, centre, second)
