"""No-slip walls alone: steady flow of viscous liquid, solved once, where the places of walls and surface are exact.

A film of depth h on a plate, or liquid between two plates a distance 2h apart, driven along them; there are no
particles and no time steps, so that nothing but the discretisation of walls and surface is left. The plates are those
of the films (`no_slip`). Around the box the exact velocity is given. Two drives: a uniform one, whose profile is a
parabola (Nusselt, Poiseuille), and one as sin(πy/2h), whose profile is this sine. The parabola over a wall along the
grid is exact to rounding, wherever the wall lies; the sine is exact nowhere.

The error is measured on the faces with liquid in the middle part, 2h long: the root of the mean square over that of the
exact velocity relative to the plate. A size of n cells stands for n cells over h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from ...discretise.viscosity import ViscosityProblem
from ..case import Case, Measured, Published, Size
from .no_slip import Plate

#: half of the length of the box over h
HALF = 3.0
#: so long a step that its inertia does not count
STEP = 1e9

Profile = Callable[[np.ndarray], np.ndarray]

#: velocity over y/h for each drive, and the drive that keeps it up (ν = h = 1)
DRIVES: dict[str, tuple[Profile, Profile]] = {
    "parabola": (lambda y: y - 0.5 * y * y, lambda y: np.ones_like(y)),
    "sine": (lambda y: np.sin(0.5 * math.pi * y), lambda y: 0.25 * math.pi**2 * np.sin(0.5 * math.pi * y)),
}

#: name of a case → its title, and what its plates are called
GROUPS: dict[str, tuple[str, dict[str, Plate]]] = {
    "walls": (
        "Walls along the grid, solved once",
        {
            "wall on a grid line": Plate(0.0),
            "wall at 1/4 cell": Plate(0.25),
            "wall at 1/2 cell": Plate(0.5),
            "wall at 3/4 cell": Plate(0.75),
            "two plates": Plate(0.25, pair=True),
        },
    ),
    "walls-tilted": (
        "Tilted walls, solved once",
        {
            "wall at 17°": Plate(0.37, 17.0),
            "wall at 40°": Plate(0.37, 40.0),
            "two plates at 17°": Plate(0.37, 17.0, pair=True),
        },
    ),
    "walls-moving": (
        "Walls that move (Couette), solved once",
        {
            "wall at 1/4 cell": Plate(0.25, 0.0, 2.0),
            "wall at 17°": Plate(0.37, 17.0, 2.0),
            "two plates at 17°": Plate(0.37, 17.0, 2.0, pair=True),
        },
    ),
}


def profile_error(plate: Plate, cells: int, drive: str) -> float:
    """Root of the mean square of the error on the faces in the middle, over that of the exact velocity."""
    profile, force = DRIVES[drive]
    dx, turn = 1.0 / cells, math.radians(plate.angle)
    along, up = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    depth = 2.0 if plate.pair else 1.0
    n = 2 * round(HALF * cells)
    # as in the films, the plate passes a point so many cells above a grid line
    middle = dx * np.array([0.5 * n, 0.5 * n - round(0.5 * depth * cells) + plate.offset])

    def place(*x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s, y = (sum((c - m) * t for c, m, t in zip(x, middle, axis)) for axis in (along, up))
        return np.asarray(s), np.asarray(y)

    def points(shape: tuple[int, int], shift: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
        lines = [dx * (np.arange(m) + o) for m, o in zip(shape, shift)]
        return place(*np.meshgrid(*lines, indexing="ij"))

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
    problem = ViscosityProblem(
        velocity=given, viscosity=1.0, dt=STEP, dx=dx, rho=1.0, fluid=fluid, distance=distance,
        phi_liquid=np.full(y.shape, -1.0) if plate.pair else y - depth,
    )  # fmt: skip
    found = problem.solve(rtol=1e-10).velocity
    problem.correct_walls(found)
    found = problem.solve(x0=found, rtol=1e-10).velocity
    wrong = sum(float(((f - e)[m] ** 2).sum()) for f, e, m in zip(found, exact, middles))
    moved = sum(float(((e - wall * along[a])[m] ** 2).sum()) for a, (e, m) in enumerate(zip(exact, middles)))
    return math.sqrt(wrong / moved)


def measure(size: Size, plates: dict[str, Plate]) -> Measured:
    """The error for each plate and drive."""
    return Measured(
        {f"{name}, {drive}": profile_error(p, size.cells, drive) for name, p in plates.items() for drive in DRIVES}
    )


def _case(name: str, title: str, plates: dict[str, Plate]) -> Case:
    keys = [f"{plate}, {drive}" for plate in plates for drive in DRIVES]
    return Case(
        name,
        f"{title}: error of the velocity, mean square",
        "Exact: y − y²/2 for a uniform drive (Nusselt 1916, Poiseuille), sin(πy/2) for one of this shape",
        tuple(Published(key, key, 0.0, 0.005, scale=1.0, quick=0.01) for key in keys),
        partial(measure, plates=plates),
        quick=(Size(4), Size(8), Size(16)),
        full=(Size(4), Size(8), Size(16), Size(32)),
        timeless=True,
    )


CASES = tuple(_case(name, title, plates) for name, (title, plates) in GROUPS.items())
