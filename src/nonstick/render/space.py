"""Pictures of 3D frames: the liquid's surface, ray-marched, in front of the solids' far walls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..grid.mac import Grid
from ..grid.shapes import Shape
from ._march import _march
from ._rays import BLOCK, _occupied
from .palette import PAINTS

#: bodies are sampled this many times as finely as the grid, so that their edges stay sharp
FINE = 2
COARSE = 8
#: distance of the camera, in diagonals of the space it shows
DISTANCE = 2.2
#: pixels between two that differ by less are interpolated
ROUGH = 0.012
#: neighbouring pixels that differ by more get more rays
STEP = 0.05
_MIDDLE = np.array([[0.5, 0.5]])
_CORNERS = np.array([[0.375, 0.125], [0.875, 0.375], [0.625, 0.875], [0.125, 0.625]])
WATER = np.array([0.05, 0.33, 0.56])
#: the colour where `hue` is 1: thick liquid
THICK = (0.80, 0.30, 0.05)
#: the colour where `hue` is 1: fast liquid
FAST = (0.88, 0.96, 1.0)
_STONE = np.array([0.95, 0.95, 0.94])
_SKY = np.array([0.97, 0.975, 0.98])


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
    clear: float = 0.2,
    hue: np.ndarray | None = None,
    bodies: Sequence[Shape] = (),
    room: np.ndarray | None = None,
    other: Sequence[float] = THICK,
) -> np.ndarray:
    """An RGB image (uint8). The camera looks along -z, turned by `azimuth` and `elevation` degrees.

    It shows the points `room` (n, 3) in cells; by default the whole domain.

    `tint` is the liquid's colour, and `clear` the depth to which one sees into it, as a share of the longest side.
    `hue` over cells (0..1) goes from the tint to the `other` colour. `bodies` are shapes at their positions in this
    frame, in metres; each has its own colour.
    """
    # One pass of a ⅛-¾-⅛ filter removes the bumps of single particles from the surface.
    liquid = smooth(np.ascontiguousarray(phi, dtype=np.float64) / dx).astype(np.float32)
    solid = (np.ascontiguousarray(phi_solid, dtype=np.float64) / dx).astype(np.float32)
    shape = np.array(liquid.shape, float)
    eye, forward, right, up, window = _camera(shape, room, width, height, azimuth, elevation, zoom)
    sun = np.array([0.30, 0.80, 0.50]) @ np.array([right, [0.0, 1.0, 0.0], -forward])
    sun /= np.linalg.norm(sun)
    every = float(max(1, round(shape.max() / 10)))
    water = WATER if tint is None else np.array(tint, float)
    hue = np.zeros((1, 1, 1)) if hue is None else np.ascontiguousarray(hue, dtype=np.float64)
    # opaque liquid shows its shape by shading alone
    ambient = 0.45 + 0.27 * min(clear / 0.1, 1.0)
    body, owner = _bodies(bodies, liquid.shape, dx)
    full = np.empty(tuple(-(-n // BLOCK) for n in liquid.shape), np.int8)
    _occupied(full, liquid, solid, body, float(FINE))
    image = np.empty((height, width, 3))
    rest = (
        liquid, solid, body, owner, PAINTS, float(FINE), full, hue, eye, forward, right, up, window, sun, water,
        np.array(other, float), _STONE, _SKY, clear * shape.max(), ambient, every,
    )  # fmt: skip
    lined = _box_lines(shape, width, height, eye, forward, right, up, window)
    # rays for every second pixel of every second row; pixels between them are interpolated if these agree
    todo = np.zeros((height, width), np.int8)
    todo[::2, ::2] = 1
    _march(image, todo, lined, _MIDDLE, *rest)
    todo = _between(image, lined)
    _march(image, todo, lined, _MIDDLE, *rest)
    # more rays where neighbours differ: edges of objects, highlights, lines
    _march(image, _contrast(image), lined, _CORNERS, *rest)
    # a little gamma, so that shaded walls do not look dirty
    return (255 * np.clip(image, 0, 1) ** 0.9 + 0.5).astype(np.uint8)


def _camera(shape, room, width: int, height: int, azimuth: float, elevation: float, zoom: float):
    """Eye, directions and window (left, top, pixel on the plane at distance 1) that show all of the room."""
    points = np.array([np.zeros(3), shape]) if room is None else np.asarray(room, float)
    low, high = points.min(axis=0), points.max(axis=0)
    if room is None:
        points = np.array([[(low, high)[i >> a & 1][a] for a in range(3)] for i in range(8)])
    turn, tilt = np.radians(azimuth), np.radians(elevation)
    forward = np.array([-np.sin(turn) * np.cos(tilt), -np.sin(tilt), -np.cos(turn) * np.cos(tilt)])
    right = np.array([np.cos(turn), 0.0, -np.sin(turn)])
    up = np.cross(right, forward)
    eye = 0.5 * (low + high) - DISTANCE * float(np.linalg.norm(high - low)) * forward
    points = points - eye
    x, y = points @ right / (points @ forward), points @ up / (points @ forward)
    pixel = 1.08 * max(np.ptp(x) / width, np.ptp(y) / height) / zoom
    left = 0.5 * (x.min() + x.max()) - 0.5 * width * pixel
    top = 0.5 * (y.min() + y.max()) + 0.5 * height * pixel
    return eye, forward, right, up, np.array([left, top, pixel])


def _box_lines(shape, width: int, height: int, eye, forward, right, up, window) -> np.ndarray:
    """1 in pixels near an edge of the domain."""
    t = np.linspace(0.0, 1.0, 2 * (width + height))[:, None]
    out = np.zeros((height + 6, width + 6), np.int8)
    corners = [np.array([i & 1, i >> 1 & 1, i >> 2 & 1]) for i in range(8)]
    for one in corners:
        for other in corners:
            if (other - one).sum() != 1 or (other < one).any():
                continue
            at = (one + t * (other - one)) * shape - eye
            depth = at @ forward
            col = np.floor((at @ right / depth - window[0]) / window[2]).astype(int)
            row = np.floor((window[1] - at @ up / depth) / window[2]).astype(int)
            inside = (col >= -2) & (col < width + 2) & (row >= -2) & (row < height + 2)
            for i in range(-1, 2):
                for j in range(-1, 2):
                    out[row[inside] + 3 + i, col[inside] + 3 + j] = 1
    return np.ascontiguousarray(out[3:-3, 3:-3])


def _between(image: np.ndarray, lined: np.ndarray) -> np.ndarray:
    """Interpolate the pixels between every second one, in place; returns 1 in pixels that need their own ray."""
    h, w, _ = image.shape
    near = image[::2, ::2]
    near = np.pad(near, ((0, 1), (0, 1), (0, 0)), mode="edge")
    a, b, c, d = near[:-1, :-1], near[:-1, 1:], near[1:, :-1], near[1:, 1:]
    rough = np.max([np.abs(a - x).max(axis=2) for x in (b, c, d)], axis=0) > ROUGH
    out = np.repeat(np.repeat(rough, 2, axis=0), 2, axis=1)[:h, :w].astype(np.int8) | lined
    out[::2, ::2] = 0
    image[::2, 1::2] = (0.5 * (a + b))[:, : w // 2]
    image[1::2, ::2] = (0.5 * (a + c))[: h // 2]
    image[1::2, 1::2] = (0.25 * (a + b + c + d))[: h // 2, : w // 2]
    return out


def _contrast(image: np.ndarray) -> np.ndarray:
    """1 in pixels that differ visibly from a neighbour."""
    out = np.zeros(image.shape[:2], np.int8)
    across = np.abs(np.diff(image, axis=1)).max(axis=2) > STEP
    along = np.abs(np.diff(image, axis=0)).max(axis=2) > STEP
    out[:, 1:] |= across
    out[:, :-1] |= across
    out[1:] |= along
    out[:-1] |= along
    return out


def _bodies(bodies: Sequence[Shape], shape: tuple[int, ...], dx: float) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the nearest body in cells, and the number of this body, on refined nodes."""
    if not bodies:
        return np.full((1, 1, 1), 1e3, np.float32), np.zeros((1, 1, 1), np.int8)
    nodes = Grid(tuple(FINE * n for n in shape), dx / FINE).nodes()
    body = np.full(tuple(FINE * n + 1 for n in shape), 1e3, np.float32)
    owner = np.zeros(body.shape, np.int8)
    for index, one in enumerate(bodies):
        # rays take steps of at most a cell, so only distances within a few cells of a body matter
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


def smooth(field: np.ndarray) -> np.ndarray:
    """A field over cells smoothed by ⅛-¾-⅛ along every axis."""
    out = field
    for axis in range(3):
        if field.shape[axis] == 1:
            continue
        pad = [(1, 1) if a == axis else (0, 0) for a in range(3)]
        p = np.pad(out, pad, mode="edge")
        n = out.shape[axis]
        first, middle, last = (p.take(range(s, s + n), axis) for s in (0, 1, 2))
        out = 0.125 * (first + last) + 0.75 * middle
    return np.ascontiguousarray(out)
