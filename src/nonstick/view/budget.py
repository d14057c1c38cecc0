"""How many frames, triangles and particles fit into a page of a given size.

Some frames are drawn as they are and compressed as the page compresses them. If all frames of that size fit, nothing is
thinned. Otherwise triangles and particles are thinned, down to a number that still shows a splash, and after that
frames are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import NonstickError
from .artist import Artist, Limits, Picture

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
class Plan:
    """Every n-th frame, within limits."""

    every: int
    limits: Limits


def room(megabytes: float) -> float:
    """Bytes of compressed data in a page of this size."""
    free = megabytes * 1e6 - PAGE
    if not free > 0.1e6:
        raise NonstickError(f"--budget is {megabytes:g} MB, but an empty page takes 0.9 MB already: give 2 or more")
    return free / TEXT


def compressed(*arrays: np.ndarray | bytes) -> int:
    """Bytes of data after the page's compression."""
    import zstandard

    level = zstandard.ZstdCompressor(level=12)
    return sum(len(level.compress(a if isinstance(a, bytes) else np.ascontiguousarray(a).tobytes())) for a in arrays)


def plan(artists: Sequence[Artist], numbers: Sequence[Sequence[int]], megabytes: float) -> Plan:
    """What fits: `numbers` are the frames of each run.

    Runs share the room; each has the same limits.
    """
    still = sum(compressed(m.vertices, m.faces) for a in artists for m in _things(a))
    free = SAFE * room(megabytes) - still
    count = max(len(n) for n in numbers)
    sample = [a.picture(n) for a, own in zip(artists, numbers) for n in _spread(own)]
    surface = _Cost.of([(compressed(p.surface), p.triangles[1]) for p in sample])
    points = _Cost.of([(compressed(p.points.astype(np.float16), p.paint), p.particles[1]) for p in sample])
    frames = count * len(artists)
    if frames * (surface.frame + points.frame) <= free:
        return Plan(1, artists[0].limits)
    return _thinned(max(free, 0.05 * room(megabytes)), count, len(artists), surface, points, artists[0].limits)


@dataclass(frozen=True)
class _Cost:
    """Bytes of a frame, and of one triangle or particle, in the mean over the sample."""

    frame: float
    each: float

    @classmethod
    def of(cls, sample: Sequence[tuple[int, int]]) -> _Cost:
        size, count = (sum(column) for column in zip(*sample))
        return cls(size / len(sample), size / max(count, 1))


def _thinned(free: float, count: int, runs: int, surface: _Cost, points: _Cost, full: Limits) -> Plan:
    least = runs * (min(LEAST.triangles * surface.each, surface.frame)
                    + min(LEAST.particles * points.each, points.frame))  # fmt: skip
    every = -(-count // max(min(int(free / max(least, 1e-9)), count), 1))
    for_frame = free / (-(-count // every) * runs)
    left = max(for_frame - LEAST.triangles * surface.each, LEAST.particles * points.each)
    for_points = min(points.frame, SHARE * for_frame, left)
    for_surface = for_frame - for_points
    return Plan(every, Limits(
        min(full.triangles, max(int(for_surface / max(surface.each, 1e-9)), 1_000)),
        min(full.particles, max(int(for_points / max(points.each, 1e-9)), 200)),
    ))  # fmt: skip


def _spread(numbers: Sequence[int]) -> list[int]:
    """Some frames from the first to the last."""
    return [numbers[k] for k in np.unique(np.linspace(0, len(numbers) - 1, SAMPLE).round().astype(int))]


def _things(artist: Artist):
    yield from (mesh for _, mesh, _ in artist.walls())
    yield from (mesh for _, mesh in artist.bodies())


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
