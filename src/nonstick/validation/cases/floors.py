"""Density of particles next to a flat floor, in quarter cells, over a dam break and a bore that meets an obstacle.

Counted are columns whose first four cells above the floor are liquid. 1 is the density of a full cell. Frames are
counted together until a layer of a cell holds 1000 particles: chance alone then moves a quarter cell by up to 6 %. In
3D this is a single frame, in 2D some five to ten.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

QUARTERS, ENOUGH, FRAMES = 4, 1000, 100
#: a bore that runs over an obstacle
BORE = {
    "name": "bore",
    "domain": {"size": [2.0, 1.0], "resolution": 128},
    "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.6, 0.3]}}],
    "solid": [{"shape": {"type": "box", "low": [1.2, -1.0], "high": [1.35, 0.15]}}],
}


def histogram(simulation: Simulation) -> tuple[np.ndarray, int]:
    """Particles in quarter cells above the floor, in columns that are deep, and the number of these columns."""
    grid, position = simulation.grid, simulation.particles.position
    open_and_wet = np.logical_and(grid.level_set < 0.0, grid.solid > grid.dx)
    deep = np.asarray(np.moveaxis(open_and_wet, 1, -1)[..., :4].all(axis=-1))
    cells = np.minimum((position / grid.dx).astype(int), np.array(grid.level_set.shape) - 1)
    mine = deep[tuple(np.delete(cells, 1, axis=1).T)]
    quarter = (4.0 * position[mine, 1] / grid.dx).astype(int)
    return np.bincount(quarter, minlength=QUARTERS)[:QUARTERS].astype(float), int(deep.sum())


def measure(size: Size, name: str) -> Measured:
    """The largest deviation from 1 of the mean over the run, and of single frames."""
    overrides = {"domain.resolution": size.cells, "time.min_substeps": size.steps}
    scene: Scene = Scene(BORE).replace(overrides) if name == "bore" else Scene.load(name, overrides)
    simulation = Simulation(scene)
    per_cell = scene.model.particles.per_axis**scene.dimension
    total, room, times, history = np.zeros(QUARTERS), 0, [], []
    since, since_room = np.zeros(QUARTERS), 0
    for _ in range(FRAMES):
        simulation.next_frame()
        count, columns = histogram(simulation)
        total, room = total + count, room + columns
        since, since_room = since + count, since_room + columns
        if since_room * per_cell >= ENOUGH:
            times.append(simulation.time)
            history.append(4.0 * since / (since_room * per_cell))
            since, since_room = np.zeros(QUARTERS), 0
    mean, frames = 4.0 * total / (max(room, 1) * per_cell), np.array(history)
    curves = {f"quarter {q + 1}": (np.array(times), frames[:, q]) for q in range(QUARTERS)} if times else {}
    worst = float(np.abs(frames - 1.0).max()) if times else float("nan")
    return Measured({"mean": float(np.abs(mean - 1.0).max()), "worst": worst}, curves)


def _case(name: str, title: str, quick: tuple[int, ...], full: tuple[int, ...]) -> Case:
    return Case(
        f"floor-{name}",
        f"{title}: density of particles in quarter cells above the floor",
        "Exact: incompressible liquid has the same density everywhere",
        (
            Published("mean", "largest deviation of the mean over the run", 0.0, 0.05, scale=1.0),
            Published("worst", "largest deviation in a frame, or in 1000 particles", 0.0, 0.15, scale=1.0, quick=0.25),
        ),
        partial(measure, name=name),
        quick=tuple(Size(n) for n in quick),
        full=(Size(full[0], 2), *(Size(n) for n in full)),
        axes=("time in s", "density over that of a full cell"),
    )


CASES = (
    _case("dam-break-box", "A dam breaks in a box", (16,), (16, 24, 32)),
    _case("bore", "A bore runs over an obstacle", (64,), (64, 96, 128)),
)
