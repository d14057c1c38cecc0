"""How much an exported surface trembles: still and slowly moving water, by every way to find the surface.

The height of the surface over a grid of columns away from the walls is taken in every frame. Its second difference in
time is what the eye sees as trembling: it is zero at rest, and small for a smooth motion. The same for normals.

    python benchmarks/calm.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from nonstick import Scene
from nonstick.core.optional import missing
from nonstick.files.formats import Shot, liquid_mesh
from nonstick.sim.run.loop import run

#: columns this many cells from the walls are left out
RIM = 8
#: name → tilt of the surface in degrees, frames a second, first and last frame
SCENES = {"still": (0.0, 30, 6, 15), "wave": (4.0, 60, 8, 19)}


def scene(tilt: float, fps: int, last: int, resolution: int) -> Scene:
    """A tank with water whose surface is tilted at first."""
    turned = {"rotate": tilt, "axis": [0, 0, 1], "about": [0.5, 0.3, 0.5]} if tilt else {}
    return Scene(
        {
            "domain": {"size": [1.0, 0.6, 1.0], "resolution": resolution},
            "time": {"frames": last, "fps": fps},
            "liquid": [{"shape": {"type": "box", "low": [0, 0, 0], "high": [1.0, 0.31, 1.0], **turned}}],
        }
    )


def tremble(shot: Shot, numbers: range, kind: str, refine: int) -> tuple[float, float]:
    """Root mean square of the second differences of height (in cells) and of normals (in degrees)."""
    dx, (nx, _, nz) = shot.grid.dx, shot.grid.shape
    columns = np.stack(np.meshgrid(np.arange(RIM, nx - RIM) + 0.5, np.arange(RIM, nz - RIM) + 0.5), -1).reshape(-1, 2)
    heights, normals = [], []
    for number in numbers:
        mesh = liquid_mesh(shot, shot.frame(number), kind, refine)  # type: ignore[arg-type]
        up = mesh.normals()[:, 1] > 0.5
        x, n = mesh.vertices[up] / dx, mesh.normals()[up]
        away, near = cKDTree(x[:, [0, 2]]).query(columns, k=4)
        weight = 1.0 / np.maximum(away, 1e-3)
        weight /= weight.sum(axis=1, keepdims=True)
        step = columns[:, None] - x[near][..., [0, 2]]
        tangent = x[near][..., 1] - (step * n[near][..., [0, 2]]).sum(axis=-1) / n[near][..., 1]
        heights.append((weight * tangent).sum(axis=1))
        normals.append((weight[..., None] * n[near]).sum(axis=1))
    second = lambda a: a[2:] - 2 * a[1:-1] + a[:-2]  # noqa: E731
    return (
        float(np.sqrt((second(np.array(heights)) ** 2).mean())),
        float(np.degrees(np.sqrt((second(np.array(normals)) ** 2).sum(axis=-1).mean()))),
    )


def main(resolution: int = 40) -> list[tuple[str, str, float, float]]:
    """Rows: scene, surface, trembling of the height in cells and of the normals in degrees."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (tilt, fps, first, last) in SCENES.items():
            shot = Shot(run(scene(tilt, fps, last, resolution), Path(folder) / name).path)
            for kind, refine in (("grid", 1), ("particles", 2), ("splashsurf", 2)):
                if kind != "splashsurf" or missing("surface", "pysplashsurf") is None:
                    out.append((name, kind, *tremble(shot, range(first, last + 1), kind, refine)))
    return out


if __name__ == "__main__":
    for name, kind, height, normal in main():
        print(f"{name:8} {kind:12} {height:8.4f} cells {normal:8.3f}°")
