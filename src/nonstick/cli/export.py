"""`nonstick export`: files for Blender, Houdini, ParaView and others."""

from __future__ import annotations

from pathlib import Path

import typer

from . import complete
from .terminal import fail, say


def add(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    directory: Path = typer.Argument(
        ..., metavar="RUN", help="A run directory.", show_default=False, autocompletion=complete.runs,
    ),
    to: list[str] = typer.Option(
        ..., "--to", "-t", metavar="FORMAT", show_default=False, autocompletion=complete.formats,
        help="vdb, usd, vtk (ParaView), ply, obj or glb; may be given several times.",
    ),
    frames: str = typer.Option(
        ":", "--frames", "-n", metavar="A:B", help="Frames A to B - 1; with a third number S every S-th."
    ),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Directory of the files (default: export/FORMAT in RUN).", show_default=False
    ),
    surface: str | None = typer.Option(
        None, "--surface", show_default=False,
        help="How the surface is found: particles (meshes), grid (vdb), or splashsurf.",
    ),
    refine: int | None = typer.Option(
        None, "--refine", min=1, max=8, show_default=False,
        help="Samples of the surface a cell and axis (default: 2 from particles, 1 from the grid).",
    ),
    density: bool = typer.Option(False, "--density", help="vdb: write a fog volume too."),
    staggered: bool = typer.Option(False, "--staggered", help="vdb: velocity on faces instead of cell centres."),
    particles: bool = typer.Option(True, "--particles/--no-particles", help="usd, vtk: write the particles too."),
    points: bool = typer.Option(False, "--points", help="ply: write the particles too, with their ids, as points."),
    overwrite: bool = typer.Option(False, "--overwrite", help="Write frames again, even if their file exists."),
) -> None:  # fmt: skip
    """Write the frames of a run as files that other programs open.

    Files that exist are kept. An export that was interrupted goes on where it stopped.

    [bold]Example:[/bold]

    nonstick export runs/sphere --to vdb --to usd --frames 0:50
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ..exchange import Options
    from ..exchange import export as write

    options = Options(surface, refine, density, staggered, particles, points)  # type: ignore[arg-type]
    console = Console(stderr=True)
    columns = (TextColumn("frame"), MofNCompleteColumn(), BarColumn(bar_width=30), TextColumn("left"),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("")
        files = write(
            directory, to, frames=frame_range(frames), out=out, options=options, overwrite=overwrite,
            tick=lambda done, of: progress.update(task, completed=done, total=of),
        )  # fmt: skip
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


def frame_range(text: str) -> slice:
    """The frames that `--frames A:B` means."""
    parts = text.split(":")
    try:
        numbers = [int(p) if p.strip() else None for p in parts]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 3 or any(n is not None and n < 0 for n in numbers) or numbers[2:] == [0]:
        fail(f"--frames takes A:B, for example 10:20, and not {text!r}")
    if len(numbers) == 1:
        if numbers[0] is None:
            fail(f"--frames takes A:B, for example 10:20, and not {text!r}")
        return slice(numbers[0], numbers[0] + 1)
    return slice(*numbers)
