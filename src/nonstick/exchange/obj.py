"""Wavefront files (`.obj`): a mesh as text, with normals. The format has no place for velocity."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ._text import rows
from .mesh import Mesh


def write(path: str | Path, mesh: Mesh, name: str = "liquid") -> None:
    """Write a mesh as one object.

    Examples
    --------
    >>> import tempfile
    >>> write(tempfile.mktemp(suffix=".obj"), Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]])))
    """
    # eight digits of the largest coordinate: float32 has seven
    largest = float(np.abs(mesh.vertices).max(initial=1e-9))
    decimals = int(np.clip(7 - np.floor(np.log10(largest)), 0, 12))
    with open(path, "wb") as file:
        file.write(f"# metres, y up\no {name}\n".encode())
        file.write(rows("v", mesh.vertices, decimals))
        file.write(rows("vn", mesh.normals(), 4))
        file.write(rows("f", mesh.faces + 1, twice=True))
