"""Counts that pages quote beside the tables of the papers. Five studies; only counts, no seconds.

`omega` (projected SOR with its own factor and with fixed ones), `levels` (Chentanez–Müller's S: bounds on three levels
or on all), `rooms` (CG over topology-aware aggregation in mazes of rooms behind narrow doors, with and without our two
rules), `alpha` (the scaling of coarse matrices, with the paper's merging) and `pieces` (many closed bodies in one box).
`--sizes` are cells along a side; problems in 2D have twice as many.
"""

from __future__ import annotations

import numpy as np
from common import options, run_studies

import nonstick
from nonstick import PressureProblem, cases, compositions
from nonstick.bench.problems import neumann_maze, open_faces
from nonstick.bench.tables import tables
from nonstick.inverse import CG
from nonstick.inverse.multigrid.aggregation.coarsening import TopologyAware
from nonstick.solvers import ChentanezMuller, ProjectedSOR
from nonstick.solvers.linear import LinearSolve

#: room, wall and door in cells
ROOMS = ((8, 1, 1), (8, 2, 1), (8, 3, 1), (9, 1, 1), (12, 1, 1), (16, 1, 1), (16, 3, 1), (20, 1, 1), (23, 1, 2))
#: how many random cubes, of which sides
CUBES = ((85, 3, 16), (170, 2, 12), (250, 4, 8), (500, 2, 6), (850, 1, 5))


def count(problem, method, rtol):
    s = nonstick.solve_problem(problem, method, rtol=rtol, criterion="papers")
    return {"iterations": s.iterations, "converged": s.converged}


def linear(recipe):
    return LinearSolve(CG(recipe))


def merged(theta, cut):
    """Topology-aware aggregation with alpha 0.55 and the given rules."""
    return linear(compositions.aggregation_cycle(TopologyAware(0.55, theta=theta, cut=cut), 2))


def omega(sizes):
    """Sweeps of projected SOR to KKT 1e-6."""
    for n in sizes:
        for factor in (None, 1.8, 1.85, 1.9, 1.95):
            label = "psor" if factor is None else f"ω = {factor}"
            yield {
                "case": "circle2d", "n": 2 * n, "method": label,
                **count(cases.build("circle2d", 2 * n).problem, ProjectedSOR(factor), 1e-6),
            }  # fmt: skip


def levels(sizes):
    """Full cycles to KKT 1e-6 with bounds on all levels and on the three finest."""
    for case, n in [("circle2d", 2 * n) for n in sizes] + [("sphere3d", n) for n in sizes]:
        for S in (None, 3):
            label = "all levels" if S is None else f"S = {S}"
            problem = cases.build(case, n).problem
            yield {"case": case, "n": n, "method": label, **count(problem, ChentanezMuller(constrained_levels=S), 1e-6)}


def rooms(sizes):
    """CG iterations to 1e-8 in closed mazes of rooms; the paper's merging, with `theta`, with `theta` and `cut`."""
    for n in sizes:
        for room in ROOMS:
            if n + room[1] >= 2 * sum(room[:2]):
                problem = neumann_maze(n, *room)
                for label, rules in (
                    ("as in the paper", (0, 0)),
                    ("theta", (0.35, 0)),
                    ("theta and cut", (0.35, 0.25)),
                ):
                    yield {
                        "case": f"room, wall, door {room}", "n": n, "method": label,
                        **count(problem, merged(*rules), 1e-8),
                    }  # fmt: skip


def alpha(sizes):
    """CG iterations to 1e-8, W-cycles, the paper's merging (tagiaamg) and blocks (giaamg)."""
    builders = {part.name: part.build for part in tables()["tb-table1"].parts}
    builders |= {"sphere3d": lambda n: cases.build("sphere3d", n).problem}
    for case, n in [(case, n) for case in builders for n in sizes]:
        problem = builders[case](n)
        for value in (0.55, 0.65):
            for name, recipe in (
                ("tagiaamg", compositions.tagiaamg(2, value, literal=True)), ("giaamg", compositions.giaamg(2, value)),
            ):  # fmt: skip
                yield {"case": case, "n": n, "method": f"{name} {value}", **count(problem, linear(recipe), 1e-8)}


def pieces(sizes):
    """CG iterations to 1e-8 in unions of random cubes (as many as in 48³ cells), closed and in the open air."""
    for n, (many, low, high) in [(n, cubes) for n in sizes for cubes in CUBES]:
        rng = np.random.default_rng(0)
        cells = np.zeros((n, n, n), bool)
        for _ in range(round(many * (n / 48) ** 3)):
            side = int(rng.integers(low, high + 1))
            corner = rng.integers(0, max(n - side, 1), 3)
            cells[tuple(slice(c, c + side) for c in corner)] = True
        phi = np.where(cells, -1.0, 1.0)
        for case, weights in (("closed", open_faces(cells)), ("open air", open_faces(np.ones_like(cells)))):
            velocity = tuple(rng.normal(size=w.shape) for w in weights)
            problem = PressureProblem(
                phi_liquid=phi, velocity=velocity, dt=1.0, dx=1.0 / n, rho=1.0, weights=weights, walls="none"
            ).problem
            for label, rules in (("as in the paper", (0, 0)), ("theta and cut", (0.35, 0.25))):
                yield {
                    "case": f"{many} cubes of {low} to {high}, {case}", "n": n, "method": label,
                    **count(problem, merged(*rules), 1e-8),
                }  # fmt: skip


CHOICE = {"omega": omega, "levels": levels, "rooms": rooms, "alpha": alpha, "pieces": pieces}
STUDIES = tuple(CHOICE)


def main(out="benchmarks/results", sizes=(32, 48), studies=STUDIES):
    return run_studies(out, "quoted", {name: CHOICE[name] for name in studies}, sizes, ("iterations", "converged"))


if __name__ == "__main__":
    main(**options(__doc__, sizes=(32, 48), studies=STUDIES))
