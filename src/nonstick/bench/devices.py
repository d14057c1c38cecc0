"""Andersen's figures 9 and 10 on whatever devices are here: minimum-map Newton and PCG on arrays against the processor.

Figure 9 is CPU time over GPU time by grid size, figure 10 the part of a GPU solve that is spent on bringing data there.
Both solves are `newton-array`; without bounds it takes one step, which is PCG with the same preconditioner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

from .. import cases
from ..arrays import ArrayNewton
from ..problem.box import BoxProblem
from .measure import measure
from .registry import Plan, benchmark
from .row import Row


def here() -> list[tuple[str, str | None]]:
    """Libraries and their devices on this computer, NumPy first."""
    found: list[tuple[str, str | None]] = [("numpy", None)]
    if find_spec("torch") is not None:
        import torch

        found += [("torch", "cpu"), *(("torch", f"cuda:{k}") for k in range(torch.cuda.device_count()))]
    if find_spec("jax") is not None:
        import jax

        found += [("jax", f"{device.platform}:{device.id}") for device in jax.devices() if device.platform != "cpu"]
    if find_spec("cupy") is not None:
        import cupy

        found += [("cupy", f"cuda:{k}") for k in range(cupy.cuda.runtime.getDeviceCount())]
    return found


def _pairs(n: int) -> Iterator[tuple[str, BoxProblem]]:
    problem = cases.build("circle2d", n).problem
    yield "newton", problem
    yield "pcg", problem.without_bounds()


@benchmark(
    "andersen-figure9",
    "Newton and PCG on arrays of every device here, against NumPy (Andersen, figure 9)",
    sizes=(64, 128, 256),
    methods=(),
)
def figure9(plan: Plan) -> Iterator[Row]:
    for n in plan.sizes:
        for name, problem in _pairs(n):
            host = None
            for library, device in here():
                label = f"{name} {library} {device or 'cpu'}"
                plan.announce(f"{label}, {n}")
                row = measure("andersen-figure9", n, ArrayNewton(library, device), lambda p=problem: p, plan, label)  # type: ignore[misc]
                host = row.seconds if host is None else host
                if host and row.seconds:
                    row = replace(row, extra={**row.extra, "speed-up": host / row.seconds})
                yield row


@benchmark(
    "andersen-figure10",
    "the parts of a solve of Newton and PCG on the last device here: set-up, computation (Andersen, figure 10)",
    sizes=(64, 128, 256),
    methods=(),
)
def figure10(plan: Plan) -> Iterator[Row]:
    library, device = here()[-1]
    for n in plan.sizes:
        for name, problem in _pairs(n):
            label = f"{name} {library} {device or 'cpu'}"
            plan.announce(f"{label}, {n}")
            row = measure("andersen-figure10", n, ArrayNewton(library, device), lambda p=problem: p, plan, label)  # type: ignore[misc]
            if row.seconds and row.setup_seconds is not None:
                row = replace(row, extra={**row.extra, "set-up %": 100.0 * row.setup_seconds / row.seconds})
            yield row
