"""Make the gallery: run every built-in scene, paint a picture and a small movie of each, and write docs/gallery.md.

    python docs/make_gallery.py [--runs DIR] [SCENE ...]       (or: make gallery)

A run that is in DIR already is not made again. Most scenes run on coarser grids than their own, so that all of them
take about half an hour; the page says with which command. Scenes without a picture are listed too.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nonstick import Scene
from nonstick.files.rundir import RunDirectory
from nonstick.pictures.render.movie import beside, write_movie, write_picture
from nonstick.scenes import KINDS, builtin
from nonstick.sim.kinds import kind_of
from nonstick.sim.run import run
from nonstick.sim.run.preview import Frames

ROOT = Path(__file__).parents[1]
PAGE, IMAGES = ROOT / "docs" / "gallery.md", ROOT / "docs" / "images" / "gallery"
#: pixels of a still and of the movie, at most
STILL, MOVIE = 272, 240
#: bytes above which a picture gets a table of colours
LARGE = 140_000
#: quality of the movies by x264's scale, on which 51 is the worst
QUALITY = 27
#: frames of a run, and cells along the longest side, where they are not those of the scene
FRAMES, CELLS = 60, 40
OWN: dict[str, dict[str, int]] = {
    "honey": {}, "heat": {}, "sphere": {}, "chocolate": {}, "viscous-ceiling": {},
    "coil": {}, "thread": {}, "buckle": {"domain.resolution": 40},
    "varying-block": {"time.frames": 60}, "cake": {"time.frames": 80},
    "armadillo-cake": {"domain.resolution": 48, "time.frames": 60},
    "bunny-drop": {"domain.resolution": 40, "time.frames": 50},
    "bunny-sphere": {"domain.resolution": 48, "time.frames": 48},
    "body-drop": {"domain.resolution": 40, "time.frames": 40}, "hull": {"domain.resolution": 56, "time.frames": 60},
    "moving-sphere": {"domain.resolution": 48, "time.frames": 60}, "stack": {"time.frames": 30},
    "martin-moyce-3d": {"domain.resolution": 64, "time.frames": 60},
    "neumann-maze": {"domain.resolution": 40, "time.frames": 30},
    "ceiling": {"domain.resolution": 40, "time.frames": 40}, "ball-box": {"domain.resolution": 40, "time.frames": 50},
}  # fmt: skip


def settings(name: str, scene: Scene) -> dict[str, int]:
    """The keys of a scene that the gallery changes."""
    if name in OWN:
        return OWN[name]
    keys = {} if scene.dimension == 2 else {"domain.resolution": CELLS}
    return keys | {"time.frames": min(FRAMES, scene.model.time.frames)}


def command(name: str, keys: dict[str, int]) -> str:
    """The command that makes the run."""
    return " ".join(["nonstick run", name, *(f"--set {key}={value}" for key, value in keys.items())])


def size(scene: Scene, most: int) -> dict[str, int]:
    """Width and height of an image, in the proportions of the scene."""
    across, high = scene.model.domain.size[:2]
    if scene.dimension == 3:
        return {"width": most, "height": round(0.38 * most) * 2}
    part = min(1.0, 0.76 * across / high)
    width = most * part
    return {"width": max(64, round(width) // 2 * 2), "height": max(64, round(width * high / across) // 2 * 2)}


def paint(name: str, directory: Path) -> None:
    """Three stills side by side, and a movie of every second frame."""
    run = RunDirectory.open(directory)
    scene, last = run.scene(), max(run.frames())
    kind, some = kind_of(scene), slice(0, None, max(2, last // 40))

    def images(pixels: int, frames: Frames) -> Iterator[np.ndarray]:
        camera = kind.camera(scene, size(scene, pixels) | {"labels": False}) if scene.kind == "liquid" else None
        return kind.film(directory, None, camera, frames).images()

    movie = images(MOVIE, some)
    if scene.kind == "liquid":
        stills = list(images(STILL, sorted({round(last * part) for part in (0.12, 0.4, 1.0)})))
    else:  # its images show two bodies already, and its film, which computes the second one, is made once
        shown = list(movie)
        movie, stills = iter(shown), shown[-1:]
    write_movie(IMAGES / f"{name}.mp4", (shrunk(image, 2 * MOVIE) for image in movie), 15.0, QUALITY)
    file, image = IMAGES / f"{name}.png", shrunk(beside(stills), 3 * STILL + 16)
    write_picture(file, image)
    if file.stat().st_size > LARGE:
        write_picture(file, image, 256)


def shrunk(image: np.ndarray, width: int) -> np.ndarray:
    """An image of at most a width."""
    from PIL import Image

    if image.shape[1] <= width:
        return image
    return np.array(Image.fromarray(image).resize((width, round(image.shape[0] * width / image.shape[1]))))


def write_page() -> None:
    """docs/gallery.md from the scenes there are, with the pictures there are."""
    lines = [
        "# Gallery", "",
        "Every built-in scene, painted by `nonstick render`. `nonstick run NAME` makes a run of it with a movie;",
        "`nonstick new mine.toml --from NAME` gives you the scene to change. The command under a picture made its run:",
        "most runs here are shorter and coarser than their scenes. `make gallery` makes all of it again.",
        "[How to render](how-to/render.md) says how to choose camera, light and colours.", "",
    ]  # fmt: skip
    groups: dict[str, list[str]] = {"Liquids in 3D": [], "Liquids in 2D": [], "Heat": []}
    for kind in KINDS:
        for name in builtin(kind):
            scene = Scene.load(name)
            group = "Heat" if kind == "heat" else f"Liquids in {scene.dimension}D"
            text = scene.model.description.removeprefix("2D: ").removeprefix("3D: ")
            entry = [f"### {name}", "", f"{text[0].upper()}{text[1:]}.", ""]
            if (IMAGES / f"{name}.png").is_file():
                entry += [f"![{text}](images/gallery/{name}.png)", ""]
            entry += [f"    {command(name, settings(name, scene))}", ""]
            if (IMAGES / f"{name}.mp4").is_file():
                entry += [f"[Movie](images/gallery/{name}.mp4)", ""]
            groups[group] += entry
    for title, entries in groups.items():
        lines += [f"## {title}", "", *entries]
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "gallery", help="where the runs are")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("scenes", nargs="*", help="only these scenes")
    given = parser.parse_args()
    IMAGES.mkdir(parents=True, exist_ok=True)
    every = [name for kind in KINDS for name in builtin(kind)]
    for name in [] if given.page else given.scenes or every:
        directory = given.runs / name
        if not (directory / "meta.json").is_file():
            scene = Scene.load(name)
            run(Scene.load(name, settings(name, scene)), directory)
        paint(name, directory)
        print(f"{name}: {(IMAGES / f'{name}.png').stat().st_size} and {(IMAGES / f'{name}.mp4').stat().st_size} bytes")
    write_page()


if __name__ == "__main__":
    main()
