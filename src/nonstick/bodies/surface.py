"""Points of a shape's surface that touch other shapes.

A probe is a point with a radius and a normal. Round shapes have probes in their core, with their radius and no
normal: a ball is one probe, and its contact with any signed distance is exact. Others have probes on
their surface with the outward normal; corners and edges of boxes carry one probe for each face that meets
there, so that the normal is never in doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ..grid import shapes as sd
from ..scenes.mesh import MeshShape
from .extent import bounds

#: probes along the longest side of a box, lattice cells along the longest side of other shapes
ALONG = 9
LATTICE = {2: 48, 3: 24}
MOST = 1500


@dataclass(frozen=True)
class Probes:
    """Columns: positions and normals (d, n) in the shape's coordinates, radii (n,); normal 0 marks round ones."""

    x: np.ndarray
    normal: np.ndarray
    radius: np.ndarray

    @property
    def n(self) -> int:
        return self.x.shape[1]


def probes(shape: sd.Shape, dimension: int) -> Probes:
    """Probes of a bounded shape; none for a shape without end."""
    found = _of(shape, dimension)
    if found.n > MOST:
        keep = np.linspace(0, found.n - 1, MOST).astype(int)
        found = Probes(found.x[:, keep], found.normal[:, keep], found.radius[keep])
    return found


def gradient(shape: sd.Shape, x: np.ndarray, step: float) -> np.ndarray:
    """Unit gradient of the distance at points (d, n), by central differences."""
    d, n = x.shape
    around = np.repeat(x[:, None, :], 2 * d, axis=1)
    for a in range(d):
        around[a, 2 * a] += step
        around[a, 2 * a + 1] -= step
    phi = np.asarray(shape(*around.reshape(d, -1))).reshape(2 * d, n)
    g = phi[0::2] - phi[1::2]
    size = np.sqrt((g * g).sum(axis=0))
    return g / np.maximum(size, 1e-300)


def _of(shape: sd.Shape, d: int) -> Probes:
    if isinstance(shape, sd.Ball):
        return _round(np.array(shape.centre, float)[:, None], shape.radius)
    if isinstance(shape, sd.Capsule):
        a, b = np.array(shape.start, float), np.array(shape.end, float)
        return _round((a + np.linspace(0, 1, ALONG)[:, None] * (b - a)).T, shape.radius)
    if isinstance(shape, sd.Box):
        return _box(np.array(shape.low, float), np.array(shape.high, float))
    if isinstance(shape, sd.Torus) and d == 3:
        n = np.array(shape.axis, float) / np.linalg.norm(shape.axis)
        one = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
        one /= np.linalg.norm(one)
        t = np.arange(4 * ALONG) * (2 * np.pi / (4 * ALONG))
        ring = np.outer(one, np.cos(t)) + np.outer(np.cross(n, one), np.sin(t))
        return _round(np.array(shape.centre)[:, None] + shape.major * ring, shape.minor)
    if isinstance(shape, MeshShape):
        return _mesh(shape)
    if isinstance(shape, sd.Moved):
        inner = _of(shape.shape, d)
        return Probes(inner.x + np.array(shape.offset)[:, None], inner.normal, inner.radius)
    if isinstance(shape, sd.Rotated):
        inner = _of(shape.shape, d)
        R = shape.matrix(d)
        about = np.array(shape.centre if shape.centre is not None else (0.0,) * d)[:, None]
        return Probes(R @ (inner.x - about) + about, R @ inner.normal, inner.radius)
    if isinstance(shape, sd.Union):
        return _union(shape, d)
    low, high = bounds(shape, d)
    if not np.isfinite([low, high]).all():
        return _round(np.empty((d, 0)), 0.0)
    return _sampled(shape, low, high)


def _round(x: np.ndarray, radius: float) -> Probes:
    return Probes(x, np.zeros(x.shape), np.full(x.shape[1], float(radius)))


def _flat(x: np.ndarray, normal: np.ndarray) -> Probes:
    return Probes(x, normal, np.zeros(x.shape[1]))


def _join(parts: list[Probes], d: int) -> Probes:
    parts = parts or [_round(np.empty((d, 0)), 0.0)]
    return Probes(
        np.concatenate([p.x for p in parts], axis=1),
        np.concatenate([p.normal for p in parts], axis=1),
        np.concatenate([p.radius for p in parts]),
    )


