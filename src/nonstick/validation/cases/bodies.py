"""Rigid bodies in liquid: how deep they float, how fast they sink, and whether water lets go of them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ...bodies import rotation
from ...discretise.coupling import Body
from ...discretise.pressure import PressureProblem
from ...files.body_files import surface as skin
from ...files.rundir import RunDirectory
from ...grid.mac import Grid
from ...grid.shapes import Box
from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ...sim.liquid.solids.bodies import make
from ...sim.run.loop import run
from ..case import Measured
from ..library import Setup, frames, record, surface


def floating(setup: Setup, ratios: list[float], depth: float, height: float) -> Measured:
    """Drafts of boxes over their height, and how many cells one as dense as water moves in a second.

    Draft is the height of the water at the sides of the tank above the bottom of the box, as a mean over 2.5 of 4 s.
    """
    values: dict[str, float] = {}
    for ratio in (*ratios, 1.0):
        seconds, watch = (4.0, 2.5) if ratio < 1.0 else (1.0, 0.5)
        # liquid is laid out to its depth beside the box, and none of it where the box is
        bottom = depth - ratio * height + 0.4 / setup.cells if ratio < 1.0 else 0.25
        middle, shape = bottom + 0.5 * height, "bodies.0.shape"
        place = {f"{shape}.low.1": middle - 0.5 * height, f"{shape}.high.1": middle + 0.5 * height}
        simulation = setup.simulation({"bodies.0.density": 1000.0 * ratio, **place})
        body = simulation.bodies[0]
        start = body.centre[1]
        _, levels = record(simulation, seconds, lambda s: _water_level(s) - s.bodies[0].centre[1], seconds - watch)
        if ratio < 1.0:
            values[f"draft-{ratio}"] = float(np.mean(np.array(levels) + 0.5 * height)) / height
        else:
            values["hovers"] = float(body.centre[1] - start) / simulation.scene.dx
    return Measured(values)


def _water_level(simulation: Simulation) -> float:
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
    skins = [skin(b)[0] for b in bodies]
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


def drop(setup: Setup) -> Measured:
    """Whether bodies reach the floor in the order of their density; liquid in bodies; drift of the volume."""
    with tempfile.TemporaryDirectory() as folder:
        run(setup.scene({"output.movie": False}), Path(folder) / "run")
        told = story(Path(folder) / "run")
    order = sorted(told["bodies"], key=lambda b: -b["density"])
    landed = [np.inf if b["floor at frame"] is None else b["floor at frame"] for b in order]
    first = float(landed[0] == min(landed) < np.inf)
    return Measured({"first": first, "leaked": told["deep share"], "volume": told["volume"]})


# -- bodies that sink ---------------------------------------------------------------------------------


def slow_cylinder(setup: Setup, since: float, until: float) -> Measured:
    """The speed in mm/s: the slope of its way between two times."""
    simulation = setup.simulation({"domain.resolution": 3 * setup.cells})
    start = simulation.scene.model.bodies[0].shape.centre[1]
    time, found = record(simulation, until, lambda s: float(s.bodies[0].centre[1]))
    height, late = np.array(found), time > since
    speed = -float(np.polyfit(time[late], height[late], 1)[0])
    return Measured({"speed": 1e3 * speed}, {"way": (time, start - height)})


def sphere(setup: Setup, diameter: float, seconds: float, wait: float, gain: float) -> Measured:
    """The largest speed on the way down: reached when `wait` seconds have brought no more than the share `gain`."""
    fps = max(60.0, 7.5 * setup.cells)
    simulation = setup.simulation({"domain.resolution": round(setup.cells * 0.16 / diameter), "time.fps": fps})
    body, pause = simulation.bodies[0], round(wait * fps)
    times, speeds, peaks = [0.0], [0.0], [0.0]
    for _ in frames(simulation, seconds):
        times.append(simulation.time)
        speeds.append(-float(body.velocity[1]))
        peaks.append(max(speeds))
        risen = len(peaks) <= 2 * pause or peaks[-1] >= (1.0 + gain) * peaks[-1 - pause]
        if not risen or body.centre[1] <= 1.5 * diameter:
            break
    speed = 1000.0 * np.array(speeds)
    return Measured({"peak": 1000.0 * max(speeds)}, {"speed": (np.array(times), speed)})


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


def suction(setup: Setup, ratios: list[float], dt: float) -> Measured:
    """Velocity after a step over that of free flight, for several densities over that of water, in 3D."""
    values = {}
    for ratio in ratios:
        found = lift(3, setup.cells, ratio, dt=dt / setup.steps)
        values[f"{ratio}"] = found["separating"] / found["flight"]
        values[f"linear-{ratio}"] = found["linear"] / found["flight"]
    return Measured(values)
