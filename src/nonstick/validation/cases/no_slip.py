"""Films and slugs of viscous liquid at no-slip walls: flux, profile, slip length and order over three grids.

A film of depth h, driven along its plate by g_s, has the mean velocity g_s h²/(3ν) (Nusselt 1916); liquid between two
plates a distance 2h apart has the same (Poiseuille). The plate lies on a grid line or anywhere between two, along the
grid or at an angle, and may move along itself (Couette). The flow starts from rest and is measured after 4 h²/ν in the
middle of a film 18 h long. The drive is weak, so that the film keeps its shape. (The ends spread and pull at the liquid
behind them: in the middle of a film 12 h long this adds 0.2 % to the flux, on every grid.)

- flux: the mean of flow probes in nine planes across the film, less what the plate carries along, over the exact flux
  of a film of the measured depth. The number of particles sets the depth, to a hundredth of a cell, and the flux grows
  with its third power. Along the grid it is the mean of gauges. On a tilted film of 8 cells these read 0.03 cells too
  little, because its surface is uneven by a tenth of a cell; there it is the volume of liquid within three to five
  depths of the middle, which count less and less, over this length. Between two plates the flux is relative to the
  drive with the pressure gradient.
- profile: velocities of particles less the exact ones, averaged over layers half a cell thick; root of the mean square
  over the layers, over the mean velocity. Most of it is what linear interpolation between faces misses of a parabola.

A size of n cells stands for n cells over the depth h. Walls alone, without particles and steps, are in `walls`.
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
#: what chance does to the flux: at 8 cells, 1/4 cell above a grid line, the seeds 1 to 3 differ by 0.0004
SCATTER = 0.0005


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
    pull = DRIVE * (along - (0.0 if plate.pair else WEIGHT) * up)
    ends = [middle + s * NEAR * DEPTH * along for s in (-1.0, 1.0)]
    across = slab(-DEPTH, 3 * DEPTH if plate.pair else 2 * DEPTH, length)
    probes: list[dict] = [
        {"name": f"plane-{k}", "type": "flow", "at": (ends[0] + t * (ends[1] - ends[0])).tolist(),
         "normal": along.tolist(), "shape": across}
        for k, t in enumerate(np.linspace(0.0, 1.0, PLANES))
    ]  # fmt: skip
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
    return scene, middle, along, up


def film(plate: Plate, cells: int, steps: int = 60) -> dict[str, float]:
    """The flux over the exact one, the error of the profile, the slip length in cells, the depth over the given one."""
    scene, middle, along, up = scene_of(plate, cells, steps)
    simulation = Simulation(scene)
    for _ in range(steps):
        simulation.next_frame()
    frame, speed = simulation.frame_arrays(), plate.speed * MEAN
    table = simulation.probe_table()
    late = table.time > (1.0 - 1.0 / LATE) * simulation.time
    flux = float(np.mean([table[f"plane-{k}.flow"][late] for k in range(PLANES)]))
    wet = along[0] * float(table["depth.mean"][late].mean())  # gauges are vertical
    if plate.angle and not plate.pair:
        wet = _mean_depth(simulation, middle, along)
    depth, driven = (0.5 if plate.pair else 1.0) * wet, DRIVE
    if plate.pair:
        driven -= _pressure_slope(frame, scene.dx, middle, along, up) / scene.model.physics.density
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


def _pressure_slope(frame, dx: float, middle, along, up) -> float:
    """Pressure gradient between two plates: the ends of the liquid push and pull a little (2 % of the drive)."""
    p = frame["pressure"].astype(float)
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) * dx for n in p.shape], indexing="ij"), axis=-1) - middle
    s, y = x @ along, x @ up
    deep = (np.abs(s) < NEAR * DEPTH) & (y > 0.25 * DEPTH) & (y < 1.75 * DEPTH)
    rows = np.stack([np.ones(deep.sum()), s[deep], y[deep]], axis=1)
    return float(np.linalg.lstsq(rows, p[deep], rcond=None)[0][1])


def measure(size: Size, plate: Plate) -> Measured:
    """What `film` finds."""
    return Measured(film(plate, size.cells, 60 * size.steps))


def _case(name: str, title: str, plate: Plate) -> Case:
    return Case(
        name,
        f"{title}: flux, profile and slip length",
        "Exact: mean velocity g h²/(3ν) (Nusselt 1916; Poiseuille for two plates a distance 2h apart), no slip; for "
        "the measured depth, the profile as root of the mean square over the depth",
        (
            Published("flux", "flux over the exact one", 1.0, 0.02, quick=0.05, scatter=SCATTER),
            Published("profile", "error of the profile over the mean velocity", 0.0, 0.02, scale=1.0, quick=0.04),
            Published("slip", "slip length in cells", 0.0, 0.1, scale=1.0, quick=0.2),
        ),
        partial(measure, plate=plate),
        quick=(Size(4), Size(8)),
        full=(Size(4), Size(8), Size(16), Size(8, 2)),
    )


CASES = tuple(_case(name, title, plate) for name, (title, plate) in PLATES.items())
