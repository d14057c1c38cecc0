"""The initial velocity of a liquid in a scene: numbers or formulas of the place, and a rotation."""

from __future__ import annotations

import numpy as np

from ...bodies.expression import Expression
from ...errors import NonstickError
from ...scenes.schema import Liquid

#: names of the coordinates in formulas
COORDINATES = ("x", "y", "z")


def first_velocity(spec: Liquid, size, points, where: str = "") -> list[np.ndarray | float]:
    """The components of a liquid's initial velocity at points (metres).

    `size` is the size of the domain, `where` what messages begin with.
    """
    given = spec.velocity or (0.0,) * len(points)
    try:
        out: list[np.ndarray | float] = [
            _formula(v, len(points)).field(*points)[0] if isinstance(v, str) else v for v in given
        ]
    except NonstickError as error:
        raise NonstickError(f"{where}.velocity: {error}") from None
    if spec.spin:
        about = spec.about or [0.5 * s for s in size]
        out = [v + rotation(spec.spin, spec.axis, about, a, points) for a, v in enumerate(out)]
    return out


def first_gradient(spec: Liquid, dx: float, points) -> np.ndarray:
    """The gradient (d, d, n) of that velocity at points, in m/s per cell."""
    d, n = len(points), np.size(points[0])
    out = np.zeros((d, d, n))
    if spec.spin:
        steps, origin = dx * np.eye(d), (0.0,) * d
        turn = [[rotation(spec.spin, spec.axis, origin, a, e) for e in steps] for a in range(d)]
        out += np.array(turn)[:, :, None]
    for a, v in enumerate(spec.velocity or ()):
        if isinstance(v, str):
            out[a] += dx * np.array(_formula(v, d).field(*points)[1])
    return out


def varies(spec: Liquid) -> bool:
    """True if the initial velocity is not the same everywhere."""
    return bool(spec.spin) or any(isinstance(v, str) for v in spec.velocity or ())


def _formula(text: str, dimension: int) -> Expression:
    return Expression(text, COORDINATES[:dimension])


def rotation(spin: float, turning: tuple[float, ...], about, axis: int, points) -> np.ndarray:
    """One component of a rotation by `spin` degrees per second about a point (3D: about the direction `turning`)."""
    rate = float(np.radians(spin))
    r = [p - c for p, c in zip(points, about)]
    if len(r) == 2:
        return -rate * r[1] if axis == 0 else rate * r[0]
    n = np.asarray(turning, float) / np.linalg.norm(turning) * rate
    b, c = (axis + 1) % 3, (axis + 2) % 3
    return n[b] * r[c] - n[c] * r[b]
