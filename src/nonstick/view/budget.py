"""How many frames, triangles and particles fit into a page of a given size.

Some frames are drawn as they are and compressed as the page compresses them. If all frames of that size fit, nothing is
thinned. Otherwise triangles and particles are thinned, down to a number that still shows a splash, and after that
frames are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def compressed(arrays: Iterable[np.ndarray | bytes]) -> int:
    """Bytes of data after the page's compression, which finds what frames have in common."""
    import zstandard

    whole = b"".join(a if isinstance(a, bytes) else np.ascontiguousarray(a).tobytes() for a in arrays)
    return len(zstandard.ZstdCompressor(level=12).compress(whole))


def plan(artists: Sequence[Artist], numbers: Sequence[Sequence[int]], megabytes: float) -> Plan:
    """What fits: `numbers` are the frames of each run.

    Runs share the room; each has the same limits.
    """
    still = compressed(part for a in artists for m in _things(a) for part in (m.vertices, m.faces))
    free = SAFE * room(megabytes) - still
    count = max(len(n) for n in numbers)
    sample = [a.picture(n) for a, own in zip(artists, numbers) for n in _spread(own)]
    surface = _Cost([p.triangles[1] for p in sample], compressed(p.surface for p in sample))
    data = (part for p in sample for part in (p.points.astype(np.float16), p.paint))
    points = _Cost([p.particles[1] for p in sample], compressed(data))
    full = artists[0].limits
    if count * len(artists) * (surface.within(full.triangles) + points.within(full.particles)) <= free:
        return Plan(1, full)
    return _thinned(max(free, 0.05 * room(megabytes)), count, len(artists), surface, points, full)


class _Cost:
    """Bytes of the triangles or particles of a frame, in the mean over a sample of frames."""

    def __init__(self, counts: Sequence[int], size: int):
        self.counts = np.array(counts)
        self.each = size / max(self.counts.sum(), 1)

    def within(self, most: int) -> float:
        """Bytes of a frame with at most so many of them."""
        return self.each * float(np.minimum(self.counts, most).mean())

    def most(self, size: float) -> int:
        """How many of them a frame may have, so that frames take so many bytes in the mean."""
        low, high = 0, int(self.counts.max())
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.within(middle) <= size else (low, middle - 1)
        return low


def _thinned(free: float, count: int, runs: int, surface: _Cost, points: _Cost, full: Limits) -> Plan:
    """Limits that fit; frames are left out if the least of a frame would not fit for all."""
    least = surface.within(LEAST.triangles), points.within(LEAST.particles)
    every = -(-count // max(min(int(free / max(runs * sum(least), 1e-9)), count), 1))
    frame = free / (-(-count // every) * runs)
    # the surface is what one looks at: particles get their share of what it leaves, or the least
    for_points = min(points.within(full.particles), max(least[1], min(SHARE * frame, frame - least[0])))
    return Plan(every, Limits(
        min(full.triangles, max(surface.most(frame - for_points), 1_000)),
        min(full.particles, max(points.most(for_points), 200)),
    ))  # fmt: skip


def smaller(plan: Plan, pictures: Sequence[Picture], size: int, megabytes: float) -> Plan:
    """A plan for a page that came out too large: `size` bytes with these pictures."""
    factor = SAFE * room(megabytes) * TEXT / max(size - PAGE, 1)
    triangles, particles = (max(pair) for pair in zip(*((p.triangles[1], p.particles[1]) for p in pictures)))
    return Plan(plan.every, Limits(max(int(factor * triangles), 100), max(int(factor * particles), 100)))


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
