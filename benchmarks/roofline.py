"""Roofline of the linear solve: what each kernel must move against what this machine's memory gives in the same run.

Bandwidth is the best STREAM triad a = b + s·c of the run, on arrays far larger than any cache, 24 bytes an element; as
in STREAM the read that a store may cause is not counted, here or below, so fractions are comparable. A triad runs
before each timed call of a kernel, so that nothing is left in cache from the call before.

Bytes model. n unknowns, half of each colour; float32 in the cycle (one array of one colour: 2n bytes), float64 outside.
Every array a kernel touches is counted once per call, as if caches were perfect for neighbours and kept nothing
between calls. A half-sweep touches 10 such arrays: b, 1/d, six weights, x of the other colour, and x it writes.

    enter          r 8n; 1/d, x, b, b of both colours 8n                                              16n
    relax          10 arrays of one colour                                                            20n
    restrict       1/d, x, six weights, parent 18n (not from zero: x and b too, 22n); coarse b 12 each
    prolong        x in and out, 1/d, parent 8n; coarse x 4 each
    inner          rᵀz in float32                                                                     8n
    leave          z 4n, p in and out 16n                                                             20n
    energy         q = A p and pᵀq: three weights, diagonal, p, q                                     48n
    advance        x and r in and out, p, q, one flag                                                 49n

A coarse visit is a start (6n) and, twice, relax, restrict, the visit below, prolong, relax, relax. The tail in CSR:
8 bytes an entry and 16 a row, for two sweeps a cycle. Coarse levels are visited often and may stay in cache.
"Whole solve" counts iterations times the sum above and one residual at either end; set-up moves bytes too, which are
not counted, while its time is. Hence the last line overstates the distance from the bandwidth.
"""

from __future__ import annotations

import time

import numba
import numpy as np
from common import Rows, figure, options, progress, show, timed

from nonstick import cases, compositions
from nonstick.kernels import _active_set, parallel, prange

#: the kernels that make up one multigrid cycle
CYCLE = ("enter", "relax black", "relax red", "restrict", "coarse levels", "prolong")


@parallel
def _triad(a, b, c, s):
    for i in prange(a.size):
        a[i] = b[i] + s * c[i]


class Triad:
    """Three arrays of `megabytes` each; `best` keeps the highest bandwidth seen."""

    def __init__(self, megabytes: int):
        self._arrays = [np.ones(megabytes * 125_000) for _ in range(3)]
        self.best = 0.0
        self.run()
        self.best = 0.0  # the first run compiled

    def run(self) -> None:
        began = time.perf_counter()
        _triad(*self._arrays, 3.0)
        self.best = max(self.best, 24.0 * self._arrays[0].size / (time.perf_counter() - began))


def fastest(call, triad: Triad, repeats: int = 5) -> float:
    """Seconds of the fastest call, each from a cache full of other things; the first call does not count."""
    call()
    times = []
    for _ in range(repeats):
        triad.run()
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def kernels(problem):
    """(name, calls per iteration, call, bytes per call) of one CG iteration with the cycle of `auto`."""
    A, n = problem.A, problem.n
    M = compositions.CYCLE.setup(A)
    fine = M.grids[0]
    below = M.levels[1]
    nc = M.grids[1].rows.n if len(M.grids) > 1 else M.tail.levels[0].n
    rng = np.random.default_rng(0)
    x, p, q, r = (rng.standard_normal(n) for _ in range(4))
    judge = bounded_rows(problem)
    M.run(r, float(np.abs(r).max()))

    return [
        ("enter", 1, lambda: fine.enter(r, 1.0), 16 * n),
        ("relax black", 2, fine.relax_black, 20 * n),
        ("relax red", 1, fine.relax_red, 20 * n),
        ("restrict", 1, lambda: fine.restrict_residual(below, True), 18 * n + 12 * nc),
        ("coarse levels", 1, lambda: M.cycle.visit(M.levels, 1), coarse_bytes(M)),
        ("prolong", 1, lambda: fine.correct(below), 8 * n + 4 * nc),
        ("inner", 1, M.inner, 8 * n),
        ("leave", 1, lambda: M.leave(p, 0.5), 20 * n),
        ("energy", 1, lambda: A.energy(x, q), 48 * n),
        ("advance", 1, lambda: _active_set._advance(x, r, p, q, 1e-30, *judge), 49 * n + 40 * judge[2].size),
    ]


