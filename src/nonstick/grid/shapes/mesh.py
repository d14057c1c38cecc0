"""Closed triangle meshes as signed distances (extra `[mesh]`: trimesh reads and closes, libigl measures)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...core.optional import need
from ...errors import NonstickError
from .base import Corners, Moments, Positive, Probes, Shape

#: number of triangle corners above which one probe per vertex is enough
SMOOTH_CORNERS = 750


@dataclass(frozen=True)
class Mesh(Shape):
    """Distance to a closed triangle mesh; the sign comes from its winding number."""

    kind = "mesh"
    dimension = 3
    vertices: np.ndarray = field(repr=False)
    faces: np.ndarray = field(repr=False)
    #: what `repair` did to the file's triangles; empty if it did nothing
    repaired: str = field(default="", repr=False)

    @classmethod
    def from_scene(cls, folder: Path, file: str, scale: Positive = 1.0, repair: bool = False) -> Mesh:
        return cls.load(folder / file, scale, repair)

    @classmethod
    def load(cls, path: Path, scale: float = 1.0, repair: bool = False) -> Mesh:
        """The mesh of a file, scaled about the origin; `repair` closes an open mesh where that can be done."""
        if not path.is_file():
            raise NonstickError(f"there is no mesh file {str(path)!r}; paths start at the folder of the scene file")
        need("mesh", "trimesh", "igl")
        import trimesh

        try:
            mesh = trimesh.load_mesh(path)
        except Exception as error:  # trimesh raises many kinds of errors from its readers
            raise NonstickError(f"{path} cannot be read as a mesh: {error}") from None
        if len(getattr(mesh, "faces", ())) == 0:
            raise NonstickError(f"{path} contains no triangles")
        done = close(mesh) if repair and not mesh.is_watertight else ""
        if not mesh.is_watertight:
            holes = count_holes(mesh)
            what = f"has {holes} hole{'s' * (holes != 1)}" if holes else "has edges with more than two triangles"
            advice = "repair did not help: close it in another program" if repair else "add repair = true to its shape"
            raise NonstickError(f"the mesh {path} is not closed, so it has no inside: it {what}; {advice}")
        vertices = np.ascontiguousarray(mesh.vertices, dtype=float) * scale
        return cls(vertices, np.ascontiguousarray(mesh.faces, dtype=np.int64), done)

    def distance(self, *x):
        points = np.broadcast_arrays(*x)
        flat = np.stack([np.asarray(p, dtype=float).ravel() for p in points], axis=1)
        boxes, turns = self._trees
        squared = np.asarray(boxes.squared_distance(self.vertices, self.faces, flat)[0])
        # around 1 inside and 0 outside (Barill et al. 2018); accuracy 2 as in libigl's own signed distance
        inside = np.abs(np.asarray(turns.winding_number(flat, 2.0))) > 0.5
        return np.where(inside, -1.0, 1.0).reshape(points[0].shape) * np.sqrt(squared).reshape(points[0].shape)

    @cached_property
    def _trees(self):
        """The search trees of libigl, built once: a scene asks for distances plane by plane."""
        import igl

        boxes, turns = igl.AABB(), igl.FastWindingNumberBVH()
        boxes.init(self.vertices, self.faces)
        turns.init(self.vertices, self.faces, 2)
        return boxes, turns

    def bounds(self, dimension: int) -> Corners:
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    def exact_moments(self, dimension: int) -> Moments:
        """Sums over the tetrahedra between the triangles and a point (the divergence theorem)."""
        origin = self.vertices.mean(axis=0)
        a, b, c = np.moveaxis(self.vertices[self.faces] - origin, 1, 0)
        six = np.einsum("ij,ij->i", a, np.cross(b, c))
        if six.sum() < 0:  # the triangles are oriented inwards
            six = -six
        volume = float(six.sum()) / 6
        if not volume > 0:
            raise NonstickError("the mesh encloses no volume, so it has no mass")
        s = a + b + c
        centre = np.einsum("i,ij->j", six, s) / (24 * volume)
        second = sum(np.einsum("i,ij,ik->jk", six, v, v) for v in (a, b, c, s)) / 120
        return Moments(volume, centre + origin, second - volume * np.outer(centre, centre))

    def probes(self, dimension: int) -> Probes:
        """Corners and centres of triangles, each with the normal of its triangle."""
        a, b, c = np.moveaxis(self.vertices[self.faces], 1, 0)
        normal = np.cross(b - a, c - a)
        size = np.linalg.norm(normal, axis=1)
        good = size > 0
        a, b, c, normal = a[good], b[good], c[good], normal[good] / size[good, None]
        if np.einsum("ij,ij->i", a, np.cross(b, c)).sum() < 0:
            normal = -normal
        corners = np.concatenate([a, b, c])
        if len(corners) > SMOOTH_CORNERS:  # a smooth mesh: one probe per vertex is enough
            _, first = np.unique(self.faces[good].T.ravel(), return_index=True)
            return Probes.flat(corners[first].T, np.tile(normal, (3, 1))[first].T)
        x = np.concatenate([corners, (a + b + c) / 3])
        return Probes.flat(x.T, np.tile(normal, (4, 1)).T)

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        return self.vertices, self.faces


def count_holes(mesh: Any) -> int:
    """Number of loops of open edges of a trimesh; 0 if it has none, or if its open edges form no loops."""
    from trimesh.grouping import group_rows

    edges = mesh.edges_sorted[group_rows(mesh.edges_sorted, require_count=1)]
    if not len(edges):
        return 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    points, place = np.unique(edges, return_inverse=True)
    a, b = place.reshape(-1, 2).T
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(len(points),) * 2)
    return int(connected_components(graph, directed=False)[0])


def close(mesh: Any) -> str:
    """Close a trimesh in place as far as that goes; returns a few words on what was done.

    Vertices at one place become one vertex, triangles that are there twice or have no area go, and every hole gets a
    fan of triangles around its middle. A fan is a good lid for holes that are nearly flat and convex.
    """
    need("mesh", "networkx")  # trimesh follows edges and turns triangles with it
    from trimesh import repair

    points, triangles = len(mesh.vertices), len(mesh.faces)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    mesh.update_faces(mesh.unique_faces() & mesh.nondegenerate_faces())
    mesh.remove_unreferenced_vertices()
    done = []
    if len(mesh.vertices) < points:
        done.append(f"{points - len(mesh.vertices)} vertices joined with others at their place")
    if len(mesh.faces) < triangles:
        done.append(f"{triangles - len(mesh.faces)} needless triangles removed")
    if not mesh.is_winding_consistent:
        repair.fix_winding(mesh)
        done.append("triangles turned the same way round")
    if not mesh.is_watertight and (holes := count_holes(mesh)):
        try:
            fan, middles = repair.stitch(mesh, insert_vertices=True)
        except (ValueError, IndexError):  # open edges that form no loop
            return ", ".join(done)
        mesh.vertices, mesh.faces = np.vstack([mesh.vertices, middles]), np.vstack([mesh.faces, fan])
        done.append(f"{holes} hole{'s' * (holes != 1)} filled with {len(fan)} triangles")
    return ", ".join(done) or "nothing to do"
