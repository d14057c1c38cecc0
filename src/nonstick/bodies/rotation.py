"""Rotations: an angle in 2D, a unit quaternion (w, x, y, z) in 3D, both as arrays; matrices act on columns.

SciPy's `Rotation` gives the same numbers up to their last bits (the tests compare with it). It is not used here for two
reasons: other last bits would change the frames of scenes with bodies in 3D, and one call takes four times as long.
"""

from __future__ import annotations

import numpy as np


def identity(dimension: int) -> np.ndarray:
    return np.zeros(1) if dimension == 2 else np.array([1.0, 0.0, 0.0, 0.0])


def matrix(orientation: np.ndarray) -> np.ndarray:
    """The rotation matrix of an angle (one number) or a unit quaternion (four)."""
    if orientation.size == 1:
        c, s = np.cos(orientation[0]), np.sin(orientation[0])
        return np.array([[c, -s], [s, c]])
    w, x, y, z = orientation
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The quaternion of "first q, then p"."""
    w = p[0] * q[0] - p[1:] @ q[1:]
    return np.concatenate([[w], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])


def from_vector(turn: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation by |turn| radians about the direction of `turn`."""
    angle = float(np.sqrt(turn @ turn))
    # sin(a/2)/a without dividing by a vanishing angle
    half = 0.5 * np.sinc(0.5 * angle / np.pi)
    return np.concatenate([[np.cos(0.5 * angle)], half * turn])


def turned(orientation: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The orientation after a further rotation by the vector (2D: the angle) `turn`, given in world axes."""
    if orientation.size == 1:
        return orientation + turn
    q = product(from_vector(turn), orientation)
    return q / np.sqrt(q @ q)


def cross(spin: np.ndarray, r: np.ndarray) -> np.ndarray:
    """spin × r for a column r or an array of columns (d, n); spin has one entry in 2D."""
    if spin.size == 1:
        return np.stack([-spin[0] * r[1], spin[0] * r[0]])
    return np.stack([spin[1] * r[2] - spin[2] * r[1], spin[2] * r[0] - spin[0] * r[2], spin[0] * r[1] - spin[1] * r[0]])
