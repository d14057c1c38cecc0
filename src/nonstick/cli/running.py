"""What the commands that run scenes share: the scene, the progress bar, the report at the end, the movie."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import close_off, fail, plain, say, screen

if TYPE_CHECKING:
    from ..scenes import Scene


def load_scene(source: str | Path, settings: list[str] = [], frames: int | None = None) -> Scene:  # noqa: B006
    """A scene with the keys of --set and --frames."""
    from ..scenes.scene import Scene

    return Scene.load(source, overrides(settings, frames))


def overrides(settings: list[str], frames: int | None) -> dict[str, Any]:
    """The keys that --set and --frames give."""
    from ..scenes.scene import parse_override

    return dict(parse_override(text) for text in settings) | ({} if frames is None else {"time.frames": frames})


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
        done = (TextColumn("frame"), MofNCompleteColumn(), BarColumn(bar_width=20), TextColumn("{task.description}"))
        columns = (*done, TextColumn("left"), TimeRemainingColumn())
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
    from ..files.rundir import RunDirectory
    from ..sim.kinds import kind_of

    opened = RunDirectory.open(directory)
    numbers = opened.meta().get("summary", {})
    say(opened.log_lines()[-1]["message"])
    say_summary(opened, numbers)
    if numbers.get("unconverged"):
        say(f"warning: {numbers['unconverged']} solves missed their tolerance; see {directory / 'log.jsonl'}")
    for sentence in kind_of(opened.scene()).warnings(numbers):
        say(f"warning: {sentence}")
    for line in opened.log_lines():
        if line["kind"] in ("full", "surfaces", "export"):
            say(f"warning: {line['message']}")
    say(f"the run is in {directory}")


def say_summary(opened, numbers: dict) -> None:
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
    from ..pictures.render.movie import obstacle

    sentence = obstacle()
    if asked and sentence is not None:
        fail(f"--movie: {sentence}")


def make_movie(directory: Path, asked: bool | None, by_default: bool) -> None:
    """Make the preview if it was asked for, or by default; if its packages are missing, say how to get them."""
    from ..pictures.render.movie import obstacle

    sentence = obstacle()
    if not (by_default if asked is None else asked):
        return
    if sentence is None:
        paint(directory)
    else:
        say(f"no movie: {sentence}, then: nonstick render {directory}")


def paint(directory: Path, compare: Path | None = None, camera=None, out: Path | None = None, frames=None) -> None:
    """Make pictures of a run, and say where they are."""
    from ..sim.run.preview import render

    if sys.stderr.isatty():
        from rich.progress import Progress

        with Progress(console=screen(), transient=True) as progress:
            task = progress.add_task("painting")

            def tick(done: int, of: int) -> None:
                progress.update(task, completed=done, total=of)

            files = render(directory, compare, camera, out, tick, frames)
    else:
        files = render(directory, compare, camera, out, frames=frames)
    if len(files) > 2 or not files[0].suffix:
        say(f"pictures {files[0]} … {files[-1].name} ({len(files)} files)")
        return
    for file in files:
        say(f"{'picture ' if file.suffix == '.png' else 'movie   '} {file}")
