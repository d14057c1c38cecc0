"""Pictures of 3D frames: the liquid's surface, ray-marched, in front of the solids' far walls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..grid.mac import Grid
from ..grid.shapes import Shape
from ..kernels._march import _march
from ..kernels._solids import smooth
from .palette import PAINTS

#: bodies are sampled this many times as finely as the grid, so that their edges stay sharp
FINE = 2
COARSE = 8
_WATER = np.array([0.06, 0.33, 0.62])
_THICK = np.array([0.80, 0.30, 0.05])
_STONE = np.array([0.80, 0.81, 0.83])
_SKY = np.array([0.97, 0.98, 1.0])


def draw(
    phi: np.ndarray,
    phi_solid: np.ndarray,
    dx: float,
    width: int,
    height: int,
    azimuth: float,
    elevation: float,
    zoom: float,
    tint=None,
    clear: float = 0.1,
    hue: np.ndarray | None = None,
    bodies: Sequence[Shape] = (),
) -> np.ndarray:
    """An RGB image (uint8). The camera looks along -z, turned by `azimuth` and `elevation` degrees.

    `tint` is the liquid's colour and `clear` how deep one sees into it, as a share of the longest side; `hue` over
    cells (0..1) goes from the tint to a second colour. `bodies` are shapes where they are in this frame, in metres;
    each has a colour of its own.
    """
    # One pass of a ⅛-¾-⅛ filter takes the grain of single particles out of the surface.
    liquid = smooth(np.ascontiguousarray(phi, dtype=np.float64) / dx)
    solid = np.ascontiguousarray(phi_solid, dtype=np.float64) / dx
    shape = np.array(liquid.shape, float)
    turn, tilt = np.radians(azimuth), np.radians(elevation)
    forward = np.array([-np.sin(turn) * np.cos(tilt), -np.sin(tilt), -np.cos(turn) * np.cos(tilt)])
    right = np.array([np.cos(turn), 0.0, -np.sin(turn)])
    up = np.cross(right, forward)
    diagonal = float(np.linalg.norm(shape))
    # wide enough for the box as seen from here
    across = np.abs(right) @ shape
    along = np.abs(up) @ shape
    size = 1.04 * max(across, along * width / height) / zoom
    eye = 0.5 * shape - diagonal * forward
    sun = np.array([0.45, 0.8, 0.4]) @ np.array([right, [0.0, 1.0, 0.0], -forward])
    sun /= np.linalg.norm(sun)
    image = np.empty((height, width, 3))
    every = float(max(1, round(shape.max() / 10)))
    water = _WATER if tint is None else np.array(tint, float)
    hue = np.zeros((1, 1, 1)) if hue is None else np.ascontiguousarray(hue, dtype=np.float64)
    # what one cannot see into shows its shape by shading alone
    ambient = 0.45 + 0.27 * min(clear / 0.1, 1.0)
    body, owner = _bodies(bodies, liquid.shape, dx)
    _march(
        image, liquid, solid, body, owner, PAINTS, float(FINE), hue, eye, forward, right, up, sun, water, _THICK,
        _STONE, _SKY, size, clear * shape.max(), ambient, every,
    )  # fmt: skip
    # a little gamma, so that shaded walls do not look dirty
    return (255 * np.clip(image, 0, 1) ** 0.9 + 0.5).astype(np.uint8)


def _bodies(bodies: Sequence[Shape], shape: tuple[int, ...], dx: float) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the nearest body in cells, and which one it is, on refined nodes."""
    if not bodies:
        return np.full((1, 1, 1), 1e3), np.zeros((1, 1, 1), np.int8)
    nodes = Grid(tuple(FINE * n for n in shape), dx / FINE).nodes()
    body = np.full(tuple(FINE * n + 1 for n in shape), 1e3)
    owner = np.zeros(body.shape, np.int8)
    for index, one in enumerate(bodies):
        # rays take steps of at most a cell, so the distance matters within a few cells of a body only
        window = _around(one, nodes, COARSE * dx / FINE)
        if window is None:
            continue
        here = one.sample(tuple(np.take(x, range(w.start, w.stop), a) for a, (x, w) in enumerate(zip(nodes, window))))
        here /= dx
        closer = here < body[window]
        body[window][closer] = here[closer]
        owner[window][closer] = index % len(PAINTS)
    return body, owner


def _around(one: Shape, nodes, spacing: float) -> tuple[slice, ...] | None:
    """The part of the nodes around a shape, from every eighth of them."""
    some = tuple(np.take(x, range(0, x.shape[a], COARSE), a) for a, x in enumerate(nodes))
    near = one.sample(some) < 2.5 * spacing
    if not near.any():
        return None
    out = []
    for a, x in enumerate(nodes):
        hit = np.flatnonzero(near.any(axis=tuple(b for b in range(3) if b != a)))
        out.append(slice(max(0, COARSE * (hit[0] - 1)), min(x.shape[a], COARSE * (hit[-1] + 1) + 1)))
    return tuple(out)
