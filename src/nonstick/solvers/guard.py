"""A guard for active-set iterations that have no convergence proof."""

from __future__ import annotations

from collections import Counter

import numpy as np


class Guard:
    """Watches the active sets of an iteration that has no convergence proof.

    If a set occurs for the third time, or if changes do not stop, the set is held until the face problem is solved.
    From then on this is policy iteration, which on M-matrices never has the same set twice. If a set still occurs
    again, the guard gives up.
    """

    def __init__(self, patience: int):
        self.patience = patience
        self.hold = False
        self.changes = 0
        self._seen: Counter[int] = Counter()

    def gives_up(self, active: np.ndarray) -> bool:
        self.changes += 1
        key = hash(active.tobytes())
        self._seen[key] += 1
        if self.hold:
            return self._seen[key] > 1
        if self._seen[key] > 2 or self.changes > self.patience:
            self.hold = True
            self._seen.clear()
        return False
