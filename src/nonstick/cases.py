"""Static cases: the first pressure solve from rest under gravity, in the scenes of the papers.

Unit box, density 1000, gravity 9.81 along -y, time step 1/60. Liquid fills the left half x < 0.5 of round
tanks, since a pool at the bottom needs no separation. `build("sphere3d", 64)` makes one at any size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .discretise.pressure import PressureProblem
from .errors import NonstickError, did_you_mean
from .grid.mac import Grid
from .grid.shapes import Ball, Box, Capsule, HalfSpace, Shape, Shell, rotated_box, union
from .operators.rows import Rows
from .operators.stencil import StencilOperator
from .problem.box import BoxProblem

GRAVITY = 9.81
DENSITY = 1000.0
DT = 1.0 / 60.0


@dataclass
class StaticCase:
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
    build: Callable[[int], StaticCase]


_CASES: dict[str, _Entry] = {}


def names(dimension: int | None = None) -> list[str]:
    """The names of all cases, or of the cases of one dimension."""
    return [name for name, entry in _CASES.items() if dimension in (None, entry.dimension)]


def dimension(name: str) -> int:
    """2 or 3."""
    return _entry(name).dimension


def describe() -> dict[str, str]:
    return {name: entry.description for name, entry in _CASES.items()}


def build(name: str, n: int, **options) -> StaticCase:
    """The case at n cells (obstacle problems: nodes) per side; options go to the case (`walls="all"`)."""
    entry = _entry(name)
    if int(n) != n or n < 4:
        raise NonstickError(f"a case needs a size of at least 4, not {n!r}")
    case = entry.build(int(n), **options)
    case.name, case.description = name, entry.description
    return case


def _entry(name: str) -> _Entry:
    if name not in _CASES:
        raise NonstickError(f"unknown case {name!r}{did_you_mean(name, _CASES)}; known: {', '.join(_CASES)}")
    return _CASES[name]


def _case(name: str, description: str):
    def add(function):
        _CASES[name] = _Entry(description, 2 if "2d" in name else 3, function)
        return function

    return add


def first_step(grid: Grid, solid: Shape, liquid: Shape, walls: str | np.ndarray = "cut", dtype=None) -> PressureProblem:
    """The pressure problem of liquid at rest after one time step of gravity.

    phi of the liquid is defined inside solids too, because it comes from the shape, so it is not extended. Above 256
    cells per side, fields are float32 to save memory; the operator is still float64.
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


def _liquid_case(n: int, dimension: int, solid: Shape, liquid: Shape, walls="cut", window=None) -> StaticCase:
    """`window` = (low, high) makes only these cells of the grid, as one rank of many does; its rim is no wall."""
    grid = Grid.unit(n, dimension)
    if window is not None:
        low, high = window
        grid = Grid(tuple(h - l for l, h in zip(low, high)), grid.dx, tuple(l * grid.dx for l in low))
    problem = first_step(grid, solid, liquid, walls)
    return StaticCase("", n, "", problem.problem, problem)


def _left(dimension: int) -> Shape:
    middle = (0.5,) * dimension
    return HalfSpace(middle, (1.0, *(0.0,) * (dimension - 1)))


@_case("circle2d", "circle of radius 0.46, left half filled (Lai, figure 5.1)")
def _circle2d(n, **options):
    return _liquid_case(n, 2, ~Ball((0.5, 0.5), 0.46), _left(2), **options)


@_case("square2d", "upright square tank, left half filled to the ceiling (Lai, figure 5.2)")
def _square2d(n, **options):
    return _liquid_case(n, 2, ~Box((0.04, 0.04), (0.96, 0.96)), _left(2), **options)


@_case("sphere3d", "sphere of radius 0.46, left half filled (Lai, scenario 1)")
def _sphere3d(n, **options):
    return _liquid_case(n, 3, ~Ball((0.5, 0.5, 0.5), 0.46), _left(3), **options)


