"""`nonstick view`: a run in the browser."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from .options import COMPARE, complete_colours, frame_range, grouped, option, run_directory
from .terminal import Bar, fail, say

#: port of the page
PORT = 8080


def add(app: typer.Typer) -> None:
    app.command("view")(view)


@dataclass(frozen=True)
class PageFile:
    """A page in one file, instead of one that a server shows."""

    html: Path | None = option(
        "--html",
        metavar="FILE.html",
        help="Write one file with a time line, to keep or to mail, instead of opening the page.",
    )
    budget: float = typer.Option(
        20.0, "--budget", metavar="MB", help="With --html: largest size of the file; larger runs are thinned."
    )
    frames: str = typer.Option(
        ":", "--frames", "-n", metavar="A:B", help="With --html: frames A to B - 1; with a third number S every S-th."
    )


@grouped
def view(
    directory: Path = run_directory("RUN"),
    compare: Path | None = COMPARE,
    file: PageFile = PageFile(),
    colour: str = typer.Option(
        "liquid",
        "--colour",
        help="What colours show: liquid, speed, pressure, viscosity or age.",
        autocompletion=complete_colours,
    ),
    port: int = typer.Option(PORT, "--port", min=0, max=65535, help="Port of the page; 0 is any free one."),
    browser: bool = typer.Option(True, "--browser/--no-browser", help="Open the page in a browser."),
    parent: bool = typer.Option(False, "--parent", hidden=True),
) -> None:
    """Look at a run in the browser: turn it, play it, go to any frame, show and hide parts.

    The page also shows a run that is still going: new frames appear as they are made.

    [bold]Example:[/bold]

    nonstick view runs/sphere --compare runs/sphere-sticky
    """
    from ..files.rundir import RunDirectory

    if parent:
        _wait_for_run(directory)
    runs = [path for path in (directory, compare) if path is not None]
    for path in runs:
        if (kind := RunDirectory.open(path).scene().kind) != "liquid":
            fail(f"{path} is a run of {kind}, and the page shows runs of liquid: use nonstick render {path}")
    if file.html is not None:
        _write(directory, compare, file.html, file, colour)
    else:
        _serve(runs, port, colour, browser, parent)


def _write(directory: Path, compare: Path | None, target: Path, file: PageFile, colour: str) -> None:
    from ..pictures.page import write_html

    if target.suffix != ".html":
        fail(f"the page is written as .html, but --html is {target}: choose a name that ends in .html")
    part = frame_range(file.frames)
    with Bar("drawing") as bar:
        page = write_html(
            directory, target, compare=compare, colour=colour, budget=file.budget, frames=part, tick=bar.tick
        )
    say(f"{page.file}: {page.frames} frames, {page.bytes / 1e6:.1f} MB")
    if page.thinned:
        say(page.thinned)


def _serve(runs: list[Path], port: int, colour: str, browser: bool, parent: bool) -> None:
    from ..files.rundir import RunDirectory
    from ..pictures.page import LivePage

    for path in runs:
        opened = RunDirectory.open(path)
        if not opened.frames() and opened.status() != "running":
            fail(f"{path} holds no frames, and is not running: continue with nonstick resume {path}")
        while not opened.frames():
            time.sleep(0.2)
    family = os.getppid()
    try:
        with LivePage(runs, port, colour) as page:
            say(f"the page is at {page.url}; Ctrl-C ends it")
            sys.stdout.flush()
            if browser:
                _open(page.ticket)
            while not parent or os.getppid() == family:
                time.sleep(0.2)
    except KeyboardInterrupt:
        say("")


def _open(url: str) -> None:
    """Open a page if there is a desktop; browsers for terminals would take the terminal."""
    import webbrowser

    if sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)


def _wait_for_run(directory: Path) -> None:
    """Wait until the run that started this page has begun, or has ended."""
    family = os.getppid()
    while not (directory / "meta.json").is_file():
        if os.getppid() != family:
            raise SystemExit(0)
        time.sleep(0.1)


@contextmanager
def beside(directory: Path, wanted: bool, browser: bool = True) -> Iterator[None]:
    """The page of a run that is made inside the block, from a process of its own, which does not slow the run down.

    The page stays after the run until Ctrl-C, if there is somebody at a terminal to press it.
    """
    if not wanted:
        yield
        return
    from ..core.optional import need

    need("view", "viser", "fast_simplification")
    words = [sys.executable, "-m", "nonstick", "view", str(directory), "--parent"]
    page = subprocess.Popen([*words, "--browser" if browser else "--no-browser"])
    try:
        yield
        if sys.stdin.isatty() and page.poll() is None:
            say("the page stays until you press Ctrl-C")
            page.wait()
    except KeyboardInterrupt:
        if page.poll() is None:
            page.terminate()
        raise
    finally:
        if page.poll() is None:
            page.terminate()
        page.wait()
        say(f"look again with: nonstick view {directory}")
