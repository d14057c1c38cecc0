"""Open fractions of grid faces: the part of each face that liquid can pass.

2D: the part of the segment between two nodes with phi_solid >= 0. 3D: the area outside the solid by marching
squares on the four nodes; if two opposite corners are solid, the mean of the four nodes decides whether they are
connected. A wall lying exactly in a face closes it.
"""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError
from ..kernels._bodies import _cover
from ._fractions import _open_2d, _open_3d
from .faces import between, ends, lower, upper


def open_fractions(phi_solid: np.ndarray, largest: float | None = None) -> tuple[np.ndarray, ...]:
    """Open fraction of every face, one array per axis, from the solid distance at the nodes.

    `largest` is the largest size of the distance, if these nodes are only some of those of a larger grid.
    """
    phi = np.asarray(phi_solid)
    if phi.ndim not in (2, 3) or min(phi.shape) < 2:
        raise NonstickError(f"phi_solid must be a 2D or 3D array of nodes, not of shape {phi.shape}")
    dtype = np.float32 if phi.dtype == np.float32 else np.float64
    phi = np.ascontiguousarray(phi, dtype=dtype)
    largest = max(float(phi.max()), -float(phi.min()), largest or 0.0)
    if not np.isfinite(largest):
        raise NonstickError("phi_solid holds NaN or infinite values")
    # Two computations of the distance to one plane may differ in the last digits by rounding.
    eps = dtype(largest * 16 * np.finfo(dtype).eps)
    out = tuple(np.empty(tuple(n - (b != a) for b, n in enumerate(phi.shape)), dtype) for a in range(phi.ndim))
    (_open_2d if phi.ndim == 2 else _open_3d)(*out, phi, eps)
    return out


def closed_box(shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Fractions of an empty box: every face is open except those on the edge of the grid."""
    shapes = (tuple(n + (a == axis) for a, n in enumerate(shape)) for axis in range(len(shape)))
    return tuple(close_edges(np.ones(s), axis) for axis, s in enumerate(shapes))


def close_edges(w: np.ndarray, axis: int) -> np.ndarray:
    """Close the faces on the edge of the grid, in place."""
    w[ends(axis)] = 0.0
    return w


def centre_distance(phi_solid: np.ndarray) -> np.ndarray:
    """Solid distance at cell centres: the mean of the cell's nodes."""
    out = np.asarray(phi_solid)
    for axis in range(out.ndim):
        out = between(out, axis)
    return out


def open_part(weights: tuple[np.ndarray, ...]) -> np.ndarray:
    """Mean open fraction of the faces of each cell: below one half the cell counts as solid."""
    total = sum(upper(w, a) + lower(w, a) for a, w in enumerate(weights))
    return np.asarray(total) / (2 * len(weights))


def cover(phi: np.ndarray) -> tuple[np.ndarray, ...]:
    """Share of the cube of one cell around every face in which phi < 0 (at nodes, in cells), one array per axis.

    The body covers nothing outside the given nodes.
    """
    if not np.isfinite(phi).all():
        raise NonstickError("the distance of a body holds NaN or infinite values")
    d = phi.ndim
    lifted = np.ascontiguousarray(phi if d == 3 else np.repeat(phi[None], 2, axis=0), dtype=np.float64)
    halves = np.empty(tuple((1 if d == 2 and a == 0 else 2) * (n - 1) for a, n in enumerate(lifted.shape)))
    _cover(halves, lifted)
    halves = halves.reshape(halves.shape[3 - d :])
    out = []
    for axis in range(d):
        part = halves
        for a in range(d):
            if a == axis:  # the half-cubes below and above the face
                part = np.pad(part, [(1, 1) if b == a else (0, 0) for b in range(d)])
            even, odd = [slice(None)] * d, [slice(None)] * d
            even[a], odd[a] = slice(0, None, 2), slice(1, None, 2)
            part = 0.5 * (part[tuple(even)] + part[tuple(odd)])
        out.append(part)
    return tuple(out)