def bounded_rows(problem) -> tuple:
    """What `_advance` looks at besides x and r; the infinite slack lets no row change sides."""
    rows = np.flatnonzero(problem.box.constrained)
    blocks = -(-problem.n // _active_set.BLOCK)
    edges = np.searchsorted(rows, _active_set.BLOCK * np.arange(blocks + 1))
    lower, upper, d = (a[rows] for a in (problem.box.lower, problem.box.upper, problem.A.diagonal))
    flags, policy = problem.box.constrained.view(np.uint8), np.zeros(rows.size, np.int8)
    return flags, np.zeros(blocks), rows, edges, d, lower, upper, policy, np.inf, np.zeros(blocks, np.int64)


def coarse_bytes(M) -> int:
    total, visits, cycles = 0, 1, M.cycle.visits
    sizes = [level.rows.n for level in M.grids[1:]]
    following = [*sizes[1:], M.tail.levels[0].n]
    for n, nc in zip(sizes, following):
        total += visits * (6 * n + cycles * (60 * n + 8 * n + 16 * nc) + 18 * n + (cycles - 1) * 22 * n)
        visits *= cycles
    for level in M.tail.levels[:-1]:
        # black, residual of red, black, red: two sweeps' worth of the matrix and half a sweep more
        total += visits * cycles * 2 * (8 * level.indices.size + 16 * level.n)
        visits *= cycles
    return total


def main(out="benchmarks/results", sizes=(16,), megabytes=16, case="sphere3d"):
    rows = Rows(out, "roofline", ("case", "n", "kernel"))
    with progress("roofline", 2 * len(sizes)) as step:
        for n in sizes:
            step(f"kernels at {n}")
            triad = Triad(megabytes)
            problem = cases.build(case, n).problem
            measured = [(name, calls, size, fastest(call, triad)) for name, calls, call, size in kernels(problem)]
            step(f"linear solve at {n}")
            solve = timed(case, n, "mg-cg", lambda n=n: cases.build(case, n).problem, warm=lambda: _small(case))
            total = solve["iterations"] * sum(calls * size for _, calls, size, _ in measured) + 2 * 56 * problem.n
            cycle = sum(calls * seconds for name, calls, _, seconds in measured if name in CYCLE)
            measured.append(("whole solve", solve["iterations"], total, solve["seconds"]))
            for name, calls, size, seconds in measured:
                rows.add({
                    "case": case, "n": n, "unknowns": problem.n, "threads": numba.get_num_threads(), "kernel": name,
                    "calls": calls, "bytes": size, "seconds": seconds, "bandwidth": size / seconds,
                    "stream": triad.best, "fraction": size / seconds / triad.best,
                    "setup_seconds": solve["setup_seconds"] if name == "whole solve" else None, "cycle_seconds": cycle,
                })  # fmt: skip
    for n in sizes:
        of = [row for row in rows if (row["case"], row["n"]) == (case, n)]
        lines = [
            [r["kernel"], r["calls"], r["bytes"] / r["unknowns"], 1e3 * r["seconds"], r["bandwidth"] / 1e9,
             f"{100 * r['fraction']:.0f} %"] for r in of
        ]  # fmt: skip
        title = f"{case} at {n}: triad {of[0]['stream'] / 1e9:.1f} GB/s, {of[0]['threads']} threads"
        show(title, ["kernel", "calls", "bytes/unknown", "ms a call", "GB/s", "of triad"], lines)
        whole = of[-1]
        print(f"set-up takes {whole['setup_seconds'] / whole['cycle_seconds']:.1f} cycles")
        print(f"the solve takes {1 / whole['fraction']:.2f} times what its traffic needs at the triad's bandwidth")
        _plot(rows.path.with_name(f"roofline-{n}.png"), case, n, of)
    return rows


def _small(case: str):
    return cases.build(case, 16).problem


def _plot(path, case, n, rows) -> None:
    with figure(path, 6.6, 4.2) as axes:
        names, speeds = [row["kernel"] for row in rows][::-1], [row["bandwidth"] / 1e9 for row in rows][::-1]
        axes.barh(names, speeds, color=["C1" if name == "whole solve" else "C0" for name in names])
        axes.axvline(rows[0]["stream"] / 1e9, color="k", lw=1.0, ls="--")
        axes.text(rows[0]["stream"] / 1e9, len(names) - 0.4, " triad", fontsize=8, va="bottom", ha="center")
        for k, row in enumerate(rows[::-1]):
            axes.text(row["bandwidth"] / 1e9, k, f" {100 * row['fraction']:.0f} %", va="center", fontsize=7)
        axes.set(xlabel="GB/s: bytes it must move ÷ seconds", title=f"linear solve, {case} at {n}")


if __name__ == "__main__":
    main(**options(__doc__, sizes=(128,), megabytes=256, case="sphere3d"))
