"""Waves, bores and fronts under gravity: what is measured on them, and the exact solutions that are curves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ...sim.liquid.simulation import Simulation
from ..case import Curve, Measured
from ..library import Setup, record

GRAVITY = 9.81


def _slope(x: np.ndarray, y: Any) -> float:
    return float(np.polyfit(x, y, 1)[0])


def _zeros(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where a curve crosses zero, from straight lines between its points."""
    k = np.flatnonzero(y[:-1] * y[1:] < 0)
    return t[k] - y[k] * (t[k + 1] - t[k]) / (y[k + 1] - y[k])


# -- a tank that sloshes ------------------------------------------------------------------------------


def first_mode(setup: Setup, seconds: float = 3.6) -> Measured:
    """The period, from all zeros of the mean of cos(π x) over the particles, which are half a period apart.

    This mean moves with the first mode and does not see the others.
    """
    t, mode = record(
        setup.simulation(), seconds, lambda s: np.cos(np.pi * s.frame_arrays()["position"][:, 0]).mean(), first=True
    )
    zeros = _zeros(t, np.array(mode, float))
    return Measured({"period": 2 * _slope(np.arange(zeros.size), zeros)}, {"first mode": (t, np.array(mode, float))})


# -- standing waves: 1 m long, 0.7 m deep -------------------------------------------------------------

NUMBER = 2.0 * np.pi
FREQUENCY = float(np.sqrt(GRAVITY * NUMBER * np.tanh(NUMBER * 0.7)))
PERIOD = 2.0 * np.pi / FREQUENCY


def energy_of_wave(setup: Setup, periods: float = 3.2) -> Measured:
    """The energy lost in a period, and the period, from the maxima of the kinetic energy."""
    t, found = record(setup.simulation(), periods * PERIOD, lambda s: s.liquid.energy()[0], first=True)
    kinetic = np.array(found)
    places, heights = _maxima(t, kinetic)
    loss = 1.0 - float(np.exp(PERIOD * np.polyfit(places, np.log(heights), 1)[0]))
    period = 2.0 * _slope(np.arange(places.size), places)
    return Measured({"loss": loss, "period": period}, {"kinetic energy": (t, kinetic / kinetic[0])})


