"""Films and slugs of viscous liquid at no-slip walls: flux, slip length and order over three grids.

A film of depth h, driven along its plate by g_s, has the mean velocity g_s h²/(3ν) (Nusselt 1916); liquid between two
plates a distance 2h apart has the same (Poiseuille). The plate lies on a grid line or anywhere between two, along the
grid or at an angle, and may move along itself (Couette). The flow starts from rest and is measured after 4 h²/ν in the
middle of a film 12 h long, relative to the drive there with the pressure gradient. The drive is weak, so that the film
keeps its shape.
A size of n cells stands for n cells over the depth h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

#: depth of a film in metres, its length over its depth, kinematic viscosity, acceleration along the plate
DEPTH, LENGTH, NU, DRIVE = 0.08, 12.0, 0.04, 0.1
#: mean velocity of the film on a plate at rest
MEAN = DRIVE * DEPTH**2 / (3.0 * NU)
#: the flow is measured after this many h²/ν
END = 4.0


@dataclass(frozen=True)
class Plate:
    """A plate: cells above a grid line, degrees, speed along itself in units of the film's, a second plate above."""

    offset: float = 0.0
    angle: float = 0.0
    speed: float = 0.0
    pair: bool = False


#: name of a case → its title and its plate
PLATES = {
    "film": ("A film on a plate along a grid line", Plate(0.0)),
    "film-quarter": ("A film on a plate 1/4 cell above a grid line", Plate(0.25)),
    "film-half": ("A film on a plate 1/2 cell above a grid line", Plate(0.5)),
    "film-three-quarters": ("A film on a plate 3/4 cell above a grid line", Plate(0.75)),
    "film-tilted-17": ("A film on a plate tilted by 17°", Plate(0.37, 17.0)),
    "film-tilted-40": ("A film on a plate tilted by 40°", Plate(0.37, 40.0)),
    "film-moving": ("A film on a plate that moves (Couette)", Plate(0.25, 0.0, 2.0)),
    "film-moving-17": ("A film on a moving plate tilted by 17°", Plate(0.37, 17.0, 2.0)),
    "plates": ("Liquid between two plates (Poiseuille)", Plate(0.25, 0.0, 0.0, True)),
    "plates-tilted-17": ("Liquid between two plates tilted by 17° (Poiseuille)", Plate(0.37, 17.0, 0.0, True)),
}


def scene_of(plate: Plate, cells: int, steps: int = 60) -> tuple[Scene, np.ndarray, np.ndarray, np.ndarray]:
    """The scene; a point on the plate, its direction and its normal."""
    dx = DEPTH / cells
    turn = math.radians(plate.angle)
    along, up = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    length = LENGTH * DEPTH
    shape = [
        math.ceil((length * along[0] + 3 * DEPTH * along[1] + DEPTH) / dx),
        math.ceil((length * along[1] + 5 * DEPTH * along[0] + DEPTH) / dx),
    ]
    middle = dx * np.array([shape[0] // 2, shape[1] // 2 - cells + plate.offset])

    def slab(low: float, high: float, long: float) -> dict:
        ends = [(middle + np.array([0.5 * s * long, y])).tolist() for s, y in ((-1, low), (1, high))]
        return {"type": "box", "low": ends[0], "high": ends[1], "rotate": plate.angle, "about": middle.tolist()}

    solids: list[dict] = [{"shape": slab(-20 * DEPTH, 0.0, 9 * length)}]
    if plate.speed:
        solids[0]["motion"] = {"velocity": (plate.speed * MEAN * along).tolist()}
    if plate.pair:
        solids.append({"shape": slab(2 * DEPTH, 20 * DEPTH, 9 * length)})
    pull = DRIVE * (along - (0.0 if plate.pair else 3.0) * up)
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
        }
    )
    return scene, middle, along, up


def flux_and_slip(plate: Plate, cells: int, steps: int = 60) -> tuple[float, float]:
    """Relative error of the flux, and the slip length in cells."""
    scene, middle, along, up = scene_of(plate, cells, steps)
    simulation = Simulation(scene)
    for _ in range(steps):
        simulation.next_frame()
    frame = simulation.frame_arrays()
    x, v = frame["position"].astype(float) - middle, frame["velocity"].astype(float)
    s, y, u = x @ along, x @ up, v @ along - plate.speed * MEAN
    near = np.abs(s) < 0.15 * LENGTH * DEPTH
    high = 2 * DEPTH - scene.dx if plate.pair else 0.75 * DEPTH
    deep = near & (y > scene.dx) & (y < high)
    a, b, c = np.polyfit(y[deep], u[deep], 2)
    slip = (-b + math.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    driven = DRIVE - _pressure_slope(frame, scene.dx, middle, along, up) / 1000.0
    mean = _layer_mean(y[near], u[near], 2 * DEPTH if plate.pair else DEPTH, (4 if plate.pair else 2) * cells)
    return mean / (MEAN * driven / DRIVE) - 1.0, slip / scene.dx


def _layer_mean(y: np.ndarray, u: np.ndarray, depth: float, layers: int) -> float:
    """Mean velocity over layers of equal thickness: it does not depend on how many particles a layer happens to hold.

    (Over all particles at once, chance alone gives errors of half a percent, on every grid.)
    """
    layer = np.clip((layers * y / depth).astype(int), 0, layers - 1)
    count = np.bincount(layer, minlength=layers)
    return float(np.mean((np.bincount(layer, u, layers) / np.maximum(count, 1))[count > 0]))


def _pressure_slope(frame, dx: float, middle, along, up) -> float:
    """Pressure gradient along the plate: the ends of the liquid push and pull a little (2 % of the drive in a slug)."""
    p = frame["pressure"].astype(float)
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) * dx for n in p.shape], indexing="ij"), axis=-1) - middle
    s, y = x @ along, x @ up
    deep = (np.abs(s) < 0.15 * LENGTH * DEPTH) & (y > 0.25 * DEPTH) & (y < 0.75 * DEPTH)
    rows = np.stack([np.ones(deep.sum()), s[deep], y[deep]], axis=1)
    return float(np.linalg.lstsq(rows, p[deep], rcond=None)[0][1])


def measure(size: Size, plate: Plate) -> Measured:
    """The flux over the exact one, and the slip length in cells."""
    error, slip = flux_and_slip(plate, size.cells, 60 * size.steps)
    return Measured({"flux": 1.0 + error, "slip": slip})


def _case(name: str, title: str, plate: Plate) -> Case:
    return Case(
        name,
        f"{title}: flux and slip length",
        "Exact: mean velocity g h²/(3ν) (Nusselt 1916; Poiseuille for two plates a distance 2h apart), no slip",
        (
            Published("flux", "flux over the exact one", 1.0, 0.02, quick=0.05),
            Published("slip", "slip length in cells", 0.0, 0.1, scale=1.0, quick=0.2),
        ),
        partial(measure, plate=plate),
        quick=(Size(4), Size(8)),
        full=(Size(4), Size(8), Size(16), Size(8, 2)),
    )


CASES = tuple(_case(name, title, plate) for name, (title, plate) in PLATES.items())
