"""Fewer triangles and fewer particles, so that a browser can hold many frames.

Triangles are merged where the surface is flat by quadric error metrics (Garland, Heckbert: *Surface Simplification
Using Quadric Error Metrics*, 1997; the package fast-simplification does it). Particles are chosen by their numbers, so
that the same ones are shown in every frame.
"""

from __future__ import annotations

import numpy as np

from ..exchange import Mesh

#: multiplier of a hash by multiplication (Knuth, The Art of Computer Programming, 6.4)
_KNUTH = 2654435761


def thin_mesh(mesh: Mesh, most: int) -> Mesh:
    """The surface with at most about `most` triangles; colours and velocities are left out if any are merged.

    >>> mesh = Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.int32))
    >>> thin_mesh(mesh, 100) is mesh
    True
    """
    if len(mesh.faces) <= most:
        return mesh
    import fast_simplification

    points, faces = fast_simplification.simplify(
        mesh.vertices.astype(np.float32), mesh.faces.astype(np.int32), target_count=max(most, 4), agg=5
    )
    return Mesh(np.asarray(points, np.float32), np.asarray(faces, np.int32))


def thin_particles(ids: np.ndarray, most: int) -> np.ndarray:
    """Which particles to show, at most about `most`: those whose scrambled number is small.

    >>> int(thin_particles(np.arange(1000), 100).sum())
    100
    """
    if len(ids) <= most:
        return np.ones(len(ids), bool)
    scrambled = ids.astype(np.uint64) * np.uint64(_KNUTH) % np.uint64(2**32)
    return scrambled < np.uint64(2**32 * most // len(ids))
