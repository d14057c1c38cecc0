"""Aanjaneya's tables on the viscosity test problem of §7, beside the numbers they published.

A solid ball rests in the middle of a box; liquid where x < 0.5 - 0.25 sin(xy) (3D: xyz); the velocity before the step
is one at the faces nearest to (0.1, 0.1[, 0.1]) and zero elsewhere; solves start from zero and reduce the residual by
10⁶ in the max norm. The paper gives neither the ball's radius nor μΔt/ρ: 0.119 comes within 0.3 % of its number of
unknowns in 2D, 1e-3 reproduces its iterations; 1 and 1e3 are shown too. Published seconds are from 16 cores.

- visc-table1  2D     - visc-table2  3D; both draw how the residual fell (figures 11 and 14)
- visc-profile        iterations to each power of ten (figure 14)
- visc-box            the stencil's box against the full rectangular one (17 and 75 unknowns)
- visc-jump           viscosity that jumps by 100 and by 10⁴: halves of the liquid, layers of 4 cells, drops
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..api import solve_problem
from ..discretise.viscosity import ViscosityProblem, ViscousBox
from ..discretise.viscosity_fields import fluid_faces
from ..operators.face_grid import FaceGrid
from . import figures
from .means import Trace
from .measure import measure, warm_up
from .registry import Plan, benchmark
from .row import Row

RADIUS = 0.119
STRENGTHS = (1e-3, 1.0, 1e3)
METHODS = (
    "visc-auto", "visc-box-mg", "visc-box-mg+literal", "visc-jacobi-mg", "visc-jacobi-mg+cg", "visc-cg", "visc-mic-cg",
)  # fmt: skip
#: curves with more iterations than this are not drawn beside those of multigrid
DRAWN = 60
#: largest number of cells per side for the full box of 75 unknowns in 3D, which is slow
FULL_BOX = 32


def ball(
    n: int, d: int, strength: float = 1e-3, jump: float = 1.0, layout: str = "halves", walls: bool = True
) -> ViscousBox:
    """The system of the test problem."""
    return ball_in_a_box(n, d, strength, jump, layout, walls).problem


def ball_in_a_box(
    n: int, d: int, strength: float = 1e-3, jump: float = 1.0, layout: str = "halves", walls: bool = True
) -> ViscosityProblem:
    """The test problem on n cells per side; `strength` is μΔt/ρ, divided by `jump` in a part of the liquid.

    `walls`: by their true distance. Without it solid faces hold their velocity and nothing else does, as in the paper.
    """
    h = 1.0 / n
    centres = np.meshgrid(*[(np.arange(n) + 0.5) * h] * d, indexing="ij", sparse=True)
    nodes = np.meshgrid(*[np.arange(n + 1) * h] * d, indexing="ij", sparse=True)
    phi = centres[0] * centres[1] * (centres[2] if d == 3 else 1.0)
    np.sin(phi, out=phi)  # in place: at 512³ every field takes a gigabyte
    phi *= 0.25
    phi += centres[0] - 0.5
    solid = np.sqrt(sum((x - 0.5) ** 2 for x in nodes)) - RADIUS
    velocity = []
    for a in range(d):
        v = np.zeros([n + (axis == a) for axis in range(d)])
        v[tuple(round(0.1 * n) if axis == a else int(0.1 * n) for axis in range(d))] = 1.0
        velocity.append(v)
    mu = np.broadcast_to(np.where(_thin(layout, centres), strength / jump, strength), phi.shape)
    solids = {"phi_solid": solid} if walls else {"fluid": fluid_faces(FaceGrid.of(phi.shape), solid, None)}
    return ViscosityProblem(velocity=velocity, viscosity=mu, dt=1.0, dx=h, rho=1.0, phi_liquid=phi, **solids)


def _thin(layout: str, centres) -> np.ndarray:
    """The cells in which the viscosity is divided by the jump."""
    if layout == "halves":
        return centres[1] > 0.5
    if layout == "layers":
        return (np.arange(centres[1].size).reshape(centres[1].shape) // 4) % 2 == 1
    drops = np.random.default_rng(0).random((40, len(centres)))
    inside = [sum((x - c) ** 2 for x, c in zip(centres, drop)) < 0.06**2 for drop in drops]
    return np.logical_or.reduce(inside)


def part(strength: float) -> str:
    """The name of the rows of this strength."""
    return f"μΔt/ρ = {strength:g}"


PARTS = tuple(map(part, STRENGTHS))


def _measured(name: str, d: int, plan: Plan) -> Iterator[Row]:
    panels: dict[str, dict[str, Trace]] = {}
    for strength in STRENGTHS:
        if not plan.chosen((part(strength),)):
            continue
        curves = panels[f"{plan.sizes[-1]}{'²³'[d - 2]}, {part(strength)}"] = {}
        for method in plan.methods:
            plan.announce(f"{method}: compiling")
            warm_up(method, partial(ball, 12, d, strength), plan)
            for n in plan.sizes:
                plan.announce(f"{method} at {n}, {part(strength)}")
                trace: Trace = []
                yield measure(
                    f"{name}, {part(strength)}", n, method, partial(ball, n, d, strength), plan, trace=trace
                )  # fmt: skip
                if len(trace) <= DRAWN:
                    curves[method] = trace
    plan.draw(name, figures.convergence, panels)


def _published(case: str, n: int, unknowns: int, method: str, iterations, seconds, gigabytes, levels) -> Row:
    bytes_ = None if gigabytes is None else int(gigabytes * 1e9)
    return Row(
        f"{case} (published)", n, unknowns, method, iterations=iterations, seconds=seconds, peak_bytes=bytes_,
        converged=True, threads=16, levels=levels,
    )  # fmt: skip


@benchmark(
    "visc-table1", "Aanjaneya table 1: viscosity in 2D, a ball in a box", sizes=(256, 512, 1024),
    methods=(*METHODS, "visc-box-mg+full", "visc-direct"), parts=PARTS,
)  # fmt: skip
def table1(plan: Plan) -> Iterator[Row]:
    """2D; published: unknowns, levels and (iterations, seconds) of each method at 256², 512², 1024², 2048²."""
    sizes = {256: (57_341, 3), 512: (229_276, 4), 1024: (916_912, 5), 2048: (3_667_424, 6)}
    results: dict[str, tuple[tuple[int | None, float], ...]] = {
        "visc-jacobi-mg": ((11, 1.9), (13, 3.1), (14, 4.7), (16, 10.3)),
        "visc-jacobi-mg+cg": ((12, 0.74), (14, 1.4), (16, 3.1), (18, 8.9)),
        "visc-box-mg": ((4, 0.68), (5, 1.8), (5, 5.0), (4, 12.5)),
        "visc-cg": ((729, 0.91), (1434, 6.3), (2816, 51.9), (5522, 470.4)),
        "visc-mic-cg": ((80, 0.22), (143, 1.7), (255, 15.2), (465, 118.6)),
        "visc-direct": ((None, 0.36), (None, 1.3), (None, 5.3), (None, 24.3)),
    }
    for method, found in results.items():
        for (n, (unknowns, levels)), (iterations, seconds) in zip(sizes.items(), found):
            deep = levels if method.endswith(("-mg", "-mg+cg")) else None
            yield _published("visc-table1", n, unknowns, method, iterations, seconds, None, deep)
    yield from _measured("visc-table1", 2, plan)


@benchmark(
    "visc-table2", "Aanjaneya table 2: viscosity in 3D, a ball in a box", sizes=(64,), methods=METHODS,
    parts=(*PARTS, "boxes"),
)  # fmt: skip
def table2(plan: Plan) -> Iterator[Row]:
    """3D; published: (iterations, seconds, gigabytes) at 128³, 256³, 512³."""
    sizes = {128: (3_035_346, 2), 256: (24_303_388, 3), 512: (194_503_048, 4)}
    memory = (0.256, 2.18, 15.94)
    results: dict[str, tuple[tuple[int, float, float], ...]] = {
        "visc-jacobi-mg": tuple(zip((20, 34, 39), (377.3, 975.3, 2920.4), memory)),
        "visc-jacobi-mg+cg": tuple(zip((21, 36, 41), (90.1, 333.8, 1512.4), memory)),
        "visc-box-mg": tuple(zip((3, 3, 4), (27.3, 119.6, 834.7), memory)),
        "visc-cg": ((377, 35.6, 1.536), (707, 619.4, 11.78)),
        "visc-mic-cg": ((39, 6.7, 1.024), (53, 95.3, 8.32)),
    }
    for method, found in results.items():
        for (n, (unknowns, levels)), (iterations, seconds, gigabytes) in zip(sizes.items(), found):
            deep = levels if method.endswith(("-mg", "-mg+cg")) else None
            yield _published("visc-table2", n, unknowns, method, iterations, seconds, gigabytes, deep)
    yield from _measured("visc-table2", 3, plan)
    if "visc-box-mg" in plan.methods and plan.chosen(("boxes",)):
        n = min(FULL_BOX, *plan.sizes)
        for method in ("visc-box-mg", "visc-box-mg+full"):
            plan.announce(f"{method} at {n}")
            warm_up(method, lambda: ball(10, 3), plan)
            yield measure("visc-table2, boxes", n, method, lambda: ball(n, 3), plan)


@benchmark(
    "visc-profile", "Aanjaneya figure 14: iterations to each power of ten, 2D and 3D (an eighth of the size)",
    sizes=(256,), methods=("visc-auto", "visc-box-mg", "visc-jacobi-mg", "visc-jacobi-mg+cg"),
)  # fmt: skip
def profile(plan: Plan) -> Iterator[Row]:
    for d in (2, 3):
        for method in plan.methods:
            for size in plan.sizes:
                n = size if d == 2 else max(size // 8, 8)
                plan.announce(f"{method}, {d}D at {n}")
                problem = ball(n, d)
                solution = solve_problem(problem, method, rtol=plan.rtol, maxiter=plan.maxiter)
                for digits in range(1, 1 + round(-np.log10(plan.rtol))):
                    reached = next((i for i, r in enumerate(solution.history) if r <= 10.0**-digits), None)
                    yield Row(
                        f"visc-profile {d}D to 1e-{digits}", n, problem.n, method, iterations=reached,
                        converged=reached is not None, reason=None if reached is not None else solution.message,
                    )  # fmt: skip


@benchmark(
    "visc-box", "the box smoother on the stencil's 9 or 15 unknowns and on all 17 or 75", sizes=(128,),
    methods=("visc-box-mg", "visc-box-mg+full"),
)  # fmt: skip
def box(plan: Plan) -> Iterator[Row]:
    for d in (2, 3):
        for method in plan.methods:
            warm_up(method, partial(ball, 10, d), plan)
            for size in plan.sizes:
                n = size if d == 2 else max(size // 4, 8)
                plan.announce(f"{method}, {d}D at {n}")
                yield measure(f"visc-box {d}D", n, method, partial(ball, n, d), plan)


@benchmark(
    "visc-jump", "viscosity that jumps by 1, 100 and 10⁴: halves, layers, drops (3D at a quarter of the size)",
    sizes=(128,), methods=("visc-auto", "visc-box-mg", "visc-cg"),
)  # fmt: skip
def jump(plan: Plan) -> Iterator[Row]:
    cases = [("halves", 1.0)] + [(layout, ratio) for layout in ("halves", "layers", "drops") for ratio in (100.0, 1e4)]
    for d in (2, 3):
        for layout, ratio in cases:
            for method in plan.methods:
                warm_up(method, partial(ball, 12, d, 1.0, ratio, layout), plan)
                for size in plan.sizes:
                    n = size if d == 2 else max(size // 4, 8)
                    plan.announce(f"{method} at {n}, {layout}, jump {ratio:g}")
                    case = f"visc-jump {d}D " + ("constant" if ratio == 1.0 else f"{layout} {ratio:g}")
                    yield measure(case, n, method, partial(ball, n, d, 1.0, ratio, layout), plan)
