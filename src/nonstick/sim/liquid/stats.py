"""A row of stats.csv of a run of liquid: its columns, and the clock of the stages of a step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

COLUMNS = (
    "step", "frame", "time", "dt", "unknowns", "iterations", "outer_iterations", "pressure_seconds", "step_seconds",
    "kkt", "volume", "volume_error", "particles", "converged", "method", "cfl", "capped", "max_speed", "kinetic",
    "potential", "contacts", "surface_seconds", "transfer_seconds", "viscosity_seconds",
    "extrapolation_seconds", "advection_seconds", "viscosity_iterations", "viscosity_residual", "session",
    "body_kinetic", "body_potential", "body_contacts",
)  # fmt: skip


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


def stage(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the time of a method counts for this stage of `self.clock`."""

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def run(self, *args, **options):
            with self.clock(name):
                return method(self, *args, **options)

        return run

    return timed