@_case("maze2d", "square tank with staggered baffles, left half filled (after Andersen, and Lai figure 5.6)")
def _maze2d(n, **options):
    tank = ~Box((0.04, 0.04), (0.96, 0.96))
    baffles = [Box((0.04, y - 0.02), (0.78, y + 0.02)) for y in (0.27, 0.73)]
    baffles += [Box((0.22, y - 0.02), (0.96, y + 0.02)) for y in (0.5,)]
    posts = [
        Box((x - 0.02, y), (x + 0.02, y + 0.12)) for x, y in ((0.36, 0.04), (0.36, 0.38), (0.36, 0.52), (0.36, 0.84))
    ]
    return _liquid_case(n, 2, union(tank, *baffles, *posts), _left(2), **options)


@_case("sphere-cuboid3d", "sphere with a cuboid inside, left half filled (Lai, scenario 2)")
def _sphere_cuboid3d(n, **options):
    solid = ~Ball((0.5, 0.5, 0.5), 0.46) | Box((0.22, 0.42, 0.3), (0.78, 0.56, 0.7))
    return _liquid_case(n, 3, solid, _left(3), **options)


@_case("double-sphere3d", "two joined spheres, a hollow sphere in each, the lower with holes (Lai, scenario 3)")
def _double_sphere3d(n, **options):
    upper, lower = (0.5, 0.68, 0.5), (0.5, 0.32, 0.5)
    tank = ~(Ball(upper, 0.28) | Ball(lower, 0.28))
    closed = Shell(Ball(upper, 0.13), 0.06)
    holes = union(
        Capsule((0.2, 0.32, 0.5), (0.8, 0.32, 0.5), 0.05),
        Capsule((0.5, 0.02, 0.5), (0.5, 0.52, 0.5), 0.05),
        Capsule((0.5, 0.32, 0.2), (0.5, 0.32, 0.8), 0.05),
    )
    pierced = Shell(Ball(lower, 0.13), 0.06) - holes
    return _liquid_case(n, 3, union(tank, closed, pierced), _left(3), **options)


@_case("box-dam3d", "upright box, a column of liquid from floor to ceiling (Chentanez–Müller, figure 4)")
def _box_dam3d(n, **options):
    tank = ~Box((0.04,) * 3, (0.96,) * 3)
    return _liquid_case(n, 3, tank, HalfSpace((0.4, 0.5, 0.5), (1.0, 0.0, 0.0)), **options)


@_case("rotated-box3d", "box turned by 45 degrees, left half filled (Chentanez–Müller, figure 3)")
def _rotated_box3d(n, **options):
    tank = ~rotated_box((0.5,) * 3, (0.31, 0.31, 0.45), np.pi / 4)
    return _liquid_case(n, 3, tank, _left(3), **options)


# -- obstacle problems: an elastic sheet over an obstacle --------------------------------------------------


