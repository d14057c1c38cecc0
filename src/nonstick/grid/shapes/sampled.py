"""Meshes sampled once: the distance to a mesh that moves, read from samples in the mesh's own coordinates.

The exact distance to a mesh is a search through its triangles, several microseconds for every point. A solid that
moves needs it at all nodes in every step. A rigid motion does not change the distance in the coordinates of the solid,
so it is sampled once there, and later steps only interpolate.

Samples are finer than the simulation's grid near the surface and coarse elsewhere. A distance is not smooth at sharp
edges and in the middle of a thin sheet, where interpolation would round the edge or lose the sheet. So every cell of
samples near the surface is compared with the exact distance at its centre when it is made. Cells that fail are marked,
and points in them are measured exactly.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np

from ..faces import lower, upper
from .base import Corners, Moments, Probes, Shape
from .combined import Combined
from .mesh import Mesh


@dataclass(frozen=True)
class SamplingSettings:
    """How densely the distance to a mesh is sampled; lengths are in cells of the simulation."""

    #: samples per width of a cell, near the surface
    finer: int = 2
    #: cells of samples along the side of a brick
    side: int = 4
    #: nodes up to here decide where a wall cuts the grid; cells of samples up to here are tested, and points up to a
    #: sample beyond are interpolated between dense samples
    tested: float = 1.25
    #: largest error at the centre of a tested cell
    tolerance: float = 0.03
    #: the samples reach this far beyond the mesh
    margin: float = 4.0
    #: largest number of samples of a mesh, 4 bytes each; a mesh that needs more is sampled more coarsely
    most: int = 2**24


SETTINGS = SamplingSettings()

_made: WeakValueDictionary[tuple[bytes, float], Samples] = WeakValueDictionary()


def sample_meshes(shape: Shape, width: float) -> Shape:
    """The same shape with every mesh in it sampled for a grid with cells of this width.

    Parameters
    ----------
    shape : Shape
        Any shape. One that holds no mesh is returned as it is, and so is a mesh that is far larger than any domain.
    width : float
        Width of the cells of the grid on which the distance is needed, in metres.

    Examples
    --------
    >>> from nonstick.grid import Ball, sample_meshes
    >>> ball = Ball((0.0, 0.0, 0.0), 1.0)
    >>> sample_meshes(ball, 0.1) is ball
    True
    """
    if isinstance(shape, Mesh):
        low, high = shape.bounds(3)
        cells = np.prod((high - low) / width + 2 * SETTINGS.margin)
        # more cells than samples: it is far larger than the domain, which sees few of its points
        return SampledMesh(shape, width) if cells <= SETTINGS.most else shape
    if not is_dataclass(shape):
        return shape
    new = {}
    for one in fields(shape):
        old = getattr(shape, one.name)
        if isinstance(old, Shape):
            new[one.name] = sample_meshes(old, width)
        elif isinstance(old, tuple) and any(isinstance(part, Shape) for part in old):
            parts = tuple(sample_meshes(p, width) if isinstance(p, Shape) else p for p in old)
            new[one.name] = parts if any(a is not b for a, b in zip(parts, old)) else old
    changed = {name: value for name, value in new.items() if value is not getattr(shape, name)}
    return replace(shape, **changed) if changed else shape


@dataclass(frozen=True)
class SampledMesh(Combined):
    """A mesh whose distance is read from samples; everything else is that of the mesh."""

    dimension = 3
    mesh: Mesh
    width: float

    def distance(self, *x):
        points = np.broadcast_arrays(*x)
        flat = np.stack([np.asarray(p, dtype=float).ravel() for p in points], axis=1)
        return self.samples.read(self.mesh, flat).reshape(points[0].shape)

    @cached_property
    def samples(self) -> Samples:
        """The samples, made when they are first needed and shared by equal meshes."""
        digest = hashlib.blake2b(self.mesh.vertices.tobytes(), digest_size=16)
        digest.update(self.mesh.faces.tobytes())
        key = digest.digest(), self.width
        found = _made.get(key)
        if found is None:
            found = _made[key] = Samples.of(self.mesh, self.width)
        return found

    def bounds(self, dimension: int) -> Corners:
        return self.mesh.bounds(dimension)

    def exact_moments(self, dimension: int) -> Moments:
        return self.mesh.exact_moments(dimension)

    def probes(self, dimension: int) -> Probes:
        return self.mesh.probes(dimension)

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        return self.mesh.triangles()


@dataclass(eq=False)
class Samples:
    """Samples of the distance to a mesh (see `_sampled`)."""

    #: lower corner of the box, and the spacing of the dense samples
    origin: np.ndarray
    h: float
    coarse: np.ndarray
    brick: np.ndarray
    fine: np.ndarray
    #: cells of bricks in which points are measured exactly
    doubtful: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, mesh: Mesh, width: float) -> Samples:
        """Sample a mesh for a grid with cells of this width."""
        low, high = mesh.bounds(3)
        origin, extent = low - SETTINGS.margin * width, high - low + 2 * SETTINGS.margin * width
        h = width / SETTINGS.finer
        while True:
            counts = tuple(int(n) for n in np.ceil(extent / (SETTINGS.side * h)))
            if np.prod(np.array(counts) + 1.0) <= SETTINGS.most:
                coarse = mesh.sample(_lattice(origin, SETTINGS.side * h, counts), np.float32)
                number = _near(
                    coarse, (SETTINGS.tested + 1 / SETTINGS.finer) * width + 0.5 * np.sqrt(3.0) * SETTINGS.side * h
                )
                if coarse.size + number.sum() * (SETTINGS.side + 1) ** 3 <= SETTINGS.most:
                    break
            h *= 2
        brick = np.full(counts, -1, np.int32)
        brick[number] = np.arange(number.sum())
        fine = _fill(mesh, origin, h, np.argwhere(number))
        doubtful = _test(mesh, origin, h, np.argwhere(number), fine, width)
        return cls(origin, h, coarse, brick, fine, doubtful)

    def read(self, mesh: Mesh, points: np.ndarray) -> np.ndarray:
        """Distance at points (n, 3)."""
        from ._distance import _read_samples  # loads numba, which the check of a scene does without

        out = np.empty(len(points))
        _read_samples(
            out, points, self.origin, self.h, SETTINGS.side, self.coarse, self.brick, self.fine, self.doubtful
        )
        unsure = np.flatnonzero(np.isnan(out))
        if unsure.size:
            out[unsure] = mesh.distance(*points[unsure].T)
        return out


def _lattice(origin: np.ndarray, step: float, counts: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(
        np.meshgrid(*(o + step * np.arange(n + 1) for o, n in zip(origin, counts)), indexing="ij", sparse=True)
    )


def _near(coarse: np.ndarray, reach: float) -> np.ndarray:
    """Bricks with a corner within `reach` of the surface."""
    close = np.abs(coarse) <= reach
    for axis in range(3):
        close = lower(close, axis) | upper(close, axis)
    return close


def _fill(mesh: Mesh, origin: np.ndarray, h: float, corners: np.ndarray) -> np.ndarray:
    """Distance at the nodes of the bricks; a node that several bricks share is measured once."""
    inside = np.stack(np.meshgrid(*[np.arange(SETTINGS.side + 1)] * 3, indexing="ij"), axis=-1)
    nodes = (SETTINGS.side * corners[:, None, None, None, :] + inside).reshape(-1, 3)
    extent = nodes.max(axis=0, initial=0) + 1
    flat = np.ravel_multi_index(tuple(nodes.T), tuple(extent))
    own, where = np.unique(flat, return_inverse=True)
    at = np.stack(np.unravel_index(own, tuple(extent)), axis=1)
    value = mesh.distance(*(origin + h * at).T).astype(np.float32)
    return value[where].reshape(-1, *(SETTINGS.side + 1,) * 3)


def _test(mesh: Mesh, origin: np.ndarray, h: float, corners: np.ndarray, fine: np.ndarray, width: float) -> np.ndarray:
    """True for cells near the surface at whose centre interpolation misses the exact distance."""
    low, high = slice(None, -1), slice(1, None)
    around = [fine[:, i, j, k] for i in (low, high) for j in (low, high) for k in (low, high)]
    near = np.min(np.abs(around), axis=0) < SETTINGS.tested * width
    which = np.argwhere(near)
    at = origin + h * (SETTINGS.side * corners[which[:, 0]] + which[:, 1:] + 0.5)
    out = np.zeros(near.shape, bool)
    out[near] = np.abs(np.mean(around, axis=0)[near] - mesh.distance(*at.T)) > SETTINGS.tolerance * width
    return out
