"""The best iterate of a method whose residual may rise, and the question whether it still makes progress."""

from __future__ import annotations

import numpy as np

from ..problem.monitor import Monitor

#: a residual must fall to this part of the best one to count as progress
GAIN = 0.9


class Best:
    """Keeps the iterate with the smallest KKT residual; of those that reach the tolerance, the smallest row error."""

    def __init__(self, x: np.ndarray):
        self.x = x.copy()
        self.kkt = np.inf
        #: the step at which progress was last made
        self.gained = 0
        self._rank = (np.inf, np.inf)
        self._kkt = self._rows = np.inf

    def see(self, step: int, x: np.ndarray, monitor: Monitor) -> None:
        """Look at the x that the monitor has just checked."""
        kkt, papers = monitor.kkt, monitor.stopping.criterion == "papers"
        rows = np.inf if papers or kkt > monitor.asked else monitor.row_error(x).value
        rank = (kkt, rows) if papers else (max(kkt, monitor.asked), rows)
        if rank < self._rank:
            self._rank, self.kkt = rank, kkt
            self.x[:] = x
        if step == 0 and not papers:
            return  # beside a large b the residual is small at the start, and rises first
        if kkt < GAIN * self._kkt or rows < GAIN * self._rows:
            self.gained = step
        self._kkt, self._rows = min(kkt, self._kkt), min(rows, self._rows)
