"""Pictures of temperature on a body, from blue (cold) to red (hot)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates

from ...core.palette import ramp
from ...grid.shapes import Shape
from ._rays import PAINTED
from .movie import colour_bar
from .scenery import Scenery
from .space import Studio, Style, Viewpoint

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
