"""The initial velocity of a liquid in a scene: a translation and a rotation."""

from __future__ import annotations

import numpy as np

from ...scenes.schema import Liquid


def first_velocity(spec: Liquid, size, points) -> list[np.ndarray | float]:
    """The components of a liquid's initial velocity at points (metres); `size` is the size of the domain."""
    out: list[np.ndarray | float] = list(spec.velocity or (0.0,) * len(points))
    if spec.spin:
        about = spec.about or [0.5 * s for s in size]
        out = [v + rotation(spec.spin, spec.axis, about, a, points) for a, v in enumerate(out)]
    return out


def first_gradient(spec: Liquid, dx: float, dimension: int) -> np.ndarray:
    """The gradient (d, d) of that velocity, in m/s per cell."""
    steps = dx * np.eye(dimension)
    origin = (0.0,) * dimension
    return np.array([[rotation(spec.spin, spec.axis, origin, a, e) for e in steps] for a in range(dimension)])


def rotation(spin: float, turning: tuple[float, ...], about, axis: int, points) -> np.ndarray:
    """One component of a rotation by `spin` degrees per second about a point (3D: about the direction `turning`)."""
    rate = float(np.radians(spin))
    r = [p - c for p, c in zip(points, about)]
    if len(r) == 2:
        return -rate * r[1] if axis == 0 else rate * r[0]
    n = np.asarray(turning, float) / np.linalg.norm(turning) * rate
    b, c = (axis + 1) % 3, (axis + 2) % 3
    return n[b] * r[c] - n[c] * r[b]
