"""Liquid that turns: a free viscous disc, water in a closed turning circle, and Newton's bucket.

A free disc keeps its angular momentum, and water in a full circle turns with it as a rigid body. Liquid that turns with
its bucket at the rate ω has the surface ω² r²/(2 g) above its lowest point.
"""

from __future__ import annotations

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

#: bucket: radius, depth and height in metres, turns per second, kinematic viscosity, seconds
RADIUS, DEPTH, HEIGHT, TURNS, NU, SECONDS = 0.2, 0.15, 0.3, 1.1, 0.01, 1.5
#: width of the domain over that of the bucket
MARGIN = 1.1
OMEGA = 2.0 * np.pi * TURNS
RISE = OMEGA**2 * RADIUS**2 / (2.0 * 9.81)


def _momentum(simulation: Simulation, centre: np.ndarray | None = None) -> tuple[float, float]:
    """Angular momentum and moment of inertia of the particles about a centre, per mass of one."""
    found = simulation.particles
    x = found.position - (found.position.mean(axis=0) if centre is None else centre)
    return float((x[:, 0] * found.velocity[:, 1] - x[:, 1] * found.velocity[:, 0]).sum()), float((x**2).sum())


def disc(size: Size, viscosity: float = 1e3) -> Measured:
    """Share of the angular momentum that a free disc keeps over a turn of 60 steps."""
    simulation = Simulation(
        Scene(
            {
                "name": "disc",
                "domain": {"size": [1.0, 1.0], "resolution": size.cells},
                "physics": {"gravity": [0.0, 0.0], "viscosity": viscosity},
                "liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.3}, "spin": 360.0}],
                "time": {"fps": 60.0 * size.steps, "cfl": 20.0},
            }
        )
    )
    history = [_momentum(simulation)[0]]
    for _ in range(60 * size.steps):
        simulation.next_frame()
        history.append(_momentum(simulation)[0])
    kept = np.array(history) / history[0]
    return Measured({"kept": kept[-1]}, {"disc": (np.linspace(0.0, 1.0, kept.size), kept)})


def circle(size: Size) -> Measured:
    """Rate of rotation after a turn of 180 steps, over that of the start: all of the water, and the outermost tenth."""
    simulation = Simulation(
        Scene(
            {
                "name": "circle",
                "domain": {"size": [1.0, 1.0], "resolution": size.cells},
                "physics": {"gravity": [0.0, 0.0]},
                "walls": {"pressure": "none"},
                "solid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.45}, "container": True}],
                "liquid": [{"shape": {"type": "ball", "centre": [0.5, 0.5], "radius": 0.55}, "spin": 360.0}],
                "time": {"fps": 180.0 * size.steps, "cfl": 20.0},
            }
        )
    )
    centre, rates = np.array([0.5, 0.5]), [1.0]
    for _ in range(180 * size.steps):
        simulation.next_frame()
        momentum, inertia = _momentum(simulation, centre)
        rates.append(momentum / inertia / (2.0 * np.pi))
    found = simulation.particles
    x, v = found.position - centre, found.velocity
    outer = np.hypot(*x.T) > 0.405
    edge = (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0])[outer].sum() / (x[outer] ** 2).sum() / (2.0 * np.pi)
    return Measured(
        {"rate": rates[-1], "edge": float(edge)}, {"circle": (np.linspace(0.0, 1.0, len(rates)), np.array(rates))}
    )


