"""The course of a solve: the residual after every outer iteration, and what it took to get there."""

from __future__ import annotations

from typing import NamedTuple


class HistoryEntry(NamedTuple):
    """One line of a history."""

    #: outer iterations done
    outer: int
    #: iterations done, in the unit of the method's paper: those of inner linear solves where it has some
    iterations: int
    #: since the start of the solve
    seconds: float
    residual: float


class History(list[float]):
    """A list of residuals that also knows when each was reached.

    `iterations`, `outer_iterations` and `seconds` are lists of the same length; `entries()` puts them together.

    Examples
    --------
    >>> import nonstick
    >>> history = nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method="pgs").history
    >>> history[-1] < 1e-6, len(history) == len(history.seconds) == len(history.iterations)
    (True, True)
    >>> history.entries()[0].iterations
    0
    """

    def __init__(self) -> None:
        super().__init__()
        self.iterations: list[int] = []
        self.outer_iterations: list[int] = []
        self.seconds: list[float] = []

    def record(self, residual: float, iterations: int, outer: int, seconds: float) -> None:
        self.append(residual)
        self.iterations.append(iterations)
        self.outer_iterations.append(outer)
        self.seconds.append(seconds)

    def correct(self, residual: float, seconds: float) -> None:
        """Replace the last residual, which came from a recurrence, by the true one."""
        self[-1], self.seconds[-1] = residual, seconds

    def entries(self) -> list[HistoryEntry]:
        """One tuple (outer, iterations, seconds, residual) for each residual."""
        return [HistoryEntry(*line) for line in zip(self.outer_iterations, self.iterations, self.seconds, self)]
