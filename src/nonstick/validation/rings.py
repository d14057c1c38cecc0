"""Flow around a point, in rings: how its speed compares with an exact one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..sim.liquid.simulation import Simulation
from .case import Measured

RINGS = 10


def compare(
    simulation: Simulation,
    centre: float,
    ends: tuple[float, float],
    exact: Callable[[np.ndarray], np.ndarray],
    top: float,
) -> Measured:
    """Angular momentum over the exact one, and the largest error of the mean speed in a ring, of the speed `top`.

    The particles turn around the point with all coordinates `centre`; rings lie between two radii, `ends`.
    """
    particles = simulation.particles
    x = particles.position - centre
    r = np.hypot(*x.T)
    speed = (x[:, 0] * particles.velocity[:, 1] - x[:, 1] * particles.velocity[:, 0]) / r
    right = exact(r)
    ring = np.clip((RINGS * (r - ends[0]) / (ends[1] - ends[0])).astype(int), 0, RINGS - 1)
    count = np.maximum(np.bincount(ring, minlength=RINGS), 1)
    found, true, middle = (np.bincount(ring, v, RINGS) / count for v in (speed, right, r))
    values = {
        "momentum": float((r * speed).sum() / (r * right).sum()),
        "profile": float(np.abs(found - true).max()) / top,
    }
    return Measured(values, {"speed": (middle, found)})
