"""Takahashi–Batty's tables on single solves, beside the numbers they published.

The published numbers are averages over simulations on 8 or 32 cores. Here every table is one static problem of the same
kind, so counts and ratios can be compared, but seconds cannot. Published rows carry the case name with "(published)".

- tb-table1  a closed maze, pure Neumann: preconditioners of CG, to 1e-8, with the non-zeros of their hierarchies
- tb-table2  a source in a cube, solution bounded above: six barrier methods, to a Newton step norm of 1e-7;
             tb-table2-wide has a source as wide as an eighth of the cube, so contact grows with the grid
- tb-table3  liquid in a maze under gravity, all pressures non-negative: MPRGP against interior point
- tb-cycles  V- against W-cycles and the scaling alpha, in a maze and in a tank
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .. import cases, compositions, registry
from ..discretise.pressure import PressureProblem
from ..inverse.krylov.cg import CG
from ..inverse.multigrid.aggregation.levels import Packed
from ..inverse.multigrid.hierarchy import Multigrid
from ..inverse.precond.deflation import Deflated
from ..operators.rows import Rows
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..solvers.base import Method
from ..solvers.linear import LinearSolve
from .mazes import maze, open_faces
from .measure import measure, warm_up
from .registry import Plan, benchmark
from .row import Row

BARRIERS = (
    "plb", "ipm-p", "ipm-pd", "ipm-pd+literal", "ipm-pd+hs", "ipm-pd+cab+ss", "ipm-pd+cab+ss+halves", "mehrotra",
)  # fmt: skip
STEP_NORM = 1e-7


@dataclass(frozen=True)
class _Kind:
    """Corridors, walls and doors in cells."""

    corridor: int
    wall: int
    door: int | None = None


MAZES = {
    "corridors 12/3": _Kind(12, 3), "rooms 8/3, doors 2": _Kind(8, 3, 2), "rooms 16/1, doors 2": _Kind(16, 1, 2),
    "narrow 3/1": _Kind(3, 1),
}  # fmt: skip


# -- the problems --------------------------------------------------------------------------------------------


def neumann_maze(n: int, kind: _Kind = MAZES["corridors 12/3"]) -> BoxProblem:
    """Liquid fills a closed maze; a force field stirs it. No bounds, no free surface: A is singular."""
    cells = maze(n, kind.corridor, kind.wall, door=kind.door)
    weights = open_faces(cells)
    velocity = []
    for axis, w in enumerate(weights):
        i = np.indices(w.shape, sparse=True)
        x, y, z = (np.add(i[a], 0.5 * (a != axis)) / n for a in range(3))
        swirl = (np.sin(5 * y) + 0.3, -1.0 + np.cos(4 * z) * np.sin(3 * x), np.sin(6 * x) * np.cos(5 * y))
        velocity.append(np.broadcast_to(swirl[axis], w.shape))
    problem = PressureProblem(
        phi_liquid=np.where(cells, -1.0, 1.0), velocity=tuple(velocity), dt=1.0, dx=1.0 / n, rho=1.0,
        weights=weights, walls="none",
    )  # fmt: skip
    return problem.problem


def liquid_maze(n: int, kind: _Kind = MAZES["corridors 12/3"]) -> BoxProblem:
    """The left half of a maze full of liquid that starts to fall; every pressure is bounded below by zero."""
    cells = maze(n, kind.corridor, kind.wall, door=kind.door)
    weights = open_faces(cells)
    size = cells.shape[0]
    distance = (np.arange(size) + 0.5 - size / 2) / n
    phi = np.broadcast_to(distance[:, None, None], cells.shape)
    velocity = tuple(
        np.full(w.shape, -cases.GRAVITY * cases.DT if axis == 1 else 0.0) for axis, w in enumerate(weights)
    )
    problem = PressureProblem(
        phi_liquid=phi, velocity=velocity, dt=cases.DT, dx=1.0 / n, rho=cases.DENSITY, weights=weights, walls="all"
    )
    return problem.problem


def bounded_source(n: int, block: int = 4, fraction: float = 0.2) -> BoxProblem:
    """Poisson in a cube, zero outside, with a source in the middle block³ cells; x is bounded above.

    The bound is `fraction` of the unbounded maximum. The paper says "a source term is placed on the domain center".
    """
    rows = Rows.from_mask(np.ones((n, n, n), bool))
    right = rows.neighbours()
    wx, wy, wz = (np.where(right[:, axis] >= 0, 1.0, 0.0) for axis in range(3))
    A = StencilOperator(rows, (wx, wy, wz), np.full(rows.n, 6.0))
    low = (n - block) // 2
    b = np.all((A.cells >= low) & (A.cells < low + block), axis=1).astype(float)
    x = np.zeros(A.n)
    CG(compositions.tagiaamg()).setup(A).solve(b, x, rtol=1e-8)
    return BoxProblem(A, b, -np.inf, fraction * float(x.max()))


# -- the tables ----------------------------------------------------------------------------------------------


@benchmark(
    "tb-table1", "Takahashi–Batty table 1: preconditioners in a closed maze", sizes=(96,),
    methods=("mic-cg", "saamg-cg", "giaamg-cg", "tagiaamg-cg", "tagiaamg-cg+literal"), parts=MAZES,
)  # fmt: skip
def table1(plan: Plan) -> Iterator[Row]:
    plan = replace(plan, rtol=min(plan.rtol, 1e-8))
    published = {"mic-cg": (505, 22.78), "saamg-cg": (19, 1.81), "giaamg-cg": (26, 2.75), "tagiaamg-cg": (6, 1.32)}
    nonzeros = {"saamg-cg": (10.1, 27.3), "giaamg-cg": (2.8, 18.6), "tagiaamg-cg": (2.9, 19.0), "mic-cg": (9.3, 16.3)}
    for method, (iterations, seconds) in published.items():
        beside, of_A = (round(millions * 1e6) for millions in nonzeros[method])
        yield _published("tb-table1", 160, 2_400_000, method, iterations, None, seconds, (beside, of_A))
    for name in plan.chosen(MAZES):
        kind = MAZES[name]
        for method in plan.methods:
            warm_up(method, partial(neumann_maze, 30, kind), plan)
            for n in plan.sizes:
                plan.announce(f"{name}, {method} at {n}")
                row = measure(f"tb-table1 {name}", n, method, partial(neumann_maze, n, kind), plan)
                stored = count_nonzeros(registry.get(method), neumann_maze(n, kind))
                yield row if stored is None else _with_nonzeros(row, *stored)


@benchmark(
    "tb-table2", "Takahashi–Batty table 2: barrier methods, a source in a cube", sizes=(64, 128), methods=BARRIERS
)
def table2(plan: Plan) -> Iterator[Row]:
    published = {
        "plb": ((16, 1.24), (24, 13.72), (23, 102.97)), "ipm-p": ((17, 1.27), (25, 13.71), (25, 114.54)),
        "ipm-pd": ((9, 0.74), (9, 5.52), (9, 45.63)), "ipm-pd+hs": ((53, 4.00), (56, 33.36), (58, 281.59)),
        "ipm-pd+cab+ss": ((31, 2.02), (36, 21.06), (41, 203.02)), "mehrotra": ((15, 1.49), (15, 14.73), (16, 121.88)),
    }  # fmt: skip
    for method, results in published.items():
        for n, (steps, seconds) in zip((64, 128, 256), results):
            yield _published("tb-table2", n, n**3, method, None, steps, seconds)
    yield from _barriers("tb-table2", plan, lambda n: 4)


@benchmark(
    "tb-table2-wide", "the same with a source an eighth of the cube wide: larger contact", sizes=(64, 128),
    methods=BARRIERS,
)  # fmt: skip
def table2_wide(plan: Plan) -> Iterator[Row]:
    return _barriers("tb-table2-wide", plan, lambda n: n // 8)


def _barriers(case: str, plan: Plan, block: Callable[[int], int]) -> Iterator[Row]:
    for method in plan.methods:
        stopped = _by_step_norm(method)
        warm_up(stopped, partial(bounded_source, 16), plan)
        for n in plan.sizes:
            plan.announce(f"{method} at {n}")
            yield measure(case, n, stopped, partial(bounded_source, n, block(n)), plan, method)


@benchmark(
    "tb-table3", "Takahashi–Batty table 3, one step: MPRGP against interior point in a maze", sizes=(96,),
    methods=(
        "mic-cg", "saamg-cg", "tagiaamg-cg", "mic-mprgp", "saamg-mprgp", "tagiaamg-mprgp", "ipm-pd+mic-cg",
        "ipm-pd+saamg-cg", "ipm-pd+tagiaamg-cg", "auto",
    ),
)  # fmt: skip
def table3(plan: Plan) -> Iterator[Row]:
    published = {
        "mic-cg": (434, None, 13.44), "saamg-cg": (12, None, 1.06), "tagiaamg-cg": (6, None, 0.73),
        "mic-mprgp": (1264, None, 55.25), "saamg-mprgp": (233, None, 13.58), "ipm-pd+mic-cg": (2340, 23, 62.67),
        "ipm-pd+saamg-cg": (50, 25, 12.38), "ipm-pd+tagiaamg-cg": (44, 22, 7.78),
    }  # fmt: skip
    for method, (iterations, steps, seconds) in published.items():
        yield _published("tb-table3", 144, 1_400_000, method, iterations, steps, seconds)
    for method in plan.methods:
        warm_up(method, partial(liquid_maze, 30), plan)
        for n in plan.sizes:
            plan.announce(f"{method} at {n}")
            yield measure("tb-table3 corridors 12/3", n, method, partial(liquid_maze, n), plan)


@benchmark("tb-cycles", "V- and W-cycles and alpha, in a maze and a tank", sizes=(64, 96), methods=())
def cycles(plan: Plan) -> Iterator[Row]:
    plan = replace(plan, rtol=min(plan.rtol, 1e-8))
    problems = {"maze": neumann_maze, "sphere3d": lambda n: cases.build("sphere3d", n).problem}
    for title, build in problems.items():
        for family in (compositions.tagiaamg, compositions.giaamg):
            for visits, alpha in ((2, 0.65), (2, 0.55), (2, 0.5), (1, 0.55), (1, 0.5)):
                method = LinearSolve(CG(family(visits, alpha)))
                label = f"{family.__name__} {'VW'[visits - 1]} {alpha}"
                warm_up(method, partial(build, 30), plan)
                for n in plan.sizes:
                    plan.announce(f"{title}, {label} at {n}")
                    yield measure(f"tb-cycles {title}", n, method, partial(build, n), plan, label)


def _by_step_norm(name: str) -> Method:
    method = registry.get(name)
    if name not in BARRIERS:
        return method
    return replace(method, step_norm=STEP_NORM, inner_maxiter=3)  # type: ignore[type-var]


def _published(table, n, unknowns, method, iterations, steps, seconds, nonzeros=None) -> Row:
    row = Row(f"{table} (published)", n, unknowns, method, iterations, steps, seconds, converged=True)
    return row if nonzeros is None else _with_nonzeros(row, *nonzeros)


def _with_nonzeros(row: Row, beside: int, of_A: int) -> Row:
    row.nonzeros, row.extra = beside + of_A, {"Z_PR or Z_IC": beside, "Z_A": of_A}
    return row


def count_nonzeros(method: Method, problem: BoxProblem) -> tuple[int, int] | None:
    """Entries of P and R on all levels, or of an incomplete factor, and of A on all levels: the paper's Z_PR, Z_A."""
    if not isinstance(method, LinearSolve) or not isinstance(method.inner, CG):
        return None
    M, A = method.inner.M, problem.A
    M = M.M if isinstance(M, Deflated) else M
    if not isinstance(M, Multigrid):
        return (A.matrix().nnz + A.n) // 2, A.matrix().nnz
    inverse = M.setup(A)
    transfers = systems = 0
    for level in inverse.levels[:-1]:
        systems += level.A.core.matrix().nnz
        transfers += 2 * level.transfer.matrix().nnz
    last = inverse.levels[-1].A.core
    packed = M.coarsest.hierarchy(last) if isinstance(M.coarsest, Packed) else None
    for operator, _, parent in packed or [(last, None, None)]:
        systems += operator.matrix().nnz
        transfers += 0 if parent is None else 2 * int(np.count_nonzero(parent >= 0))
    return transfers, systems
