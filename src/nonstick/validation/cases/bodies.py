"""Rigid bodies in liquid: how deep they float, how fast they sink, and whether water lets go of them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ...bodies import rotation
from ...discretise.coupling import Body
from ...discretise.pressure import PressureProblem
from ...files.formats.mesh import of_body
from ...files.rundir import RunDirectory
from ...grid.mac import Grid
from ...grid.shapes import Box
from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ...sim.liquid.solids.bodies import make
from ...sim.run.loop import run
from ..library import surface


def water_level(simulation: Simulation) -> float:
    """Mean height of the surface over the outermost columns of cells."""
    columns, _, height = surface(simulation)
    edge = np.ones([n for axis, n in enumerate(simulation.grid.level_set.shape) if axis != 1], bool)
    edge[tuple(slice(2, -2) for _ in edge.shape)] = False
    return float(np.mean(height[edge[columns]])) * simulation.grid.dx


# -- bodies dropped into a pool -----------------------------------------------------------------------


def story(path: str | Path) -> dict[str, Any]:
    """Per body: density, frame of the first touch of the floor, height it rose to after it; then leaks and volume."""
    opened = RunDirectory.open(path)
    scene = Scene.load(opened.path / "scene.toml")
    scene.folder = Path(opened.meta().get("folder", "."))
    bodies = make(scene)
    skins = [of_body(b.shape, b.origin).vertices[:, : b.d] for b in bodies]
    told: list[dict[str, Any]] = [
        {"name": b.name, "density": b.density, "floor at frame": None, "rose to": 0.0} for b in bodies
    ]
    deepest, deep, count = 0.0, 0, 0
    for frame in opened.frames():
        data = opened.read_frame(frame)
        x = data.get("position", np.empty((0, scene.dimension))).astype(float)
        count += len(x)
        for k, (body, own) in enumerate(zip(bodies, told)):
            body.centre, body.orientation = data["body_centre"][k], data["body_orientation"][k]
            low = float((rotation.matrix(body.orientation) @ skins[k].T)[1].min() + body.centre[1])
            # a bounce falls between frames: near the floor and already on the way up counts as well
            near_floor = (2.5 if data["body_velocity"][k, 1] > 0.1 else 0.5) * scene.dx
            if own["floor at frame"] is None and low < near_floor:
                own |= {"floor at frame": int(frame), "rose to": low}
            elif own["floor at frame"] is not None:
                own["rose to"] = max(own["rose to"], low)
            a, b = body.box()
            near = x[((x > a) & (x < b)).all(axis=1)]
            if len(near):
                phi = np.asarray(body.phi(*near.T)) / scene.dx
                deepest, deep = min(deepest, float(phi.min())), deep + int((phi < -0.5).sum())
    drift = max((abs(float(r["volume_error"])) for r in opened.rows()), default=0.0)
    leaks = {"deepest": -deepest, "deep share": deep / max(count, 1)}
    return {"frames": opened.frames()[-1], "bodies": told, **leaks, "volume": drift}


def drop(scene: Scene) -> dict[str, float]:
    """Whether bodies reach the floor in the order of their density; liquid in bodies; drift of the volume."""
    with tempfile.TemporaryDirectory() as folder:
        run(scene, Path(folder) / "run")
        told = story(Path(folder) / "run")
    order = sorted(told["bodies"], key=lambda b: -b["density"])
    landed = [np.inf if b["floor at frame"] is None else b["floor at frame"] for b in order]
    first = float(landed[0] == min(landed) < np.inf)
    return {"first": first, "leaked": told["deep share"], "volume": told["volume"]}


def peaked(speeds: list[float], pause: int, gain: float) -> bool:
    """True if the last `pause` frames have raised the largest speed by less than the share `gain`."""
    if len(speeds) <= 2 * pause:
        return False
    return max(speeds) < (1.0 + gain) * max(speeds[:-pause])


# -- a box pulled up from the surface -----------------------------------------------------------------


def lift(dimension: int, n: int, ratio: float, speed: float = 1.0, dt: float = 0.01) -> dict[str, float]:
    """Velocities of the box after one step: in free flight, with separating walls, with the linear solve."""
    grid, gravity = Grid.unit(n, dimension), 9.81
    low, high = np.full(dimension, 0.3), np.full(dimension, 0.7)
    low[1], high[1] = 0.48, 0.68
    box = Box(tuple(low), tuple(high)).sample(grid.nodes())
    velocity = np.zeros(dimension)
    velocity[1] = speed - gravity * dt
    body = Body(box, 0.5 * (low + high), velocity, 0.0, density=1000.0 * ratio)
    liquid = [np.zeros(grid.face_shape(a)) for a in range(dimension)]
    liquid[1] -= gravity * dt
    phi = np.broadcast_to(grid.cells()[1] - 0.5, grid.shape)
    problem = PressureProblem(phi_liquid=phi, velocity=tuple(liquid), dt=dt, dx=grid.dx, walls="cut", bodies=[body])
    free, held = problem.solve("auto", rtol=1e-9), problem.solve("mg-cg", rtol=1e-9)
    return {
        "flight": velocity[1],
        "separating": float(free.bodies[0].velocity[1]),
        "linear": float(held.bodies[0].velocity[1]),
    }
