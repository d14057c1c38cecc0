"""Moments and probes of any bounded shape, from its distance alone.

Volume, centre and second moments are sums over the cells of a fine lattice, each filled by clip(½ - φ/h, 0, 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import NonstickError
from .base import Moments, Probes, Shape

#: lattice cells of the quadrature
POINTS = {2: 400_000, 3: 1_000_000}


def integrate(shape: Shape, d: int) -> Moments:
    """The moments of a bounded shape, from its distance alone."""
    low, high = shape.bounds(d)
    if not np.isfinite([low, high]).all():
        raise NonstickError(
            "a body needs a bounded shape: a half-space or the outside of a shape has no finite mass; "
            'intersect it with a box (type = "intersection")'
        )
    side = high - low
    if (side <= 0).any():
        raise NonstickError("the shape is empty, so it has no mass; check its keys")
    h = float((np.prod(side) / POINTS[d]) ** (1 / d))
    h = max(h, float(side.max()) / 2000)
    axes = [np.arange(max(1, int(np.ceil(s / h)))) for s in side]
    steps = [s / len(n) for s, n in zip(side, axes)]
    points = [lo + (n + 0.5) * step for lo, n, step in zip(low, axes, steps)]
    mesh = np.meshgrid(*points, indexing="ij", sparse=True)
    share = np.clip(0.5 - shape.sample(tuple(mesh)) / h, 0.0, 1.0)
    if not share.max() > 0.5:  # a surface without an inside fills the cells it runs through by up to a half
        raise NonstickError(f"the shape is empty, or thinner than {h:.1g}, so it has no mass; check its keys")
    cell = float(np.prod(steps))
    volume = float(share.sum()) * cell
    sums = [share.sum(axis=tuple(b for b in range(d) if b != a)) for a in range(d)]
    centre = np.array([float(s @ x) for s, x in zip(sums, points)]) * cell / volume
    second = np.zeros((d, d))
    for a in range(d):
        r = points[a] - centre[a]
        # the second moment of the cell itself is added, so that the result for a box is exact
        second[a, a] = float(sums[a] @ (r * r + steps[a] ** 2 / 12)) * cell
        for b in range(a):
            plane = share if d == 2 else share.sum(axis=3 - a - b)
            second[a, b] = second[b, a] = float((points[b] - centre[b]) @ plane @ r) * cell
    return Moments(volume, centre, second)


#: lattice cells along the longest side
LATTICE = {2: 48, 3: 24}


def sample_surface(shape: Shape, d: int, pieces: Sequence[Shape] = ()) -> Probes:
    """Lattice points near the surface, moved onto it, and onto the edges where two of its `pieces` meet."""
    low, high = shape.bounds(d)
    with np.errstate(over="ignore", invalid="ignore"):
        side = high - low
    h = float(side.max()) / LATTICE[d]
    if not np.isfinite([low, high, side]).all() or h <= 0.0:  # without bounds, or too small to have places
        return Probes.none(d)
    axes = [lo - h + h * np.arange(int(np.ceil(s / h)) + 3) for lo, s in zip(low, side)]
    x = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")])
    x = x[:, np.abs(np.asarray(shape(*x))) < h]
    step = 1e-4 * h
    smooth = _onto([shape], x, step)
    smooth = smooth[:, np.abs(np.asarray(shape(*smooth))) < 1e-3 * h]
    parts = [Probes.flat(smooth, shape.gradient(smooth, step))]
    for i in range(len(pieces)):
        for j in range(i):
            edge = _onto([pieces[i], pieces[j]], x, step)
            on = np.maximum(*(np.abs(np.asarray(p(*edge))) for p in (pieces[i], pieces[j]))) < 1e-3 * h
            on &= np.abs(np.asarray(shape(*edge))) < 1e-3 * h
            edge = edge[:, on]
            # both faces of an edge, as for boxes
            parts += [Probes.flat(edge, p.gradient(edge, step)) for p in (pieces[i], pieces[j])]
    joined = Probes.join(parts, d)
    # one probe per lattice cell and direction
    key = np.concatenate([np.round(joined.x / (0.5 * h)), np.round(2 * joined.normal)]).astype(np.int64)
    _, first = np.unique(key, axis=1, return_index=True)
    first.sort()
    return joined.keep(first)


def _onto(pieces: list[Shape], x: np.ndarray, step: float) -> np.ndarray:
    """Points moved onto the common surface of all pieces, onto one piece after the other."""
    for _ in range(12):
        for piece in pieces:
            if x.shape[1]:
                x = x - np.asarray(piece(*x)) * piece.gradient(x, step)
    return x
