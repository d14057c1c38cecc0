"""Prescribed rigid motion of walls and sources: shift + oscillation + rotation about a point that moves along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..grid.shapes import Shape
from ..scenes.schema import Motion


@dataclass(frozen=True)
class Mover:
    """A motion in a domain of the given size; the middle of the domain is the default centre of rotation."""

    motion: Motion
    size: tuple[float, ...]

    def clock(self, time: float) -> float:
        """Seconds the motion has lasted."""
        motion = self.motion
        stop = np.inf if motion.stop is None else motion.stop
        return min(max(time - motion.start, 0.0), max(stop - motion.start, 0.0))

    def rests(self, time: float) -> bool:
        motion = self.motion
        return time < motion.start or (motion.stop is not None and time > motion.stop)

    @property
    def about(self) -> np.ndarray:
        return np.array(self.motion.about if self.motion.about is not None else [0.5 * s for s in self.size])

    def offset(self, time: float) -> np.ndarray:
        motion, t = self.motion, self.clock(time)
        out = np.zeros(len(self.size))
        if motion.velocity is not None:
            out += t * np.array(motion.velocity)
        if motion.amplitude is not None:
            out += np.sin(2 * np.pi * motion.frequency * t) * np.array(motion.amplitude)
        return out

    def placed(self, shape: Shape, time: float) -> Shape:
        """Where a shape given at time 0 is at `time`."""
        if self.motion.spin:
            angle = float(np.radians(self.motion.spin) * self.clock(time))
            shape = shape.rotate(angle, tuple(self.motion.axis), tuple(self.about))
        return shape.move(tuple(self.offset(time)))

    def velocity(self, axis: int, points, time: float) -> np.ndarray | float:
        """One component of the velocity at points."""
        motion = self.motion
        if self.rests(time):
            return 0.0
        t = self.clock(time)
        out: np.ndarray | float = 0.0
        if motion.velocity is not None:
            out = out + motion.velocity[axis]
        if motion.amplitude is not None:
            rate = 2 * np.pi * motion.frequency
            out = out + rate * np.cos(rate * t) * motion.amplitude[axis]
        if motion.spin:
            out = out + rotation(motion.spin, motion.axis, self.about + self.offset(time), axis, points)
        return out


def rotation(spin: float, turning: tuple[float, ...], about, axis: int, points) -> np.ndarray:
    """One component of a rotation by `spin` degrees per second about a point (3D: about the direction `turning`)."""
    rate = float(np.radians(spin))
    r = [p - c for p, c in zip(points, about)]
    if len(r) == 2:
        return -rate * r[1] if axis == 0 else rate * r[0]
    n = np.asarray(turning, float) / np.linalg.norm(turning) * rate
    b, c = (axis + 1) % 3, (axis + 2) % 3
    return n[b] * r[c] - n[c] * r[b]
