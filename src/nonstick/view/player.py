"""Which frame a page shows: playing, going to a frame, following a run that is still going."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence


class Player:
    """A clock over the frames of a run.

    Parameters
    ----------
    fps : float
        Frames per second of the run.

    Examples
    --------
    >>> player = Player(fps=10.0)
    >>> player.extend([0, 1, 2, 3])
    >>> player.playing = True
    >>> player.tick(0.25), player.number
    (True, 2)
    >>> player.tick(0.25), player.number
    (True, 3)
    >>> player.tick(0.25), player.number        # after the last frame comes the first
    (True, 0)
    """

    def __init__(self, fps: float):
        self.fps = fps
        self.frames: list[int] = []
        self.number = 0
        self.playing = False
        self.follow = False
        self.speed = 1.0
        self._part = 0.0

    def extend(self, frames: Sequence[int]) -> None:
        """The frames there are now; a page that follows goes to the last one."""
        self.frames = list(frames)
        if self.frames and self.follow and not self.playing:
            self.number = self.frames[-1]
        self.number = self.nearest(self.number)

    def nearest(self, number: int) -> int:
        """The last frame there is that is not after a number, or the first one."""
        return self.frames[max(bisect_right(self.frames, number) - 1, 0)] if self.frames else 0

    def go(self, number: int) -> None:
        """Show a frame, and stay there."""
        self.playing = self.follow = False
        self.number, self._part = self.nearest(number), 0.0

    def step(self, by: int) -> None:
        """Some frames forwards or backwards, and stay there; after the last comes the first."""
        if self.frames:
            self.go(self.frames[(bisect_left(self.frames, self.number) + by) % len(self.frames)])

    def tick(self, seconds: float) -> bool:
        """Let time pass; True if another frame is to be shown."""
        if not self.playing or len(self.frames) < 2:
            return False
        self._part += seconds * self.fps * self.speed
        whole = int(self._part)
        self._part -= whole
        before = self.number
        if whole and before >= self.frames[-1]:
            self.number = self.frames[0]
        elif whole:
            self.number = self.nearest(before + whole)
        return self.number != before

    def ahead(self, count: int) -> list[int]:
        """The next frames in the order in which they will be shown."""
        here = bisect_left(self.frames, self.number)
        return [self.frames[(here + k) % len(self.frames)] for k in range(min(count, len(self.frames)))]


def at_same_time(frames: Sequence[int], fps: float, number: int, own_fps: float) -> int | None:
    """The frame of another run that is nearest in time to a frame of this run; None if it has no frames.

    >>> at_same_time([0, 1, 2, 3], 30.0, 4, 60.0)
    2
    """
    return min(frames, key=lambda n: (abs(n / fps - number / own_fps), n)) if frames else None
