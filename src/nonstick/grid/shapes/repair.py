"""Closing an open triangle mesh: seams are joined, holes are filled (trimesh)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...optional import need


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
