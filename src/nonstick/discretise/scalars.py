"""Checks of the numbers that every discretisation takes: dt, dx, rho."""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError, brief


def positive(value, name: str) -> float:
    """A finite number above zero."""
    number = np.asarray(value) if np.isscalar(value) or isinstance(value, np.ndarray) else np.empty(0)
    if number.ndim or number.dtype.kind not in "iuf" or not (np.isfinite(number) and number > 0):
        raise NonstickError(f"{name} must be a positive number, not {brief(value)}")
    return float(number)


def coefficient(dt: float, dx: float, rho: float) -> float:
    """dt/(rho dx²), the coefficient of every discretisation; positive numbers may be too small or too large for it."""
    try:
        out = dt / (rho * dx**2)
    except (OverflowError, ZeroDivisionError):
        out = 0.0 if dx > 1.0 else np.inf
    if not 1e-300 < out < 1e300:
        raise NonstickError(
            f"dt/(rho dx²) is too {'small' if out < 1 else 'large'} for a computer: dt is {dt:g}, dx {dx:g} and rho "
            f"{rho:g}; use SI units"
        )
    return out
