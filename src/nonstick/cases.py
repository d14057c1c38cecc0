"""Static cases: the first pressure solve from rest under gravity, in the scenes of the papers.

Unit box, density 1000, gravity 9.81 along -y, time step 1/60. Liquid fills the left half x < 0.5 of round
tanks, since a pool at the bottom needs no separation. `build("sphere3d", 64)` makes one at any size.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .discretise.pressure import PressureProblem
from .errors import NonstickError
from .grid.mac import Grid
from .grid.shapes import Ball, Box, HalfSpace, Shape
from .lcp.problem import BoxProblem

GRAVITY = 9.81
DENSITY = 1000.0
DT = 1.0 / 60.0


@dataclass
class Case:
    """A problem, where it comes from, and its exact solution where one is known."""

    name: str
    n: int
    description: str
    problem: BoxProblem = field(repr=False)
    pressure_problem: PressureProblem | None = field(default=None, repr=False)
    #: values of the exact solution at the unknowns
    exact: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class _Entry:
    description: str
    dimension: int
    build: Callable[[int], Case]


_CASES: dict[str, _Entry] = {}


def names(dimension: int | None = None) -> list[str]:
    """Every case, or those of one dimension."""
    return [name for name, entry in _CASES.items() if dimension in (None, entry.dimension)]


def describe() -> dict[str, str]:
    return {name: entry.description for name, entry in _CASES.items()}


def build(name: str, n: int, **options) -> Case:
    """The case at n cells (obstacle problems: nodes) per side; options go to the case (`walls="all"`)."""
    if name not in _CASES:
        close = difflib.get_close_matches(name, _CASES, n=3, cutoff=0.5)
        hint = f", did you mean {' or '.join(map(repr, close))}" if close else ""
        raise NonstickError(f"unknown case {name!r}{hint}; known: {', '.join(_CASES)}")
    if int(n) != n or n < 4:
        raise NonstickError(f"a case needs a size of at least 4, not {n!r}")
    entry = _CASES[name]
    case = entry.build(int(n), **options)
    case.name, case.description = name, entry.description
    return case


def _case(name: str, description: str):
    def add(function):
        _CASES[name] = _Entry(description, 2 if "2d" in name else 3, function)
        return function

    return add


def first_step(grid: Grid, solid: Shape, liquid: Shape, walls: str | np.ndarray = "cut", dtype=None) -> PressureProblem:
    """The pressure problem of liquid at rest after one time step of gravity.

    phi of the liquid continues through solids as the shape does, so nothing has to be extended. Above
    256 cells a side fields are kept in float32 (the operator is float64 all the same) to save memory.
    """
    if dtype is None:
        dtype = np.float32 if max(grid.shape) > 256 else np.float64
    velocity = tuple(
        np.broadcast_to(-GRAVITY * DT if axis == 1 else 0.0, grid.face_shape(axis)) for axis in range(grid.dimension)
    )
    return PressureProblem(
        phi_liquid=liquid.sample(grid.cells(), dtype),
        velocity=velocity,
        dt=DT,
        dx=grid.dx,
        rho=DENSITY,
        phi_solid=solid.sample(grid.nodes(), dtype),
        walls=walls,
    )


def _liquid_case(n: int, dimension: int, solid: Shape, liquid: Shape, walls) -> Case:
    problem = first_step(Grid.unit(n, dimension), solid, liquid, walls)
    return Case("", n, "", problem.problem, problem)


def _left(dimension: int) -> Shape:
    middle = (0.5,) * dimension
    return HalfSpace(middle, (1.0, *(0.0,) * (dimension - 1)))


@_case("circle2d", "circle of radius 0.46, left half filled (Lai, figure 5.1)")
def _circle2d(n, walls="cut"):
    return _liquid_case(n, 2, ~Ball((0.5, 0.5), 0.46), _left(2), walls)


@_case("square2d", "upright square tank, left half filled to the ceiling (Lai, figure 5.2)")
def _square2d(n, walls="cut"):
    return _liquid_case(n, 2, ~Box((0.04, 0.04), (0.96, 0.96)), _left(2), walls)


@_case("sphere3d", "sphere of radius 0.46, left half filled (Lai, scenario 1)")
def _sphere3d(n, walls="cut"):
    return _liquid_case(n, 3, ~Ball((0.5, 0.5, 0.5), 0.46), _left(3), walls)
