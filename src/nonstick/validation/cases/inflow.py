"""Inflows deliver velocity times area: jets straight and slanted, out of the open and out of a wall.

A source 0.15 m wide and 0.08 m long sends a jet of 1 m/s through the air, without gravity. No number of cells divides
its width. The volume that has come in is that of the ledger; the volume that has passed a plane downstream is counted
by a probe. Both are slopes over time, after the jet has passed the plane.
"""

from __future__ import annotations

import math

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

WIDTH, LENGTH, SPEED, PLANE, FIRST, LAST = 0.15, 0.08, 1.0, 0.55, 0.7, 1.4


def _jet(size: Size, angle: float, shape: dict, flow: float, dimension: int, solids: list) -> tuple[float, ...]:
    """Volume delivered, volume through the plane, and density of the jet, each over the exact one."""
    turn = math.radians(angle)
    more = [0.0] * (dimension - 2)
    scene: Scene = Scene(
        {
            "name": "inflow",
            "domain": {"size": [1.0, 0.8] + [0.4] * len(more), "resolution": round(size.cells / WIDTH)},
            "physics": {"gravity": [0.0, 0.0, *more]},
            "solid": solids,
            "inflow": [{"shape": shape, "velocity": [SPEED * math.cos(turn), SPEED * math.sin(turn), *more]}],
            "outflow": [{"shape": {"type": "box", "low": [0.8] + [-1.0] * (dimension - 1), "high": [2.0] * dimension}}],
            "time": {"fps": 60.0, "min_substeps": size.steps},
            "probe": [
                {"name": "gate", "type": "flow", "at": [PLANE, 0.4] + [0.2] * len(more), "normal": [1.0, 0.0, *more]}
            ],
        }
    )
    simulation = Simulation(scene)
    times, came, between = [], [], []
    while simulation.time < LAST - 1e-9:
        simulation.next_frame()
        if simulation.time >= FIRST:
            particles = simulation.particles
            x = particles.position[:, 0]
            times.append(simulation.time)
            came.append(simulation.liquid.ledger.inflow * scene.dx**dimension)
            between.append(np.count_nonzero((x > 0.4) & (x < 0.7)) * particles.volume)
    table = simulation.probe_table()
    late = table.time >= FIRST
    passed = np.polyfit(table.time[late], table["gate.volume"][late], 1)[0]
    section = 0.3 * flow / (SPEED * math.cos(turn))
    return float(np.polyfit(times, came, 1)[0]) / flow, float(passed) / flow, float(np.mean(between)) / section


def _flat(size: Size) -> Measured:
    """Jets in 2D out of boxes."""
    values: dict[str, float] = {}
    for name, angle, low, solids in (
        ("straight", 0.0, [0.1037, 0.31], []),
        ("tilted17", 17.0, [0.1037, 0.211], []),
        ("tilted40", -40.0, [0.1037, 0.607], []),
        ("wall", 0.0, [0.0437, 0.31], [{"shape": {"type": "box", "low": [-1.0, -1.0], "high": [0.0837, 2.0]}}]),
    ):
        box = {"type": "box", "low": low, "high": [low[0] + LENGTH, low[1] + WIDTH]}
        turn = math.radians(abs(angle))
        flow = SPEED * (math.cos(turn) * WIDTH + math.sin(turn) * LENGTH)
        came, passed, dense = _jet(size, angle, box, flow, 2, solids)
        values |= {name: came, name + "-gate": passed, name + "-density": dense}
    return Measured(values)


def _round(size: Size) -> Measured:
    """A jet in 3D out of a ball."""
    ball = {"type": "ball", "centre": [0.18, 0.3, 0.2], "radius": 0.5 * WIDTH}
    flow = 0.25 * math.pi * WIDTH**2 * SPEED
    return Measured(dict(zip(("came", "gate", "density"), _jet(size, 17.0, ball, flow, 3, []))))


def _published() -> tuple[Published, ...]:
    names = {"straight": "straight", "tilted17": "tilted 17°", "tilted40": "tilted 40°", "wall": "out of a wall"}
    out = []
    for key, text in names.items():
        out.append(Published(key, f"{text}: volume delivered over speed times area times time", 1.0, 0.005))
        out.append(Published(f"{key}-gate", f"{text}: volume through a plane, likewise", 1.0, 0.005, quick=0.01))
    out.append(Published("tilted17-density", "tilted 17°: particles in the jet over those of its volume", 1.0, 0.01))
    return tuple(out)


CASES = (
    Case(
        "inflow",
        "Jets out of inflows, straight, tilted and out of a wall: volume delivered",
        "Exact: the flow is velocity times the area across it",
        _published(),
        _flat,
        quick=(Size(4), Size(8)),
        full=(Size(4), Size(8), Size(16), Size(8, 2)),
    ),
    Case(
        "inflow-3d",
        "A round jet out of an inflow, tilted by 17°, 3D: volume delivered",
        "Exact: the flow is velocity times the area across it",
        (
            Published("came", "volume delivered over speed times area times time", 1.0, 0.005),
            Published("gate", "volume through a plane, likewise", 1.0, 0.005, quick=0.01),
            Published("density", "particles in the jet over those of its volume", 1.0, 0.01),
        ),
        _round,
        quick=(Size(4), Size(6)),
        full=(Size(4), Size(6), Size(8), Size(6, 2)),
    ),
)
