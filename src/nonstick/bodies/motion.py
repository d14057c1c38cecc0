"""Prescribed motion: position and velocity of a solid or a body at any time.

    x(t) = about + offset(t) + R(angle(t)) (x₀ - about)

offset and angle are sums of the parts that the scene gives: constant velocity and spin, an oscillation, formulas of t,
and keyframes. The axis of the rotation does not change; the clock stands still before `start` and after `stop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..errors import NonstickError
from ..grid.shapes import Shape, Vector
from .body import point_velocity
from .expression import Expression


class Keys(Protocol):
    """Shifts and turns (degrees) at given times; the path between them is `smooth` without overshoot, or straight."""

    @property
    def times(self) -> tuple[float, ...]: ...
    @property
    def offsets(self) -> tuple[Vector, ...] | None: ...
    @property
    def angles(self) -> tuple[float, ...] | None: ...
    @property
    def smooth(self) -> bool: ...


class Motion(Protocol):
    """The parts of a motion, as in the table `motion` of a scene. Angles are in degrees, other values in SI units."""

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
    """A prescribed motion: position and velocity of a shape at any time.

    Parameters
    ----------
    motion : Motion
        The parts of the motion, for example the table `motion` of a scene.
    about : sequence of float
        Centre of its rotation at the beginning, if the motion does not give one.
    dimension : int
        2 or 3.

    Examples
    --------
    >>> from nonstick.bodies import Prescribed
    >>> from nonstick.scenes.schema import MotionTable
    >>> lift = Prescribed(MotionTable(position=("0", "0.5*t")), (0.0, 0.0), 2)
    >>> offset, angle, rate, spin = lift.at(2.0)
    >>> offset.tolist(), rate.tolist()
    ([0.0, 1.0], [0.0, 0.5])
    """

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
            raise NonstickError(f"motion.position has {len(self.position)} formulas, but the scene is {dimension}D")
        self.angle = None if motion.angle is None else _formula(motion.angle, "angle")
        self.shifts: _Keyframes | None = None
        self.turns: _Keyframes | None = None
        keys = motion.keys
        if keys is not None and keys.offsets is not None:
            if any(len(o) != dimension for o in keys.offsets):
                raise NonstickError(f"motion.keys.offsets: each offset needs {dimension} coordinates")
            self.shifts = _Keyframes(keys.times, np.array(keys.offsets), keys.smooth)
        if keys is not None and keys.angles is not None:
            self.turns = _Keyframes(keys.times, np.array(keys.angles)[:, None], keys.smooth)

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
        if self.shifts is not None:
            value, slope = self.shifts(t)
            offset += value
            rate += slope
        if self.turns is not None:
            value, slope = self.turns(t)
            angle += np.radians(value[0])
            spin += np.radians(slope[0])
        if time < motion.start or (motion.stop is not None and time > motion.stop):
            rate, spin = np.zeros(self.d), 0.0
        return offset, float(angle), rate, float(spin)

    def placed(self, shape: Shape, time: float) -> Shape:
        """The position at `time` of a shape given at time 0."""
        offset, angle, _, _ = self.at(time)
        if angle:
            shape = shape.rotate(angle, tuple(self.motion.axis), tuple(self.about))
        return shape.move(tuple(offset))

    def velocity(self, axis: int, points, time: float, since: float | None = None) -> np.ndarray | float:
        """One component of the velocity at points, coordinate arrays that broadcast.

        With `since` the mean velocity from then until `time` of what is at the points at the time `since`: the straight
        way to where it goes, over the time.
        """
        if since is None or since == time:
            offset, _, rate, spin = self.at(time)
            return float(rate[axis]) if not spin else self._turning(axis, points, rate, spin, 0.0, offset)
        offset, turn = self.at(since)[0], self.turn(since, time)
        rate = (self.at(time)[0] - offset) / (time - since)
        if not turn:
            return float(rate[axis])
        spin, shrink = np.sin(turn) / (time - since), (np.cos(turn) - 1.0) / (time - since)
        return self._turning(axis, points, rate, spin, shrink, offset)

    def turn(self, since: float, time: float) -> float:
        """The angle in radians by which the motion turns in this time."""
        return self.at(time)[1] - self.at(since)[1]

    def _turning(self, axis: int, points, rate: np.ndarray, spin: float, shrink: float, offset: np.ndarray):
        """v + ω × r + s r, without the part of r along the axis in the last term; r from the centre of rotation."""
        centre = self.about + offset
        out = point_velocity(rate, self.spin_vector(spin), centre, points)[axis]
        if not shrink:
            return out
        out = out + shrink * (points[axis] - centre[axis])
        if self.d == 3 and self.axis[axis]:
            along = sum(n * (x - c) for n, x, c in zip(self.axis, points, centre))
            out = out - shrink * self.axis[axis] * along
        return out

    def spin_vector(self, spin: float) -> np.ndarray:
        """The angular velocity: one number in 2D, a vector in 3D."""
        return np.array([spin]) if self.d == 2 else spin * self.axis


def _formula(text: str | float, key: str) -> Expression:
    try:
        return Expression(str(text))
    except NonstickError as error:
        raise NonstickError(f"motion.{key}: {error}") from None


class _Keyframes:
    """Value and slope between keys: straight lines, or cubics without overshoot; at rest before and after."""

    def __init__(self, times: Sequence[float], values: np.ndarray, smooth: bool):
        self.times, self.values = np.array(times, float), values.astype(float)
        self.smooth = smooth and len(self.times) > 1
        if self.smooth:
            from scipy.interpolate import CubicHermiteSpline, PchipInterpolator  # slow to load, rarely needed

            # The slopes are those of Fritsch and Carlson (1980) inside and zero at the ends, where SciPy's slopes would
            # make the velocity jump.
            slopes = PchipInterpolator(self.times, self.values).derivative()(self.times)
            slopes[[0, -1]] = 0.0
            self._curve = CubicHermiteSpline(self.times, self.values, slopes)
            self._slope = self._curve.derivative()

    def __call__(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        at, values = self.times, self.values
        if len(at) == 1 or t <= at[0]:
            return values[0], np.zeros(values.shape[1])
        if t >= at[-1]:
            return values[-1], np.zeros(values.shape[1])
        if self.smooth:
            return self._curve(t), self._slope(t)
        k = int(np.searchsorted(at, t, side="right")) - 1
        rise = (values[k + 1] - values[k]) / (at[k + 1] - at[k])
        return values[k] + (t - at[k]) * rise, rise
