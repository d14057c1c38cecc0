"""`nonstick sweep`: one scene, many runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from .options import FRAMES, SET, complete_scenes, grouped, option
from .running import load_scene
from .terminal import Bar, fail, plain, say


def add(app: typer.Typer) -> None:
    app.command("sweep")(sweep)


@dataclass(frozen=True)
class Workers:
    """Where the runs of a sweep are made."""

    jobs: int | None = option("--jobs", "-j", min=1, help="Runs at a time on this machine (default: one per core).")
    threads: int | None = option(
        "--threads", min=1, help="Threads of each run (default: the cores shared by the jobs)."
    )
    scheduler: str | None = option(
        "--scheduler",
        metavar="ADDRESS",
        help="Let the workers of a Dask scheduler make the runs, e.g. tcp://node1:8786. They must see --out under the "
        "same path.",
    )


@grouped
def sweep(
    scene: str = typer.Argument(
        ...,
        metavar="SCENE|DIR",
        help="A built-in scene, a file.toml, or the directory of a sweep to continue.",
        show_default=False,
        autocompletion=complete_scenes,
    ),
    vary: list[str] = typer.Option(
        [], "--vary", "-v", metavar="KEY=A,B,C", help="Values for a key; several --vary give every combination."
    ),
    settings: list[str] = SET,
    frames: int | None = FRAMES,
    out: Path | None = option("--out", "-o", help="Directory of the sweep (default: sweeps/NAME)."),
    workers: Workers = Workers(),
    movie: bool = typer.Option(False, "--movie/--no-movie", help="Make the movie of every run."),
    plot: list[str] = typer.Option(
        [],
        "--plot",
        "-p",
        metavar="COLUMN:KEY",
        help="Draw a column of sweep.csv against a key, e.g. -p seconds:domain.resolution.",
    ),
) -> None:
    """Run a scene with every combination of the values of some keys.

    Every combination is a run directory; sweep.csv has a row for each. The same command again, or nonstick sweep DIR,
    makes what is missing. A run that fails does not stop the others.

    [bold]Example:[/bold]

    nonstick sweep circle -v walls.adhesion=0,10,100 -v domain.resolution=32,64 -o study -p seconds:domain.resolution
    """
    from ..files.atomic import safe_name
    from ..sweeps import parse_vary
    from ..sweeps import sweep as make
    from ..sweeps.plan import FILE

    pairs = [tuple(text.rpartition(":")[::2]) for text in plot]
    for text, (column, key) in zip(plot, pairs):
        if not column or not key:
            fail(f"--plot needs COLUMN:KEY, for example seconds:domain.resolution, but got {text!r}")
    varied: dict[str, list] = {}
    for text in vary:
        key, values = parse_vary(text)
        varied.setdefault(key, []).extend(values)
    source: Any = scene
    if (Path(scene) / FILE).is_file():
        if settings or frames is not None:
            fail(f"{scene} is a sweep, whose scene is fixed: leave out --set and --frames, or start another sweep")
        target = Path(scene)
    else:
        source = load_scene(scene, settings, frames)
        target = out or Path("sweeps") / safe_name(source.name)
    try:
        with _Live("starting", transient=False) as live:
            table = make(source, varied or None, target, movie=movie, progress=live.update, **asdict(workers))
    except KeyboardInterrupt:
        say(f"stopped; continue with: nonstick sweep {target}")
        raise
    _show(table)
    for column, key in pairs:
        say(f"plot     {table.plot(column, key, target / f'{safe_name(column)}-{safe_name(key)}.png')}")
    say(f"table    {target / 'sweep.csv'}")
    if bad := table.failed():
        fail(
            f"{len(bad)} of {len(table)} runs are not done; the table says why; try them again: nonstick sweep {target}"
        )


class _Live(Bar):
    """One bar over the frames of all runs, and a line for each run that ends."""

    def update(self, report) -> None:
        self.tick(report.frames, report.of, f"{report.runs} runs ended, frame {report.frames} of {report.of}")
        if report.ended is not None:
            end = f"failed: {report.error}" if report.error else "done"
            line = f"{report.ended.name}: {end} ({report.frames} of {report.of} frames)"
            self.console.print(plain(line), markup=False, highlight=False)


def _show(table) -> None:
    from ..sweeps.table import brief
    from .terminal import print_table

    shown = ["run", "status", "frames", "seconds", "mean_iterations", "largest_volume_error", "error"]
    shown = [name for name in shown if any(row.get(name) not in (None, "") for row in table.rows)]
    words = ("run", "status", "error")
    columns = {name.replace("_", " "): {"justify": "left" if name in words else "right"} for name in shown}
    print_table(columns, [[plain(brief(row.get(name))) for name in shown] for row in table.rows], wide=True)
