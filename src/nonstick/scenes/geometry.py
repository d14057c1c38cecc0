"""Shapes of a scene file as signed distances."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import NonstickError
from ..grid import shapes as sd
from . import schema


def build(spec, folder: Path = Path()) -> sd.Shape:
    """The signed distance of a shape table."""
    shape, centre = _plain(spec, folder)
    if spec.rotate:
        about = spec.about if spec.about is not None else centre
        if about is None:
            raise NonstickError(f"a {spec.type} that is rotated needs `about`, the centre of the rotation")
        axis = tuple(spec.axis) if len(spec.axis) == 3 else (0.0, 0.0, 1.0)
        shape = shape.rotate(float(np.radians(spec.rotate)), axis, tuple(about))
    if spec.move is not None:
        shape = shape.move(tuple(spec.move))
    return shape


def _plain(spec, folder: Path) -> tuple[sd.Shape, tuple[float, ...] | None]:
    """The shape before it is placed, and its centre where it has a natural one."""
    if isinstance(spec, schema.Ball):
        return sd.Ball(tuple(spec.centre), spec.radius), tuple(spec.centre)
    if isinstance(spec, schema.Box):
        return sd.Box(tuple(spec.low), tuple(spec.high)), _middle(spec.low, spec.high)
    if isinstance(spec, schema.HalfSpace):
        return sd.HalfSpace(tuple(spec.point), tuple(spec.normal)), tuple(spec.point)
    if isinstance(spec, schema.Capsule):
        return sd.Capsule(tuple(spec.start), tuple(spec.end), spec.radius), _middle(spec.start, spec.end)
    if isinstance(spec, schema.Torus):
        return sd.Torus(tuple(spec.centre), spec.major, spec.minor, tuple(spec.ring_axis)), tuple(spec.centre)
    if isinstance(spec, schema.Mesh):
        from .mesh import load

        return load(folder / spec.file, spec.scale)
    if isinstance(spec, schema.Shell):
        _, centre = _plain(spec.of, folder)
        return sd.Shell(build(spec.of, folder), spec.thickness), centre
    parts = [build(part, folder) for part in spec.of]
    _, centre = _plain(spec.of[0], folder)
    if isinstance(spec, schema.Union):
        return sd.union(*parts), centre
    if isinstance(spec, schema.Intersection):
        return sd.intersection(*parts), centre
    return sd.difference(*parts), centre


def _middle(low, high) -> tuple[float, ...]:
    return tuple(0.5 * (a + b) for a, b in zip(low, high))