@dataclass(frozen=True)
class _Sheet:
    """`-Laplace u >= load, u >= lower` on a square or cube; boundary points hold `boundary` and are not unknowns.

    The matrix is the difference stencil times the square of the finest mesh width, on every level.
    """

    dimension: int
    #: points along a side, the first and the last on the boundary
    axis: np.ndarray
    boundary: Callable
    lower: Callable
    load: Callable | None = None
    #: distance of the boundary from the outermost unknowns, in mesh widths
    gap: tuple[float, float] = (1.0, 1.0)
    #: mesh width, and that of the finest level
    width: float = 1.0
    finest: float = 1.0

    @classmethod
    def of(cls, n: int, dimension: int, low: float, high: float, boundary, lower, load=None, edge=1.0) -> _Sheet:
        """n points per side; `edge` is the weight of the couplings to the boundary."""
        h = (high - low) / (n - 1)
        return cls(dimension, low + h * np.arange(n), boundary, lower, load, (1 / edge, 1 / edge), h, h)

    def problem(self) -> BoxProblem:
        d, n = self.dimension, self.axis.size
        mesh = np.meshgrid(*(self.axis,) * d, indexing="ij", sparse=True)
        inside = (slice(1, -1),) * d
        held = np.broadcast_to(self.boundary(*mesh), (n,) * d)
        w = (self.finest / self.width) ** 2
        weights = [np.zeros((n - 2) ** d) for _ in range(3)]
        count, b = np.full((n - 2,) * d, 2.0 * d * w), np.zeros((n - 2,) * d)
        for a in range(d):
            inner = np.full((n - 2,) * d, w)
            np.moveaxis(inner, a, 0)[-1] = 0.0
            weights[3 - d + a] = inner.ravel()
            ring = np.moveaxis(held, a, 0)[(slice(None), *inside[1:])]
            for side, gap in ((0, self.gap[0]), (-1, self.gap[1])):
                np.moveaxis(count, a, 0)[side] += w / gap - w
                np.moveaxis(b, a, 0)[side] += w / gap * ring[side]
        if self.load is not None:
            b += self.finest**2 * np.broadcast_to(self.load(*mesh), (n,) * d)[inside]
        rows = Rows.from_mask(np.ones((n - 2,) * d, bool))
        A = StencilOperator(rows, (weights[0], weights[1], weights[2]), count.ravel())
        lower = np.broadcast_to(self.lower(*mesh), (n,) * d)[inside].ravel()
        return BoxProblem(A, b.ravel(), lower, np.inf, coarser=lambda: self.coarser().problem())

    def coarser(self) -> _Sheet:
        """One unknown in the middle of every 2^d unknowns; an unknown that would lie on the boundary is omitted."""
        inner, (left, right) = self.axis[1:-1], self.gap
        pairs, odd = divmod(inner.size, 2)
        if odd and right >= 1.0:
            pairs, right = pairs + 1, right - 0.5
        else:
            right += 1.5 if odd else 0.5
        middle = inner[0] + self.width * (2 * np.arange(pairs) + 0.5)
        axis = np.concatenate([self.axis[:1], middle, self.axis[-1:]])
        return replace(self, axis=axis, gap=((left + 0.5) / 2, right / 2), width=2 * self.width)


def _dome(r):
    """The upper unit half-sphere, continued by its tangent beyond r = 0.9."""
    r0 = 0.9
    z0 = np.sqrt(1.0 - r0 * r0)
    return np.where(r <= r0, np.sqrt(1.0 - np.minimum(r, r0) ** 2), z0 - r0 / z0 * (r - r0))


def _over_dome(n: int, dimension: int, contact: float, outside) -> StaticCase:
    radius = lambda *x: np.sqrt(sum(c * c for c in x))  # noqa: E731

    def exact(*x):
        r = radius(*x)
        return np.where(r <= contact, _dome(r), outside(np.maximum(r, contact)))

    problem = _Sheet.of(n, dimension, -2.0, 2.0, exact, lambda *x: _dome(radius(*x))).problem()
    axis = np.linspace(-2.0, 2.0, n)[1:-1]
    solution = exact(*np.meshgrid(*(axis,) * dimension, indexing="ij", sparse=True))
    return StaticCase("", n, "", problem, exact=solution.ravel())


@_case("obstacle2d", "sheet over a dome with known solution (PETSc SNES ex9; n nodes per side)")
def _obstacle2d(n):
    slope, height = 0.680259411891719, 0.471519893402112
    return _over_dome(n, 2, 0.697965148223374, lambda r: height - slope * np.log(r))


@_case("obstacle3d", "the same dome in three dimensions, u = c(1/r - 1/2) off it (n nodes per side)")
def _obstacle3d(n):
    # u and its slope are continuous at the contact radius a: a³ - 4a² + 2 = 0
    a = float(min(r.real for r in np.roots([1.0, -4.0, 0.0, 2.0]) if r.real > 0))
    c = a**3 / np.sqrt(1.0 - a * a)
    return _over_dome(n, 3, a, lambda r: c * (1.0 / r - 0.5))


@_case("obstcla2d", "OBSTCLA of CUTEst: lower bound sin(3.2x)·sin(3.3y), unit load (n nodes per side)")
def _obstcla2d(n):
    # CUTEst sums over interior nodes only, so couplings to the boundary carry half weight.
    zero = lambda x, y: 0.0 * x * y  # noqa: E731
    obstacle, load = lambda x, y: np.sin(3.2 * x) * np.sin(3.3 * y), lambda x, y: 1.0 + 0 * x * y
    return StaticCase("", n, "", _Sheet.of(n, 2, 0.0, 1.0, zero, obstacle, load, edge=0.5).problem())
