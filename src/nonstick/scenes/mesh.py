"""Closed triangle meshes as signed distances (extra `[mesh]`: trimesh reads, libigl measures)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..errors import NonstickError
from ..grid.shapes import Shape
from ..optional import need


@dataclass(frozen=True)
class MeshShape(Shape):
    """Distance to a triangle mesh; the sign comes from its winding number."""

    vertices: np.ndarray = field(repr=False)
    faces: np.ndarray = field(repr=False)

    def __call__(self, *x):
        import igl

        if len(x) != 3:
            raise NonstickError("meshes are solids in three dimensions; this scene has two")
        points = np.broadcast_arrays(*x)
        flat = np.stack([np.asarray(p, dtype=float).ravel() for p in points], axis=1)
        kind = igl.SignedDistanceType.SIGNED_DISTANCE_TYPE_FAST_WINDING_NUMBER
        distance = igl.signed_distance(np.ascontiguousarray(flat), self.vertices, self.faces, kind)[0]
        return np.asarray(distance).reshape(points[0].shape)


def load(path: Path, scale: float) -> tuple[MeshShape, tuple[float, ...]]:
    """The mesh of a file, scaled about the origin, and the centre of its bounding box."""
    if not path.is_file():
        raise NonstickError(f"there is no mesh file {str(path)!r}")
    need("mesh", "trimesh", "igl")
    import trimesh

    try:
        mesh = trimesh.load_mesh(path)
    except Exception as error:  # trimesh raises whatever its readers raise
        raise NonstickError(f"{path} cannot be read as a mesh: {error}") from None
    if len(getattr(mesh, "faces", ())) == 0:
        raise NonstickError(f"{path} holds no triangles")
    if not mesh.is_watertight:
        raise NonstickError(f"the mesh {path} is not closed, so it has no inside; repair it first")
    vertices = np.ascontiguousarray(mesh.vertices, dtype=float) * scale
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    return MeshShape(vertices, np.ascontiguousarray(mesh.faces, dtype=np.int64)), tuple(middle)
