"""Drawings of 2D frames: liquid, solids, spray; in one colour, or coloured by speed or pressure.

Distances of kernels are in cells.

Pictures of temperature on a body, from blue (cold) to red (hot).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates

from ...core.show import AIR, PAINTS, RAMP, SOLID, SOLID_EDGE, WATER, WATER_EDGE, ramp
from ...files.formats.frame import LAYERS
from ...files.formats.frame import on_cells as particles_on_cells
from ...grid.levelset import smooth
from ...grid.shapes import Shape
from ...kernels import serial
from ._rays import PAINTED
from .movie import colour_bar
from .scenery import Scenery
from .space import Studio, Style, Viewpoint

#: how often φ is smoothed: an outline shows bumps of single particles more clearly than a shaded surface
PASSES = 2
#: height in cells of what smoothing may take away
BUMP = 0.3


class Paint(NamedTuple):
    """What colours show, and which they are."""

    #: "liquid", or what the ramp shows: "speed", "pressure", "viscosity"
    colour: str = "liquid"
    #: the value at the end of the ramp; None: the largest of the frame
    scale: float | None = None
    #: the colour of the liquid, and its colours over cells (nx, ny, 3) instead
    tint: np.ndarray | None = None
    dye: np.ndarray | None = None
    #: the background
    air: Any = AIR


def draw(
    frame: dict[str, np.ndarray],
    phi_solid: np.ndarray,
    dx: float,
    size: tuple[int, int],
    paint: Paint,
    bodies: Sequence[Shape] = (),
) -> np.ndarray:
    """An RGB image (uint8) of one frame, at most so wide and high. `phi_solid` is nodal.

    `bodies` are shapes at their positions in this frame, in metres.
    """
    (width, height), (colour, scale, tint, dye, _) = size, paint
    air = np.asarray(paint.air, float)
    nx, ny = (n - 1 for n in phi_solid.shape)
    per_cell = min(width / nx, height / ny)
    w, h = max(2, round(nx * per_cell) // 2 * 2), max(2, round(ny * per_cell) // 2 * 2)
    pixel = nx / w
    water, edge = (WATER, WATER_EDGE) if tint is None else (np.array(tint), 0.6 * np.array(tint))
    image = np.empty((h, w, 3))
    if "phi" in frame:
        cover = np.empty((h, w))
        share = np.zeros((1, 1)) if colour == "liquid" else values(frame, colour, (nx, ny), dx, scale)
        phi = calm(np.ascontiguousarray(frame["phi"], dtype=float) / dx)
        _cover(cover, finer(phi, per_cell), pixel)
        reach = max(1, round(0.3 / pixel))
        if dye is not None and colour == "liquid":
            _colour(image, cover, np.zeros((1, 1)), RAMP, np.ones(3), np.full(3, 0.6), np.zeros(3), reach)
            image *= _pixels(dye, h, w)
            image += (1.0 - cover)[..., None] * air
        else:
            _colour(image, cover, np.ascontiguousarray(share), RAMP, water, edge, air, reach)
        _spray(image, frame, phi, dx, water if colour == "liquid" else ramp(np.array(0.5)))
    else:
        image[:] = air
    _walls(image, np.ascontiguousarray(phi_solid, dtype=float) / dx, pixel, SOLID, SOLID_EDGE)
    if bodies:
        X, Y = np.meshgrid((np.arange(w) + 0.5) * nx / w, ny - (np.arange(h) + 0.5) * ny / h)
    for index, one in enumerate(bodies):
        phi = np.asarray(one(dx * X, dx * Y)) / dx
        own = PAINTS[index % len(PAINTS)]
        inside = np.clip(0.5 - phi / pixel, 0.0, 1.0)[..., None]
        rim = np.clip(1.0 + phi / max(0.25, 2 * pixel), 0.0, 1.0)[..., None]
        image += (own * (1 - 0.4 * rim) - image) * inside
    line = max(1, w // 320)  # the sides of the domain are walls too
    for part in (image[:line], image[-line:], image[:, :line], image[:, -line:]):
        part[:] = SOLID_EDGE
    return (255 * np.clip(image, 0, 1) + 0.5).astype(np.uint8)


def calm(phi: np.ndarray) -> np.ndarray:
    """φ in cells without the bumps of single particles; drops and threads stay, a little thinner."""
    out = phi
    for _ in range(PASSES):
        out = smooth(out)
    return np.minimum(out, phi + BUMP)


def finer(phi: np.ndarray, per_cell: float) -> np.ndarray:
    """φ by cubic splines where a cell is several pixels wide: straight pieces look like facets."""
    times = min(int(per_cell / 1.5), 4)
    return phi if times < 2 else scipy.ndimage.zoom(phi, times, order=3, mode="nearest", grid_mode=True)


def _pixels(dye: np.ndarray, h: int, w: int) -> np.ndarray:
    """Colours over cells (nx, ny, 3) at the pixels of an image."""
    nx, ny, _ = dye.shape
    x, y = np.meshgrid((np.arange(w) + 0.5) * nx / w - 0.5, ny - (np.arange(h) + 0.5) * ny / h - 0.5)
    return np.stack(
        [scipy.ndimage.map_coordinates(dye[..., k], [x, y], order=1, mode="nearest") for k in range(3)], axis=-1
    )


def values(frame, colour: str, shape: tuple[int, ...], dx: float, scale: float | None) -> np.ndarray:
    """The field that the colours show, over cells, as a share of `scale`."""
    if colour == "viscosity":
        return viscosity(frame, shape, dx)
    field = np.maximum(frame.get("pressure", np.zeros(shape)), 0.0)
    if colour == "speed":
        field = np.zeros(shape)
        if len(frame.get("position", ())):
            field = on_cells(np.linalg.norm(frame["velocity"].astype(float), axis=1), frame["position"], shape, dx)
    top = scale or float(field.max()) or 1.0
    return field / top


def on_cells(value: np.ndarray, position: np.ndarray, shape: tuple[int, ...], dx: float) -> np.ndarray:
    """Means of particles over cells, smoothed, and continued as far as pictures look at them.

    `value` is (n,), or (n, k) for k numbers of each particle.
    """
    means = particles_on_cells(position, value.reshape(len(value), -1), shape, dx, 2 * LAYERS)
    out = [scipy.ndimage.gaussian_filter(mean, 0.7) for mean in means]
    return out[0] if value.ndim == 1 else np.stack(out, axis=-1)


def viscosity(frame: dict[str, np.ndarray], shape: tuple[int, ...], dx: float) -> np.ndarray:
    """The viscosity of each cell on a logarithmic scale from the smallest (0) to the largest (1) of the frame."""
    if len(frame.get("viscosity", ())) == 0:
        return np.zeros(shape)
    value = np.log(np.maximum(frame["viscosity"].astype(float), 1e-12))
    low, high = float(value.min()), float(value.max())
    return on_cells((value - low) / max(high - low, 1e-9), frame["position"], shape, dx)


def _spray(image: np.ndarray, frame, phi: np.ndarray, dx: float, ink: np.ndarray) -> None:
    """Particles outside the surface that is drawn, as soft dots half a particle spacing wide."""
    if "position" not in frame or not len(frame["position"]):
        return
    x = frame["position"].astype(float) / dx
    here = scipy.ndimage.map_coordinates(phi, [x[:, 0] - 0.5, x[:, 1] - 0.5], order=1, mode="nearest")
    x = x[here > 0.2]
    per = image.shape[1] / phi.shape[0]
    _dots(image, x[:, 0] * per - 0.5, (phi.shape[1] - x[:, 1]) * per - 0.5, max(0.8, 0.28 * per), ink)


@serial
def _at(f, x, y):
    """Bilinear value at sample coordinates, clamped at the border."""
    nx, ny = f.shape
    x, y = min(max(x, 0.0), nx - 1.0), min(max(y, 0.0), ny - 1.0)
    i, j = min(int(x), max(nx - 2, 0)), min(int(y), max(ny - 2, 0))
    i1, j1 = min(i + 1, nx - 1), min(j + 1, ny - 1)
    p, q = x - i, y - j
    return (1.0 - p) * ((1.0 - q) * f[i, j] + q * f[i, j1]) + p * ((1.0 - q) * f[i1, j] + q * f[i1, j1])


@serial
def _cover(cover, phi, pixel):
    """Share of each pixel inside a distance over cells (h, w; row 0 is the top)."""
    h, w = cover.shape
    nx, ny = phi.shape
    for row in range(h):
        y = ny - (row + 0.5) * ny / h - 0.5
        for col in range(w):
            d = _at(phi, (col + 0.5) * nx / w - 0.5, y)
            cover[row, col] = min(max(0.5 - d / pixel, 0.0), 1.0)


@serial
def _colour(image, cover, share, table, water, edge, air, reach):
    """image = liquid over air: by `table` where `share` (over cells, 0..1) has more than one entry, else plain.

    Plain liquid is darker towards its outline, which is found from the coverage `reach` pixels away.
    """
    h, w = cover.shape
    nx, ny = share.shape
    last = table.shape[0] - 1
    for row in range(h):
        up, down = max(row - reach, 0), min(row + reach, h - 1)
        for col in range(w):
            inside = cover[row, col]
            if inside == 0.0:
                for k in range(3):
                    image[row, col, k] = air[k]
                continue
            if share.size > 1:
                x, y = (col + 0.5) * nx / w - 0.5, ny - (row + 0.5) * ny / h - 0.5
                t = min(max(_at(share, x, y), 0.0), 1.0) * last
                low = min(int(t), last - 1)
                for k in range(3):
                    body = table[low, k] + (t - low) * (table[low + 1, k] - table[low, k])
                    image[row, col, k] = air[k] + inside * (body - air[k])
                continue
            left, right = max(col - reach, 0), min(col + reach, w - 1)
            mean = cover[up, left] + cover[up, right] + cover[down, left] + cover[down, right]
            mean += cover[up, col] + cover[down, col] + cover[row, left] + cover[row, right]
            rim = 0.8 * min(1.0, 2.0 * (1.0 - 0.125 * mean))
            for k in range(3):
                body = water[k] + rim * (edge[k] - water[k])
                image[row, col, k] = air[k] + inside * (body - air[k])


@serial
def _walls(image, solid, pixel, stone, edge):
    """Draw solids, given by a distance at nodes, over the image, darker along their outline."""
    h, w = image.shape[0], image.shape[1]
    nx, ny = solid.shape[0] - 1, solid.shape[1] - 1
    width = max(0.3, 2.0 * pixel)
    for row in range(h):
        y = ny - (row + 0.5) * ny / h
        for col in range(w):
            d = _at(solid, (col + 0.5) * nx / w, y)
            cover = min(max(0.5 - d / pixel, 0.0), 1.0)
            if cover > 0.0:
                rim = min(max(1.0 + d / width, 0.0), 1.0)
                for k in range(3):
                    own = stone[k] + rim * (edge[k] - stone[k])
                    image[row, col, k] += cover * (own - image[row, col, k])


@serial
def _dots(image, x, y, radius, ink):
    """Soft dots at pixel coordinates."""
    h, w = image.shape[0], image.shape[1]
    reach = int(np.ceil(radius + 0.5))
    for p in range(x.size):
        for i in range(max(0, int(y[p]) - reach), min(h, int(y[p]) + reach + 2)):
            for j in range(max(0, int(x[p]) - reach), min(w, int(x[p]) + reach + 2)):
                cover = min(max(radius + 0.5 - np.hypot(i - y[p], j - x[p]), 0.0), 1.0)
                for k in range(3):
                    image[i, j, k] += cover * (ink[k] - image[i, j, k])


_VIEW = Viewpoint(azimuth=18.0, elevation=10.0)

# cold to hot; pale in the middle, so that deviations in both directions are visible
_STOPS = np.array(
    [[0.09, 0.16, 0.55], [0.22, 0.45, 0.80], [0.62, 0.79, 0.92], [0.97, 0.95, 0.91], [0.97, 0.70, 0.53],
     [0.84, 0.31, 0.23], [0.55, 0.05, 0.10]]
)  # fmt: skip


def colours(share: np.ndarray) -> np.ndarray:
    """RGB for values from 0 (cold) to 1 (hot)."""
    return ramp(share, _STOPS)


def legend(image: np.ndarray, low: float = 0.0, high: float = 100.0) -> np.ndarray:
    """The image with the colours of its temperatures in a corner."""
    return colour_bar(image, "temperature", f"{low:g}", f"{high:g}", colours(np.linspace(0.0, 1.0, 128)))


class _Blob:
    """The cells of a body as a shape: from a smoothed mask, in cells."""

    def __init__(self, inside: np.ndarray):
        self.solid = gaussian_filter(np.pad(inside, 2).astype(np.float32), 0.8)

    def facets(self) -> None:
        return None

    def sample(self, coordinates, dtype=np.float64) -> np.ndarray:
        at = np.stack(np.broadcast_arrays(*coordinates)) + 1.5
        return (2.0 * (0.5 - map_coordinates(self.solid, at, order=1, mode="nearest"))).astype(dtype)


class _Still:
    """A shape that never moves: its distance is computed once for each set of points, and then kept."""

    def __init__(self, shape: Shape):
        self.shape = shape
        self._kept: dict[tuple, np.ndarray] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shape, name)

    def sample(self, coordinates, dtype=np.float64) -> np.ndarray:
        key = (np.dtype(dtype).str, *((np.shape(c), np.asarray(c).tobytes()) for c in coordinates))
        if key not in self._kept:
            self._kept[key] = self.shape.sample(coordinates, dtype)
        return self._kept[key].copy()  # the caller may change it


class HeatView:
    """A fixed view of a body; `draw(temperature)` gives an image (uint8).

    `inside` marks the cells of the body. With its `shape` in metres and the size `dx` of a cell its surface is smooth.
    """

    def __init__(self, inside: np.ndarray, width: int = 720, shape: Shape | None = None, dx: float = 1.0):
        self.dx = 1.0 if shape is None else dx
        self.shape: Any = _Blob(inside) if shape is None else _Still(shape)
        nx, ny, nz = inside.shape
        height = round(width * ny / nx)
        self.studio = Studio(width, height, Style(clear=1.0), np.argwhere(inside) + 0.5)
        self.scenery = Scenery(np.full((nx + 1, ny + 1, nz + 1), 1e3, np.float32))
        self.air = np.full(inside.shape, 1e3, np.float32)
        # outside the body the temperature has no meaning: the value of the nearest cell of the body is used
        self.nearest = tuple(distance_transform_edt(~inside, return_distances=False, return_indices=True))

    def draw(self, temperature: np.ndarray, low: float = 0.0, high: float = 100.0) -> np.ndarray:
        dye = colours((temperature[self.nearest] - low) / (high - low))
        return self.studio.draw(self.air, self.scenery, self.dx, _VIEW, dye, [self.shape], [PAINTED])
