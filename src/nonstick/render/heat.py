"""Pictures of temperature on a body: seen along -z, shaded, from blue (cold) to red (hot)."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates

from .palette import AIR

# cold to hot; pale in the middle, so that deviations in both directions are visible
_STOPS = np.array(
    [[0.09, 0.16, 0.55], [0.22, 0.45, 0.80], [0.62, 0.79, 0.92], [0.97, 0.95, 0.91], [0.97, 0.70, 0.53],
     [0.84, 0.31, 0.23], [0.55, 0.05, 0.10]]
)  # fmt: skip


def colours(share: np.ndarray) -> np.ndarray:
    """RGB for values from 0 (cold) to 1 (hot)."""
    at = np.clip(share, 0.0, 1.0) * (len(_STOPS) - 1)
    low = np.minimum(at.astype(int), len(_STOPS) - 2)
    part = (at - low)[..., None]
    return _STOPS[low] * (1 - part) + _STOPS[low + 1] * part


class HeatView:
    """A fixed view of a body; `draw(temperature)` gives an image (uint8)."""

    def __init__(self, inside: np.ndarray, width: int = 720):
        nx, ny, nz = inside.shape
        self.width, self.height = width, round(width * ny / nx)
        solid = gaussian_filter(np.pad(inside, 2).astype(np.float32), 0.8)
        x = (np.arange(self.width) + 0.5) * nx / self.width - 0.5
        y = ny - (np.arange(self.height) + 0.5) * nx / self.width - 0.5
        X, Y = np.meshgrid(x, y)
        depth, before = np.full(X.shape, np.nan), np.zeros(X.shape)
        for z in range(nz + 3, -1, -1):  # from the viewer towards the body, to the first point inside
            value = map_coordinates(solid[:, :, z], [X + 2, Y + 2], order=1, mode="constant")
            hit = np.isnan(depth) & (value > 0.5)
            depth[hit] = z + (value[hit] - 0.5) / (value[hit] - before[hit]) - 2
            before = value
        self.seen = np.isfinite(depth)
        at = np.stack([X[self.seen], Y[self.seen], depth[self.seen]])
        normal = -np.stack([map_coordinates(g, at + 2, order=1) for g in np.gradient(gaussian_filter(solid, 1.0))])
        normal /= np.maximum(np.linalg.norm(normal, axis=0), 1e-6)
        light = np.array([-0.35, 0.6, 0.72]) / np.linalg.norm([-0.35, 0.6, 0.72])
        self.shade = 0.55 + 0.45 * np.clip(light @ normal, 0.0, 1.0)
        # outside the body the temperature has no meaning: the value of the nearest cell of the body is used
        self.nearest = tuple(distance_transform_edt(~inside, return_distances=False, return_indices=True))
        self.at = at

    def draw(self, temperature: np.ndarray, low: float = 0.0, high: float = 100.0) -> np.ndarray:
        image = np.broadcast_to(AIR, (self.height, self.width, 3)).copy()
        share = (map_coordinates(temperature[self.nearest], self.at, order=1, mode="nearest") - low) / (high - low)
        image[self.seen] = colours(share) * self.shade[:, None]
        return (255 * np.clip(image, 0, 1) + 0.5).astype(np.uint8)
