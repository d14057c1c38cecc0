"""`nonstick resume`: go on with a run, or branch off from it."""

from __future__ import annotations

from pathlib import Path

import typer

from .scene import RUN, SET, Live, check_movie, load_scene, make_movie, report_run, resumable
from .terminal import fail
from .together import RANKS, start, together


def add(app: typer.Typer) -> None:
    app.command("resume")(resume)


def resume(
    directory: Path = RUN,
    from_frame: int | None = typer.Option(
        None, "--from-frame", min=0, help="Go back to this frame first.", show_default=False
    ),
    frames: int | None = typer.Option(None, "--frames", "-n", min=1, help="New number of frames.", show_default=False),
    settings: list[str] = SET,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Branch: leave DIR as it is and go on in this new directory.", show_default=False
    ),
    discard: bool = typer.Option(
        False, "--discard", help="Delete the frames after --from-frame first, instead of keeping them."
    ),
    scene: Path | None = typer.Option(
        None, "--scene", help="The scene file, if you changed it since the run began.", show_default=False
    ),
    movie: bool | None = typer.Option(
        None, "--movie/--no-movie", help="Make the preview at the end.", show_default=False
    ),
    ranks: int | None = RANKS,
) -> None:
    """Continue a run that was interrupted, or go on from one of its frames with changed physics.

    In the same directory the frames are those of an unbroken run, bit for bit, so only keys that do not change the
    motion may change: name, frames, output, camera, probes. With --out any other key may change too, except the domain.

    [bold]Example:[/bold]

    nonstick resume runs/honey --from-frame 40 --set physics.viscosity=50 --out runs/thicker
    """
    from ..io.rundir import RunDirectory
    from ..scenes.scene import parse_override
    from ..sim.branch import branch
    from ..sim.kinds import kind_of
    from ..sim.run import resume as go

    start(ranks)
    check_movie(movie)
    if discard and out is not None:
        fail("--discard deletes frames of DIR, and --out leaves DIR as it is: leave one of them out")
    own = RunDirectory.open(directory).scene()
    changes = dict(parse_override(text) for text in settings)
    changes |= {} if frames is None else {"time.frames": frames}
    changed = (own if scene is None else load_scene(scene, [])).replace(changes)
    target = out or directory
    kind = kind_of(changed)
    with together() as speaks:
        with resumable(target), Live(kind, changed.model.time.frames, speaks) as live:
            if out is not None:
                branch(directory, out, from_frame, None, live.update, live.warn, changed)
            else:
                go(directory, from_frame, None, changed, live.update, live.warn, discard)
        if speaks:
            report_run(target)
            make_movie(target, movie, changed.model.output.movie)
