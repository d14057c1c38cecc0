"""Liquid that turns: exact profiles of its speed, and what takes more than an expression to measure."""

from __future__ import annotations

import math

import numpy as np

from ...sim.liquid.simulation import Simulation
from ..library import surface

RINGS = 10


def turning(simulation: Simulation, centre: np.ndarray | float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Places relative to a centre, their own if none is given, and angular momentum, of each particle of mass one."""
    found = simulation.particles
    x = found.position - (found.position.mean(axis=0) if centre is None else centre)
    return x, x[:, 0] * found.velocity[:, 1] - x[:, 1] * found.velocity[:, 0]


def rate_of_turning(simulation: Simulation, outside: float = 0.0) -> float:
    """Rate of rotation around the middle in turns, of the liquid outside a radius."""
    x, momentum = turning(simulation, 0.5)
    outer = np.hypot(*x.T) > outside
    return float(momentum[outer].sum()) / float((x[outer] ** 2).sum()) / (2.0 * np.pi)


def heights(simulation: Simulation, middle: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """r² and the height of the surface in all columns that are at least a cell away from the wall."""
    (i, k), _, height = surface(simulation)
    dx = simulation.grid.dx
    r2 = ((i + 0.5) * dx - middle[0]) ** 2 + ((k + 0.5) * dx - middle[2]) ** 2
    inside = r2 < (radius - dx) ** 2
    return r2[inside], (height * dx)[inside]


def couette(r: np.ndarray, time: float = 0.0, inner: float = 0.2, outer: float = 0.45) -> np.ndarray:
    """Steady speed between a cylinder that turns at 1 rad/s and one at rest."""
    a = -(inner**2) / (outer**2 - inner**2)
    return a * (r - outer**2 / r)


def spun_up(r: np.ndarray, time: float, radius: float = 0.4, nu: float = 0.05) -> np.ndarray:
    """Speed in a cylinder that has turned at 1 rad/s since the time 0."""
    from scipy.special import j0, j1, jn_zeros

    out = 1.0 * r
    for zero in jn_zeros(1, 60):
        share = math.exp(-nu * zero**2 * time / radius**2) / (zero * j0(zero))
        out = out + 2.0 * radius * share * j1(zero * r / radius)
    return out


def ring_means(r: np.ndarray, values: np.ndarray, ends: list[float]) -> np.ndarray:
    """Means over rings between two radii."""
    ring = np.clip((RINGS * (r - ends[0]) / (ends[1] - ends[0])).astype(int), 0, RINGS - 1)
    return np.bincount(ring, values, RINGS) / np.maximum(np.bincount(ring, minlength=RINGS), 1)
