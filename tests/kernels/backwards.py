"""A team that runs the parts of every shared loop one after the other, the last part first.

Kernels that depend on the order of their parts give other results with it, always and not only by chance.
"""

from __future__ import annotations

import ctypes
from contextlib import contextmanager

from nonstick.kernels import teams

PARTS = 5
_PLACES, _NUMBERS = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
_TASK = ctypes.CFUNCTYPE(None, _PLACES, _NUMBERS, _NUMBERS, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(
    None, _TASK, _PLACES, _NUMBERS, _NUMBERS, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32
)


@_RUN
def _run(task, _places, counts, steps, data, *_):
    one = (ctypes.c_int64 * 1)(1)
    for part in reversed(range(counts[0])):
        task((ctypes.c_void_p * 1)(part), one, steps, data)


@ctypes.CFUNCTYPE(ctypes.c_int32)
def _threads():
    return PARTS


@contextmanager
def last_part_first():
    """In this context every shared loop has five parts and runs them backwards."""
    teams.start()
    before = list(teams._team)
    teams._team[:] = [ctypes.cast(function, ctypes.c_void_p).value for function in (_run, _threads)]
    try:
        yield
    finally:
        teams._team[:] = before
