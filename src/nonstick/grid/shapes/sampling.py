"""Probes of any bounded shape, found from its distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .base import Probes, Shape

#: lattice cells along the longest side
LATTICE = {2: 48, 3: 24}


def sample_surface(shape: Shape, d: int, pieces: Sequence[Shape] = ()) -> Probes:
    """Lattice points near the surface, moved onto it, and onto the edges where two of its `pieces` meet."""
    low, high = shape.bounds(d)
    if not np.isfinite([low, high]).all():
        return Probes.none(d)
    side = high - low
    h = float(side.max()) / LATTICE[d]
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
