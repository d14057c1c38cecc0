"""A run as one file that a browser opens without anything else: the page with its frames and a time line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..errors import NonstickError
from ..exchange import Shot
from ..exchange.run import chosen
from ..io.atomic import write_text
from . import budget as sizes
from .artist import Artist, Picture
from .legend import legend
from .player import at_same_time
from .server import serving
from .stage import stages

#: how often a page that came out too large is made again with fewer triangles
ROUNDS = 4
#: style of what is written over the scene
_BOX = "position: fixed; left: 0.6em; z-index: 1; font-family: sans-serif; color: #2d3036; pointer-events: none"


@dataclass(frozen=True)
class Page:
    """A page that was written: its file, its bytes, its frames, and a sentence if the run was thinned."""

    file: Path
    bytes: int
    frames: int
    thinned: str


def write_html(
    run: str | Path, file: str | Path, *, compare: str | Path | None = None, colour: str = "liquid",
    budget: float = 20.0, frames: slice | None = None, tick: Callable[[int, int], None] | None = None,
) -> Page:  # fmt: skip
    """Write a page with a time line, in one file that needs no network and no server.

    Parameters
    ----------
    run : str or Path
        The run directory.
    file : str or Path
        The page, `.html`.
    compare : str or Path, optional
        Another run, to show beside; its frames are those of the same time.
    colour : str
        What colours show: "liquid", "speed", "pressure", "viscosity" or "age".
    budget : float
        Largest size of the file in MB (10⁶ bytes). A run that is larger is thinned: `thinned` of the result says how.
    frames : slice, optional
        Which frames, by number. Default: all.
    tick : callable, optional
        Called with the number of frames done and of all.

    Returns
    -------
    Page
        The file, its size, its frames, and what was left out.

    Examples
    --------
    >>> from nonstick.view import write_html
    >>> write_html("runs/sphere", "sphere.html", budget=10.0)      # doctest: +SKIP
    """
    sizes.room(budget)
    artists = [Artist(Shot(path), sizes.MOST, colour) for path in (run, compare) if path is not None]
    numbers = chosen(artists[0].shot, frames)
    beside = [[_there(a, n, artists[0]) for n in numbers] for a in artists]
    plan = sizes.plan(artists, beside, budget)
    for _ in range(ROUNDS):
        kept = numbers[:: plan.every]
        for artist in artists:
            artist.limit(plan.limits)
        text, pictures = _page(artists, kept, tick)
        thinned = sizes.told(pictures, (len(kept), len(numbers)), budget)
        text = _titled(text, artists, pictures[0].scale, thinned)
        size = len(text.encode())
        if size <= budget * 1e6:
            write_text(Path(file), text)
            return Page(Path(file), size, len(kept), thinned)
        plan = sizes.smaller(plan, pictures, size, budget)
    raise NonstickError(
        f"{run} does not fit into {budget:g} MB, also when it is thinned: give a larger --budget, or fewer --frames"
    )


def _page(artists: Sequence[Artist], kept: Sequence[int], tick) -> tuple[str, list[Picture]]:
    first = artists[0].shot
    with serving() as server:
        made = stages(server.scene, artists, server.initial_camera)
        for k, number in enumerate(kept):
            for stage in made:
                there = _there(stage.artist, number, artists[0])
                if there not in stage.pictures:
                    stage.put(stage.artist.picture(there))
            if tick is not None:
                tick(k + 1, len(kept))
        record = server.get_scene_serializer()
        for number, after in zip(kept, [*kept[1:], kept[-1] + 1]):
            for stage in made:
                stage.show(_there(stage.artist, number, artists[0]))
            record.insert_sleep((after - number) / first.fps)
        return record.as_html(), [p for stage in made for p in stage.pictures.values()]


def _there(artist: Artist, number: int, first: Artist) -> int:
    """The frame of a run that is shown beside a frame of the first run."""
    if artist is first:
        return number
    found = at_same_time(artist.shot.frames, artist.shot.fps, number, first.shot.fps)
    if found is None:
        raise NonstickError(f"{artist.shot.run.path} holds no frames yet, so there is nothing to show beside")
    return found


def _titled(text: str, artists: Sequence[Artist], scale, thinned: str) -> str:
    """The page with a title, the names of its runs, the scale of colours, and what was left out."""
    name = " and ".join(a.shot.run.path.resolve().name for a in artists)
    small = "font-size: 0.7em; opacity: 0.7"
    box = (
        f'<div style="{_BOX}; top: 0.5em"><b>{escape(name)}</b>{legend(scale)}</div>'
        f'<div style="{_BOX}; bottom: 4.5em; {small}">space plays and stops; the tree at the lower right shows and '
        f"hides parts<br>{escape(thinned)}</div>"
    )
    text = re.sub(r"<title>.*?</title>", lambda _: f"<title>{escape(name)}</title>", text, count=1)
    place = text.rindex("</body>")
    return text[:place] + box + text[place:]
