"""The box around a shape; sides that do not end are infinite."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..grid import shapes as sd
from ..scenes.mesh import MeshShape


def bounds(shape: sd.Shape, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of a box that holds the shape: tight for primitives, safe for combinations."""
    d = dimension
    everything = np.full(d, -np.inf), np.full(d, np.inf)
    if isinstance(shape, sd.Ball):
        c = np.array(shape.centre, float)
        return c - shape.radius, c + shape.radius
    if isinstance(shape, sd.Box):
        return np.array(shape.low, float), np.array(shape.high, float)
    if isinstance(shape, sd.Capsule):
        a, b = np.array(shape.start, float), np.array(shape.end, float)
        return np.minimum(a, b) - shape.radius, np.maximum(a, b) + shape.radius
    if isinstance(shape, sd.Torus):
        c = np.array(shape.centre, float)
        reach = np.full(d, shape.major)
        if d == 3:
            n = np.array(shape.axis, float)
            reach = shape.major * np.sqrt(np.maximum(1.0 - (n / np.linalg.norm(n)) ** 2, 0.0))
        return c - reach - shape.minor, c + reach + shape.minor
    if isinstance(shape, MeshShape):
        return shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    if isinstance(shape, sd.Shell):
        low, high = bounds(shape.shape, d)
        return low - 0.5 * shape.thickness, high + 0.5 * shape.thickness
    if isinstance(shape, sd.Moved):
        low, high = bounds(shape.shape, d)
        return low + np.array(shape.offset), high + np.array(shape.offset)
    if isinstance(shape, sd.Rotated):
        low, high = bounds(shape.shape, d)
        if not np.isfinite([low, high]).all():
            return everything
        if isinstance(shape.shape, sd.Ball):
            middle = _turn(shape, 0.5 * (low + high)[None], d)[0]
            return middle - 0.5 * (high - low), middle + 0.5 * (high - low)
        corners = _turn(shape, np.array(list(product(*zip(low, high)))), d)
        return corners.min(axis=0), corners.max(axis=0)
    if isinstance(shape, (sd.Union, sd.Intersection)):
        parts = [bounds(s, d) for s in shape.shapes]
        inner, outer = (np.max, np.min) if isinstance(shape, sd.Intersection) else (np.min, np.max)
        return inner([p[0] for p in parts], axis=0), outer([p[1] for p in parts], axis=0)
    return everything


def _turn(shape: sd.Rotated, points: np.ndarray, d: int) -> np.ndarray:
    centre = np.array(shape.centre if shape.centre is not None else (0.0,) * d)
    return (points - centre) @ shape.matrix(d).T + centre
