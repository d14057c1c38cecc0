"""Draw the figures of the papers that show liquid: each line of a picture is a run, its columns are frames.

    python docs/draw_papers.py [--runs DIR] [NAME ...]       one picture, docs/images/papers/NAME.png, for each name

A run that is in DIR already is not made again. The grids are coarser than the papers', so that a picture takes a minute
or a few. docs/papers.md says which sizes the papers have.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from make_gallery import LARGE, ROOT, shrunk, size

from nonstick import Scene
from nonstick.io.rundir import RunDirectory
from nonstick.render.movie import above, beside, write_picture
from nonstick.sim.kinds import kind_of
from nonstick.sim.run import run

IMAGES = ROOT / "docs" / "images" / "papers"
STICKY, SEPARATING = {"walls.pressure": "none"}, {"walls.pressure": "cut"}
BUNNY = {"type": "figure", "name": "bunny", "centre": [1.2, 0.85, 0.9], "size": 0.95}
BOTH = {"sticky": STICKY, "separating": SEPARATING}


@dataclass(frozen=True)
class Figure:
    """The frames of a scene that a figure shows, in some variants of the scene from top to bottom."""

    scene: str
    frames: tuple[int, ...]
    #: cells along the longest side
    cells: int
    lines: dict[str, dict[str, Any]] = field(default_factory=lambda: BOTH)
    #: pixels of one image
    pixels: int = 220


FIGURES = {
    "lai-5.1": Figure("circle", (15, 30, 50, 80), 64),
    "lai-5.2": Figure("square", (15, 30, 50, 80), 64),
    "lai-5.3": Figure("sphere", (20, 50, 70, 90), 32),
    "lai-5.6": Figure(
        "maze", (20, 40, 60, 100), 64, {"fas": {"solver.method": "fas-mg"}, "newton": {"solver.method": "newton"}}
    ),
    "lai-5.7": Figure("sphere", (10,), 40),
    "lai-5.8": Figure("sphere-cuboid", (70,), 32),
    "lai-5.9": Figure("double-sphere", (10,), 40),
    "cm-1": Figure("dam-break-sphere", (0, 18, 36), 32),
    "cm-2": Figure(
        "cm-circle", (0, 24, 36, 48), 64,
        {
            "sticky": {**STICKY, "solver.method": "fmg"},
            "node": {**SEPARATING, "solver.method": "fmg"},
            "edge": {"walls.pressure": "edge", "solver.method": "fmg"},
            "auto": {**SEPARATING, "solver.method": "auto"},
        },
    ),
    "cm-3": Figure("rotated-box", (0, 15, 30), 32),
    "cm-4": Figure("dam-break-box", (0, 15, 30), 32),
    "cm-5": Figure("ball-box", (0, 10, 20), 32),
    "andersen-1-top": Figure("andersen-3d-1", (80, 90, 100), 32, {"separating": SEPARATING}),
    "andersen-1-bottom": Figure("andersen-3d-2", (140, 150, 160), 32, {"separating": SEPARATING}),
    "andersen-3": Figure("andersen-1", (30, 90, 110, 160), 64),
    "andersen-4": Figure("andersen-2", (10, 20, 30, 40), 100),
    "andersen-5": Figure("andersen-3", (10, 50, 90, 130), 64),
    "andersen-6": Figure("andersen-4", (10, 50, 90, 130), 64),
    "andersen-7": Figure("andersen-5", (10, 50, 90, 130), 64),
    "tb-1": Figure("moving-sphere", (0, 12, 24), 32, {"bunny": {"liquid": [{"shape": BUNNY}]}}),
    "tb-4": Figure("neumann-maze", (5, 15, 30), 40, {"tagiaamg": {}}),
    "tb-6": Figure("maze-3d", (10, 20, 40), 32),
    "tb-8": Figure(
        "double-dam-break", (10, 20, 40), 32, {**BOTH, "splashy": {"walls.pressure": "all"}}
    ),
}  # fmt: skip


def draw(name: str, runs: Path) -> Path:
    """Make the runs of a figure that are missing, and its picture."""
    figure = FIGURES[name]
    rows = []
    for label, keys in figure.lines.items():
        directory = runs / f"{name}-{label}"
        if not (directory / "meta.json").is_file():
            fixed = {"domain.resolution": figure.cells, "time.frames": max(figure.frames), "output.movie": False}
            run(Scene.load(figure.scene, {**fixed, **keys}), directory)
        scene = RunDirectory.open(directory).scene()
        kind = kind_of(scene)
        camera = kind.camera(scene, size(scene, figure.pixels) | {"labels": False})
        rows.append(beside(list(kind.film(directory, None, camera, list(figure.frames)).images())))
    file, image = IMAGES / f"{name}.png", shrunk(above(rows), 940)
    IMAGES.mkdir(parents=True, exist_ok=True)
    write_picture(file, image)
    if file.stat().st_size > LARGE:
        write_picture(file, image, 128)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "papers", help="where the runs are")
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="only these pictures")
    given = parser.parse_args()
    for name in given.names or FIGURES:
        print(draw(name, given.runs))


if __name__ == "__main__":
    main()
