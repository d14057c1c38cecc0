"""Films and slugs of viscous liquid at no-slip walls: flux, slip length and order over three grids.

A film of depth h, driven along its plate by g_s, has the mean velocity g_s h²/(3ν) (Nusselt 1916); liquid between two
plates a distance 2h apart has the same (Poiseuille). The plate lies on a grid line or anywhere between two, along the
grid or at an angle, and may move along itself (Couette). The flow starts from rest and is measured after 4 h²/ν in the
middle of a film 12 h long, relative to the drive there with the pressure gradient. The drive is weak, so that the film
keeps its shape.

Run: python validation/no_slip.py [CASE ...]
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from nonstick import Scene, Simulation

#: depth of a film in metres, its length over its depth, kinematic viscosity, acceleration along the plate
DEPTH, LENGTH, NU, DRIVE = 0.08, 12.0, 0.04, 0.1
#: mean velocity of the film on a plate at rest
MEAN = DRIVE * DEPTH**2 / (3.0 * NU)
#: cells over the depth
DEPTHS = (4, 8, 16)
#: the flow is measured after this many h²/ν
END = 4.0


@dataclass(frozen=True)
class Plate:
    """A plate: cells above a grid line, degrees, speed along itself in units of the film's, a second plate above."""

    offset: float = 0.0
    angle: float = 0.0
    speed: float = 0.0
    pair: bool = False


CASES = {
    "film, grid line": Plate(0.0),
    "film, 1/4 cell": Plate(0.25),
    "film, 1/2 cell": Plate(0.5),
    "film, 3/4 cell": Plate(0.75),
    "film, tilted 17°": Plate(0.37, 17.0),
    "film, tilted 40°": Plate(0.37, 40.0),
    "film, moving plate": Plate(0.25, 0.0, 2.0),
    "film, moving plate, tilted 17°": Plate(0.37, 17.0, 2.0),
    "slug between plates": Plate(0.25, 0.0, 0.0, True),
    "slug between plates, tilted 17°": Plate(0.37, 17.0, 0.0, True),
}


def scene_of(plate: Plate, cells: int, steps: int = 60) -> tuple[Scene, np.ndarray, np.ndarray, np.ndarray]:
    """The scene; a point on the plate, its direction and its normal."""
    # along the grid the surface lies on a grid line and the plate does not: seeding cannot make any other depth
    dx = DEPTH / (cells - plate.offset)
    turn = math.radians(plate.angle)
    along, up = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    length = LENGTH * DEPTH
    shape = [
        math.ceil((length * along[0] + 3 * DEPTH * along[1] + DEPTH) / dx),
        math.ceil((length * along[1] + 5 * DEPTH * along[0] + DEPTH) / dx),
    ]
    middle = dx * np.array([shape[0] // 2, shape[1] // 2 - cells + plate.offset])

    def slab(low: float, high: float, long: float) -> dict:
        ends = [np.add(middle, (0.5 * s * long, y)).tolist() for s, y in ((-1, low), (1, high))]
        return {"type": "box", "low": ends[0], "high": ends[1], "rotate": plate.angle, "about": middle.tolist()}

    solids: list[dict] = [{"shape": slab(-20 * DEPTH, 0.0, 9 * length)}]
    if plate.speed:
        solids[0]["motion"] = {"velocity": (plate.speed * MEAN * along).tolist()}
    if plate.pair:
        solids.append({"shape": slab(2 * DEPTH, 20 * DEPTH, 9 * length)})
    pull = DRIVE * (along - (0.0 if plate.pair else 3.0) * up)
    scene = Scene(
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


def measure(plate: Plate, cells: int, steps: int = 60) -> tuple[float, float]:
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
    return float(u[near].mean()) / (MEAN * driven / DRIVE) - 1.0, slip / scene.dx


def _pressure_slope(frame, dx: float, middle, along, up) -> float:
    """Pressure gradient along the plate: the ends of the liquid push and pull a little (2 % of the drive in a slug)."""
    p = frame["pressure"].astype(float)
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) * dx for n in p.shape], indexing="ij"), axis=-1) - middle
    s, y = x @ along, x @ up
    deep = (np.abs(s) < 0.15 * LENGTH * DEPTH) & (y > 0.25 * DEPTH) & (y < 0.75 * DEPTH)
    rows = np.stack([np.ones(deep.sum()), s[deep], y[deep]], axis=1)
    return float(np.linalg.lstsq(rows, p[deep], rcond=None)[0][1])


def order(errors) -> float:
    """Observed order of the errors over the grids: a fit of log error over log cells."""
    return -float(np.polyfit(np.log(DEPTHS), np.log(np.maximum(np.abs(errors), 1e-12)), 1)[0])


def main(*names: str) -> dict[str, list[tuple[float, float]]]:
    print(f"{'case':32s} {'flux at ' + '/'.join(map(str, DEPTHS)) + ' cells':>27s}  order  slip length in cells")
    found = {}
    for name in names or CASES:
        found[name] = rows = [measure(CASES[name], n) for n in DEPTHS]
        flux = " ".join(f"{100 * r[0]:+7.2f} %" for r in rows)
        slips = " ".join(f"{r[1]:+.3f}" for r in rows)
        print(f"{name:32s} {flux}  {order([r[0] for r in rows]):5.2f}  {slips}", flush=True)
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
