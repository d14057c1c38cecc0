"""Prescribed motion: where a solid or a body is at a time, and how fast it moves there.

    x(t) = about + offset(t) + R(angle(t)) (x₀ - about)

offset and angle are sums of what the scene gives: constant velocity and spin, an oscillation, formulas of
t, and keyframes. The axis of the rotation stays; the clock stands still before `start` and after `stop`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ..errors import NonstickError
from ..grid.shapes import Shape, Vector
from .body import point_velocity
from .expression import Expression


class Keys(Protocol):
    """Shifts and turns (degrees) at given times; `smooth` without overshoot, or in straight lines."""

    @property
    def times(self) -> tuple[float, ...]: ...
    @property
    def offsets(self) -> tuple[Vector, ...] | None: ...
    @property
    def angles(self) -> tuple[float, ...] | None: ...
    @property
    def smooth(self) -> bool: ...


class Motion(Protocol):
    """What a motion is made of; the table `motion` of a scene is one. Angles are in degrees, all else in SI units."""

    @property
    def velocity(self) -> Vector | None: ...
    @property
    def amplitude(self) -> Vector | None: ...
    @property
    def frequency(self) -> float: ...
    @property
    def spin(self) -> float: ...
    @property
    def axis(self) -> Vector: ...
    @property
    def about(self) -> Vector | None: ...
    @property
    def position(self) -> tuple[str | float, ...] | None: ...
    @property
    def angle(self) -> str | None: ...
    @property
    def keys(self) -> Keys | None: ...
    @property
    def start(self) -> float: ...
    @property
    def stop(self) -> float | None: ...


class Prescribed:
    """A motion made callable; `about` is the centre of its rotation at the beginning."""

    def __init__(self, motion: Motion, about, dimension: int):
        self.motion, self.d = motion, dimension
        self.about = np.array(about if motion.about is None else motion.about, float)
        axis = np.array(motion.axis, float)
        length = float(np.linalg.norm(axis))
        if dimension == 3 and (len(axis) != 3 or not length > 0):
            raise NonstickError("motion.axis must have three coordinates, not all zero")
        #: unit axis in 3D
        self.axis = axis / length if length > 0 else axis
        self.position = None if motion.position is None else [_formula(p, "position") for p in motion.position]
        if self.position is not None and len(self.position) != dimension:
            raise NonstickError(
                f"motion.position has {len(self.position)} formulas, but the scene is {dimension}-dimensional"
            )
        self.angle = None if motion.angle is None else _formula(motion.angle, "angle")
        self.keys = motion.keys
        if self.keys is not None and self.keys.offsets and any(len(o) != dimension for o in self.keys.offsets):
            raise NonstickError(f"motion.keys.offsets need {dimension} coordinates each")

    def clock(self, time: float) -> float:
        stop = np.inf if self.motion.stop is None else self.motion.stop
        return min(max(time - self.motion.start, 0.0), max(stop - self.motion.start, 0.0))

    def at(self, time: float) -> tuple[np.ndarray, float, np.ndarray, float]:
        """Offset, angle (radians), and the rates of both."""
        motion = self.motion
        t = self.clock(time)
        offset, rate = np.zeros(self.d), np.zeros(self.d)
        angle, spin = np.radians(motion.spin) * t, np.radians(motion.spin)
        if motion.velocity is not None:
            offset += t * np.array(motion.velocity)
            rate += np.array(motion.velocity)
        if motion.amplitude is not None:
            w = 2 * np.pi * motion.frequency
            offset += np.sin(w * t) * np.array(motion.amplitude)
            rate += w * np.cos(w * t) * np.array(motion.amplitude)
        if self.position is not None:
            pairs = np.array([f(t) for f in self.position])
            offset += pairs[:, 0]
            rate += pairs[:, 1]
        if self.angle is not None:
            turn, turning = self.angle(t)
            angle += np.radians(turn)
            spin += np.radians(turning)
        if self.keys is not None:
            if self.keys.offsets is not None:
                value, slope = _between(self.keys.times, np.array(self.keys.offsets), self.keys.smooth, t)
                offset += value
                rate += slope
            if self.keys.angles is not None:
                value, slope = _between(self.keys.times, np.array(self.keys.angles)[:, None], self.keys.smooth, t)
                angle += np.radians(value[0])
                spin += np.radians(slope[0])
        if time < motion.start or (motion.stop is not None and time > motion.stop):
            rate, spin = np.zeros(self.d), 0.0
        return offset, float(angle), rate, float(spin)

    def placed(self, shape: Shape, time: float) -> Shape:
        """Where a shape given at time 0 is at `time`."""
        offset, angle, _, _ = self.at(time)
        if angle:
            shape = shape.rotate(angle, tuple(self.motion.axis), tuple(self.about))
        return shape.move(tuple(offset))

    def velocity(self, axis: int, points, time: float) -> np.ndarray | float:
        """One component of the velocity at points, coordinate arrays that broadcast."""
        offset, _, rate, spin = self.at(time)
        if not spin:
            return float(rate[axis])
        return point_velocity(rate, self.spin_vector(spin), self.about + offset, points)[axis]

    def spin_vector(self, spin: float) -> np.ndarray:
        """The angular velocity: one number in 2D, a vector in 3D."""
        return np.array([spin]) if self.d == 2 else spin * self.axis


def _formula(text: str | float, key: str) -> Expression:
    try:
        return Expression(str(text))
    except NonstickError as error:
        raise NonstickError(f"motion.{key}: {error}") from None


def _between(times, values: np.ndarray, smooth: bool, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope at t: straight lines, or cubics without overshoot (Fritsch & Carlson 1980)."""
    at = np.array(times, float)
    still = np.zeros(values.shape[1])
    if len(at) == 1 or t <= at[0]:
        return values[0].astype(float), still
    if t >= at[-1]:
        return values[-1].astype(float), still
    k = int(np.searchsorted(at, t, side="right")) - 1
    h = at[k + 1] - at[k]
    s = (t - at[k]) / h
    if not smooth:
        rise = (values[k + 1] - values[k]) / h
        return values[k] + s * h * rise, rise
    m = _slopes(at, values)
    a, b = values[k], values[k + 1]
    c, d = h * m[k], h * m[k + 1]
    value = (1 + 2 * s) * (1 - s) ** 2 * a + s * (1 - s) ** 2 * c + s * s * (3 - 2 * s) * b + s * s * (s - 1) * d
    slope = 6 * s * (s - 1) * (a - b) + (1 - s) * (1 - 3 * s) * c + s * (3 * s - 2) * d
    return value, slope / h


def _slopes(at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Slopes at the keys: the weighted harmonic mean of both sides where they agree in sign, zero at the ends."""
    h = np.diff(at)[:, None]
    rise = np.diff(values, axis=0) / h
    m = np.zeros(values.shape)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    left, right = rise[:-1], rise[1:]
    agree = left * right > 0
    below = np.where(agree, w1 / np.where(agree, left, 1.0) + w2 / np.where(agree, right, 1.0), 1.0)
    m[1:-1] = np.where(agree, (w1 + w2) / below, 0.0)
    return m
