"""The lines along which the liquid of a source moves, and the places of its particles on them.

A line carries one particle every `pitch` along the axis of the largest velocity, and lines fill the shadow of the
source: the part of a plane across this axis that is hit by lines which pass through the source. Lines are spread so
that a whole number of them spans the shadow, and with N lines across a shadow of area A

    pitch = N w^d / A,

for particles of the volume w^d. So the flow is velocity times area, exactly, whatever the width of the source, and the
sides of the stream are straight. A particle is due when its place has passed the entry of its line, which is where the
line comes into the source, into the domain or out of a wall. It is due even if the place is beyond the end of the
source by then: lines through a corner leave it within a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from ....grid.shapes import Shape

#: widths of a particle between lines that are tried to find the edge of the shadow, in 2D and 3D; the largest number of
#: them on an axis
FINE, MOST = (0.05, 0.2), (8192, 192)
#: a little more than 0: if a place lay on an entry at the end of a step, rounding would decide whether it is due in
#: this step, in the next one, in both or in none
PHASE = 1.37e-4
#: the golden section: its multiples, modulo 1, are spread evenly
RATIO = 0.6180339887498949
#: halvings that find where a line enters; golden sections that find where it is deepest
HALVINGS, SECTIONS = 40, 24


@dataclass(frozen=True)
class Lines:
    """The lines of a source in its own frame; lengths in metres.

    `feet` (d, N) are their points in the plane, `way` is their change while they advance by 1 along the main axis.
    `entry` and `end` (N) are the advances from the plane at which they come into the source and leave it for good.
    `phase` (N) is the advance of a particle at time 0, in pitches: each line has its own, so that particles come in one
    after another. With whole rows of them, cells would be crowded and empty in turns, and the liquid would swell.
    """

    feet: np.ndarray
    way: np.ndarray
    entry: np.ndarray
    end: np.ndarray
    phase: np.ndarray
    pitch: float

    def part(self, rank: int, size: int) -> Lines:
        """The lines of one of several processes."""
        count = self.entry.size
        mine = slice(count * rank // size, count * (rank + 1) // size)
        return Lines(self.feet[:, mine], self.way, self.entry[mine], self.end[mine], self.phase[mine], self.pitch)

    def places(self, way: float, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions (d, n) in the source, and those now due, of liquid that has moved `way`, `step` of it just now.

        Also returns the mask of those that are due.
        """
        if not self.entry.size:
            return np.empty((len(self.way), 0)), np.empty(0, bool)
        moved = way % self.pitch + self.pitch * self.phase[:, None]
        low, high = float(self.entry.min()), max(float(self.end.max()), float(self.entry.max()) + step)
        first, last = np.floor(low / self.pitch) - 2.0, np.ceil(high / self.pitch)
        advance = moved + self.pitch * np.arange(first, last + 1.0)
        came = advance > self.entry[:, None]
        due = came & (advance - step <= self.entry[:, None])
        chosen = due | (came & (advance < self.end[:, None]))
        line = np.nonzero(chosen)[0]
        return self.feet[:, line] + advance[chosen] * self.way[:, None], due[chosen]


