"""`nonstick scenes | new | check | run | info`: the simulator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from . import complete
from .paint import paint
from .screen import close_off, screen
from .terminal import fail, plain, say
from .together import RANKS, start, together

SET = typer.Option([], "--set", "-s", metavar="KEY=VALUE", help="Change a key, e.g. -s domain.resolution=96.")
_SCENE = typer.Argument(
    ..., metavar="SCENE", help="A built-in scene or a file.toml.", show_default=False, autocompletion=complete.scenes
)
RUN = typer.Argument(..., metavar="DIR", help="A run directory.", show_default=False, autocompletion=complete.runs)

#: number of lines of each kind in the log that `info` shows
TOLD = 5


def add(app: typer.Typer) -> None:
    for command in (scenes, new, check, run, info):
        app.command(command.__name__)(command)


def load_scene(source: str | Path, settings: list[str], more: dict | None = None):
    from ..scenes.scene import Scene, parse_override

    overrides = dict(parse_override(text) for text in settings)
    return Scene.load(source, {**overrides, **(more or {})})


def scenes(
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    schema: bool = typer.Option(False, "--schema", help="Print the JSON Schema of scene files."),
    kind: str | None = typer.Option(
        None,
        "--kind",
        help="Only scenes of this kind: liquid or heat.",
        show_default=False,
        autocompletion=complete.kinds,
    ),
) -> None:
    """List the built-in scenes.

    [bold]Example:[/bold]

    nonstick scenes --schema > scene.schema.json
    """
    from ..scenes.scene import KINDS, builtin, json_schema
    from .listing import print_names

    if kind is not None and kind not in KINDS:
        fail(f"there is no kind of scene {kind!r}; known are {', '.join(KINDS)}")
    if schema:
        print(json.dumps(json_schema(kind or "liquid"), indent=1, ensure_ascii=False))
        return
    kinds = KINDS if kind is None else (kind,)
    print_names("scene", {name: text for k in kinds for name, text in builtin(k).items()}, as_json)


def new(
    file: Path = typer.Argument(..., metavar="FILE.toml", help="The scene file to write.", show_default=False),
    scene: str = typer.Option(
        "circle", "--from", "-f", help="Which built-in scene to start from.", autocompletion=complete.builtin_scenes
    ),
) -> None:
    """Write a scene file to start from: a copy of a built-in scene.

    [bold]Example:[/bold]

    nonstick new splash.toml --from sphere
    """
    from ..io.atomic import write_text
    from ..scenes.library import builtin_text

    if file.suffix != ".toml":
        fail(f"the name of a scene file must end in .toml, but {str(file)!r} does not")
    if file.exists():
        fail(f"{file} exists already; choose another name, or delete it first")
    # its own name, so that its run does not take the directory of the built-in scene
    name = f"name = {json.dumps(file.stem[:80])}"
    write_text(file, re.sub(r"^name = .*$", lambda _: name, builtin_text(scene), count=1, flags=re.MULTILINE))
    say(f"{file} is a copy of the scene {scene!r}; run it with: nonstick run {file}")


def check(scene: str = _SCENE, settings: list[str] = SET, ranks: int | None = RANKS) -> None:
    """Look at a scene before running it: size, memory, disk, and what may go wrong.

    The exit code is 2 if it cannot be run: there is no liquid, or not enough memory.

    [bold]Example:[/bold]

    nonstick check sphere --set domain.resolution=128
    """
    from ..sim.kinds import check as look
    from ..sim.kinds import kind_of

    loaded = load_scene(scene, settings)
    found = look(loaded)
    if (ranks or 1) > 1:
        found.errors += kind_of(loaded).obstacles(loaded)
    for line in found.facts:
        say(line)
    for line in found.warnings:
        say(f"warning: {line}")
    if found.errors:
        fail("; ".join(found.errors))
    if not found.warnings:
        say("no problems found")


def run(
    scene: str = _SCENE,
    frames: int | None = typer.Option(None, "--frames", "-n", min=1, help="Number of frames.", show_default=False),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Run directory (default: runs/NAME).", show_default=False
    ),
    settings: list[str] = SET,
    movie: bool | None = typer.Option(
        None, "--movie/--no-movie", help="Make preview.mp4 and preview.png at the end.", show_default=False
    ),
    view: bool = typer.Option(False, "--view", help="Open a page in the browser that shows the frames as they appear."),
    ranks: int | None = RANKS,
) -> None:
    """Simulate a scene, write its frames, and make a movie.

    You can interrupt it at any time; nonstick resume continues from the last frame.

    [bold]Example:[/bold]

    nonstick run sphere --set domain.resolution=64 --set walls.pressure=none
    """
    from ..io.names import safe_name
    from ..mpi.comm import world
    from ..sim.kinds import kind_of
    from ..sim.run import run as go
    from .view import beside

    start(ranks)
    check_movie(movie)
    loaded = load_scene(scene, settings, {} if frames is None else {"time.frames": frames})
    kind = kind_of(loaded)
    target = world().shared(out or _free(Path("runs") / safe_name(loaded.name)))
    with together() as speaks, beside(target, view and speaks):
        with resumable(target), Live(kind, loaded.model.time.frames, speaks) as live, kind.compiling(loaded):
            go(loaded, target, live.update, live.warn)
        if speaks:
            report_run(target)
            make_movie(target, movie, loaded.model.output.movie)


def info(
    directory: Path = RUN,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    plot: bool = typer.Option(False, "--plot", help="Draw energy, volume and all probes over time: DIR/plot.png."),
) -> None:
    """Show what a run did: steps, solver, volume, and the time of each stage.

    [bold]Example:[/bold]

    nonstick info runs/sphere
    """
    from ..io.rundir import RunDirectory
    from ..sim.kinds import kind_of
    from ..sim.run import summary

    opened = RunDirectory.open(directory)
    if plot:
        kind_of(opened.scene()).chart(opened, directory / "plot.png")
    meta = opened.meta() | {"status": opened.status()}
    numbers = summary(opened)
    if "peak_bytes" in meta.get("summary", {}):
        numbers["peak_bytes"] = meta["summary"]["peak_bytes"]
    bodies = opened.rows("bodies.csv")
    bodies = [row for row in bodies if row["frame"] == bodies[-1]["frame"]]
    if as_json:
        more = {"bodies": bodies} if bodies else {}
        print(json.dumps({**{k: v for k, v in meta.items() if k != "scene"}, "summary": numbers, **more}, indent=1))
        return
    done = max(opened.frames(), default=0)
    shape = "×".join(map(str, meta.get("shape", ())))
    say(f"{meta.get('name', directory)}: {shape} cells, {done} frames, {meta['status']}")
    if meta["status"] == "stopped":
        say(f"its process was ended from outside; continue with: nonstick resume {directory}")
    if parent := meta.get("parent"):
        changed = ", ".join(parent.get("changed", {})) or "nothing"
        say(f"a branch from frame {parent.get('frame')} of {parent.get('run')}; changed: {changed}")
    _say_summary(opened, numbers)
    for row in bodies:
        centre = ", ".join(f"{float(row[k]):.4g}" for k in "xyz" if row.get(k))
        speed = sum(float(row[k]) ** 2 for k in ("vx", "vy", "vz") if row.get(k)) ** 0.5
        say(f"{row.get('body', 'a body')}: centre ({centre}) m, {speed:.3g} m/s at {float(row.get('time') or 0):.3g} s")
    if plot:
        say(f"plot     {directory / 'plot.png'}")
    told: dict[str, int] = {}
    for line in opened.log_lines():
        if line["kind"] in ("unconverged", "retry", "cap", "failed", "volume", "full", "export"):
            told[line["kind"]] = told.get(line["kind"], 0) + 1
            if told[line["kind"]] <= TOLD:
                say(f"{line['kind']}: {line['message']}")
    for kind, count in told.items():
        if count > TOLD:
            say(f"{kind}: {count - TOLD} more in {directory / 'log.jsonl'}")


# -- what the commands share --------------------------------------------------------------------------


def _free(path: Path) -> Path:
    """The path, with -2, -3 ... added if it exists already."""
    candidate, k = path, 2
    while candidate.is_symlink() or (candidate.exists() and (not candidate.is_dir() or any(candidate.iterdir()))):
        candidate = path.with_name(f"{path.name}-{k}")
        k += 1
    return candidate


@contextmanager
def resumable(directory: Path) -> Iterator[None]:
    """On Ctrl-C, and where disk or memory were not enough, say how to continue."""
    try:
        yield
    except (KeyboardInterrupt, MemoryError, OSError):
        if (directory / "meta.json").is_file():
            say(f"stopped; continue with: nonstick resume {directory}")
        raise


class Live:
    """The progress bar of a run; a line per frame where there is no terminal."""

    def __init__(self, kind, frames: int, speaks: bool = True):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.console = screen()
        self.kind, self.frames, self.speaks = kind, frames, speaks
        self.live = self.console.is_terminal and speaks
        columns = (TextColumn("frame"), MofNCompleteColumn(), BarColumn(bar_width=20), TextColumn("{task.description}"),
                   TextColumn("left"), TimeRemainingColumn())  # fmt: skip
        self.progress = Progress(*columns, console=self.console, disable=not self.live)
        self.task = self.progress.add_task("starting", total=frames)

    def __enter__(self):
        self.progress.start()
        return self

    def __exit__(self, *_):
        self.progress.stop()

    def warn(self, sentence: str) -> None:
        if self.speaks:
            text = f"warning: {plain(sentence)}"
            self.console.print(text, markup=False, highlight=False, soft_wrap=not self.console.is_terminal)

    def update(self, frame: int, rows) -> None:
        if not self.speaks:
            return
        close_off()
        text = self.kind.progress(rows)
        if self.live:
            self.progress.update(self.task, completed=frame, description=text)
        else:
            print(f"frame {frame}/{self.frames}  {plain(text)}", file=self.console.file, flush=True)


def report_run(directory: Path) -> None:
    """Print the summary of a run at its end."""
    from ..io.rundir import RunDirectory
    from ..sim.kinds import kind_of

    opened = RunDirectory.open(directory)
    numbers = opened.meta().get("summary", {})
    say(opened.log_lines()[-1]["message"])
    _say_summary(opened, numbers)
    if numbers.get("unconverged"):
        say(f"warning: {numbers['unconverged']} solves missed their tolerance; see {directory / 'log.jsonl'}")
    for sentence in kind_of(opened.scene()).warnings(numbers):
        say(f"warning: {sentence}")
    for line in opened.log_lines():
        if line["kind"] in ("full", "surfaces", "export"):
            say(f"warning: {line['message']}")
    say(f"the run is in {directory}")


def _say_summary(opened, numbers: dict) -> None:
    from ..sim.kinds import kind_of

    if not numbers.get("steps"):
        say("no steps yet")
        return
    for line in kind_of(opened.scene()).report(numbers):
        say(line)
    if numbers.get("peak_bytes"):
        say(f"peak memory {numbers['peak_bytes'] / 2**20:.0f} MB")


def check_movie(asked: bool | None) -> None:
    """If a movie was asked for and cannot be made, raise the error before the run, not after it."""
    from ..render.movie import obstacle

    sentence = obstacle()
    if asked and sentence is not None:
        fail(f"--movie: {sentence}")


def make_movie(directory: Path, asked: bool | None, by_default: bool) -> None:
    """Make the preview if it was asked for, or by default; if its packages are missing, say how to get them."""
    from ..render.movie import obstacle

    sentence = obstacle()
    if not (by_default if asked is None else asked):
        return
    if sentence is None:
        paint(directory)
    else:
        say(f"no movie: {sentence}, then: nonstick render {directory}")
