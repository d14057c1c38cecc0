"""Whole scenes: volume, energy and convergence, water at rest and water that falls, particles at floors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...scenes import builtin
from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Measured
from ..library import Setup, frames, record, surface

GRAVITY = 9.81


def _seconds(scene: Scene, count: int) -> float:
    return count / float(scene.model.time.fps)


# -- every built-in scene -----------------------------------------------------------------------------


def history(scene: Scene, count: int) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Energy before the first substep and after every substep, in joule; and the rows of statistics."""
    simulation = Simulation(scene)
    first = sum(simulation.liquid.energy())
    rows = [row for frame in frames(simulation, _seconds(scene, count)) for row in frame]
    return np.array([first, *(row["kinetic"] + row["potential"] for row in rows)]), rows


def rises(energy: np.ndarray, rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Largest rise over a substep, and above the energy at first.

    They are shares of the largest kinetic energy, or of 1 % of the energy at first if that is more.
    """
    scale = max(*(float(row["kinetic"]) for row in rows), 0.01 * abs(float(energy[0])))
    return max(float(np.diff(energy).max()), 0.0) / scale, float(energy.max() - energy[0]) / scale


def driven(scene: Scene) -> bool:
    """Does something outside the liquid do work on it?"""
    model = scene.model
    moved = any(s.motion is not None or s.separation for s in model.solid)
    return bool(moved or model.inflow or model.force or model.walls.separation or model.bodies)


def every_scene(setup: Setup, few: list[str], coarse: int) -> Measured:
    """The worst of all scenes over 100 frames; on grids coarser than `coarse`, of a few scenes over 30 frames."""
    quick = setup.cells < coarse
    drift, rise, above, unsolved = 0.0, 0.0, 0.0, 0
    for name in few if quick else builtin("liquid"):
        flat = Scene.load(name).dimension == 2
        cells = setup.cells if flat else max(3 * setup.cells // 8, 8)
        scene = Scene.load(name, {"domain.resolution": cells, "time.min_substeps": setup.steps})
        energy, rows = history(scene, 30 if quick else 100)
        drift = max(drift, max(abs(float(r["volume_error"])) for r in rows))
        unsolved += sum(not r["converged"] for r in rows)
        if not driven(scene):
            rise, above = map(max, (rise, above), rises(energy, rows))
    return Measured({"drift": drift, "rise": rise, "above": above, "unsolved": unsolved})


# -- what users complain about ------------------------------------------------------------------------


def suffer(scene: Scene, count: int = 100) -> dict[str, Any]:
    """Drift, unsolved steps, the ledger, what was logged, speeds, liquid in solids, and when it leaves the ceiling."""
    simulation = Simulation(scene)
    told: list[str] = []
    simulation.tell = lambda kind, message: told.append(kind)
    rows: list[dict[str, Any]] = []
    cleared = np.inf
    for frame in frames(simulation, _seconds(scene, count)):
        rows += frame
        if simulation.particles.position[:, 1].max(initial=0.0) < 1.0 - 1.5 * scene.dx:
            cleared = min(cleared, simulation.time)
    liquid, cell, x = simulation.liquid, scene.dx**2, simulation.particles.position
    inside = [np.asarray(liquid.solids.placed(w)(*x.T)).min(initial=np.inf) for w in liquid.solids.list]
    first, came, left = (getattr(liquid.ledger, name) * cell for name in ("initial", "inflow", "outflow"))
    return {
        # the last drops in a drain are left out: there the share of their own volume says nothing
        "drift": max(abs(float(r["volume_error"])) for r in rows if r["volume"] > 0.01 * first),
        "unsolved": sum(not r["converged"] for r in rows),
        "steps": len(rows),
        **{"first": first, "in": came, "out": left, "particles": liquid.count},
        "fastest": max(float(r["max_speed"]) for r in rows),
        "speed": float(rows[-1]["max_speed"]),
        "highest": float(x[:, 1].max(initial=0.0)),
        "inside": max(0.0, -min(inside, default=0.0)) / scene.dx,
        "past_the_middle": int(np.count_nonzero(x[:, 0] > 0.5)),
        "cleared": cleared,
        "told": {kind: told.count(kind) for kind in dict.fromkeys(told)},
    }


def complaints(setup: Setup, scenarios: dict[str, dict[str, Any]], apart: list[str]) -> Measured:
    """The worst of all scenarios, which are tables of the scene; drift and unsolved steps without some of them."""
    found = {name: suffer(setup.scene({"name": name, **tables})) for name, tables in scenarios.items()}
    fair = [r for name, r in found.items() if name not in apart]
    return Measured(
        {
            "drift": max(r["drift"] for r in fair),
            "unsolved": sum(r["unsolved"] for r in fair),
            "inside": max(r["inside"] for r in found.values()),
            "reported": float("unconverged" in found["squeezed"]["told"]),
            **{f"{name}-drift": r["drift"] for name, r in found.items()},
        }
    )


# -- water at rest and water that falls ---------------------------------------------------------------


def rest(setup: Setup, depth: float, seconds: float = 2.0) -> Measured:
    """Largest particle speed as a share of √(g h), and how far the surface strays from flat, in cells."""
    simulation = setup.simulation()
    record(simulation, seconds)
    speed = float(np.linalg.norm(simulation.particles.velocity, axis=1).max())
    (columns,), j, height = surface(simulation)
    open_columns = simulation.grid.solid[columns, j] > 0.5 * simulation.grid.dx
    return Measured(
        {
            "speed": speed / float(np.sqrt(GRAVITY * depth)),
            "unevenness": float(np.ptp(height[open_columns])) / 2,
            "volume": simulation.liquid.ledger.error,
        }
    )


def ceiling(setup: Setup, clear: float, fps: float) -> Measured:
    """Time over that of free fall, and the lead over free fall, with separating walls; the way with sticky ones."""
    dx = 2.0 / setup.cells  # the scene is 2 m high
    free = float(np.sqrt(2 * clear * dx / GRAVITY))

    def fall(walls: str, until: float, fps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, and how far the top of the slab and its centroid have fallen, in cells."""
        simulation = setup.simulation({"walls.pressure": walls, "time.fps": fps, "time.min_substeps": 1})

        def heights(simulation: Simulation) -> tuple[float, float]:
            y = simulation.particles.position[:, 1]
            return -y.max() / simulation.scene.dx, -y.mean() / simulation.scene.dx

        time, found = record(simulation, until, heights, first=True)
        top, centroid = np.array(found).T
        return time, top - top[0], centroid - centroid[0]

    time, top, centroid = fall("cut", 1.5 * free, fps * setup.steps)
    way = 0.5 * GRAVITY * time**2 / dx
    lead = float(max((top - way).max(), (centroid - way).max(), 0.0))
    # between frames the way grows with the square of time
    cleared = float(np.sqrt(np.interp(clear, top, time**2))) if top[-1] > clear else float("inf")
    hung = fall("none", 3.0 * free, fps)[1][-1]
    return Measured({"time": cleared / free, "lead": lead, "hung": float(hung)}, {"top": (time / free, top)})


# -- particles at a floor -----------------------------------------------------------------------------

QUARTERS = 4


def floor(setup: Setup, enough: int) -> Measured:
    """The largest deviation of the density from 1, of the mean over 100 frames, and of single frames.

    Frames are counted together until a layer of a cell holds `enough` particles.
    """
    simulation = setup.simulation()
    scene = simulation.scene
    per_cell = scene.model.particles.per_axis**scene.dimension
    frame_times, found = record(simulation, _seconds(scene, 100), _quarters)
    times, history = [], []
    since, room = np.zeros(QUARTERS), 0
    for time, (count, columns) in zip(frame_times, found):
        since, room = since + count, room + columns
        if room * per_cell >= enough:
            times.append(time)
            history.append(4.0 * since / (room * per_cell))
            since, room = np.zeros(QUARTERS), 0
    total, columns = (sum(part) for part in zip(*found))
    mean, dense = 4.0 * total / (max(columns, 1) * per_cell), np.array(history)
    curves = {f"quarter {q + 1}": (np.array(times), dense[:, q]) for q in range(QUARTERS)} if times else {}
    worst = float(np.abs(dense - 1.0).max()) if times else float("nan")
    return Measured({"mean": float(np.abs(mean - 1.0).max()), "worst": worst}, curves)


def _quarters(simulation: Simulation) -> tuple[np.ndarray, int]:
    """Particles in quarter cells above the floor, in columns that are deep, and the number of these columns."""
    grid, position = simulation.grid, simulation.particles.position
    open_and_wet = np.logical_and(grid.level_set < 0.0, grid.solid > grid.dx)
    deep = np.asarray(np.moveaxis(open_and_wet, 1, -1)[..., :4].all(axis=-1))
    cells = np.minimum((position / grid.dx).astype(int), np.array(grid.level_set.shape) - 1)
    mine = deep[tuple(np.delete(cells, 1, axis=1).T)]
    quarter = (4.0 * position[mine, 1] / grid.dx).astype(int)
    return np.bincount(quarter, minlength=QUARTERS)[:QUARTERS].astype(float), int(deep.sum())
