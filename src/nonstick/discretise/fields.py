"""Fields given to a discretisation: their checks, what follows from them, and the same on a grid twice as coarse."""

from __future__ import annotations

import numpy as np

from ..core import validate
from ..errors import NonstickError, brief
from ..grid.faces import lower, upper
from ..grid.fractions import close_edges, closed_box, open_fractions, open_part

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


# -- on a grid twice as coarse (Chentanez–Müller, algorithm 1 lines 1-7); odd sizes repeat their last layer ---------


def coarse_fluxes(weights: Faces, velocity: Faces, solid: Faces | None) -> tuple[Faces, Faces, Faces | None]:
    """Open fractions of the coarse faces, and velocities of liquid and solids that carry the same flux."""
    out_weights, out_velocity, out_solid = [], [], []
    for axis, w in enumerate(weights):
        w, u = np.asarray(w, dtype=np.float64), velocity[axis]
        mean = face_mean(w, axis)
        flux = face_mean(np.where(w > 0, w * u, 0.0), axis)
        out_weights.append(mean)
        out_velocity.append(np.divide(flux, mean, out=np.zeros_like(flux), where=mean > 0))
        if solid is not None:
            flux = face_mean((1.0 - w) * solid[axis], axis)
            out_solid.append(np.divide(flux, 1.0 - mean, out=np.zeros_like(flux), where=mean < 1))
    return tuple(out_weights), tuple(out_velocity), None if solid is None else tuple(out_solid)


def coarse_phi(phi: np.ndarray, weights: Faces, dx: float, keep_bubbles: bool) -> np.ndarray:
    """Mean distance of the children with an open face; to keep bubbles, of its children in air, if it has any."""
    part = children(np.asarray(phi, dtype=np.float64))
    open_child = children(open_part(weights) > 0)
    open_child |= ~open_child.any(axis=0)
    part = np.where(np.isfinite(part), part, dx * sum(phi.shape))
    count = open_child.sum(axis=0)
    mean = np.where(open_child, part, 0.0).sum(axis=0) / count
    if not keep_bubbles:
        return mean
    air = open_child & (part >= 0)
    airs = air.sum(axis=0)
    positive = np.where(air, part, 0.0).sum(axis=0) / np.maximum(airs, 1)
    return np.where((airs > 0) & (airs < count), positive, mean)


def children(a: np.ndarray) -> np.ndarray:
    """(2^d, *coarse shape): the children of every coarse cell."""
    a = _even(a, range(a.ndim))
    parts = [a]
    for axis in range(a.ndim):
        parts = [np.take(p, np.arange(s, p.shape[axis], 2), axis) for p in parts for s in (0, 1)]
    return np.stack(parts)


def face_mean(a: np.ndarray, axis: int) -> np.ndarray:
    """Mean over the fine faces that make up each coarse face normal to `axis`."""
    cells = a.shape[axis] - 1
    if cells % 2:  # the coarse grid extends one fine cell further: the border value is used there
        pad = [(0, int(x == axis)) for x in range(a.ndim)]
        a = np.pad(a, pad, mode="edge")
    a = np.take(a, np.arange(0, a.shape[axis], 2), axis)
    across = [x for x in range(a.ndim) if x != axis]
    a = _even(a, across)
    for x in across:
        even, odd = [slice(None)] * a.ndim, [slice(None)] * a.ndim
        even[x], odd[x] = slice(0, None, 2), slice(1, None, 2)
        a = 0.5 * (a[tuple(even)] + a[tuple(odd)])
    return a


def _even(a: np.ndarray, axes) -> np.ndarray:
    """Repeat the last layer along axes of odd length."""
    pad = [(0, a.shape[x] % 2 if x in axes else 0) for x in range(a.ndim)]
    return np.pad(a, pad, mode="edge") if any(p[1] for p in pad) else a
