"""The progress bar of pictures and movies."""

from __future__ import annotations

import sys
from pathlib import Path

from .screen import screen
from .terminal import say


def paint(directory: Path, compare: Path | None = None, camera=None, out: Path | None = None, frames=None) -> None:
    """Make pictures of a run, and say where they are."""
    from ..sim.preview import render

    if sys.stderr.isatty():
        from rich.progress import Progress

        with Progress(console=screen(), transient=True) as progress:
            task = progress.add_task("painting")
            files = render(
                directory,
                compare,
                camera,
                out,
                lambda done, of: progress.update(task, completed=done, total=of),
                frames,
            )
    else:
        files = render(directory, compare, camera, out, frames=frames)
    if len(files) > 2 or not files[0].suffix:
        say(f"pictures {files[0]} … {files[-1].name} ({len(files)} files)")
        return
    for file in files:
        say(f"{'picture ' if file.suffix == '.png' else 'movie   '} {file}")
