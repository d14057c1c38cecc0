"""Liquid that turns: what is measured on it, and the exact profiles of its speed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...sim.liquid.simulation import Simulation
from ..case import Curve, Measured
from ..library import Setup, record, surface

RINGS = 10


def _turning(simulation: Simulation, centre: np.ndarray | float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Places relative to a centre, their own if none is given, and angular momentum, of each particle of mass one."""
    found = simulation.particles
    x = found.position - (found.position.mean(axis=0) if centre is None else centre)
    return x, x[:, 0] * found.velocity[:, 1] - x[:, 1] * found.velocity[:, 0]


def disc(setup: Setup) -> Measured:
    """Share of the angular momentum that a free disc keeps over a turn of 60 steps."""
    simulation = setup.simulation({"time.fps": 60.0 * setup.steps, "time.min_substeps": 1})
    _, history = record(simulation, 1.0, lambda s: float(_turning(s)[1].sum()), first=True)
    kept = np.array(history) / history[0]
    return Measured({"kept": kept[-1]}, {"disc": (np.linspace(0.0, 1.0, kept.size), kept)})


def circle(setup: Setup) -> Measured:
    """Rate of rotation after a turn of 180 steps, over that of the start: all of the water, and the outermost tenth."""
    simulation = setup.simulation({"time.fps": 180.0 * setup.steps, "time.min_substeps": 1})

    def rate(simulation: Simulation) -> float:
        x, momentum = _turning(simulation, 0.5)
        return float(momentum.sum()) / float((x**2).sum()) / (2.0 * np.pi)

    rates = np.array([1.0, *record(simulation, 1.0, rate)[1]])
    x, momentum = _turning(simulation, 0.5)
    outer = np.hypot(*x.T) > 0.405
    edge = momentum[outer].sum() / (x[outer] ** 2).sum() / (2.0 * np.pi)
    return Measured({"rate": rates[-1], "edge": float(edge)}, {"circle": (np.linspace(0.0, 1.0, len(rates)), rates)})


def bucket(setup: Setup, radius: float, margin: float, turns: float, seconds: float) -> Measured:
    """Rise of the surface over ω² R²/(2 g), and the rate of rotation over that of the bucket.

    The domain is `margin` times as wide as the bucket.
    """
    simulation = setup.simulation({"domain.resolution": round(setup.cells * margin)})
    middle, omega = np.array(simulation.scene.model.solid[0].motion.about), 2.0 * np.pi * turns
    _, surfaces = record(simulation, seconds, lambda s: _heights(s, middle, radius), 0.8 * seconds)
    slope = float(np.mean([np.polyfit(r2, height, 1)[0] for r2, height in surfaces]))
    found = simulation.particles
    x, v = found.position - middle, found.velocity
    rate = (x[:, 2] * v[:, 0] - x[:, 0] * v[:, 2]).sum() / (x[:, [0, 2]] ** 2).sum()
    r2, height = surfaces[-1]
    order = np.argsort(r2)
    rise = omega**2 * radius**2 / (2.0 * 9.81)
    return Measured(
        {"rise": slope * radius**2 / rise, "rate": abs(float(rate)) / omega},
        {"surface": (np.sqrt(r2[order]), height[order])},
    )


def _heights(simulation: Simulation, middle: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """r² and the height of the surface in all columns that are at least a cell away from the wall."""
    (i, k), _, height = surface(simulation)
    dx = simulation.grid.dx
    r2 = ((i + 0.5) * dx - middle[0]) ** 2 + ((k + 0.5) * dx - middle[2]) ** 2
    inside = r2 < (radius - dx) ** 2
    return r2[inside], (height * dx)[inside]


# -- profiles of the speed around a point -------------------------------------------------------------


def couette(r: np.ndarray, time: float = 0.0, inner: float = 0.2, outer: float = 0.45) -> np.ndarray:
    """Steady speed between a cylinder that turns at 1 rad/s and one at rest."""
    a = -(inner**2) / (outer**2 - inner**2)
    return a * (r - outer**2 / r)


def couette_curve() -> Curve:
    r = np.linspace(0.2, 0.45, 11)
    return r, couette(r)


def spun_up(r: np.ndarray, time: float, radius: float = 0.4, nu: float = 0.05) -> np.ndarray:
    """Speed in a cylinder that has turned at 1 rad/s since the time 0."""
    from scipy.special import j0, j1, jn_zeros

    out = 1.0 * r
    for zero in jn_zeros(1, 60):
        share = math.exp(-nu * zero**2 * time / radius**2) / (zero * j0(zero))
        out = out + 2.0 * radius * share * j1(zero * r / radius)
    return out


def spun_up_curve() -> Curve:
    r = np.linspace(0.0, 0.4, 11)
    return r, spun_up(r, 0.4)


PROFILES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {"couette": couette, "spun_up": spun_up}


def profile(setup: Setup, exact: str, ends: list[float], top: float, seconds: float) -> Measured:
    """Angular momentum over the exact one, and the largest error of the mean speed in a ring, of the speed `top`.

    The liquid turns around the middle of a domain of 1 m; rings lie between two radii, `ends`.
    """
    simulation = setup.simulation()
    record(simulation, seconds)
    x, momentum = _turning(simulation, 0.5)
    r = np.hypot(*x.T)
    speed, right = momentum / r, PROFILES[exact](r, simulation.time)
    ring = np.clip((RINGS * (r - ends[0]) / (ends[1] - ends[0])).astype(int), 0, RINGS - 1)
    count = np.maximum(np.bincount(ring, minlength=RINGS), 1)
    found, true, middle = (np.bincount(ring, v, RINGS) / count for v in (speed, right, r))
    values = {
        "momentum": float((r * speed).sum() / (r * right).sum()),
        "profile": float(np.abs(found - true).max()) / top,
    }
    return Measured(values, {"speed": (middle, found)})
