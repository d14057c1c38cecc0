"""Checks of the numbers and fields given to a discretisation, and quantities derived from them."""

from __future__ import annotations

import numpy as np

from ..core import validate
from ..errors import NonstickError, brief
from ..grid.faces import lower, upper
from ..grid.fractions import close_edges, closed_box, open_fractions

Faces = tuple[np.ndarray, ...]


def checked_array(name: str, value, shape: tuple[int, ...], finite: bool = True) -> np.ndarray:
    """An array of numbers of this shape, checked."""
    value = validate.numbers(value, name)
    if value.shape != shape:
        raise NonstickError(f"{name} has shape {value.shape}, expected {shape}")
    if finite and value.dtype != bool and not np.isfinite(value).all():
        raise NonstickError(f"{name} has values that are not finite")
    return value


def face_arrays(name: str, arrays, shape: tuple[int, ...], finite: bool = False) -> Faces:
    """Face arrays of a grid of `shape` cells, checked."""
    out = sequence(name, arrays)
    if len(out) != len(shape):
        raise NonstickError(f"{name} needs {len(shape)} arrays, one for the faces along each axis of the grid")
    faces = (tuple(n + (b == axis) for b, n in enumerate(shape)) for axis in range(len(shape)))
    return tuple(checked_array(f"{name}[{axis}]", a, s, finite) for axis, (a, s) in enumerate(zip(out, faces)))


def sequence(name: str, arrays) -> Faces:
    """The arrays of real numbers that a tuple or a list holds."""
    if not isinstance(arrays, (tuple, list)) and np.ndim(arrays) < 2:
        raise NonstickError(f"{name} must be a tuple of arrays, one for each axis")
    return tuple(validate.numbers(a, f"{name}[{axis}]") for axis, a in enumerate(arrays))


def open_faces(phi_solid, weights, shape: tuple[int, ...]) -> Faces:
    """Open fractions, given or from the distance to the solid, checked."""
    if phi_solid is not None and weights is not None:
        raise NonstickError("give either phi_solid or weights, not both")
    if weights is not None:
        out = face_arrays("weights", weights, shape)
        for w in out:
            if not (w.size == 0 or (w.min() >= 0.0 and w.max() <= 1.0)):
                raise NonstickError("weights are open fractions: all of them must lie between 0 and 1")
        return out
    if phi_solid is None:
        return closed_box(shape)
    phi_solid = checked_array("phi_solid", phi_solid, tuple(n + 1 for n in shape), finite=False)
    return tuple(close_edges(w, axis) for axis, w in enumerate(open_fractions(phi_solid)))


def wall_area(weights: Faces) -> np.ndarray:
    """Area of the wall inside each cell over dx^(d-1), from the imbalance of the open fractions."""
    total = sum(np.diff(w, axis=axis) ** 2 for axis, w in enumerate(weights))
    return np.sqrt(np.asarray(total))


def open_cells(weights: Faces, shape: tuple[int, ...]) -> np.ndarray:
    """Cells with an open face inside the grid."""
    out = np.zeros(shape, bool)
    for axis, w in enumerate(weights):
        way = upper(lower(w, axis), axis) > 0
        for side in (lower, upper):
            np.logical_or(side(out, axis), way, out=side(out, axis))
    return out


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
