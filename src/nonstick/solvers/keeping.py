"""Methods that keep their set-ups from solve to solve, and many solves of one matrix on all cores."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar
from weakref import WeakSet

from numba import get_num_threads, set_num_threads

from ..inverse.base import Recipe
from ..inverse.cache import Cached, InverseCache
from ..operators.base import Operator
from .base import Method

M = TypeVar("M", bound=Method)
S = TypeVar("S")


def keeping(method: M, alike: WeakSet[Operator]) -> M:
    """The method with a cache for every recipe in it, so that its set-ups outlive a solve."""
    if not is_dataclass(method):
        return method
    changes = {part.name: _kept(getattr(method, part.name), alike) for part in fields(method)}
    return replace(method, **{name: value for name, value in changes.items() if value is not None})


def _kept(value: Any, alike: WeakSet[Operator]) -> Any:
    """A part of a method that keeps its set-ups; None if there is nothing to keep."""
    if isinstance(value, Recipe):
        return Cached(value, InverseCache(alike))
    if isinstance(value, Method):
        return keeping(value, alike)
    if isinstance(value, tuple) and any(isinstance(part, Recipe | Method) for part in value):
        return tuple(part if (kept := _kept(part, alike)) is None else kept for part in value)
    return None


def on_all_cores(method: Method, A: Operator, solve: Callable[[Method, int], S], k: int) -> list[S]:
    """`solve(method, j)` for each j below k, on as many threads as kernels may use, each with its own set-up of A.

    Every solve runs its kernels on one thread: solves side by side use the cores better than the loops of one. The
    solves do not depend on each other, so the answers do not depend on the number of threads.
    """
    threads = min(get_num_threads(), k)

    def some(first: int) -> list[S]:
        before = get_num_threads()
        set_num_threads(1)
        try:
            kept = keeping(method, WeakSet([A]))
            return [solve(kept, j) for j in range(first, k, threads)]
        finally:
            set_num_threads(before)

    if threads == 1:
        return some(0)
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(some, range(threads)))
    return [parts[j % threads][j // threads] for j in range(k)]
