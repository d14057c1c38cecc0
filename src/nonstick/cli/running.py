"""What the commands that run scenes share: the scene, the progress bar, the report at the end, the movie."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import Bar, close_off, fail, plain, say

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


class Live(Bar):
    """The progress bar of a run; a line per frame where there is no terminal."""

    def __init__(self, kind, frames: int, speaks: bool = True):
        super().__init__("starting", frames, speaks, transient=False)
        self.kind, self.frames, self.speaks = kind, frames, speaks

    def warn(self, sentence: str) -> None:
        if self.speaks:
            text = f"warning: {plain(sentence)}"
            self.console.print(text, markup=False, highlight=False, soft_wrap=not self.console.is_terminal)

    def update(self, frame: int, rows) -> None:
        if not self.speaks:
            return
        close_off()
        text = f"frame {frame}/{self.frames}  {plain(self.kind.progress(rows))}"
        if self.live:
            self.tick(frame, text=text)
        else:
            print(text, file=self.console.file, flush=True)


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

    with Bar("painting") as bar:
        files = render(directory, compare, camera, out, bar.tick, frames)
    if len(files) > 2 or not files[0].suffix:
        say(f"pictures {files[0]} … {files[-1].name} ({len(files)} files)")
        return
    for file in files:
        say(f"{'picture ' if file.suffix == '.png' else 'movie   '} {file}")
