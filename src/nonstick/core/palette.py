"""Colours shared by all pictures (linear 0..1 RGB)."""

from __future__ import annotations

import numpy as np

AIR = np.array([0.965, 0.97, 0.975])
SOLID = np.array([0.56, 0.575, 0.60])
SOLID_EDGE = np.array([0.36, 0.375, 0.40])
WATER = np.array([0.16, 0.47, 0.78])
WATER_EDGE = np.array([0.05, 0.25, 0.52])
# colours of bodies, in turn: different from the liquid's blue and from each other, also in grey
PAINTS = np.array(
    [
        [0.93, 0.69, 0.30],
        [0.80, 0.36, 0.24],
        [0.47, 0.62, 0.36],
        [0.55, 0.40, 0.62],
        [0.86, 0.83, 0.72],
        [0.36, 0.30, 0.28],
        [0.90, 0.55, 0.62],
        [0.30, 0.58, 0.56],
    ]
)
INK = (45, 48, 54)

# dark blue → teal → yellow-white; readable in grey, and for most people with colour blindness
RAMP = np.array(
    [
        [0.07, 0.16, 0.42],
        [0.10, 0.36, 0.62],
        [0.13, 0.58, 0.68],
        [0.45, 0.77, 0.62],
        [0.90, 0.90, 0.55],
        [1.0, 0.98, 0.88],
    ]
)


def ramp(values: np.ndarray, stops: np.ndarray = RAMP) -> np.ndarray:
    """Colours for values in [0, 1], linear between the stops."""
    at = np.clip(values, 0.0, 1.0) * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    part = (at - low)[..., None]
    return np.asarray(stops[low] * (1 - part) + stops[low + 1] * part)
