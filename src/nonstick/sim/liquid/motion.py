"""The velocity of a rotation."""

from __future__ import annotations

import numpy as np


def rotation(spin: float, turning: tuple[float, ...], about, axis: int, points) -> np.ndarray:
    """One component of a rotation by `spin` degrees per second about a point (3D: about the direction `turning`)."""
    rate = float(np.radians(spin))
    r = [p - c for p, c in zip(points, about)]
    if len(r) == 2:
        return -rate * r[1] if axis == 0 else rate * r[0]
    n = np.asarray(turning, float) / np.linalg.norm(turning) * rate
    b, c = (axis + 1) % 3, (axis + 2) % 3
    return n[b] * r[c] - n[c] * r[b]
