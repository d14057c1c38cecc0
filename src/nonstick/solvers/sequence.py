"""The solves of a sequence: one matrix, and often vectors of the types and lengths of the solve before.

An inverse outlives a solve: the next solve with the same matrix refreshes it and does not build it again.

What `nonstick.Solver` does for a solve, from checks to the report, takes some hundred microseconds. Where a method has
`quick_solves`, the loop of a time step can do with less: types and lengths are compared, the numbers are checked and
the residuals computed in the compiled call that solves. Whatever is not as it was goes the long way, which says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from numba import get_num_threads, set_num_threads

from ..core.options import Stopping
from ..inverse.base import Inverse, Recipe
from ..operators.base import Operator
from ..problem.box import Bounds, BoxProblem
from ..problem.monitor import ADVICE, History
from ..problem.solution import Solution
from .base import Method, QuickSolves

#: numbers beyond this may be integers that are no doubles
LARGE = 1e300


class Again:
    """Solves that follow a solution which met no difficulty.

    Parameters
    ----------
    quick : QuickSolves
        Of the method that found it.
    first : Solution
        The next solve begins with its active set.
    """

    def __init__(self, quick: QuickSolves, first: Solution):
        self._quick, self._first = quick, first
        self._policy = first.active
        self._n = first.x.size
        self._words: dict[str, Any] = {}
        self._stopping = Stopping()

    def solve(self, b: Any, lower: Any, upper: Any, words: dict[str, Any]) -> Solution | None:
        """A solution that has converged, as the long way would give it; None if there is more to do."""
        began = time.perf_counter()
        if words != self._words:
            self._words, self._stopping = dict(words), Stopping(**words)
        stop = self._stopping
        if not self._plain(b) or stop.limited or stop.callback is not None:
            return None
        low, high = self._bound(lower), self._bound(upper)
        if low is None or high is None:
            return None
        b = b.copy()
        answer = self._quick.solve(self._policy, b, low, high, stop.atol)
        if answer is None:
            return None
        asked = max(stop.rtol, stop.atol / answer.scale)
        if not answer.kkt <= asked or (stop.criterion == "rows" and not answer.row_error <= stop.row_rtol):
            return None
        first, count, seconds = self._first, answer.iterations, time.perf_counter() - began
        history = History()
        history.record(answer.kkt, count, count, seconds)
        return Solution(
            BoxProblem.of_checked(first.problem.A, b, Bounds(low, high), answer.scale),
            answer.x,
            answer.dual,
            first.method,
            True,
            "converged",
            f"{ADVICE['converged']} (KKT {answer.kkt:.2e}, asked {asked:.1e})",
            count,
            count,
            history,
            seconds,
            0.0,
            path=first.path,
            face_solver=first.face_solver,
        )

    def _plain(self, values: Any) -> bool:
        """n doubles."""
        return type(values) is np.ndarray and values.dtype == np.float64 and values.shape == (self._n,)

    def _bound(self, bound: Any) -> np.ndarray | None:
        """A vector of bounds that belongs to the solution; None if it is given in another form."""
        if self._plain(bound):
            return bound.copy()
        number = type(bound) in (float, int) and (abs(bound) < LARGE or abs(bound) == np.inf)
        return np.full(self._n, bound, np.float64) if number else None


M = TypeVar("M", bound=Method)
S = TypeVar("S")


@dataclass
class InverseCache:
    """The last inverse that a recipe made for `core`, and what it was made for."""

    #: operators whose entries are in the same places
    alike: WeakSet[Operator]
    core: Operator | None = None
    inverse: Inverse | None = None
    free: np.ndarray | None = None
    shift: np.ndarray | None = None

    def matches(self, operator: Operator) -> bool:
        """True if the entries of the operator are in the same places."""
        stencil = operator.core.stencil
        same = (A.stencil.rows is stencil.rows for A in self.alike if A.stencil is not None and stencil is not None)
        return operator.core in self.alike or any(same)

    def put(self, operator: Operator, inverse: Inverse) -> None:
        free, shift = operator.free, operator.shift
        self.core, self.inverse = operator.core, inverse
        self.free, self.shift = (None if part is None else part.copy() for part in (free, shift))

    def ready(self, operator: Operator) -> bool:
        """True if the inverse can be used as it is. A hierarchy that shares its levels must be refreshed first."""
        if self.inverse is None or self.core is not operator.core:
            return False
        if self.inverse.hierarchy is not None:
            return False
        return _same(self.free, operator.free) and _same(self.shift, operator.shift)


@dataclass(frozen=True)
class Cached(Recipe):
    """`recipe`; the first `setup` of a solve begins with the last inverse of the solve before.

    Parameters
    ----------
    recipe : Recipe
        What makes the inverses.
    cache : InverseCache
        Where the last one is. One solve at a time may use it.
    """

    recipe: Recipe
    cache: InverseCache = field(compare=False, repr=False)

    def setup(self, operator, reuse=None):
        cache = self.cache
        if not cache.matches(operator):  # the coarse problem of a prediction, for example
            return self.recipe.setup(operator, reuse)
        if reuse is None and cache.ready(operator):
            assert cache.inverse is not None
            return cache.inverse
        inverse = self.recipe.setup(operator, cache.inverse if reuse is None else reuse)
        cache.put(operator, inverse)
        return inverse

    def following(self, operator, step):
        inverse = self.recipe.following(operator, step)
        if inverse is not None and self.cache.matches(operator):
            self.cache.put(operator, inverse)
        return inverse

    @property
    def label(self):
        return self.recipe.label

    @property
    def general(self) -> bool:
        return self.recipe.general

    def fits(self, operator):
        return self.recipe.fits(operator)

    def chosen(self, operator):
        return Cached(self.recipe.chosen(operator), self.cache)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


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