def _box(low: np.ndarray, high: np.ndarray) -> Probes:
    d = len(low)
    side = high - low
    counts = [max(2, int(np.ceil((ALONG - 1) * s / side.max())) + 1) for s in side]
    lines = [np.linspace(a, b, n) for a, b, n in zip(low, high, counts)]
    parts = []
    for axis, (value, sign) in product(range(d), enumerate((-1.0, 1.0))):
        there = [np.array([(low, high)[value][a]]) if a == axis else lines[a] for a in range(d)]
        x = np.stack([m.ravel() for m in np.meshgrid(*there, indexing="ij")])
        normal = np.zeros(x.shape)
        normal[axis] = sign
        parts.append(_flat(x, normal))
    return _join(parts, d)


def _union(shape: sd.Union, d: int) -> Probes:
    """Probes of the parts that lie on the surface of the whole."""
    parts = []
    for k, part in enumerate(shape.shapes):
        own = _of(part, d)
        keep = np.ones(own.n, bool)
        for j, other in enumerate(shape.shapes):
            if j != k and own.n:
                keep &= np.asarray(other(*own.x)) > -own.radius - 1e-9
        parts.append(Probes(own.x[:, keep], own.normal[:, keep], own.radius[keep]))
    return _join(parts, d)


def _mesh(shape: MeshShape) -> Probes:
    """Corners of triangles with the normal of each, and their middles; thinned evenly if there are many."""
    a, b, c = np.moveaxis(shape.vertices[shape.faces], 1, 0)
    normal = np.cross(b - a, c - a)
    size = np.linalg.norm(normal, axis=1)
    good = size > 0
    a, b, c, normal = a[good], b[good], c[good], normal[good] / size[good, None]
    if np.einsum("ij,ij->i", a, np.cross(b, c)).sum() < 0:
        normal = -normal
    corners = np.concatenate([a, b, c])
    if len(corners) > MOST // 2:  # a smooth mesh: one probe per vertex is enough
        _, first = np.unique(shape.faces[good].T.ravel(), return_index=True)
        return _flat(corners[first].T, np.tile(normal, (3, 1))[first].T)
    x = np.concatenate([corners, (a + b + c) / 3])
    return _flat(x.T, np.tile(normal, (4, 1)).T)


def _sampled(shape: sd.Shape, low: np.ndarray, high: np.ndarray) -> Probes:
    """Lattice points near the surface, brought onto it; and onto the edges where two parts of a combination meet."""
    d = len(low)
    side = high - low
    h = float(side.max()) / LATTICE[d]
    axes = [lo - h + h * np.arange(int(np.ceil(s / h)) + 3) for lo, s in zip(low, side)]
    x = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")])
    x = x[:, np.abs(np.asarray(shape(*x))) < h]
    step = 1e-4 * h
    smooth = _onto([shape], x, step)
    smooth = smooth[:, np.abs(np.asarray(shape(*smooth))) < 1e-3 * h]
    parts = [_flat(smooth, gradient(shape, smooth, step))]
    if isinstance(shape, sd.Intersection):
        pieces = shape.shapes
        for i in range(len(pieces)):
            for j in range(i):
                edge = _onto([pieces[i], pieces[j]], x, step)
                on = np.maximum(*(np.abs(np.asarray(p(*edge))) for p in (pieces[i], pieces[j]))) < 1e-3 * h
                on &= np.abs(np.asarray(shape(*edge))) < 1e-3 * h
                edge = edge[:, on]
                # both faces of an edge, as for boxes
                parts += [_flat(edge, gradient(p, edge, step)) for p in (pieces[i], pieces[j])]
    joined = _join(parts, d)
    # one probe per lattice cell and direction
    key = np.concatenate([np.round(joined.x / (0.5 * h)), np.round(2 * joined.normal)]).astype(np.int64)
    _, first = np.unique(key, axis=1, return_index=True)
    first.sort()
    return Probes(joined.x[:, first], joined.normal[:, first], joined.radius[first])


def _onto(pieces: list[sd.Shape], x: np.ndarray, step: float) -> np.ndarray:
    """Points brought to where the distance to all pieces is zero, by turns."""
    for _ in range(12):
        for piece in pieces:
            if x.shape[1]:
                x = x - np.asarray(piece(*x)) * gradient(piece, x, step)
    return x