def bucket(size: Size) -> Measured:
    """Rise of the surface over ω² R²/(2 g), and the rate of rotation over that of the bucket."""
    width = 2.0 * RADIUS * MARGIN
    middle = [0.5 * width, 0.0, 0.5 * width]
    scene: Scene = Scene(
        {
            "name": "bucket",
            "domain": {"size": [width, HEIGHT, width], "resolution": round(size.cells * MARGIN)},
            "physics": {"density": 1000.0, "viscosity": 1000.0 * NU},
            "walls": {"viscous": "no-slip"},
            "solid": [
                {
                    "shape": {
                        "type": "cylinder", "start": [middle[0], 0.02, middle[2]], "end": [middle[0], 1.0, middle[2]],
                        "radius": RADIUS,
                    },
                    "container": True,
                    "motion": {"spin": 360.0 * TURNS, "axis": [0.0, 1.0, 0.0], "about": middle},
                }
            ],
            "liquid": [
                {
                    "shape": {"type": "halfspace", "point": [0.0, 0.02 + DEPTH, 0.0], "normal": [0.0, 1.0, 0.0]},
                    "spin": 360.0 * TURNS, "axis": [0.0, 1.0, 0.0], "about": middle,
                }
            ],
            "time": {"fps": 60.0, "min_substeps": size.steps, "cfl": 2.0},
        }
    )  # fmt: skip
    simulation = Simulation(scene)
    slopes, r2, height = [], np.empty(0), np.empty(0)
    while simulation.time < SECONDS - 1e-9:
        simulation.next_frame()
        if simulation.time > 0.8 * SECONDS:
            r2, height = _heights(simulation, middle)
            slopes.append(np.polyfit(r2, height, 1)[0])
    found = simulation.particles
    x, v = found.position - np.array(middle), found.velocity
    rate = (x[:, 2] * v[:, 0] - x[:, 0] * v[:, 2]).sum() / (x[:, [0, 2]] ** 2).sum()
    order = np.argsort(r2)
    return Measured(
        {"rise": float(np.mean(slopes)) * RADIUS**2 / RISE, "rate": abs(float(rate)) / OMEGA},
        {"surface": (np.sqrt(r2[order]), height[order])},
    )


def _heights(simulation: Simulation, middle: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """r² and the height of the surface in all columns that are at least a cell away from the wall."""
    grid = simulation.grid
    phi, dx = grid.level_set, grid.dx
    n = phi.shape[1]
    wet = phi < 0.0
    top = n - 1 - np.argmax(wet[:, ::-1, :], axis=1)  # the highest liquid cell of a column
    i, k = np.nonzero(wet.any(axis=1) & (top < n - 1))
    j = top[i, k]
    a, b = phi[i, j, k], phi[i, j + 1, k]
    height = (j + 0.5 + a / (a - b)) * dx
    r2 = ((i + 0.5) * dx - middle[0]) ** 2 + ((k + 0.5) * dx - middle[2]) ** 2
    inside = r2 < (RADIUS - dx) ** 2
    return r2[inside], height[inside]


CASES = (
    Case(
        "disc",
        "A free disc of 1000 Pa s turns once: angular momentum kept over 60 steps",
        "Exact: angular momentum is conserved",
        (Published("kept", "share of the angular momentum", 1.0, 0.01, quick=0.02),),
        disc,
        quick=(Size(16), Size(24), Size(32)),
        full=(Size(24), Size(32), Size(64), Size(32, 2)),
        axes=("turns", "angular momentum, relative to its start"),
    ),
    Case(
        "turning-circle",
        "Water without viscosity in a closed circle turns once in 180 steps: rate of rotation",
        "Exact: it turns as a rigid body",
        (
            Published("rate", "rate of rotation left", 1.0, 0.01, quick=0.02),
            Published("edge", "the same in the outermost tenth of the radius", 1.0, 0.02, quick=0.05),
        ),
        circle,
        quick=(Size(16), Size(24), Size(32)),
        full=(Size(32), Size(64), Size(128), Size(32, 8), Size(64, 2)),
        axes=("turns", "rate of rotation, relative to its start"),
    ),
    Case(
        "bucket",
        "Newton's bucket: viscous liquid turns with its bucket, rise of the surface",
        "Exact: ω² r²/(2 g)",
        (
            Published("rise", "rise from the middle to the wall over ω² R²/(2 g)", 1.0, 0.03, quick=0.06),
            Published("rate", "rate of rotation over that of the bucket", 1.0, 0.01, quick=0.03),
        ),
        bucket,
        quick=(Size(10), Size(14)),
        full=(Size(16), Size(24), Size(32), Size(24, 2)),
        axes=("distance from the axis in m", "height of the surface in m"),
    ),
)
