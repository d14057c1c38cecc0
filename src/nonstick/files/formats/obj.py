"""Wavefront files (`.obj`): a mesh as text, with normals. The format has no place for velocity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .mesh import TriangleMesh

#: rows that are text at the same time, so that memory does not grow with the mesh
BLOCK = 100_000


def write(path: str | Path, mesh: TriangleMesh, name: str = "liquid") -> None:
    """Write a mesh as one object.

    Examples
    --------
    >>> import tempfile
    >>> write(tempfile.mktemp(suffix=".obj"), TriangleMesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]])))
    """
    # eight digits of the largest coordinate: float32 has seven
    largest = float(np.abs(mesh.vertices).max(initial=1e-9))
    decimals = int(np.clip(7 - np.floor(np.log10(largest)), 0, 12))
    with open(path, "wb") as file:
        file.write(f"# metres, y up\no {name}\n".encode("utf-8", "replace"))
        file.writelines(rows(f"v %.{decimals}f %.{decimals}f %.{decimals}f\n", mesh.vertices))
        file.writelines(rows("vn %.4f %.4f %.4f\n", mesh.normals()))
        file.writelines(rows("f %d//%d %d//%d %d//%d\n", np.repeat(mesh.faces + 1, 2, axis=1)))


def rows(line: str, values: np.ndarray) -> Iterator[bytes]:
    r"""A line for every row of numbers, in blocks of many lines.

    Examples
    --------
    >>> b"".join(rows("v %.2f %.2f %.2f\n", np.array([[0.5, -1.25, 3.0]])))
    b'v 0.50 -1.25 3.00\n'
    """
    for first in range(0, len(values), BLOCK):
        block = values[first : first + BLOCK]
        yield (line * len(block) % tuple(block.ravel().tolist())).encode("ascii")
