"""Velocity on cells from particles, and at any point from cells.

A cell takes the mean of its particles. Cells without particles take the mean of the neighbours that have a velocity,
layer by layer, because a surface lies up to half a cell outside the particles, and programs that blur or move things
look a little further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import prange

from ..kernels import parallel

if TYPE_CHECKING:
    from .frame import Frame

#: layers of air that get a velocity
LAYERS = 3


def on_cells(frame: Frame) -> np.ndarray:
    """Velocity at cell centres, `[axis, i, j(, k)]`, float32; zero far from the liquid."""
    shape, d = frame.grid.shape, frame.dimension
    out = np.zeros((d, *shape), np.float32)
    x, v = frame.get("position"), frame.get("velocity")
    if x is None or v is None or not len(x):
        return out
    size = int(np.prod(shape))
    flat = np.ravel_multi_index(
        tuple(np.clip((x / np.float32(frame.dx)).astype(np.int64), 0, np.array(shape) - 1).T), shape
    )
    count = np.bincount(flat, minlength=size)
    for a in range(d):
        out[a] = (np.bincount(flat, v[:, a], minlength=size) / np.maximum(count, 1)).reshape(shape)
    three = (1,) * (3 - d) + shape
    field = out.reshape(d, *three)
    known = (count > 0).reshape(three)
    for _ in range(LAYERS):
        wider = np.empty_like(known)
        _spread(field, wider, field.copy(), known)
        known = wider
    return out


def at_points(cells: np.ndarray, points: np.ndarray, dx: float) -> np.ndarray:
    """Values at points (n, d) in metres of fields over cells `[component, i, j(, k)]`, linear between centres."""
    from scipy.ndimage import map_coordinates

    where = (points / dx - 0.5).T
    return np.stack([map_coordinates(c, where, order=1, mode="nearest") for c in cells], axis=1).astype(np.float32)


def on_faces(cells: np.ndarray) -> list[np.ndarray]:
    """Staggered velocity: component a at the lower face of each cell along axis a, the mean of both sides."""
    out = []
    for a, field in enumerate(cells):
        before = np.concatenate([np.take(field, [0], a), np.take(field, range(field.shape[a] - 1), a)], axis=a)
        out.append(0.5 * (before + field))
    return out


@parallel
def _spread(out, wider, source, known):
    """One more layer: a cell that is not known becomes the mean of its known neighbours (26 of them)."""
    d, nx, ny, nz = out.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                wider[i, j, k] = known[i, j, k]
                if known[i, j, k]:
                    continue
                count = 0
                for a in range(max(i - 1, 0), min(i + 2, nx)):
                    for b in range(max(j - 1, 0), min(j + 2, ny)):
                        for c in range(max(k - 1, 0), min(k + 2, nz)):
                            if known[a, b, c]:
                                count += 1
                                for axis in range(d):
                                    out[axis, i, j, k] += source[axis, a, b, c]
                if count > 0:
                    wider[i, j, k] = True
                    for axis in range(d):
                        out[axis, i, j, k] /= count
