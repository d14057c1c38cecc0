"""Polygon files (`.ply`, binary): a mesh with the velocity and the colour of each vertex."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .mesh import Mesh


def write(path: str | Path, mesh: Mesh, comments: tuple[str, ...] = ()) -> None:
    """Write a mesh; velocity as `vx vy vz`, colour as `red green blue`, normals as `nx ny nz`.

    Examples
    --------
    >>> import tempfile
    >>> triangle = Mesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]]))
    >>> write(tempfile.mktemp(suffix=".ply"), triangle)
    """
    columns = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("nx", "<f4"), ("ny", "<f4"), ("nz", "<f4")]
    if mesh.velocity is not None:
        columns += [("vx", "<f4"), ("vy", "<f4"), ("vz", "<f4")]
    if mesh.colour is not None:
        columns += [("red", "u1"), ("green", "u1"), ("blue", "u1")]
    table = np.empty(len(mesh.vertices), columns)
    for names, values in (("xyz", mesh.vertices), (("nx", "ny", "nz"), mesh.normals()),
                          (("vx", "vy", "vz"), mesh.velocity), (("red", "green", "blue"), mesh.colour)):  # fmt: skip
        if values is not None:
            for axis, name in enumerate(names):
                table[name] = values[:, axis]
    faces = np.empty(len(mesh.faces), [("n", "u1"), ("vertex", "<i4", 3)])
    faces["n"], faces["vertex"] = 3, mesh.faces
    kinds = {"<f4": "float", "u1": "uchar"}
    header = ["ply", "format binary_little_endian 1.0", *(f"comment {c}" for c in comments)]
    header += [f"element vertex {len(table)}", *(f"property {kinds[kind]} {name}" for name, kind in columns)]
    header += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header"]
    with open(path, "wb") as file:
        file.write(("\n".join(header) + "\n").encode("ascii", "replace"))
        file.write(table.tobytes())
        file.write(faces.tobytes())
