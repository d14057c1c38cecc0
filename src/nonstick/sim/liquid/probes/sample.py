"""Values between the points of a grid, for all probes."""

from __future__ import annotations

import numpy as np


def sample(values: np.ndarray, points: np.ndarray, dx: float, offset: np.ndarray | float) -> np.ndarray:
    """Linear interpolation of an array whose first entry lies `offset` cells from the corner, at points (n, d)."""
    from scipy.ndimage import map_coordinates  # slow to load, and few scenes have probes

    return map_coordinates(np.asarray(values, float), (points / dx - offset).T, order=1, mode="nearest")
