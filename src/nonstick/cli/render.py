"""`nonstick render`: movies and pictures of runs; `nonstick export`: files for Blender, Houdini, ParaView, others."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from .options import COMPARE, RUN, complete_formats, frame_range, grouped, option, run_directory
from .running import paint
from .terminal import Bar, fail, say

#: degrees between two images of a turn around one frame
TURN = 5.0
#: options that a 2D run cannot have
_IN_SPACE = ("surface", "light", "target", "lens", "turntable", "azimuth", "elevation", "zoom", "keys", "clear")


def add(app: typer.Typer) -> None:
    app.command("render")(render)
    app.command("export")(export)


@dataclass(frozen=True)
class CameraOptions:
    """Keys of the camera as options."""

    size: str | None = option("--size", metavar="WxH", help="Pixels, e.g. 640x480.")
    light: tuple[float, float, float] | None = option(
        "--light", metavar="X Y Z", help="Direction to the sun: 1 1 0 shines from above on the right (3D)."
    )
    background: str | None = option("--background", metavar="COLOUR", help="A name such as black, or #rrggbb.")
    target: tuple[float, float, float] | None = option(
        "--target", metavar="X Y Z", help="Point in metres to look at (3D)."
    )
    lens: float | None = option(
        "--lens", metavar="MM", help="Focal length: 24 is close with strong perspective, 200 is far and flat (3D)."
    )
    turntable: float | None = option("--turntable", metavar="DEGREES", help="Turn of the camera during the movie (3D).")
    surface: str | None = option(
        "--surface",
        help="Surface of the liquid: particles, as pages and exported files show it, or grid, the level set of the "
        "simulation (3D).",
    )
    labels: bool | None = option("--labels/--no-labels", help="Write name and time into the picture.")
    settings: list[str] = typer.Option(
        [],
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="Other keys of the camera: azimuth, elevation, zoom, colour=speed, tint, clear, fps.",
    )

    def keys(self) -> dict[str, Any]:
        """The keys that were given, as in the table [camera] of a scene."""
        from ..scenes.scene import parse_override

        keys: dict[str, Any] = dict(parse_override(text) for text in self.settings) | _size(self.size)
        for name in ("light", "background", "target", "lens", "turntable", "surface", "labels"):
            value = getattr(self, name)
            if value is not None:
                keys[name] = list(value) if isinstance(value, tuple) else value
        return keys


@grouped
def render(
    directory: Path = RUN,
    compare: Path | None = COMPARE,
    out: Path | None = option(
        "--out",
        "-o",
        help="What to write: x.mp4, x.gif, x.png, or a directory for a picture of each frame "
        "(default: preview.mp4 in DIR, and preview.png).",
    ),
    frame: int | None = option(
        "--frame", "-f", min=0, help="Only this frame; with --turntable, the camera goes around it."
    ),
    frames: str | None = option(
        "--frames", "-n", metavar="A:B", help="Frames A to B - 1; with a third number S every S-th."
    ),
    look: CameraOptions = CameraOptions(),
) -> None:
    """Make a movie, a GIF or pictures of a run, or of two runs side by side.

    The ending of --out says what. The scene's table \\[camera] has the same settings; keys there are kept with the run.

    [bold]Examples:[/bold]

    nonstick render runs/sphere --compare runs/sphere-sticky

    nonstick render runs/sphere --out splash.png --frame 40 --size 1280x960 --no-labels

    nonstick render runs/sphere --out splash.gif --frames 0:60:2 --background black --light -1 1 1

    nonstick render runs/sphere --out around.mp4 --frame 40 --turntable 360
    """
    from ..files.rundir import RunDirectory
    from ..sim.kinds import kind_of

    scene = RunDirectory.open(directory).scene()
    if compare is not None and (other := RunDirectory.open(compare).scene()).kind != scene.kind:
        fail(
            f"{directory} is a run of {scene.kind} and {compare} is a run of {other.kind}: "
            "compare two runs of the same kind"
        )
    if frame is not None and frames is not None:
        fail("--frame and --frames were both given: use one of them")
    if out is not None and out.suffix not in ("", ".mp4", ".gif", ".png"):
        fail(f"--out is {out}: its name must end in .mp4, .gif or .png, or have no ending for a directory of pictures")
    keys = look.keys()
    if getattr(scene, "dimension", 3) == 2:
        flat = next((name for name in _IN_SPACE if name in keys), None)
        if flat is not None:
            fail(f"{directory} is a 2D run, which has no {flat}: remove it")
    camera = kind_of(scene).camera(scene, keys)
    chosen: Any = None if frames is None else frame_range(frames)
    if frame is not None:
        chosen = [frame]
        turn = abs(camera.turntable) if camera is not None else 0.0
        if turn and (out is None or out.suffix != ".png"):
            chosen = [frame] * max(2, round(turn / TURN))
        elif out is None:
            out = directory / f"frame-{frame:06d}.png"
    paint(directory, compare, camera, out, chosen)


def _size(text: str | None) -> dict[str, int]:
    """Width and height from a text such as 640x480."""
    if text is None:
        return {}
    width, _, height = text.lower().replace("×", "x").partition("x")
    if not width.isdigit() or not height.isdigit():
        fail(f"--size takes WIDTHxHEIGHT, for example 640x480, and not {text!r}")
    from ..scenes.tables import PIXELS

    if not all(PIXELS[0] <= int(side) <= PIXELS[1] for side in (width, height)):
        fail(f"--size {text}: a side must have {PIXELS[0]} to {PIXELS[1]} pixels")
    return {"width": int(width), "height": int(height)}


@dataclass(frozen=True)
class ExportOptions:
    """The options of `nonstick.files.formats.Options`."""

    surface: str | None = option(
        "--surface", help="How the surface is found: particles (meshes), grid (vdb), or splashsurf."
    )
    refine: int | None = option(
        "--refine",
        min=1,
        max=8,
        help="Samples of the surface a cell and axis (default: 2 from particles, 1 from the grid).",
    )
    density: bool = typer.Option(False, "--density", help="vdb: write a fog volume too.")
    staggered: bool = typer.Option(False, "--staggered", help="vdb: velocity on faces instead of cell centres.")
    particles: bool = typer.Option(True, "--particles/--no-particles", help="usd, vtk: write the particles too.")
    points: bool = typer.Option(False, "--points", help="ply: write the particles too, with their ids, as points.")


@grouped
def export(
    directory: Path = run_directory("RUN"),
    to: list[str] = option(
        "--to",
        "-t",
        default=...,
        metavar="FORMAT",
        autocompletion=complete_formats,
        help="vdb, usd, vtk (ParaView), ply, obj or glb; may be given several times.",
    ),
    frames: str = typer.Option(
        ":", "--frames", "-n", metavar="A:B", help="Frames A to B - 1; with a third number S every S-th."
    ),
    out: Path | None = option("--out", "-o", help="Directory of the files (default: export/FORMAT in RUN)."),
    chosen: ExportOptions = ExportOptions(),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write frames again, even if their file exists."),
) -> None:
    """Write the frames of a run as files that other programs open.

    Files that exist are kept. An export that was interrupted continues where it stopped.

    [bold]Example:[/bold]

    nonstick export runs/sphere --to vdb --to usd --frames 0:50
    """
    from ..files.formats import Options
    from ..files.formats import export as write

    part, options = frame_range(frames), Options(**asdict(chosen))
    with Bar("exporting") as bar:
        files = write(directory, to, frames=part, out=out, options=options, overwrite=overwrite, tick=bar.tick)
    for line in _told(files):
        say(line)


def _told(files: list[Path]) -> list[str]:
    """One line for each folder and kind of file."""
    groups: dict[tuple[Path, str], list[Path]] = {}
    for file in files:
        groups.setdefault((file.parent, file.suffix), []).append(file)
    return [
        f"{some[0]}" if len(some) == 1 else f"{some[0]} … {some[-1].name} ({len(some)} files)"
        for some in groups.values()
    ]