def _maxima(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def prosperetti_curve() -> Curve:
    t = np.linspace(0.0, 2.0 * PERIOD, 97)[1:]
    return t, prosperetti(t)


def viscous_wave(setup: Setup, damping: float, periods: float = 2.0) -> Measured:
    """The factor of the exact curve that fits best in the second period, and the mean error over both."""
    half = 0.5 / setup.cells
    simulation = setup.simulation(
        {
            "physics.viscosity": 1000.0 * (damping * FREQUENCY / NUMBER**2),
            "probe.0.at": [half, 0.5],
            "probe.2.at": [1.0 - half, 0.5],
        }
    )
    record(simulation, periods * PERIOD)
    table = simulation.probe_table()
    t, height = table.time, 0.25 * (table["left.height"] + table["right.height"] - 2.0 * table["middle.height"])
    right = prosperetti(t, damping=damping)
    late = t > PERIOD
    share = float(height[late] @ right[late] / (right[late] @ right[late]))
    error = float(np.sqrt(np.mean((height - right) ** 2)) / np.abs(right).max())
    return Measured({"share": share, "error": error}, {"height of the wave": (t, height)})


# -- a U-tube -----------------------------------------------------------------------------------------

#: T = 2π √(L/2g), for legs of 0.2 m and a bend between the radii 0.2 and 0.35 m
SWING = 2.0 * math.pi * math.sqrt((2.0 * 0.2 + math.pi * (0.35 - 0.2) / math.log(0.35 / 0.2)) / (2.0 * GRAVITY))


def swing(setup: Setup, start: float) -> Measured:
    """The period, and the largest difference of the legs after three periods over that at first."""
    simulation = setup.simulation()
    record(simulation, 3.3 * SWING)
    table = simulation.probe_table()
    time, rise = table.time, table["left.mean"] - table["right.mean"]
    zeros = _zeros(time, rise)
    last = float(np.abs(rise[(time > zeros[-2]) & (time < zeros[-1])]).max())
    values = {"period": 2.0 * _slope(np.arange(zeros.size), zeros), "left": last / (2.0 * start)}
    return Measured(values, {"difference": (time, rise)})


def swing_curve() -> Curve:
    t = np.linspace(0.0, 3.0 * SWING, 37)
    return t, 2.0 * 0.04 * np.cos(2.0 * math.pi * t / SWING)


# -- dams that break ----------------------------------------------------------------------------------


def dam_front(setup: Setup, width: float, until: float) -> Measured:
    """Speed of the front, and the largest error of its position after the best shift of time.

    Lengths are in units of the width a of the column, times in units of √(a/(2g)). The front is the farthest column
    whose layer above the floor is half full.
    """
    scale = np.sqrt(2 * GRAVITY / width)
    fps = setup.scene().model.time.fps
    times, reach = record(setup.simulation({"time.fps": setup.steps * fps}), until / scale, _reach)
    T, Z = np.array([0.0, *(times * scale)]), np.array([1.0, *(np.array(reach) / width)])
    window = (T >= 1.5) & (T <= 3.4)
    t, z = setup.data["measured"]
    shifts = np.linspace(-0.6, 0.6, 241)
    gaps = [np.abs(np.interp(t + s, T, Z) / z - 1).max() for s in shifts]
    best = int(np.argmin(gaps))
    shift = float(shifts[best])
    values = {"speed": _slope(T[window], Z[window]), "shift": shift, "position": float(gaps[best])}
    return Measured(values, {"front": (T - shift, Z)})


def _reach(simulation: Simulation) -> float:
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


def stoker_curve() -> Curve:
    """The depth after 0.85 s."""
    speed, depth = stoker()
    return np.array([2.2, 2 + speed * 0.85, 2 + speed * 0.85, 4.0]), np.array([depth] * 2 + [0.1] * 2)


def bore(setup: Setup, length: float, shallow: float, since: float, until: float, foot: float) -> Measured:
    """Speed of the bore, and the depth behind it.

    The bore breaks, so its place is that of a step which holds the same volume: the volume above the shallow water,
    from the place `foot` on, over the height of the step.
    """
    bins, speed = 100, stoker()[0]
    middles = (np.arange(bins) + 0.5) * length / bins

    def look(simulation: Simulation) -> tuple[float, float, np.ndarray]:
        p = simulation.particles
        depth = np.histogram(p.position[:, 0], bins, (0.0, length))[0] * p.volume * bins / length
        behind = (middles > foot) & (middles < length / 2 + 0.75 * speed * simulation.time)
        return depth[behind].mean(), (depth - shallow)[middles > foot].sum() * length / bins, depth

    times, found = record(setup.simulation(), until, look, since)
    depths, volumes, profiles = zip(*found)
    step = float(np.mean(depths)) - shallow
    values = {"speed": _slope(times, volumes) / step, "depth": step + shallow}
    return Measured(values, {f"depth after {until} s": (middles, profiles[-1])})


def gravity_current(setup: Setup, side: float, nu: float, length: float, since: float, until: float) -> Measured:
    """The fifth root of the slope of x_N⁵ over that of theory: how far the front goes, relative to theory.

    The front is the farthest point where the level set above the floor is liquid.
    """
    dx = side / setup.cells
    columns = round(length / dx)

    def front(simulation: Simulation) -> float:
        phi = simulation.grid.level_set[:, 0]
        i = int(np.flatnonzero(phi < 0.0)[-1])
        ahead = phi[min(i + 1, phi.size - 1)]
        return dx * (i + 0.5 + (phi[i] / (phi[i] - ahead) if ahead > 0.0 else 0.0))

    simulation = setup.simulation(
        {
            "domain.size": [dx * columns, dx * (setup.cells + 2)],
            "domain.resolution": columns,
            "time.min_substeps": 2 * setup.steps,
        }
    )
    t, found = record(simulation, until, front)
    x, late = np.array(found), t >= since
    rate = 1.411**5 * GRAVITY * side**6 / (3.0 * nu)
    return Measured({"front": (_slope(t[late], x[late] ** 5) / rate) ** 0.2}, {"front": (t, x)})
