"""Matrices without a grid: iterations, seconds and memory of `auto`, and of PyAMG's hierarchies in the same loop.

    python benchmarks/matrices.py --sizes 50 100 200 400                 every problem, ours, PyAMG and PETSc
    python benchmarks/matrices.py --sizes 1000 --names bearing-4 --methods auto   a million unknowns
    python benchmarks/matrices.py --sizes 400 --time-limit 30 --rest     goes on: only rows that are not there yet

`auto` gets the bare matrix, `auto+cells` its grid too (only where it has one). `sa`, `rs`, `rootnode` are PyAMG's
smoothed aggregation, Ruge-Stüben and root-node hierarchies (one Gauss-Seidel sweep down, one up) as preconditioner of
the loop of `auto`, set up again after every change of the set; they have no coarse problems with bounds. Names with
`@` are PETSc's solvers for bounds on so many ranks (`nonstick.bench.peers`): SNESVI's `petsc-rsls` and
`petsc-rsls-hypre` (active-set Newton, CG with incomplete Cholesky or BoomerAMG inside), TAO's `tao-gpcg` and
`tao-gpcg-hypre`. SNESVI's iterations are those of CG, TAO's are outer ones. All stop at KKT 1e-6, computed again here;
PETSc's time does not include assembling the matrix. `--time-limit` stops a solve (not a set-up in PyAMG). Every row
says by which version it was made, and `--rest` measures those again that another version made. 3D problems have as many
unknowns as the 2D ones of their size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from common import Rows, options, progress, show, timed
from gallery import bearing, grid, jumps, rescaled, rotated, solid, torsion, triangles, waves

from nonstick import NonstickError
from nonstick.bench import peers
from nonstick.bench.row import version
from nonstick.compositions import AUTO
from nonstick.inverse.base import Inverse, Recipe
from nonstick.operators.stencil import as_operator
from nonstick.problem.box import BoxProblem

METHODS = ("auto", "auto+cells", "sa", "rs", "rootnode", "petsc-rsls-hypre@2", "tao-gpcg-hypre@2")

PROBLEMS = {
    "bearing-1": lambda n: bearing(n, 1.0),
    "bearing-4": lambda n: bearing(n, 4.0),
    "bearing-20": lambda n: bearing(n, 20.0),
    "torsion": torsion,
    "aniso-1e-4": lambda n: waves(grid(n, 1e-4), True),
    "rotated-1e-2": lambda n: waves(rotated(n, 1e-2, np.pi / 8)),
    "rotated-1e-3": lambda n: waves(rotated(n, 1e-3, np.pi / 6)),
    "diagonal-1e-3": lambda n: waves(rotated(n, 1e-3, np.pi / 4)),
    "triangles": lambda n: waves(triangles(n)),
    "triangles-1e-2": lambda n: waves(triangles(n, 1e-2, np.pi / 6)),
    "triangles-1e-3": lambda n: waves(triangles(n, 1e-3, np.pi / 4)),
    "jumps": lambda n: waves(jumps(n), True),
    "scaled": lambda n: rescaled(bearing(n, 4.0)),
    "scaled-jumps": lambda n: rescaled(waves(jumps(n, 1e4))),
    "solid": lambda n: solid(n, 1.0),
    "solid-1e-2": lambda n: solid(n, 1e-2),
}


@dataclass(frozen=True)
class PyAMG(Recipe):
    """A hierarchy of PyAMG, one V-cycle."""

    kind: str

    def setup(self, operator, reuse=None):
        return _PyAMG(self.kind, sp.csr_matrix(operator.matrix()))


class _PyAMG(Inverse):
    def __init__(self, kind, A):
        import pyamg

        sweeps = {
            "presmoother": ("gauss_seidel", {"sweep": "forward"}),
            "postsmoother": ("gauss_seidel", {"sweep": "backward"}),
        }
        make = {
            "sa": pyamg.smoothed_aggregation_solver,
            "rs": pyamg.ruge_stuben_solver,
            "rootnode": pyamg.rootnode_solver,
        }[kind]
        try:
            self.M = make(A, **sweeps).aspreconditioner()
            self.M @ np.zeros(A.shape[0])  # the coarsest matrix is inverted at its first use
        except (ValueError, np.linalg.LinAlgError) as error:  # root-node hierarchies of some triangles have NaN
            raise NonstickError(f"the set-up of PyAMG failed: {error}") from error

    def apply(self, r, out):
        out[:] = self.M @ r
        return out


def build(name, n, cells):
    A, b, lower, upper, _ = PROBLEMS[name](n)
    where = np.stack(np.divmod(np.arange(n * n), n), axis=1) if cells else None
    N = b.size
    return BoxProblem(as_operator(sp.csr_array(A), where), b, np.broadcast_to(lower, N), np.broadcast_to(upper, N))


def measured(name, n, label, time_limit) -> dict:
    """A row of one method on one problem."""
    if label in peers.petsc_names():
        row = peers.measure_petsc(name, n, label, build(name, n, False), 1e-6, time_limit).asdict()
        return row | {"version": version()}
    M = AUTO if label.startswith("auto") else replace(AUTO, M=PyAMG(label))
    cells = label.endswith("cells")
    warm = partial(build, name, 60, cells)
    return timed(name, n, M, partial(build, name, n, cells), warm=warm, time_limit=time_limit)


def main(
    out="benchmarks/results", sizes=(50, 100), names=tuple(PROBLEMS), methods=METHODS, time_limit=300.0, rest=False
):
    rows = Rows(out, "matrices", ("case", "n", "label"))
    with progress("matrices", len(sizes) * len(names) * len(methods)) as step:
        for name in names:
            for n in sizes:
                for label in methods:
                    step(f"{label} on {name} at {n}")
                    wanted = name, n, label, version()
                    if label.endswith("cells") and not PROBLEMS[name](4)[4]:
                        continue
                    if rest and any((row["case"], row["n"], row["label"], row["version"]) == wanted for row in rows):
                        continue
                    rows.add(measured(name, n, label, time_limit) | {"label": label})
    report(rows, sizes)
    return rows


def report(rows, sizes) -> None:
    lines = []
    for name, label in dict.fromkeys((row["case"], row["label"]) for row in rows):
        of = {row["n"]: row for row in rows if (row["case"], row["label"]) == (name, label)}
        cells = []
        for n in sizes:
            row = of.get(n)
            if row is None:
                cells.append("-")
                continue
            megabytes = f" · {row['peak_bytes'] / 2**20:.0f} MB" if row["peak_bytes"] else ""
            if row["iterations"] is None:
                cells.append("failed")
                print(f"{label} on {name} at {n}: {row['reason']}")
                continue
            mark = "" if row["converged"] else "!"
            cells.append(f"{row['iterations']}{mark} · {row['seconds']:.2f} s ({row['cpu_seconds']:.2f}){megabytes}")
        lines.append([name, label, *cells])
    title = "iterations, seconds (of the processors), memory (! did not converge)"
    show(title, ["problem", "method", *map(str, sizes)], lines)


if __name__ == "__main__":
    main(**options(__doc__, sizes=(50, 100), names=tuple(PROBLEMS), methods=METHODS, time_limit=300.0, rest=False))
