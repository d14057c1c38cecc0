"""Draw images/surfaces.png: frames from the grid, from particles and by splashsurf; a table on the way.

    nonstick run sphere --set domain.resolution=64 --frames 45 --out sphere
    cd examples/shot && python character.py && nonstick run shot.toml --frames 14 --out run && cd ../..
    python docs/draw_surfaces.py sphere 45 examples/shot/run 14

It needs the extras `surface` and `pictures`, and ParaView (`pvpython`, and `xvfb-run` without a screen).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ("grid", "particles", "splashsurf")
PIXELS = 400
#: how the camera looks at a run: degrees up and around, and the part of the picture that the liquid fills
VIEWS = {"sphere": (20, 35, 1.35), "shot": (20, 15, 1.5)}


def main(words: list[str]) -> None:
    """Meshes of the frames, their numbers, and the picture."""
    import numpy as np
    from PIL import Image

    from nonstick.files.formats import Shot, liquid_mesh, ply

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path, number in zip(words[::2], map(int, words[1::2])):
            shot, row = Shot(path), []
            frame = shot.frame(number)
            for kind in KINDS:
                mesh = liquid_mesh(shot, frame, kind, 1 if kind == "grid" else 2)
                tunnels, parts = holes(mesh.vertices, mesh.faces)
                volume = 100 * (mesh.volume() / shot.volume(frame) - 1)
                print(
                    f"{shot.name} {number} {kind:10} {len(mesh.faces):8} triangles {parts:6} parts {tunnels:6} holes "
                    f"{mesh.open_edges():3} open edges, volume {volume:+.2f} %"
                )
                name = Path(folder) / f"{shot.name}_{kind}"
                ply.write(name.with_suffix(".ply"), mesh)
                view = [str(v) for v in VIEWS.get(shot.name, (15, 30, 1.3))]
                virtual = shutil.which("xvfb-run") and not os.environ.get("DISPLAY")
                screen = ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24"] if virtual else []
                subprocess.run([*screen, "pvpython", __file__, "--draw", str(name), *view], check=True)
                row.append(np.asarray(Image.open(name.with_suffix(".png")).convert("RGB")))
            rows.append(np.hstack(row))
    Image.fromarray(np.vstack(rows)).save(Path(__file__).parent / "images" / "surfaces.png", optimize=True)


def holes(vertices, faces) -> tuple[int, int]:
    """Tunnels through a closed mesh, and its parts, by Euler's formula: V - E + F = 2 · parts - 2 · tunnels."""
    import numpy as np
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    used, f = np.unique(faces, return_inverse=True)
    n, f = len(used), f.reshape(-1, 3)
    links = coo_matrix((np.ones(2 * len(f)), (f[:, :2].T.ravel(), f[:, 1:].T.ravel())), (n, n))
    parts = connected_components(links, directed=False)[0]
    euler = n - 3 * len(f) // 2 + len(f)
    return (2 * parts - euler) // 2, parts


def draw(name: str, up: str, around: str, zoom: str) -> None:
    """One mesh; run by ParaView's own Python."""
    from paraview.simple import CreateView, GetDisplayProperties, PLYReader, Render, ResetCamera, SaveScreenshot, Show

    view = CreateView("RenderView")
    view.ViewSize = [PIXELS, PIXELS]
    view.UseColorPaletteForBackground = 0
    view.Background = [1.0, 1.0, 1.0]
    view.OrientationAxesVisibility = 0
    reader = PLYReader(FileNames=[f"{name}.ply"])
    Show(reader, view)
    look = GetDisplayProperties(reader, view)
    look.ColorArrayName = [None, ""]
    look.DiffuseColor = look.AmbientColor = [0.27, 0.52, 0.75]
    look.Specular, look.SpecularPower = 0.4, 40
    ResetCamera(view)
    camera = view.GetActiveCamera()
    camera.Azimuth(float(around))
    camera.Elevation(float(up))
    camera.Zoom(float(zoom))
    Render(view)
    SaveScreenshot(f"{name}.png", view)


if __name__ == "__main__":
    draw(*sys.argv[2:]) if sys.argv[1:2] == ["--draw"] else main(sys.argv[1:])
