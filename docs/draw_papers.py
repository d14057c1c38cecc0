"""Draw the figures of the papers that show liquid: each line of a picture is a run, its columns are frames.

    python docs/draw_papers.py [--runs DIR] [--cells N] [NAME ...]   one picture, docs/images/papers/NAME.png, for each

A run that is in DIR already is not made again. The grids are coarser than the papers', so that a picture takes a few
minutes; `--cells` gives another number of cells along the longest side. docs/papers.md says which sizes the papers
have, and on which grid each picture there was made. Beside every picture's name stand, for each of its runs, the
version of the source, the processor seconds of a frame and the pressure's part of them. `upper` is the share of the
particles that are in the upper half of the domain and within two cells of a wall, in percent: liquid that hangs. A
figure with `times` gets a second picture: the seconds on the clock that the pressure of each frame took.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from make_gallery import LARGE, ROOT, shrunk, size

from nonstick import Scene
from nonstick.bench.figures import LOG_Y, Chart, _line
from nonstick.bench.row import version
from nonstick.files.rundir import RunDirectory
from nonstick.pictures.render.movie import above, beside, label, write_picture
from nonstick.scenes.geometry import build
from nonstick.sim.kinds import kind_of
from nonstick.sim.run import run

IMAGES = ROOT / "docs" / "images" / "papers"
#: the file of a run that says what made it
MADE = "made.json"
STICKY, SEPARATING = {"walls.pressure": "none"}, {"walls.pressure": "cut"}
BOTH = {"sticky": STICKY, "separating": SEPARATING}
#: Takahashi and Batty in their §7.3 and §7.1
LOOSE, ONE_STEP = {"solver.rtol": 1e-3}, {"solver.rtol": 1e-8, "time.max_substeps": 1}


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
    #: keys of the camera
    camera: dict[str, Any] = field(default_factory=dict)
    #: the frame in which particles near the upper wall are counted
    counted: int | None = None
    #: the name of the picture that shows the time of every frame
    times: str | None = None


FIGURES = {
    "lai-5.1": Figure("circle", (15, 30, 50, 80), 64),
    "lai-5.2": Figure("square", (15, 30, 50, 80), 64),
    "lai-5.3": Figure("sphere", (20, 50, 70, 90), 32, counted=20),
    "lai-5.6": Figure(
        "maze", (20, 40, 60, 100), 64, {"fas": {"solver.method": "fas-mg"}, "newton": {"solver.method": "newton"}}
    ),
    "lai-5.7": Figure("sphere", (10,), 64, pixels=320, counted=10),
    "lai-5.8": Figure("sphere-cuboid", (70,), 32, pixels=320, counted=70),
    "lai-5.9": Figure("double-sphere", (10,), 64, pixels=320, counted=10),
    "cm-1": Figure("dam-break-sphere", (0, 18, 36, 70), 32, counted=70),
    "cm-2": Figure(
        "cm-circle", (0, 24, 36, 48), 64,
        {
            "sticky": {**STICKY, "solver.method": "fmg"},
            "node": {**SEPARATING, "solver.method": "fmg"},
            "edge": {"walls.pressure": "edge", "solver.method": "fmg"},
            "auto": {**SEPARATING, "solver.method": "auto"},
        },
        counted=42,
    ),
    "cm-3": Figure("rotated-box", (0, 15, 30, 60), 32, counted=60),
    "cm-4": Figure("dam-break-box", (0, 40, 60, 80), 40, counted=60),
    "cm-5": Figure("ball-box", (0, 20, 35, 55), 40, counted=55),
    "andersen-1-top": Figure("andersen-3d-1", (80, 90, 100), 32, {"separating": SEPARATING}),
    "andersen-1-bottom": Figure("andersen-3d-2", (140, 150, 160), 32, {"separating": SEPARATING}),
    "andersen-3": Figure("andersen-1", (30, 90, 110, 160), 100),
    "andersen-4": Figure("andersen-2", (10, 20, 30, 40), 100),
    "andersen-5": Figure("andersen-3", (10, 50, 90, 130), 100),
    "andersen-6": Figure("andersen-4", (10, 50, 90, 130), 100),
    "andersen-7": Figure("andersen-5", (10, 50, 90, 130), 100),
    "aanjaneya-2": Figure("honey", (20, 45, 70, 100), 96, {"honey": {"time.max_substeps": 1}}),
    "aanjaneya-3": Figure("chocolate", (40, 80, 120, 160), 96, {"chocolate": {}}),
    "aanjaneya-4": Figure("armadillo-cake", (0, 15, 40, 80), 64, {"cream": {}}),
    "aanjaneya-11-liquid": Figure("varying-block", (10, 20, 35, 60), 80, {"block": {}}),
    "aanjaneya-13": Figure("bunny-drop", (0, 12, 20, 30, 40, 60, 120, 200), 40, {"bunnies": {}}),
    "tb-1": Figure("bunny-sphere", (0, 12, 24, 48), 64, {"separating": {}}),
    "tb-4": Figure(
        "neumann-maze", (5, 15, 30), 40,
        {name: {**ONE_STEP, "solver.method": f"{name}-cg"} for name in ("mic", "saamg", "giaamg", "tagiaamg")},
        times="tb-5",
    ),
    "tb-6": Figure(
        "maze-3d", (0, 15, 30, 50), 40,
        {
            "tagiaamg-cg": {**STICKY, **LOOSE, "solver.method": "tagiaamg-cg"},
            **{name: {"walls.pressure": "all", **LOOSE, "solver.method": name}
               for name in ("saamg-mprgp", "ipm-pd+saamg-cg", "ipm-pd+tagiaamg-cg")},
        },
        times="tb-7",
    ),
    "tb-8": Figure(
        "double-dam-break", (20, 40, 60, 85), 32,
        {
            name: {"time.cfl": 3.0, "walls.pressure": walls}
            for name, walls in (("unconstrained", "none"), ("non-splashy", "cut"), ("splashy", "all"))
        },
        counted=85,
    ),
}  # fmt: skip


def draw(name: str, runs: Path, cells: int | None = None) -> Path:
    """Make the runs of a figure that are missing, and its picture."""
    figure = FIGURES[name]
    if cells is not None:
        figure = replace(figure, cells=cells)
    rows, said, curves = [], [], {}
    for title, keys in figure.lines.items():
        directory = runs / f"{name}-{title}-{figure.cells}"
        if not (directory / MADE).is_file():
            make(figure, keys, directory)
        scene = RunDirectory.open(directory).scene()
        kind = kind_of(scene)
        camera = kind.camera(scene, size(scene, figure.pixels) | {"labels": False} | figure.camera)
        images = list(kind.film(directory, None, camera, list(figure.frames)).images())
        if len(figure.lines) > 1:
            images[0] = label(images[0], title)
        rows.append(images)
        said.append(f"{title} {facts(figure, directory)}")
        curves[title] = pressure_seconds(directory)
    one = len(figure.frames) == 1
    if one:
        image = beside([row[0] for row in rows])
    else:  # at most four images side by side
        image = above([beside(row[k : k + 4]) for row in rows for k in range(0, len(row), 4)])
    file, image = IMAGES / f"{name}.png", shrunk(image, 940)
    IMAGES.mkdir(parents=True, exist_ok=True)
    write_picture(file, image)
    if file.stat().st_size > LARGE:
        write_picture(file, image, 256)
    if figure.times is not None:
        marks = [_line(range(1, len(of) + 1), of, marker=".", label=title) for title, of in curves.items()]
        Chart({"": marks}, "frame", "seconds", scales=LOG_Y).draw(IMAGES / f"{figure.times}.png")
    print(f"{file.name}: {figure.cells} cells; {'; '.join(said)}", flush=True)
    return file


def make(figure: Figure, keys: dict[str, Any], directory: Path) -> None:
    """One run, and a note of what it took."""
    fixed = {"domain.resolution": figure.cells, "time.frames": max(figure.frames), "output.movie": False}
    began, at = time.process_time(), time.perf_counter()
    run(Scene.load(figure.scene, {**fixed, **keys}), directory)
    made = {"version": version(), "seconds": time.process_time() - began, "clock": time.perf_counter() - at}
    (directory / MADE).write_text(json.dumps(made), encoding="utf-8")


def facts(figure: Figure, directory: Path) -> str:
    """What a run took, and where its particles are."""
    opened = RunDirectory.open(directory)
    made = json.loads((directory / MADE).read_text(encoding="utf-8"))
    rows = opened.rows()
    # the pressure's part of the time on the clock, of which frames and checkpoints take a part too
    part = sum(float(row["pressure_seconds"]) for row in rows) / made["clock"]
    each = made["seconds"] / max(figure.frames)
    said = f"{made['version']} {each:.2f} s/frame, pressure {each * part:.2f}"
    said += f", {len(rows) / max(figure.frames):.1f} substeps, {rows[-1]['particles']} particles"
    if figure.counted is not None:
        said += f", upper {100 * upper(opened, figure.counted):.1f} %"
    return said


def pressure_seconds(directory: Path) -> list[float]:
    """The seconds on the clock that the pressure took, frame by frame."""
    frames: dict[int, float] = {}
    for row in RunDirectory.open(directory).rows():
        frame = int(row["frame"])
        frames[frame] = frames.get(frame, 0.0) + float(row["pressure_seconds"])
    return [frames[frame] for frame in sorted(frames)]


def upper(opened: RunDirectory, frame: int) -> float:
    """The share of particles in the upper half of the domain within two cells of a wall."""
    scene = opened.scene()
    x = opened.read_frame(frame)["position"].astype(float)
    sizes = np.array(scene.model.domain.size)
    away = np.minimum(x, sizes - x).min(axis=1)
    for solid in scene.model.solid:
        phi = build(solid.shape, scene.folder, "solid")(*x.T)
        away = np.minimum(away, -phi if solid.container else phi)
    return float(((away < 2.0 * scene.dx) & (x[:, 1] > 0.5 * sizes[1])).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "papers", help="where the runs are")
    parser.add_argument("--cells", type=int, help="cells along the longest side, in place of each figure's own")
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], help="only these pictures")
    given = parser.parse_args()
    for name in given.names or FIGURES:
        draw(name, given.runs, given.cells)


if __name__ == "__main__":
    main()
