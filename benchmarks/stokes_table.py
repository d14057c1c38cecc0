"""Iterations of the Stokes methods over grids, viscosities, jumps and cut walls (docs/measurements/viscosity.md).

    python benchmarks/stokes_table.py --sizes 32 64 128 --dimension 2
    python benchmarks/stokes_table.py --sizes 16 32 64 --dimension 3 --methods stokes-auto

The velocity before the step is random, the worst case of a start. Columns are νdt/dx².
"""

from __future__ import annotations

import argparse

import numpy as np

from nonstick.discretise import StokesProblem

VISCOSITIES = (0.0, 1e-3, 1.0, 1e2, 1e4, 1e6)
JUMP = 1e4


def tank(n: int, d: int) -> np.ndarray:
    """A level set: a tank a little more than half full, with a wave."""
    x = np.stack(np.meshgrid(*[np.arange(n) + 0.5] * d, indexing="ij"))
    return x[1] - (0.55 * n + 0.08 * n * np.cos(np.pi * x[0] / n))


def ball(n: int, d: int) -> np.ndarray:
    """The distance to a ball in the liquid, at nodes."""
    x = np.stack(np.meshgrid(*[np.arange(n + 1.0)] * d, indexing="ij"))
    return np.sqrt(((x.T - np.array([0.47, 0.31, 0.52][:d]) * n).T ** 2).sum(axis=0)) - 0.17 * n


def problem(kind: str, n: int, d: int, nu: float) -> StokesProblem:
    """The step of one row and column of the table, in units of dx = dt = rho = 1."""
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n] * d, indexing="ij"))
    mu: np.ndarray | float = nu
    more: dict = {}
    if kind == "two halves":
        mu = np.where(x[0] < 0.5, nu, nu * JUMP)
    elif kind == "discs":
        mu = np.full(x.shape[1:], nu)
        for centre in np.random.default_rng(2).uniform(0.1, 0.6, (8, d)):
            mu[((x.T - centre).T ** 2).sum(axis=0) < 0.08**2] = nu * JUMP
    elif kind.startswith("ball"):
        more = {"phi_solid": ball(n, d), "slip": kind.endswith(" slip")}
    elif kind == "separating":
        more = {"walls": "cut"}
    rng = np.random.default_rng(1)
    velocity = tuple(rng.normal(size=[m + (a == b) for b, m in enumerate((n,) * d)]) for a in range(d))
    return StokesProblem(phi_liquid=tank(n, d), velocity=velocity, viscosity=mu, dt=1.0, dx=1.0, rho=1.0, **more)


KINDS = ("tank", "separating", "two halves", "discs", "ball no-slip", "ball slip")


def main(sizes=(32, 64), dimension=2, methods=("stokes-auto",), kinds=KINDS, rtol=1e-6) -> dict:
    """Print the table; returns the counts by (kind, viscosity, method)."""
    counts: dict = {}
    for kind in kinds:
        for nu in VISCOSITIES:
            if nu == 0.0 and kind in ("two halves", "discs"):
                continue
            problems = [problem(kind, n, dimension, nu) for n in sizes]
            for method in methods:
                found = [p.solve(method, rtol=rtol) for p in problems]
                counts[kind, nu, method] = [s.iterations if s.converged else None for s in found]
                cells = " / ".join("–" if c is None else str(c) for c in counts[kind, nu, method])
                print(f"| {kind} | {nu:g} | {method} | {cells} |", flush=True)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=["stokes-auto"])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--rtol", type=float, default=1e-6)
    main(**vars(parser.parse_args()))
