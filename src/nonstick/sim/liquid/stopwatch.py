"""The stages of a step, and the time each takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

STAGES = ("surface", "transfer", "pressure", "viscosity", "extrapolation", "advection")


class Stopwatch:
    """Seconds spent in each stage: `with watch("pressure"): …`."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - began
