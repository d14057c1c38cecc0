"""`nonstick scenes | new | check | run | info | resume`: the simulator."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import typer

from ..parallel import launch
from .options import (
    FRAMES,
    JSON,
    RUN,
    SCENE,
    SET,
    ArrayOptions,
    complete_builtin_scenes,
    complete_kinds,
    grouped,
    option,
)
from .running import Live, check_movie, load_scene, make_movie, overrides, report_run, resumable, say_summary
from .terminal import fail, print_names, say

RANKS = option("--ranks", min=1, help="Run on this many ranks, started by mpiexec (see make mpi).")
#: number of lines of each kind in the log that `info` shows
TOLD = 5


def add(app: typer.Typer) -> None:
    for command in (scenes, new, check, run, info, resume):
        app.command(command.__name__)(command)


def scenes(
    as_json: bool = JSON,
    schema: bool = typer.Option(False, "--schema", help="Print the JSON Schema of scene files."),
    kind: str | None = option(
        "--kind", help="Only scenes of this kind: liquid or heat.", autocompletion=complete_kinds
    ),
) -> None:
    """List the built-in scenes.

    [bold]Example:[/bold]

    nonstick scenes --schema > scene.schema.json
    """
    from ..scenes import KINDS, builtin, json_schema

    if kind is not None and kind not in KINDS:
        fail(f"there is no kind of scene {kind!r}; known are {', '.join(KINDS)}")
    if schema:
        print(json.dumps(json_schema(kind or "liquid"), indent=1))
        return
    kinds = KINDS if kind is None else (kind,)
    print_names("scene", {name: text for k in kinds for name, text in builtin(k).items()}, as_json)


def new(
    file: Path = typer.Argument(..., metavar="FILE.toml", help="The scene file to write.", show_default=False),
    scene: str = typer.Option(
        "circle", "--from", "-f", help="Which built-in scene to start from.", autocompletion=complete_builtin_scenes
    ),
) -> None:
    """Write a scene file to start from: a copy of a built-in scene.

    [bold]Example:[/bold]

    nonstick new splash.toml --from sphere
    """
    from ..files.atomic import write_text
    from ..scenes import builtin_text

    if file.suffix != ".toml":
        fail(f"the name of a scene file must end in .toml, but {str(file)!r} does not")
    if file.exists():
        fail(f"{file} exists already; choose another name, or delete it first")
    # its own name, so that its run does not take the directory of the built-in scene
    name = f"name = {json.dumps(file.stem[:80])}"
    write_text(file, re.sub(r"^name = .*$", lambda _: name, builtin_text(scene), count=1, flags=re.MULTILINE))
    say(f"{file} is a copy of the scene {scene!r}; run it with: nonstick run {file}")


def check(scene: str = SCENE, settings: list[str] = SET, ranks: int | None = RANKS) -> None:
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


@grouped
def run(
    scene: str = SCENE,
    frames: int | None = FRAMES,
    out: Path | None = option("--out", "-o", help="Run directory (default: runs/NAME)."),
    settings: list[str] = SET,
    movie: bool | None = option("--movie/--no-movie", help="Make preview.mp4 and preview.png at the end."),
    view: bool = typer.Option(False, "--view", help="Open a page in the browser that shows the frames as they appear."),
    arrays: ArrayOptions = ArrayOptions(),
    ranks: int | None = RANKS,
) -> None:
    """Simulate a scene, write its frames, and make a movie.

    You can interrupt it at any time; nonstick resume continues from the last frame.

    [bold]Example:[/bold]

    nonstick run sphere --set domain.resolution=64 --set walls.pressure=none
    """
    from ..files.atomic import safe_name
    from ..parallel.comm import world
    from ..sim.kinds import check as look
    from ..sim.kinds import kind_of
    from ..sim.run.loop import run as go
    from .view import beside

    on_ranks(ranks)
    check_movie(movie)
    chosen = [f"solver.{key}={value}" for key, value in asdict(arrays).items() if value is not None]
    loaded = load_scene(scene, [*settings, *chosen], frames)
    kind = kind_of(loaded)
    known = look(loaded).warnings if world().size == 1 else []  # a rank does not hold the whole scene
    target = world().shared(out or _free(Path("runs") / safe_name(loaded.name)))
    speaks = world().rank == 0
    with beside(target, view and speaks):
        with resumable(target), Live(kind, loaded.model.time.frames, speaks) as live, kind.compiling(loaded):
            go(loaded, target, live.update, live.warn, known)
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
    from ..files.rundir import RunDirectory
    from ..sim.kinds import kind_of
    from ..sim.run.loop import summary

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
    say_summary(opened, numbers)
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


@dataclass(frozen=True)
class Changes:
    """Keys of a scene that are changed."""

    frames: int | None = option("--frames", "-n", min=1, help="New number of frames.")
    settings: list[str] = SET


@grouped
def resume(
    directory: Path = RUN,
    from_frame: int | None = option("--from-frame", min=0, help="Go back to this frame first."),
    changes: Changes = Changes(),
    out: Path | None = option("--out", "-o", help="Branch: leave DIR as it is and continue in this new directory."),
    discard: bool = typer.Option(
        False, "--discard", help="Delete the frames after --from-frame first, instead of keeping them."
    ),
    scene: Path | None = option("--scene", help="The scene file, if you changed it since the run began."),
    movie: bool | None = option("--movie/--no-movie", help="Make the preview at the end."),
    ranks: int | None = RANKS,
) -> None:
    """Continue a run that was interrupted, or continue from one of its frames with changed physics.

    In the same directory the frames are those of an unbroken run, bit for bit, so only keys that do not change the
    motion may change: name, frames, output, camera, probes. With --out any other key may change too, except the domain.

    [bold]Example:[/bold]

    nonstick resume runs/honey --from-frame 40 --set physics.viscosity=50 --out runs/thicker
    """
    from ..files.rundir import RunDirectory
    from ..parallel.comm import world
    from ..sim.kinds import kind_of
    from ..sim.run.branch import branch
    from ..sim.run.loop import resume as go

    on_ranks(ranks)
    check_movie(movie)
    if discard and out is not None:
        fail("--discard deletes frames of DIR, and --out leaves DIR as it is: leave one of them out")
    own = RunDirectory.open(directory).scene()
    changed = (own if scene is None else load_scene(scene)).replace(overrides(changes.settings, changes.frames))
    target = out or directory
    kind = kind_of(changed)
    speaks = world().rank == 0
    with resumable(target), Live(kind, changed.model.time.frames, speaks) as live:
        if out is not None:
            branch(directory, out, from_frame, None, live.update, live.warn, changed)
        else:
            go(directory, from_frame, None, changed, live.update, live.warn, discard)
    if speaks:
        report_run(target)
        make_movie(target, movie, changed.model.output.movie)


def on_ranks(ranks: int | None) -> None:
    """If ranks were asked for and this is not one of them: start them, wait, and leave with their exit code."""
    if (ranks or 1) > 1 and launch.ranks() == 1:
        raise SystemExit(launch.on_ranks(ranks or 1))


def _free(path: Path) -> Path:
    """The path, with -2, -3 ... added if it exists already."""
    candidate, k = path, 2
    while candidate.is_symlink() or (candidate.exists() and (not candidate.is_dir() or any(candidate.iterdir()))):
        candidate = path.with_name(f"{path.name}-{k}")
        k += 1
    return candidate
