"""Probes, inflows and outflows: what is measured on water at rest, in a channel and in jets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...sim.liquid.simulation import Simulation
from ..case import Curve, Measured
from ..library import Setup, record

GRAVITY = 9.81


def still_probes(setup: Setup, depth: float, at: float, radius: float) -> Measured:
    """Pressure at a point and forces on walls and on a ball after half a second, over their exact values."""
    simulation = setup.simulation()
    record(simulation, 0.5)
    table, weight = simulation.probe_table(), 1000.0 * GRAVITY
    return Measured(
        {
            "point": table["point.pressure"][-1] / (weight * (depth - at)),
            "floor": -table["floor.fy"][-1] / (weight * depth),
            "side": table["side.fx"][-1] / (0.5 * weight * depth**2),
            "ball": table["ball.fy"][-1] / (weight * np.pi * radius**2),
        },
        {"floor": (table.time, -table["floor.fy"] / (weight * depth))},
    )


def channel(setup: Setup, speed: float, width: float, middle: float) -> Measured:
    """Volume counted by the probe over that of the ledger, and the flow over the exact flow."""
    simulation = setup.simulation()

    def beyond() -> float:
        own = simulation.particles
        return own.volume * float(np.count_nonzero(own.position[:, 0] >= middle))

    first = beyond()
    record(simulation, 1.0)
    table = simulation.probe_table()
    removed = simulation.liquid.ledger.outflow * simulation.scene.dx**2
    exact = speed * width
    return Measured(
        {
            "ledger": table["gate.volume"][-1] / (removed + beyond() - first),
            "flow": float(np.mean(table["gate.flow"])) / exact,
            "volume": table["gate.volume"][-1] / (exact * simulation.time),
        },
        {"flow": (table.time, table["gate.flow"] / exact)},
    )


# -- jets out of inflows, at 1 m/s --------------------------------------------------------------------

WIDTH, LENGTH, FIRST, LAST = 0.15, 0.08, 0.7, 1.4


def _jet(setup: Setup, angle: float, flow: float, overrides: dict[str, Any]) -> tuple[float, float, float]:
    """Volume delivered, volume through the plane, and density of the jet, each over the exact one."""
    turn = math.radians(angle)
    keys = {f"inflow.0.velocity.{k}": component for k, component in enumerate((math.cos(turn), math.sin(turn)))}
    simulation = setup.simulation({"domain.resolution": round(setup.cells / WIDTH), **keys, **overrides})
    cell = simulation.scene.dx**simulation.scene.dimension

    def look(simulation: Simulation) -> tuple[float, float]:
        particles = simulation.particles
        x = particles.position[:, 0]
        between = np.count_nonzero((x > 0.4) & (x < 0.7)) * particles.volume
        return simulation.liquid.ledger.inflow * cell, between

    times, found = record(simulation, LAST, look, FIRST - 1e-12)
    came, between = zip(*found)
    table = simulation.probe_table()
    late = table.time >= FIRST
    passed = np.polyfit(table.time[late], table["gate.volume"][late], 1)[0]
    section = 0.3 * flow / math.cos(turn)
    return float(np.polyfit(times, came, 1)[0]) / flow, float(passed) / flow, float(np.mean(between)) / section


def flat_jets(setup: Setup, jets: dict[str, dict[str, Any]]) -> Measured:
    """Jets in 2D out of boxes at several angles, each with a corner of its box and with solids."""
    values: dict[str, float] = {}
    for name, jet in jets.items():
        angle, (x, y) = jet["angle"], jet["low"]
        box = {"inflow.0.shape.low": [x, y], "inflow.0.shape.high": [x + LENGTH, y + WIDTH]}
        turn = math.radians(abs(angle))
        flow = math.cos(turn) * WIDTH + math.sin(turn) * LENGTH
        came, passed, dense = _jet(setup, angle, flow, {**box, "solid": jet.get("solid", [])})
        values |= {name: came, name + "-gate": passed, name + "-density": dense}
    return Measured(values)


def round_jet(setup: Setup, angle: float) -> Measured:
    """A jet in 3D out of a ball."""
    flow = 0.25 * math.pi * WIDTH**2
    return Measured(dict(zip(("came", "gate", "density"), _jet(setup, angle, flow, {}))))


def parabola(x: np.ndarray) -> np.ndarray:
    """How far a jet of 1.5 m/s has fallen at the distance x from its source."""
    return GRAVITY * x**2 / (2.0 * 1.5**2)


def parabola_curve() -> Curve:
    x = np.linspace(0.0, 0.5, 11)
    return x, parabola(x)


def fall_of_jet(setup: Setup, mouth: float, height: float, away: float, near: float) -> Measured:
    """The fall of the middle over the exact one, from particles near a place, and the path of the middle."""
    _, found = record(setup.simulation(), 0.7, lambda s: s.particles.position - [mouth, height], 0.45)
    x, drop = np.concatenate(found).T * [[1.0], [-1.0]]
    there = np.abs(x - away) < near
    error = float((drop[there] - parabola(x[there])).mean())
    middle = np.linspace(0.05, 0.5, 10)
    path = np.array([drop[np.abs(x - m) < 0.01].mean() for m in middle])
    return Measured({"fall": 1.0 + error / float(parabola(np.array(away)))}, {"fall": (middle, path)})
