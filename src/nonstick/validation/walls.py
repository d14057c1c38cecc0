"""Viscous liquid at no-slip walls: films and slugs on plates, and the same solved once without particles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..discretise.viscosity import ViscosityProblem
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from .measures import frames


@dataclass(frozen=True)
class Plate:
    """A plate: cells above a grid line, degrees, speed along itself in units of the film's, a second plate above."""

    offset: float = 0.0
    angle: float = 0.0
    speed: float = 0.0
    pair: bool = False

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Its direction and its normal."""
        turn = math.radians(self.angle)
        return np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])


# -- films and slugs ----------------------------------------------------------------------------------

#: depth of a film in metres, its length over its depth, kinematic viscosity, acceleration along the plate
DEPTH, LENGTH, NU, DRIVE = 0.08, 18.0, 0.04, 0.1
#: mean velocity of the film on a plate at rest
MEAN = DRIVE * DEPTH**2 / (3.0 * NU)
#: the flow is measured after this many h²/ν, in the last of LATE equal parts of this time
END, LATE = 4.0, 10
#: planes for the flux and gauges for the depth, within this many h of the middle
PLANES, GAUGES, NEAR = 9, 33, 1.0
#: the volume of tilted films is measured within this many h of the middle, one more or less
WIDE = 4.0
#: weight of a film across its plate over its drive: heavy ends would spread and pull at the middle
WEIGHT = 1.0


def film_scene(plate: Plate, cells: int, steps: int) -> tuple[Scene, np.ndarray]:
    """The scene, and a point on the plate."""
    dx = DEPTH / cells
    along, up = plate.axes
    length = LENGTH * DEPTH
    shape = [
        math.ceil((length * along[0] + 3 * DEPTH * along[1] + DEPTH) / dx),
        math.ceil((length * along[1] + 5 * DEPTH * along[0] + DEPTH) / dx),
    ]
    middle = dx * np.array([shape[0] // 2, shape[1] // 2 - cells + plate.offset])

    def slab(low: float, high: float, long: float) -> dict[str, Any]:
        ends = [(middle + np.array([0.5 * s * long, y])).tolist() for s, y in ((-1, low), (1, high))]
        return {"type": "box", "low": ends[0], "high": ends[1], "rotate": plate.angle, "about": middle.tolist()}

    solids: list[dict[str, Any]] = [{"shape": slab(-20 * DEPTH, 0.0, 9 * length)}]
    if plate.speed:
        solids[0]["motion"] = {"velocity": (plate.speed * MEAN * along).tolist()}
    if plate.pair:
        solids.append({"shape": slab(2 * DEPTH, 20 * DEPTH, 9 * length)})
    pull = DRIVE * (along - (0.0 if plate.pair else WEIGHT) * up)
    ends = [middle + s * NEAR * DEPTH * along for s in (-1.0, 1.0)]
    plane = {"normal": along.tolist(), "shape": slab(-DEPTH, 3 * DEPTH if plate.pair else 2 * DEPTH, length)}
    probes: list[dict[str, Any]] = [
        {"name": f"plane-{k}", "type": "flow", "at": (ends[0] + t * (ends[1] - ends[0])).tolist(), **plane}
        for k, t in enumerate(np.linspace(0.0, 1.0, PLANES))
    ]
    feet = [(end - 0.5 * DEPTH * up).tolist() for end in ends]
    probes.append({"name": "depth", "type": "height", "at": feet[0], "to": feet[1], "points": GAUGES})
    scene: Scene = Scene(
        {
            "name": "no-slip",
            "domain": {"size": [dx * n for n in shape], "resolution": max(shape)},
            "physics": {"density": 1000.0, "viscosity": 1000.0 * NU, "gravity": pull.tolist()},
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "liquid": [{"shape": slab(-DEPTH, 2 * DEPTH if plate.pair else DEPTH, length)}],
            "solid": solids,
            "time": {"fps": steps * NU / (END * DEPTH**2), "frames": steps},
            "solver": {"viscosity_rtol": 1e-6},
            "probe": probes,
        }
    )
    return scene, middle


def film(cells: int, steps: int, plate: Plate) -> dict[str, float]:
    """The flux over the exact one, the error of the profile, the slip length in cells, the depth over the given one."""
    scene, middle = film_scene(plate, cells, 60 * steps)
    along, up = plate.axes
    simulation = Simulation(scene)
    for _ in frames(simulation, END * DEPTH**2 / NU):
        pass
    frame, speed = simulation.frame_arrays(), plate.speed * MEAN
    table = simulation.probe_table()
    late = table.time > (1.0 - 1.0 / LATE) * simulation.time
    flux = float(np.mean([table[f"plane-{k}.flow"][late] for k in range(PLANES)]))
    wet = along[0] * float(table["depth.mean"][late].mean())  # gauges are vertical
    if plate.angle and not plate.pair:
        wet = _mean_depth(simulation, middle, along)
    depth, driven = (0.5 if plate.pair else 1.0) * wet, DRIVE
    if plate.pair:
        driven -= _pressure_slope(frame["pressure"].astype(float), scene.dx, middle, plate) / 1000.0
    mean = driven * depth**2 / (3.0 * NU)
    x, v = frame["position"].astype(float) - middle, frame["velocity"].astype(float)
    s, y, u = x @ along, x @ up, v @ along - speed
    near = np.abs(s) < NEAR * DEPTH
    s, y, u = s[near], y[near], u[near]
    deep = (y > scene.dx) & (y < (2 * DEPTH - scene.dx if plate.pair else 0.75 * DEPTH))
    a, b, c = np.polyfit(y[deep], u[deep], 2)
    slip = (-b + math.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    wrong = _layer_means(y, u - driven / NU * y * (depth - 0.5 * y), 2 * cells)
    return {
        "flux": (flux / wet - speed) / mean,
        "profile": float(np.sqrt((wrong**2).mean())) / mean,
        "slip": slip / scene.dx,
        "depth": depth / DEPTH,
    }


def _mean_depth(simulation: Simulation, middle: np.ndarray, along: np.ndarray) -> float:
    """Volume of the film over its length around the middle."""
    particles = simulation.particles
    away = np.abs((particles.position - middle) @ along) / DEPTH
    shares = np.clip(0.5 * (WIDE + 1.0 - away), 0.0, 1.0)
    return float(shares.sum()) * particles.volume / (2.0 * WIDE * DEPTH)


def _layer_means(y: np.ndarray, u: np.ndarray, layers: int) -> np.ndarray:
    """Means of u over layers of equal thickness, `layers` over h, that hold particles."""
    layer = np.maximum((layers * y / DEPTH).astype(int), 0)
    count = np.bincount(layer)
    return (np.bincount(layer, u) / np.maximum(count, 1))[count > 0]


def _pressure_slope(p: np.ndarray, dx: float, middle: np.ndarray, plate: Plate) -> float:
    """Pressure gradient between two plates: the ends of the liquid push and pull a little (2 % of the drive)."""
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) * dx for n in p.shape], indexing="ij"), axis=-1) - middle
    s, y = (x @ axis for axis in plate.axes)
    deep = (np.abs(s) < NEAR * DEPTH) & (y > 0.25 * DEPTH) & (y < 1.75 * DEPTH)
    rows = np.stack([np.ones(deep.sum()), s[deep], y[deep]], axis=1)
    return float(np.linalg.lstsq(rows, p[deep], rcond=None)[0][1])


# -- walls alone --------------------------------------------------------------------------------------

#: half of the length of the box over h; so long a step that its inertia does not count
HALF, STEP = 3.0, 1e9

Profile = Callable[[np.ndarray], np.ndarray]

#: velocity over y/h for each drive, and the drive that keeps it up (ν = h = 1)
DRIVES: dict[str, tuple[Profile, Profile]] = {
    "parabola": (lambda y: y - 0.5 * y * y, lambda y: np.ones_like(y)),
    "sine": (lambda y: np.sin(0.5 * math.pi * y), lambda y: 0.25 * math.pi**2 * np.sin(0.5 * math.pi * y)),
}


def profile_error(plate: Plate, cells: int, drive: str) -> float:
    """Root of the mean square of the error on the faces in the middle, over that of the exact velocity."""
    profile, force = DRIVES[drive]
    dx, (along, up) = 1.0 / cells, plate.axes
    depth = 2.0 if plate.pair else 1.0
    n = 2 * round(HALF * cells)
    # as in the films, the plate passes a point this many cells above a grid line
    middle = dx * np.array([0.5 * n, 0.5 * n - round(0.5 * depth * cells) + plate.offset])

    def points(shape: tuple[int, int], shift: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
        """Distance along the plate and height above it."""
        lines = [dx * (np.arange(m) + o) for m, o in zip(shape, shift)]
        x = np.meshgrid(*lines, indexing="ij")
        s, y = (sum((c - m) * t for c, m, t in zip(x, middle, axis)) for axis in (along, up))
        return np.asarray(s), np.asarray(y)

    wall = plate.speed * float(profile(np.ones(1))[0])
    exact, given, distance, fluid, middles = [], [], [], [], []
    for axis in range(2):
        shape = (n + 1, n) if axis == 0 else (n, n + 1)
        s, y = points(shape, (0.0, 0.5) if axis == 0 else (0.5, 0.0))
        here = np.minimum(y, depth - y) if plate.pair else y
        wet = here > 0.0
        exact.append(along[axis] * (wall + np.where(wet, profile(y), 0.0)))
        rim = np.ones(shape, bool)
        rim[2:-2, 2:-2] = False
        fluid.append(wet & ~rim)
        given.append(exact[-1] + np.where(fluid[-1], STEP * along[axis] * force(y), 0.0))
        distance.append(here)
        middles.append((np.abs(s) < 1.0) & wet & (y < depth))
    _, y = points((n, n), (0.5, 0.5))
    phi = np.full(y.shape, -1.0) if plate.pair else y - depth
    walls: dict[str, Any] = {"fluid": fluid, "distance": distance, "phi_liquid": phi}
    problem = ViscosityProblem(velocity=given, viscosity=1.0, dt=STEP, dx=dx, rho=1.0, **walls)
    found = problem.solve(rtol=1e-10).velocity
    problem.correct_walls(found)
    found = problem.solve(x0=found, rtol=1e-10).velocity
    wrong = sum(float(((f - e)[m] ** 2).sum()) for f, e, m in zip(found, exact, middles))
    moved = sum(float(((e - wall * along[a])[m] ** 2).sum()) for a, (e, m) in enumerate(zip(exact, middles)))
    return math.sqrt(wrong / moved)
