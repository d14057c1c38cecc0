"""A run as one file that a browser opens without anything else: the page with its frames and a time line.

The number of frames, triangles and particles follows from the size allowed for the page. Some frames are drawn as they
are and compressed as the page compresses them. If all frames of that size fit, nothing is thinned. Otherwise triangles
and particles are thinned, down to a number that still shows a splash, and after that frames are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from ...errors import NonstickError
from ...files.atomic import write_text
from ...files.formats import Shot
from ...files.formats.run import chosen
from .artist import Artist, Limits, Picture, legend
from .live import at_same_time, serving
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
    run: str | Path,
    file: str | Path,
    *,
    compare: str | Path | None = None,
    colour: str = "liquid",
    budget: float = 20.0,
    frames: slice | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> Page:
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
    >>> from nonstick.pictures.page import write_html
    >>> write_html("runs/sphere", "sphere.html", budget=10.0)      # doctest: +SKIP
    """
    room(budget)
    artists = [Artist(Shot(path), MOST, colour) for path in (run, compare) if path is not None]
    numbers = chosen(artists[0].shot, frames)
    beside = [[_there(a, n, artists[0]) for n in numbers] for a in artists]
    plan = thinning_for(artists, beside, budget)
    for _ in range(ROUNDS):
        kept = numbers[:: plan.every]
        for artist in artists:
            artist.limit(plan.limits)
        text, pictures = _page(artists, kept, tick)
        thinned = told(pictures, (len(kept), len(numbers)), budget)
        text = _titled(text, artists, pictures[0].scale, thinned)
        size = len(text.encode())
        if size <= budget * 1e6:
            write_text(Path(file), text)
            return Page(Path(file), size, len(kept), thinned)
        plan = smaller(plan, pictures, size, budget)
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


#: size of an empty page, in bytes
PAGE = 900_000
#: bytes of text for a byte of data (base64)
TEXT = 4 / 3
#: part of the room that is given away: what is left over covers frames that compress worse than the sample
SAFE = 0.92
#: part of the room that particles may take
SHARE = 0.25
#: a frame is not thinned to fewer than these
LEAST = Limits(8_000, 2_000)
#: the most that a page has in a frame, whatever its size: a browser must hold all frames at once
MOST = Limits(300_000, 200_000)
#: frames that are looked at
SAMPLE = 5


@dataclass(frozen=True)
class Thinning:
    """Every n-th frame, within limits."""

    every: int
    limits: Limits


def room(megabytes: float) -> float:
    """Bytes of compressed data in a page of this size."""
    free = megabytes * 1e6 - PAGE
    if not free > 0.1e6:
        raise NonstickError(f"--budget is {megabytes:g} MB, but an empty page takes 0.9 MB already: give 2 or more")
    return free / TEXT


def compressed(arrays: Iterable[np.ndarray | bytes]) -> int:
    """Bytes of data after the page's compression, which finds what frames have in common."""
    import zstandard

    whole = b"".join(a if isinstance(a, bytes) else np.ascontiguousarray(a).tobytes() for a in arrays)
    return len(zstandard.ZstdCompressor(level=12).compress(whole))


def thinning_for(artists: Sequence[Artist], numbers: Sequence[Sequence[int]], megabytes: float) -> Thinning:
    """What fits: `numbers` are the frames of each run.

    Runs share the room; each has the same limits.
    """
    still = compressed(part for a in artists for *_, m in a.solids() for part in (m.vertices, m.faces))
    free = SAFE * room(megabytes) - still
    count = max(len(n) for n in numbers)
    sample = [a.picture(n) for a, own in zip(artists, numbers) for n in _spread(own)]
    surface = _Cost([p.triangles[1] for p in sample], compressed(p.surface for p in sample))
    data = (part for p in sample for part in (p.points.astype(np.float16), p.paint))
    points = _Cost([p.particles[1] for p in sample], compressed(data))
    full = artists[0].limits
    if count * len(artists) * (surface.within(full.triangles) + points.within(full.particles)) <= free:
        return Thinning(1, full)
    return _thinned(max(free, 0.05 * room(megabytes)), count, len(artists), surface, points, full)


class _Cost:
    """Bytes of the triangles or particles of a frame, in the mean over a sample of frames."""

    def __init__(self, counts: Sequence[int], size: int):
        self.counts = np.array(counts)
        self.each = size / max(self.counts.sum(), 1)

    def within(self, most: int) -> float:
        """Bytes of a frame with at most this many of them."""
        return self.each * float(np.minimum(self.counts, most).mean())

    def most(self, size: float) -> int:
        """How many of them a frame may have, if frames take `size` bytes in the mean."""
        low, high = 0, int(self.counts.max())
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.within(middle) <= size else (low, middle - 1)
        return low


def _thinned(free: float, count: int, runs: int, surface: _Cost, points: _Cost, full: Limits) -> Thinning:
    """Limits that fit; frames are left out if the least of a frame would not fit for all."""
    least = surface.within(LEAST.triangles), points.within(LEAST.particles)
    every = -(-count // max(min(int(free / max(runs * sum(least), 1e-9)), count), 1))
    frame = free / (-(-count // every) * runs)
    # the surface is what one looks at: particles get their share of what it leaves, or the least
    for_points = min(points.within(full.particles), max(least[1], min(SHARE * frame, frame - least[0])))
    return Thinning(
        every,
        Limits(
            min(full.triangles, max(surface.most(frame - for_points), 1_000)),
            min(full.particles, max(points.most(for_points), 200)),
        ),
    )


def smaller(plan: Thinning, pictures: Sequence[Picture], size: int, megabytes: float) -> Thinning:
    """A plan for a page that came out too large: `size` bytes with these pictures."""
    factor = SAFE * room(megabytes) * TEXT / max(size - PAGE, 1)
    triangles, particles = (max(pair) for pair in zip(*((p.triangles[1], p.particles[1]) for p in pictures)))
    return Thinning(plan.every, Limits(max(int(factor * triangles), 100), max(int(factor * particles), 100)))


def _spread(numbers: Sequence[int]) -> list[int]:
    """Some frames from the first to the last."""
    return [numbers[k] for k in np.unique(np.linspace(0, len(numbers) - 1, SAMPLE).round().astype(int))]


def told(pictures: Sequence[Picture], frames: tuple[int, int], megabytes: float) -> str:
    """A sentence on what was left out; nothing if all is there."""
    out = []
    if frames[0] < frames[1]:
        out.append(f"{frames[0]} of {frames[1]} frames")
    for word, pairs in (("triangles", [p.triangles for p in pictures]), ("particles", [p.particles for p in pictures])):
        before, after = max(pairs, default=(0, 0)), max((a for _, a in pairs), default=0)
        if any(a < b for b, a in pairs):
            out.append(f"at most {_number(after)} of {_number(before[0])} {word} a frame")
    return f"thinned to {megabytes:g} MB: {', '.join(out)}; a larger --budget keeps more" if out else ""


def _number(n: int) -> str:
    return f"{n:,}".replace(",", " ")
