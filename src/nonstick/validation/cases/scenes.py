"""Whole scenes: volume, energy and convergence, and particles at floors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...scenes import builtin
from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Measured
from ..library import frames


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


def every_scene(size: int, steps: int, few: list[str], coarse: int) -> dict[str, float]:
    """The worst of all scenes over 100 frames; on grids coarser than `coarse`, of a few scenes over 30 frames."""
    quick = size < coarse
    drift, rise, above, unsolved = 0.0, 0.0, 0.0, 0
    for name in few if quick else builtin("liquid"):
        flat = Scene.load(name).dimension == 2
        cells = size if flat else max(3 * size // 8, 8)
        scene = Scene.load(name, {"domain.resolution": cells, "time.min_substeps": steps})
        energy, rows = history(scene, 30 if quick else 100)
        drift = max(drift, max(abs(float(r["volume_error"])) for r in rows))
        unsolved += sum(not r["converged"] for r in rows)
        if not driven(scene):
            rise, above = map(max, (rise, above), rises(energy, rows))
    return {"drift": drift, "rise": rise, "above": above, "unsolved": unsolved}


# -- what users complain about ------------------------------------------------------------------------


def suffer(scene: Scene, count: int = 100) -> dict[str, Any]:
    """Drift, unsolved steps, liquid in solids, and what was logged."""
    simulation = Simulation(scene)
    told: set[str] = set()
    simulation.tell = lambda kind, message: told.add(kind)
    rows = [row for frame in frames(simulation, _seconds(scene, count)) for row in frame]
    liquid, x = simulation.liquid, simulation.particles.position
    inside = [np.asarray(liquid.solids.placed(w)(*x.T)).min(initial=np.inf) for w in liquid.solids.list]
    first = liquid.ledger.initial * scene.dx**2
    return {
        # the last drops in a drain are left out: there the share of their own volume says nothing
        "drift": max(abs(float(r["volume_error"])) for r in rows if r["volume"] > 0.01 * first),
        "unsolved": sum(not r["converged"] for r in rows),
        "inside": max(0.0, -min(inside, default=0.0)) / scene.dx,
        "told": told,
    }


def complaints(scene: Callable[..., Scene], scenarios: dict[str, dict[str, Any]], apart: list[str]) -> dict[str, float]:
    """The worst of all scenarios, which are tables of the scene; drift and unsolved steps without some of them."""
    found = {name: suffer(scene({"name": name, **tables})) for name, tables in scenarios.items()}
    fair = [r for name, r in found.items() if name not in apart]
    return {
        "drift": max(r["drift"] for r in fair),
        "unsolved": sum(r["unsolved"] for r in fair),
        "inside": max(r["inside"] for r in found.values()),
        "reported": float("unconverged" in found["squeezed"]["told"]),
        **{f"{name}-drift": r["drift"] for name, r in found.items()},
    }


# -- particles at a floor -----------------------------------------------------------------------------

#: layers of a cell: as many as particles lie above each other in a full one; thinner layers show how their lattice lies
LAYERS = 2


def densities(simulation: Simulation, t: np.ndarray, found: list[tuple[np.ndarray, int]], enough: int) -> Measured:
    """The largest deviation of the density from 1, of the mean over all frames, and of single frames.

    Frames are counted together until a layer of a cell holds `enough` particles.
    """
    per_cell = simulation.scene.model.particles.per_axis**simulation.scene.dimension
    times, history = [], []
    since, room = np.zeros(LAYERS), 0
    for time, (count, columns) in zip(t, found):
        since, room = since + count, room + columns
        if room * per_cell >= enough:
            times.append(time)
            history.append(LAYERS * since / (room * per_cell))
            since, room = np.zeros(LAYERS), 0
    total, columns = (sum(part) for part in zip(*found))
    mean, dense = LAYERS * total / (max(columns, 1) * per_cell), np.array(history)
    curves = {f"layer {q + 1}": (np.array(times), dense[:, q]) for q in range(LAYERS)} if times else {}
    worst = float(np.abs(dense - 1.0).max()) if times else float("nan")
    return Measured({"mean": float(np.abs(mean - 1.0).max()), "worst": worst}, curves)


def layers_above_floor(simulation: Simulation) -> tuple[np.ndarray, int]:
    """Particles in the layers of cells above the floor, in columns that are deep, and the number of these columns."""
    grid, position = simulation.grid, simulation.particles.position
    open_and_wet = np.logical_and(grid.level_set < 0.0, grid.solid > grid.dx)
    deep = np.asarray(np.moveaxis(open_and_wet, 1, -1)[..., :4].all(axis=-1))
    cells = np.minimum((position / grid.dx).astype(int), np.array(grid.level_set.shape) - 1)
    mine = deep[tuple(np.delete(cells, 1, axis=1).T)]
    layer = (LAYERS * position[mine, 1] / grid.dx).astype(int)
    return np.bincount(layer, minlength=LAYERS)[:LAYERS].astype(float), int(deep.sum())
