"""Write the stand-ins for the scans of the papers as closed meshes: bunny.ply, armadillo.ply, dragon.ply.

    python examples/figures.py [FOLDER]

The shapes are those of `{type = "figure", name = "bunny", ...}` in scene files; the files are for other programs. With
the default of 128 cells along the longest side a mesh has some 30 to 90 thousand triangles.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nonstick.files.formats import ply
from nonstick.files.formats.mesh import TriangleMesh, of_shape
from nonstick.grid import Figure

NAMES = ("bunny", "armadillo", "dragon")


def main(folder: str | Path = ".", n: int = 128, names: tuple[str, ...] = NAMES) -> dict[str, TriangleMesh]:
    """The meshes by name, one metre long, with n cells along it."""
    made = {}
    for name in names:
        figure = Figure(name, (0.5, 0.5, 0.5), 1.0)
        low, high = figure.bounds(3)
        made[name] = of_shape(figure, low - 2 / n, high + 2 / n, 1 / n)
        ply.write(Path(folder, f"{name}.ply"), made[name], (f"a stand-in for a scanned {name}",))
    return made


if __name__ == "__main__":
    for name, mesh in main(*sys.argv[1:2]).items():
        print(f"{name}.ply: {len(mesh.faces):,} triangles")
