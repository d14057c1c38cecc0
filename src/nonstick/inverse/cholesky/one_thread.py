"""BLAS on one thread while a factor is made or used.

OpenBLAS gives a front to as many threads as there are cores. Fronts are small: on a busy computer the threads wait for
each other far longer than the work takes, and how the sums are split decides about last bits. SciPy's BLAS is a library
of its own, beside that of NumPy, so nobody else waits meanwhile but SciPy's own dense routines.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

#: how OpenBLAS is named in SciPy's wheels, and elsewhere
_PREFIXES = ("scipy_openblas", "openblas")


@cache
def _functions() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """What asks for and what sets the number of threads of SciPy's BLAS; None if it is not OpenBLAS, or not found."""
    from scipy.linalg import cython_blas  # slow to load

    try:
        library = ctypes.CDLL(cython_blas.__file__)  # a name is looked for in what it is linked with, too
    except OSError:
        return None
    for prefix in _PREFIXES:
        if hasattr(library, f"{prefix}_set_num_threads"):
            return library[f"{prefix}_get_num_threads"], library[f"{prefix}_set_num_threads"]
    return None


class _Users:
    """How many solves want one thread now, and how many threads there were before the first of them."""

    lock = threading.Lock()
    count = 0
    before = 1


@contextmanager
def blas_on_one_thread() -> Iterator[None]:
    """SciPy's BLAS works on one thread meanwhile; the last one to leave restores what the first one found."""
    functions = _functions()
    if functions is None:
        yield
        return
    ask, tell = functions
    with _Users.lock:
        if _Users.count == 0:
            _Users.before = ask()
            tell(1)
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if _Users.count == 0:
                tell(_Users.before)
