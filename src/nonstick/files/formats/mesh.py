"""Triangle meshes: of a level set, of a shape of a scene; what every mesh format writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...grid.shapes import Shape
from ...kernels import serial
from ._cubes import extract


@dataclass(frozen=True)
class TriangleMesh:
    """Triangles, seen counterclockwise from outside.

    Parameters
    ----------
    vertices : array (n, 3)
        Places in metres, float32.
    faces : array (m, 3)
        Indices of vertices, int32.
    velocity : array (n, 3), optional
        Velocity of each vertex in m/s.
    colour : array (n, 3), optional
        Red, green and blue of each vertex, uint8.
    """

    vertices: np.ndarray
    faces: np.ndarray
    velocity: np.ndarray | None = None
    colour: np.ndarray | None = None

    @classmethod
    def empty(cls) -> TriangleMesh:
        return cls(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32), np.zeros((0, 3), np.float32))

    def with_(self, **changes) -> TriangleMesh:
        """The mesh with other arrays; normals are kept if the triangles are."""
        out = replace(self, **changes)
        if "_normals" in self.__dict__ and not changes.keys() & {"vertices", "faces"}:
            out.__dict__["_normals"] = self._normals
        return out

    def volume(self) -> float:
        """Enclosed volume in m³.

        >>> tetrahedron = TriangleMesh(np.eye(4, 3, -1), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
        >>> round(tetrahedron.volume(), 6)
        0.166667
        """
        a, b, c = np.moveaxis(self.vertices.astype(float)[self.faces], 1, 0)
        return float(np.einsum("ij,ij->", a, np.cross(b, c))) / 6.0

    def open_edges(self) -> int:
        """Number of edges without exactly one triangle on either side; a watertight mesh has none."""
        if not len(self.faces):
            return 0
        f = self.faces.astype(np.int64)
        edges = np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]])
        n = len(self.vertices)
        there, counts = np.unique(edges[:, 0] * n + edges[:, 1], return_counts=True)
        back = np.isin(there % n * n + there // n, there, assume_unique=True)
        return int((counts != 1).sum() + (~back).sum())

    def normals(self) -> np.ndarray:
        """Unit normals at the vertices: means of the triangles around, weighed by area; else (0, 1, 0)."""
        return self._normals

    @cached_property
    def _normals(self) -> np.ndarray:
        """Kept, because several formats ask for them."""
        out = np.zeros((len(self.vertices), 3), np.float32)
        _add_normals(out, self.vertices, self.faces)
        return out


def bounds(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of points (n, 3), column by column: `min(axis=0)` takes twenty times as long.

    >>> low, high = bounds(np.array([[0.0, 5.0], [1.0, -2.0]]))
    >>> low.tolist(), high.tolist()
    ([0.0, -2.0], [1.0, 5.0])
    """
    columns = [points[:, axis] for axis in range(points.shape[1])]
    return np.array([c.min() for c in columns]), np.array([c.max() for c in columns])


@serial
def _add_normals(out, x, faces):
    """Unit normals of vertices (n, 3), zero on entry."""
    for f in range(len(faces)):
        i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
        a0, a1, a2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        b0, b1, b2 = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        n0, n1, n2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
        for corner in range(3):
            v = faces[f, corner]
            out[v, 0] += n0
            out[v, 1] += n1
            out[v, 2] += n2
    for v in range(len(out)):
        size = np.sqrt(np.float64(out[v, 0]) ** 2 + np.float64(out[v, 1]) ** 2 + np.float64(out[v, 2]) ** 2)
        if size > 0.0:
            out[v, 0] /= size
            out[v, 1] /= size
            out[v, 2] /= size
        else:
            out[v, 1] = 1.0


def of_level_set(
    phi: np.ndarray, h: float | np.ndarray, corner: Sequence[float], tiny: float | None = None
) -> TriangleMesh:
    """The surface φ = 0 of samples `[i, j, k]` a distance h apart; the first sample lies at `corner`.

    h is one distance, or one for each axis. No |φ| counts as smaller than `tiny` (default: 1e-4 h), because samples at
    zero would give triangles without area.
    """
    x, faces = extract(np.ascontiguousarray(phi, np.float32), 1e-4 * float(np.min(h)) if tiny is None else tiny)
    return TriangleMesh(x * np.asarray(h, np.float32) + np.asarray(corner, np.float32), faces)


def of_plane(phi: np.ndarray, h: float | np.ndarray, corner: Sequence[float], tiny: float = 1e-12) -> TriangleMesh:
    """The region φ < 0 of samples `[i, j]` as flat triangles at z = 0, cut where φ is zero."""
    nx, ny = phi.shape
    number = np.arange(nx * ny).reshape(nx, ny)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    triangles = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    value = np.where(np.abs(phi) < tiny, np.where(phi < 0, -tiny, tiny), phi).astype(float).ravel()
    wet = value[triangles] < 0
    # turn each triangle so that the vertex that differs from the other two comes first
    count = wet.sum(axis=1)
    odd = np.where(count == 1, wet.argmax(axis=1), np.where(count == 2, (~wet).argmax(axis=1), 0))
    turned = np.take_along_axis(triangles, (odd[:, None] + np.arange(3)) % 3, axis=1)
    edge = lambda p, q: -1 - (np.minimum(p, q) * (nx * ny) + np.maximum(p, q))  # noqa: E731
    one, two = turned[count == 1].T, turned[count == 2].T
    near1, far1 = edge(one[0], one[1]), edge(one[0], one[2])
    near2, far2 = edge(two[0], two[1]), edge(two[0], two[2])
    keys = np.concatenate(
        [
            turned[count == 3],
            np.stack([one[0], near1, far1], axis=1),
            np.stack([near2, two[1], two[2]], axis=1),
            np.stack([near2, two[2], far2], axis=1),
        ]
    )
    if not len(keys):
        return TriangleMesh.empty()
    unique, faces = np.unique(keys.ravel(), return_inverse=True)
    cut = unique < 0
    p, q = np.divmod(np.where(cut, -1 - unique, unique * (nx * ny + 1)), nx * ny)
    t = np.where(cut, value[p] / np.where(cut, value[p] - value[q], 1.0), 0.0)
    place = np.stack(np.divmod(p, ny), axis=1) * (1 - t)[:, None] + np.stack(np.divmod(q, ny), axis=1) * t[:, None]
    vertices = np.zeros((len(unique), 3), np.float32)
    vertices[:, :2] = place * h + np.asarray(corner)[:2]
    return TriangleMesh(vertices, faces.reshape(-1, 3).astype(np.int32))


def of_shape(shape: Shape, low: np.ndarray, high: np.ndarray, h: float | np.ndarray) -> TriangleMesh:
    """The surface of a shape in the box from `low` to `high`, from samples a distance h apart; see `of_level_set`."""
    own = shape.triangles()
    if own is not None:
        return TriangleMesh(own[0].astype(np.float32), own[1].astype(np.int32))
    steps = np.broadcast_to(h, len(low))
    axes = [a - 1.5 * s + s * np.arange(int(np.ceil((b - a) / s)) + 4) for a, b, s in zip(low, high, steps)]
    points = tuple(np.meshgrid(*axes, indexing="ij", sparse=True))
    phi = shape.sample(points, np.float32)
    for axis in range(len(axes)):  # what goes on beyond the box is cut, so that the mesh is closed
        for end in (0, -1):
            rim = phi[(slice(None),) * axis + (end,)]
            np.maximum(rim, np.float32(0.5 * steps.min()), out=rim)
    corner = [a[0] for a in axes]
    return of_level_set(phi, h, corner) if len(axes) == 3 else of_plane(phi, h, corner)


#: samples of a body along its longest side
FINE = {2: 256, 3: 64}


def of_body(shape: Shape, centre: np.ndarray) -> TriangleMesh:
    """The surface of a body about its centre of mass; nothing if the body is thinner than its samples."""
    low, high = shape.bounds(len(centre))
    side = high - low
    mesh = of_shape(shape, low, high, np.minimum(side.max() / FINE[len(centre)], side / 8))  # a thin plate across too
    return mesh.with_(vertices=mesh.vertices - np.pad(centre, (0, 3 - len(centre))).astype(np.float32))
