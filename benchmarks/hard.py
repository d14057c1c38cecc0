"""Hard cases for `auto`: cycles against the half-filled sphere of the same size.

Rough weights multiply the faces of the sphere by 1 ... 10⁶: in blocks of 4³ cells, in layers of 4 cells, or face by
face (iid). The last defeats every geometric hierarchy, so it is compared with smoothed aggregation instead.
"""

from __future__ import annotations

import numpy as np
from common import Rows, figure, options, progress, show

from nonstick import api, cases
from nonstick.bench.problems import maze
from nonstick.operators.base import row_sums
from nonstick.operators.rows import Rows as Layout
from nonstick.operators.stencil import StencilOperator
from nonstick.problem.box import BoxProblem


def main(out="benchmarks/results", sizes=(16,), names=()):
    rows = Rows(out, "hard", ("case", "n"))
    chosen = list(names) or list(HARD)
    with progress("hard cases", len(sizes) * (len(chosen) + 1)) as step:
        for n in sizes:
            step(f"sphere at {n}")
            sphere = rows.add(_solved("sphere", n, cases.build("sphere3d", n).problem))
            for name in chosen:
                step(f"{name} at {n}")
                problem = HARD[name](n)
                row = _solved(name, n, problem)
                row["against"] = "sphere"
                row["ratio"] = row["iterations"] / max(sphere["iterations"], 1)
                if name == "iid weights":
                    other = api.solve_problem(problem, "saamg-cg")
                    row |= {"against": f"saamg-cg ({other.iterations})", "ratio": row["iterations"] / other.iterations}
                rows.add(row)
    lines = [
        [row["case"], row["n"], row["unknowns"], row["iterations"], row["outer_iterations"], row["kkt"], row["seconds"],
         row.get("ratio", 1.0), row.get("against"), row["converged"]] for row in rows
    ]  # fmt: skip
    heads = ["case", "n", "unknowns", "cycles", "set changes", "kkt", "seconds", "ratio", "against", "converged"]
    show("hard cases, cold start, KKT 1e-6", heads, lines)
    last = [line for line in lines if line[1] == max(line[1] for line in lines)]
    with figure(rows.path.with_suffix(".png"), 6.4, 4.0) as axes:
        axes.barh([line[0] for line in last][::-1], [line[7] for line in last][::-1])
        axes.axvline(3.0, color="0.4", lw=0.8, ls=":")
        axes.set(xlabel="cycles ÷ those of the sphere (iid: of saamg-cg)")
    return rows


def _solved(name: str, n: int, problem: BoxProblem) -> dict:
    solution = api.solve_problem(problem, "auto")
    return {
        "case": name, "n": n, "unknowns": problem.n, "method": "auto", "iterations": solution.iterations,
        "outer_iterations": solution.outer_iterations, "seconds": solution.seconds, "kkt": solution.kkt(),
        "converged": solution.converged, "reason": None if solution.converged else solution.message,
    }  # fmt: skip


def stencil(layout: Layout, weights, excess: np.ndarray) -> StencilOperator:
    """Diagonal = excess + the weights of all faces."""
    right = layout.neighbours()
    diagonal = excess.copy()
    out = []
    for axis in range(3):
        linked = np.flatnonzero(right[:, axis] >= 0)
        w = np.zeros(layout.n)
        w[linked] = weights[axis][linked]
        diagonal += w
        np.add.at(diagonal, right[linked, axis], w[linked])
        out.append(w)
    return StencilOperator(layout, (out[0], out[1], out[2]), diagonal)


def _sphere(n: int, walls: str = "cut") -> BoxProblem:
    return cases.build("sphere3d", n, walls=walls).problem


def _random_rhs(n: int) -> BoxProblem:
    p = _sphere(n)
    return BoxProblem(p.A, np.random.default_rng(0).standard_normal(p.n), p.box.lower, p.box.upper)


def _everything_active(n: int) -> BoxProblem:
    p = _sphere(n, "all")
    return BoxProblem(p.A, -np.random.default_rng(0).uniform(0.5, 1.0, p.n), p.box.lower, p.box.upper)


def _rough(n: int, factors) -> BoxProblem:
    """The sphere with face weights times factors; the flux to the air is scaled with the cell's own factor."""
    p = _sphere(n)
    A, layout = p.A, p.A.rows
    excess = np.maximum(row_sums(A), 0.0)
    excess[excess < 1e-9 * A.diagonal] = 0.0
    cells = layout.coordinates()
    of = factors(cells)
    A = stencil(layout, [w * f for w, f in zip(A.weights, of)], excess * of[0])
    return BoxProblem(A, p.b, p.box.lower, p.box.upper)


def _blocks(n: int) -> BoxProblem:
    def factors(cells):
        table = 10.0 ** (6 * np.random.default_rng(1).random((n // 4 + 2,) * 3))
        value = lambda shift: table[tuple(((cells + shift) // 4).T)]  # noqa: E731
        own = value(np.zeros(3, int))
        # harmonic means, as two materials in series conduct
        return [2 / (1 / own + 1 / value(np.eye(3, dtype=int)[a])) for a in range(3)]

    return _rough(n, factors)


def _layers(n: int) -> BoxProblem:
    def factors(cells):
        own, above = (np.where((cells[:, 1] + s) // 4 % 2, 1e6, 1.0) for s in (0, 1))
        return [own, 2 / (1 / own + 1 / above), own]

    return _rough(n, factors)


def _iid(n: int) -> BoxProblem:
    rng = np.random.default_rng(2)
    return _rough(n, lambda cells: [10.0 ** (6 * rng.random(len(cells))) for _ in range(3)])


def _mask_problem(mask: np.ndarray, excess_of, constrained_of) -> BoxProblem:
    layout = Layout.from_mask(mask)
    cells = layout.coordinates()
    A = stencil(layout, [np.ones(layout.n)] * 3, excess_of(cells))
    b = np.random.default_rng(3).standard_normal(layout.n)
    return BoxProblem(A, b, np.where(constrained_of(cells), 0.0, -np.inf), np.inf)


def _walls(n: int) -> BoxProblem:
    """Rooms of 4³ cells behind walls one cell thick, open to the air at the top; cells on the floor are bounded."""
    mask = maze(n, 4, 1)
    top = mask.shape[1] - 1
    return _mask_problem(mask, lambda c: (c[:, 1] == top).astype(float), lambda c: c[:, 1] == 0)


def _droplets(n: int) -> BoxProblem:
    """Balls of radius 2.2 cells, 6 cells apart (22³ = 10 648 of them at 132), in air; lower halves are bounded."""
    at = np.arange(n - n % 6) % 6 - 2.5
    mask = at[:, None, None] ** 2 + at[None, :, None] ** 2 + at[None, None, :] ** 2 < 2.2**2
    padded = np.pad(mask, 1)

    def air(c):
        around = [np.roll(padded, s, a) for a in range(3) for s in (1, -1)]
        return sum((~g[tuple((c + 1).T)]).astype(float) for g in around)

    return _mask_problem(mask, air, lambda c: c[:, 1] % 6 < 3)


HARD = {
    "random right-hand side": _random_rhs,
    "weights in blocks": _blocks,
    "weights in layers": _layers,
    "iid weights": _iid,
    "one-cell walls": _walls,
    "droplets": _droplets,
    "all constrained": lambda n: _sphere(n, "all"),
    "none constrained": lambda n: _sphere(n, "none"),
    "everything active": _everything_active,
}


if __name__ == "__main__":
    main(**options(__doc__, sizes=(64,), names=()))
