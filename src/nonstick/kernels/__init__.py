"""Compiled loops on plain arrays: no objects, no allocation inside an iteration, outputs first.

Three decorators are shared by every kernel file:

- `serial`    one thread; for small levels, where starting threads costs more than the work
- `parallel`  `prange` loops; results do not depend on the number of threads
- `inline`    a small pointwise function used by the kernels of the same file

Floating-point contraction (fused multiply-add) is allowed, reordering of sums is not.
"""

import os
from collections.abc import Callable
from typing import Any

# Idle OpenMP threads spin for a long time by default; on a machine with anything else to do that made
# solves 25 times slower. Read by the OpenMP library when it loads, so it must be set before numba loads it.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from numba import config, njit

from . import _cache

_cache.install()

# omp starts a parallel region in microseconds, tbb in milliseconds (measured on 2 cores);
# workqueue aborts when two Python threads enter it.
config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]  # type: ignore[attr-defined]

# Kernels take whole tuples of arrays by `*`, whose lengths a type checker cannot know: calls go unchecked.
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

serial: _Decorator = njit(cache=True, nogil=True, fastmath={"contract"})
parallel: _Decorator = njit(cache=True, nogil=True, parallel=True, fastmath={"contract"})
inline: _Decorator = njit(cache=True, nogil=True, inline="always", fastmath={"contract"})
