"""Fields of a pressure problem on a grid twice as coarse (Chentanez–Müller, algorithm 1 lines 1-7).

Odd sizes repeat their last layer.
"""

from __future__ import annotations

import numpy as np

from ..grid.fractions import open_part

Faces = tuple[np.ndarray, ...]


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
