"""The static cases of `nonstick.cases` as benchmarks: every size with every method."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import cases
from ..lcp.problem import BoxProblem
from .measure import measure, warm_up
from .registry import Plan, benchmark
from .row import Row


def sweep(case: str, build: Callable[[int], BoxProblem], plan: Plan, warm_size: int = 16) -> Iterator[Row]:
    """Every method on every size; other tables may use this with a builder of their own."""
    for method in plan.methods:
        plan.announce(f"{method}: compiling")
        warm_up(method, lambda: build(warm_size), plan)
        for n in plan.sizes:
            plan.announce(f"{method} at {n}")
            yield measure(case, n, method, lambda n=n: build(n), plan)  # type: ignore[misc]


def _register(name: str, description: str, sizes: tuple[int, ...]) -> None:
    @benchmark(name, description, sizes=sizes)
    def run(plan: Plan) -> Iterator[Row]:
        return sweep(name, lambda n: cases.build(name, n).problem, plan)


for _name, _description in cases.describe().items():
    _register(_name, _description, (32, 64) if _name in cases.names(dimension=3) else (64, 256))
