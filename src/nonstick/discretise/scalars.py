"""Checks of the numbers that every discretisation takes: dt, dx, rho."""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError


def positive(value, name: str) -> float:
    """A finite number above zero."""
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "iuf" or not (np.isfinite(number) and number > 0):
        raise NonstickError(f"{name} must be a positive number, not {value!r}")
    return float(number)
