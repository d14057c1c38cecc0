"""Polygon files (`.ply`, binary): a mesh with the velocity and the colour of each vertex; particles with their ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .frame import Frame, in_space
from .mesh import TriangleMesh

_KINDS = {"f4": "float", "u1": "uchar", "i4": "int", "u4": "uint"}


def write(path: str | Path, mesh: TriangleMesh, comments: tuple[str, ...] = ()) -> None:
    """Write a mesh; velocity as `vx vy vz`, colour as `red green blue`, normals as `nx ny nz`.

    Examples
    --------
    >>> import tempfile
    >>> triangle = TriangleMesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]]))
    >>> write(tempfile.mktemp(suffix=".ply"), triangle)
    """
    faces = np.empty(len(mesh.faces), [("n", "u1"), ("vertex", "<i4", 3)])
    faces["n"], faces["vertex"] = 3, mesh.faces
    columns = {"x y z": mesh.vertices, "nx ny nz": mesh.normals()}
    if mesh.velocity is not None:
        columns["vx vy vz"] = mesh.velocity
    if mesh.colour is not None:
        columns["red green blue"] = mesh.colour
    _save(path, columns, comments, faces)


def write_points(path: str | Path, frame: Frame, comments: tuple[str, ...] = ()) -> None:
    """Write the particles of a frame: place, velocity as `vx vy vz`, `id`, and `viscosity` where it varies.

    Examples
    --------
    >>> import tempfile
    >>> from nonstick.grid.mac import Grid
    >>> frame = Frame(0, {"position": np.zeros((2, 3), "f4"), "id": np.array([4, 9], "u4")}, Grid((4, 4, 4), 0.25))
    >>> write_points(tempfile.mktemp(suffix=".ply"), frame)
    """
    columns = {"x y z": in_space(frame.arrays.get("position", np.zeros((0, frame.dimension), np.float32)))}
    if (velocity := frame.get("velocity")) is not None:
        columns["vx vy vz"] = in_space(velocity)
    # the format has no whole numbers above 2³², so that more particles than that cannot be told apart
    columns["id"] = frame.ids.astype(np.uint32)[:, None]
    if (thick := frame.get("viscosity")) is not None:
        columns["viscosity"] = thick.astype(np.float32)[:, None]
    _save(path, columns, comments)


def _save(
    path: str | Path, columns: Mapping[str, np.ndarray], comments: tuple[str, ...], faces: np.ndarray | None = None
) -> None:
    """Vertices with groups of columns, by the names of the columns; triangles if there are any."""
    kinds = [(n, values.dtype.newbyteorder("<")) for names, values in columns.items() for n in names.split()]
    table = np.empty(len(columns["x y z"]), kinds)
    for names, values in columns.items():
        for axis, name in enumerate(names.split()):
            table[name] = values[:, axis]
    header = ["ply", "format binary_little_endian 1.0", *(f"comment {c}" for c in comments)]
    header += [f"element vertex {len(table)}", *(f"property {_KINDS[kind.str[1:]]} {name}" for name, kind in kinds)]
    if faces is not None:
        header += [f"element face {len(faces)}", "property list uchar int vertex_indices"]
    with open(path, "wb") as file:
        file.write(("\n".join([*header, "end_header"]) + "\n").encode("ascii", "replace"))
        file.write(table.data)
        if faces is not None:
            file.write(faces.data)