@dataclass(frozen=True)
class Stream:
    """The shape of a source and the velocity of its liquid, for particles of a given width."""

    shape: Shape
    velocity: tuple[float, ...]
    width: float

    @cached_property
    def main(self) -> int:
        """The axis of the largest velocity."""
        return int(np.argmax(np.abs(self.velocity)))

    @cached_property
    def way(self) -> np.ndarray:
        """The change of a position while the liquid advances by 1 along the main axis."""
        speed = abs(self.velocity[self.main])
        return np.array(self.velocity) / speed if speed > 0.0 else np.eye(len(self.velocity))[self.main]

    @cached_property
    def across(self) -> list[int]:
        """The other axes."""
        return [axis for axis in range(len(self.velocity)) if axis != self.main]

    @cached_property
    def box(self) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """The corner where the plane lies, the length of lines, and the ends on the other axes of where they start."""
        low, high = self.shape.bounds(len(self.velocity))
        length = float(high[self.main] - low[self.main])
        corner = np.where(self.way < 0.0, high, low)
        aside = length * self.way[self.across]
        return corner, length, (low[self.across] - np.maximum(aside, 0.0)), (high[self.across] - np.minimum(aside, 0.0))

    def feet(self, grids: list[np.ndarray]) -> np.ndarray:
        """The points (d, n) of the plane with all combinations of coordinates on the other axes."""
        mesh = np.meshgrid(*grids, indexing="ij")
        out = np.full((len(self.velocity), mesh[0].size), self.box[0][self.main])
        for axis, here in zip(self.across, mesh):
            out[axis] = here.ravel()
        return out

    def depth(self, feet: np.ndarray, advance: np.ndarray) -> np.ndarray:
        """Distance to the shape where lines have advanced so far; arrays broadcast."""
        shape = (slice(None),) + (None,) * (advance.ndim - 1)
        return np.asarray(self.shape(*(f[shape] + advance * w for f, w in zip(feet, self.way))))

    def samples(self) -> np.ndarray:
        """Advances at which every line is looked at."""
        length = self.box[1]
        return np.linspace(0.0, length, max(int(2.0 * length / self.width), 8) + 1)

    def deepest(self, feet: np.ndarray) -> np.ndarray:
        """The least distance to the shape along each line: negative if the line hits it."""
        advance = self.samples()
        at = np.empty(feet.shape[1], np.int64)
        for some in _pieces(feet.shape[1], advance.size):
            at[some] = self.depth(feet[:, some], advance[None, :]).argmin(axis=1)
        low, high = advance[np.maximum(at - 1, 0)], advance[np.minimum(at + 1, advance.size - 1)]
        share = 0.5 * (3.0 - 5.0**0.5)
        for _ in range(SECTIONS):
            one, two = low + share * (high - low), high - share * (high - low)
            right = self.depth(feet, one) > self.depth(feet, two)
            low, high = np.where(right, one, low), np.where(right, high, two)
        return np.minimum(self.depth(feet, 0.5 * (low + high)), self.depth(feet, advance[at]))

    def ends(self, feet: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Advances at which lines come in and leave for good; for lines that hit the shape."""
        advance = self.samples()
        first, last = np.empty(feet.shape[1], np.int64), np.empty(feet.shape[1], np.int64)
        for some in _pieces(feet.shape[1], advance.size):
            deep = self.depth(feet[:, some], advance[None, :])
            inside = deep < 0.0
            inside[np.arange(len(deep)), deep.argmin(axis=1)] = True  # a line that hits a corner between samples
            first[some] = inside.argmax(axis=1)
            last[some] = advance.size - 1 - inside[:, ::-1].argmax(axis=1)
        entry = self._border(feet, advance[np.maximum(first - 1, 0)], advance[first])
        end = self._border(feet, advance[np.minimum(last + 1, advance.size - 1)], advance[last])
        return entry, end

    def _border(self, feet: np.ndarray, outside: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Where lines cross the surface between two advances."""
        for _ in range(HALVINGS):
            middle = 0.5 * (outside + inside)
            within = self.depth(feet, middle) < 0.0
            outside, inside = np.where(within, outside, middle), np.where(within, middle, inside)
        return outside

    def shadow(self) -> tuple[float, list[tuple[float, float]]]:
        """Area of the shadow, and its ends on each of the other axes."""
        _, _, low, high = self.box
        grids, steps = [], []
        fine, most = FINE[len(low) - 1], MOST[len(low) - 1]
        for a, b in zip(low, high):
            step = max(fine * self.width, (b - a) / most)
            count = int(np.ceil((b - a) / step - 1e-9)) + 2
            steps.append(step)
            grids.append(0.5 * (a + b) + step * (np.arange(count) - 0.5 * (count - 1)))
        deep = self.deepest(self.feet(grids)).reshape([g.size for g in grids])
        slope = np.gradient(deep, *steps) if len(steps) > 1 else [np.gradient(deep, steps[0])]
        steep = np.sqrt(sum(g**2 for g in slope)) * min(steps)
        share = np.clip(0.5 - deep / np.maximum(steep, 1e-300), 0.0, 1.0)
        ends = []
        for axis, (grid, step) in enumerate(zip(grids, steps)):
            part = share.max(axis=tuple(a for a in range(share.ndim) if a != axis))
            hit = np.flatnonzero(part > 0.0)
            if hit.size:
                i, j = hit[[0, -1]]
                ends.append((grid[i] + (0.5 - part[i]) * step, grid[j] - (0.5 - part[j]) * step))
        return float(share.sum() * np.prod(steps)), ends

    def lines(self, fit: bool = True) -> Lines:
        """The lines; without `fit` they stand on a lattice as wide as a particle, and the flow is that of N lines."""
        d, w = len(self.velocity), self.width
        feet, pitch = np.empty((d, 0)), w
        low, high = self.box[2:]
        if np.all(np.isfinite([low, high])) and np.all(high > low):
            if fit:
                feet, pitch = self._spread()
            else:
                feet = self.feet([w * (np.arange(np.floor(a / w), np.ceil(b / w)) + 0.5) for a, b in zip(low, high)])
                feet = feet[:, self.deepest(feet) < 0.0]
        entry, end = self.ends(feet) if feet.shape[1] else (np.empty(0), np.empty(0))
        return Lines(feet, self.way, entry, end, (PHASE + RATIO * np.arange(entry.size)) % 1.0, pitch)

    def _spread(self) -> tuple[np.ndarray, float]:
        """The feet of lines that fill the shadow, and the pitch.

        In 3D the shadow is not always a rectangle. Of some numbers of lines on each axis, those are chosen whose lines
        are as dense as particles at rest.
        """
        d, w = len(self.velocity), self.width
        area, ends = self.shadow()
        best, feet = np.inf, np.empty((d, 0))
        for more in product((0,) if d == 2 else (0, 1, -1), repeat=d - 1) if area > 0.0 else ():
            counts = [max(round((b - a) / w) + m, 1) for (a, b), m in zip(ends, more)]
            steps = [(b - a) / n for (a, b), n in zip(ends, counts)]
            here = self.feet([a + s * (np.arange(n) + 0.5) for (a, _), s, n in zip(ends, steps, counts)])
            here = here[:, self.deepest(here) < 0.0]
            if not here.shape[1]:
                continue
            crowd = abs(np.log(here.shape[1] * np.prod(steps) / area)) + 0.3 * sum(abs(np.log(s / w)) for s in steps)
            if crowd < best:
                best, feet = float(crowd), here
        return feet, feet.shape[1] * w**d / area if feet.shape[1] else w


def _pieces(lines: int, samples: int, most: int = 2**20) -> Iterator[slice]:
    """Slices of the lines, so that arrays over lines and samples stay small."""
    step = max(most // samples, 1)
    for first in range(0, lines, step):
        yield slice(first, first + step)
