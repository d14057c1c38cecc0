"""`nonstick export`: files for Blender, Houdini, ParaView and others."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from .options import complete_formats, frame_range, grouped, option, run_directory
from .terminal import Bar, say


def add(app: typer.Typer) -> None:
    app.command("export")(export)


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
