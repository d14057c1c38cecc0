"""Fields over cells: masks made wider, velocity from particles, and values at any point.

A cell takes the mean velocity of its particles. Beyond them it is extrapolated, as in the simulation, because a surface
lies up to half a cell outside the particles, and programs that blur or move things look a little further.
"""

from __future__ import annotations

import numpy as np

from ...grid._extrapolate import _extrapolate
from ...kernels import parallel, prange, serial
from ...kernels._interpolate import _sample
from .frame import in_space


def widen(mask: np.ndarray, r: int, outside: bool = False) -> np.ndarray:
    """Cells within r of one in the mask along every axis, as uint8; `outside` says whether those beyond are in it."""
    out = np.array(mask, np.uint8, order="C")
    for axis in range(out.ndim):
        before, part = out.copy(), [slice(None)] * out.ndim
        for d in range(1, r + 1):
            part[axis] = slice(d, None)
            later = tuple(part)
            part[axis] = slice(None, -d)
            sooner = tuple(part)
            out[later] |= before[sooner]
            out[sooner] |= before[later]
        if outside:
            for rim in (slice(None, r), slice(-r, None)):
                part[axis] = rim
                out[tuple(part)] = 1
    return out


#: layers of air that get a velocity
LAYERS = 3


def on_cells(
    position: np.ndarray, values: np.ndarray, shape: tuple[int, ...], dx: float, layers: int = LAYERS
) -> np.ndarray:
    """Values of particles (n, up to 3) over cells, `[component, i, j(, k)]`, float32; zero far from the liquid.

    Beyond cells with particles they are extrapolated over some layers.
    """
    three, components = (1,) * (3 - len(shape)) + shape, values.shape[1]
    field, count = np.zeros((3, *three), np.float32), np.zeros(three, np.int32)
    if len(position):
        x, v = _lift(np.asarray(position, np.float32)), in_space(np.asarray(values, np.float32))
        _means(field, count, x, v, np.float32(1.0 / dx))
        for part in field[:components]:
            continued = part.astype(float)
            _extrapolate(continued, (count > 0).view(np.int8), np.empty(count.size, np.int32), layers)
            part[:] = continued
    return field[:components].reshape(components, *shape)


def at_points(cells: np.ndarray, points: np.ndarray, dx: float) -> np.ndarray:
    """Values at points (n, d) in metres of fields over cells `[component, i, j(, k)]`, linear between centres."""
    n, *shape = cells.shape
    out = np.empty((len(points), n), np.float32)
    _values(out, cells.reshape(n, *(1,) * (3 - len(shape)), *shape), _lift(points), 1.0 / dx)
    return out


def _lift(points: np.ndarray) -> np.ndarray:
    """Points with three coordinates; the first one is zero in 2D."""
    return np.pad(points, ((0, 0), (3 - points.shape[1], 0)))


def on_faces(cells: np.ndarray) -> list[np.ndarray]:
    """Staggered velocity: component a at the lower face of each cell along axis a, the mean of both sides."""
    out = []
    for a, field in enumerate(cells):
        before = np.concatenate([np.take(field, [0], a), np.take(field, range(field.shape[a] - 1), a)], axis=a)
        out.append(0.5 * (before + field))
    return out


@serial
def _means(out, count, x, v, scale):
    """Means (3, i, j, k) of the values (n, 3) of the particles (n, 3) in each cell, and their number; zero on entry.

    Particles of a cell mostly follow each other, so sums go to memory when the cell changes.
    """
    _, nx, ny, nz = out.shape
    flat, counts, last = out.reshape(3, -1), count.reshape(-1), -1
    some, s0, s1, s2 = 0, np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for p in range(len(x) + 1):
        q = -1
        if p < len(x):
            i = min(max(int(x[p, 0] * scale), 0), nx - 1)
            j = min(max(int(x[p, 1] * scale), 0), ny - 1)
            q = (i * ny + j) * nz + min(max(int(x[p, 2] * scale), 0), nz - 1)
        if q != last:
            if last >= 0:
                counts[last] += some
                flat[0, last] += s0
                flat[1, last] += s1
                flat[2, last] += s2
            last, some, s0, s1, s2 = q, 0, np.float32(0.0), np.float32(0.0), np.float32(0.0)
        if q >= 0:
            some += 1
            s0 += v[p, 0]
            s1 += v[p, 1]
            s2 += v[p, 2]
    for q in range(len(counts)):
        if counts[q] > 1:
            for axis in range(3):
                flat[axis, q] /= counts[q]


@parallel
def _values(out, cells, points, scale):
    """Values (n, components) of fields over cells at points (n, 3)."""
    for p in prange(len(points)):
        a, b, c = points[p, 0] * scale - 0.5, points[p, 1] * scale - 0.5, points[p, 2] * scale - 0.5
        for axis in range(len(cells)):
            out[p, axis] = _sample(cells[axis], a, b, c)
