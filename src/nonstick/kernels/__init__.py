"""Compiled loops on plain arrays: no objects, no allocation inside an iteration, outputs first.

Decorators shared by every kernel file:

- `serial`    one thread; for small levels, where starting threads costs more than the work
- `parallel`  with loops over `prange`, which are shared among threads (see `teams.py`, which says what may stand
  outside of them); results do not depend on the number of threads
- `parallel_sum`  the same for kernels that sum over fixed pieces: inside one, SIMD may reorder the sum
- `merged`    a function that kernels call and Python does not: LLVM puts it into each of them, because a call that
  passes arrays is slow; `merged_sum` for one that forms a sum which may be reordered

Floating-point contraction (fused multiply-add) is allowed; sums may be reordered only in kernels with `sum` in their
decorator.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Idle OpenMP threads spin for a long time by default; on a busy machine this made solves 25 times slower. The OpenMP
# library reads this when it loads, so it must be set before numba loads it.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from numba import config, get_num_threads, njit, set_num_threads, types
from numba.core.registry import CPUDispatcher

from . import _cache, compiling, teams
from .teams import ONE_THREAD_BELOW, prange

_cache.install()
compiling.install()
teams.install()

# omp starts a parallel region in microseconds, tbb in milliseconds (measured on 2 cores);
# workqueue aborts when two Python threads enter it.
config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]

# Kernels take whole tuples of arrays by `*`. A type checker cannot know their lengths, so it does not check these
# calls.
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _decorator(*, threads: bool = False, prepare: Callable[[], None] = lambda: None, **options: Any) -> _Decorator:
    def decorate(function):
        kernel = njit(cache=True, nogil=True, no_cfunc_wrapper=True, **options)(function)
        if not threads:
            return _cache.sealed(kernel, prepare)
        if function.__globals__.get("prange") is not prange:
            raise TypeError(f"{function.__qualname__}: take prange from nonstick.kernels, not from numba")
        return _cache.sealed(kernel, teams.start)

    return decorate


def _inner(**options: Any) -> _Decorator:
    """A decorator of functions that compiled loops call and Python does not, so that nothing is compiled for Python."""
    compiled = _decorator(no_cpython_wrapper=True, **options)

    def decorate(function):
        kernel = compiled(function)
        if kernel is not function:
            kernel.__class__ = _Inner
        return kernel

    return decorate


class _Inner(CPUDispatcher):
    """Called from Python, as tests do, it runs as it is written.

    It is compiled once for numbers of a type. Numba would compile it again for every number that stands in a call:
    LLVM, which puts it into its caller, finds these numbers too.
    """

    def __call__(self, *args):
        return self.py_func(*args)

    def get_call_template(self, args, kws):
        named = {name: types.unliteral(type_) for name, type_ in kws.items()}
        return super().get_call_template(tuple(types.unliteral(type_) for type_ in args), named)


serial = _decorator(fastmath={"contract"})
parallel = _decorator(threads=True, fastmath={"contract"})
parallel_sum = _decorator(threads=True, fastmath={"contract", "reassoc"})
merged = _inner(forceinline=True, fastmath={"contract"})
merged_sum = _inner(forceinline=True, fastmath={"contract", "reassoc"})


@contextmanager
def threads_for(n: int) -> Iterator[None]:
    """Use one thread for few unknowns; results do not depend on it."""
    before = get_num_threads()
    if n < ONE_THREAD_BELOW and before > 1:
        set_num_threads(1)
    try:
        yield
    finally:
        set_num_threads(before)
