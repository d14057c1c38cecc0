"""Wavefront files (`.obj`): a mesh as text, with normals. The format has no place for velocity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .mesh import Mesh


def write(path: str | Path, mesh: Mesh, name: str = "liquid") -> None:
    """Write a mesh as one object.

    Examples
    --------
    >>> import tempfile
    >>> write(tempfile.mktemp(suffix=".obj"), Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]])))
    """
    n, m = len(mesh.vertices), len(mesh.faces)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"# metres, y up\no {name}\n")
        # one call of the formatter for the whole array is much faster than one a line
        file.write(("v %.7g %.7g %.7g\n" * n) % tuple(mesh.vertices.ravel().tolist()))
        file.write(("vn %.4g %.4g %.4g\n" * n) % tuple(mesh.normals().ravel().tolist()))
        file.write(("f %d//%d %d//%d %d//%d\n" * m) % tuple(np.repeat(mesh.faces + 1, 2, axis=1).ravel().tolist()))
