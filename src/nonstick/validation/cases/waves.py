"""Waves, bores and fronts under gravity: exact solutions, and what takes more than an expression to measure."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from ...sim.liquid.simulation import Simulation
from ..case import Curve
from ..library import GRAVITY

# -- standing waves: 1 m long, 0.7 m deep -------------------------------------------------------------

NUMBER = 2.0 * np.pi
FREQUENCY = float(np.sqrt(GRAVITY * NUMBER * np.tanh(NUMBER * 0.7)))
PERIOD = 2.0 * np.pi / FREQUENCY


def maxima(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and heights of the maxima, one a half period: parabolas through seven points around the largest."""
    places, heights = [], []
    for turn in range(1, int(t[-1] / (0.5 * PERIOD)) + 1):
        near = np.flatnonzero(np.abs(t - 0.5 * turn * PERIOD) < 0.15 * PERIOD)
        peak = near[np.argmax(y[near])]
        if 3 <= peak < t.size - 3:
            a, b, c = np.polyfit(t[peak - 3 : peak + 4] - t[peak], y[peak - 3 : peak + 4], 2)
            places.append(t[peak] - b / (2 * a))
            heights.append(c - b * b / (4 * a))
    return np.array(places), np.array(heights)


def prosperetti(t: np.ndarray, speed: float = 0.15, damping: float = 0.02) -> np.ndarray:
    """Height in metres of a small wave in viscous liquid; `damping` is ν k²/ω."""
    from scipy.special import wofz

    c = damping * FREQUENCY / NUMBER**2 * NUMBER**2
    roots = np.roots([1.0, 0.0, 2.0 * c, 4.0 * c**1.5, c * c + FREQUENCY**2])
    out = np.zeros(t.shape, complex)
    for i, z in enumerate(roots):
        others = np.prod(np.delete(roots, i) - z)
        # exp(z² t) erfc(z √t) without overflow
        out -= speed * z / others * np.exp(-c * t) * wofz(1j * z * np.sqrt(t))
    return out.real


# -- a U-tube -----------------------------------------------------------------------------------------

#: T = 2π √(L/2g), for legs of 0.2 m and a bend between the radii 0.2 and 0.35 m
SWING = 2.0 * math.pi * math.sqrt((2.0 * 0.2 + math.pi * (0.35 - 0.2) / math.log(0.35 / 0.2)) / (2.0 * GRAVITY))


# -- dams that break ----------------------------------------------------------------------------------


def reach(simulation: Simulation) -> float:
    """The front: the farthest column whose layer above the floor is half full."""
    dx, shape = simulation.scene.dx, simulation.scene.shape
    x = simulation.particles.position / dx
    low = x[x[:, 1] < 1.0, 0]  # the layer of cells on the floor
    counts = np.bincount(low.astype(int), minlength=shape[0])
    full = simulation.scene.model.particles.per_axis ** len(shape) * int(np.prod(shape[2:]))
    column = int(np.flatnonzero(counts >= 0.5 * full).max())
    # within the next column, as far as it is filled
    part = counts[column + 1] / full if column + 1 < counts.size else 0.0
    return (column + 1 + min(part, 1.0)) * dx


def stoker(deep: float = 0.4, shallow: float = 0.1) -> tuple[float, float]:
    """Speed of a bore into shallow water, and the depth behind it."""

    def speed(h: float) -> float:
        return float(np.sqrt(GRAVITY * h * (h + shallow) / (2 * shallow)))

    def gap(h: float) -> float:
        return speed(h) * (h - shallow) - 2 * h * (np.sqrt(GRAVITY * deep) - np.sqrt(GRAVITY * h))

    depth = float(brentq(gap, shallow, deep))
    return speed(depth), depth


def stoker_profile(time: float) -> Curve:
    """The depth at a time."""
    speed, depth = stoker()
    return np.array([2.2, 2 + speed * time, 2 + speed * time, 4.0]), np.array([depth] * 2 + [0.1] * 2)


def front(simulation: Simulation, dx: float) -> float:
    """The farthest point where the level set above the floor is liquid."""
    phi = simulation.grid.level_set[:, 0]
    i = int(np.flatnonzero(phi < 0.0)[-1])
    ahead = phi[min(i + 1, phi.size - 1)]
    return dx * (i + 0.5 + (phi[i] / (phi[i] - ahead) if ahead > 0.0 else 0.0))
