"""Complementarity problems whose matrix is not symmetric: counts over sizes, and random P-matrices.

python benchmarks/nonsymmetric.py            prints both tables of docs/measurements/nonsymmetric.md
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy.sparse as sp

import nonstick


def convection(n: int, speed: float) -> tuple[sp.csr_array, np.ndarray]:
    """-Δu + speed·(u_x + u_y/2) on the unit square, upwind, and a load that pushes against both bounds 0 and 0.1."""
    h, one = 1.0 / (n + 1), np.ones(n)
    D = sp.diags_array([-one[1:], 2 * one, -one[1:]], offsets=[-1, 0, 1]) / h**2
    C = sp.diags_array([-one[1:], one], offsets=[-1, 0]) * (speed / h)
    A = sp.csr_array(sp.kron(D + C, sp.eye_array(n)) + sp.kron(sp.eye_array(n), D + 0.5 * C))
    x = h * np.arange(1, n + 1)
    load = np.outer(np.sin(3 * np.pi * x), np.sin(2 * np.pi * x)).ravel()
    return A, 20 * max(1.0, speed / 20) * load


def p_matrix(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """A random P-matrix with n rows."""
    B = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3)
    np.fill_diagonal(B, 0.0)
    if kind == "M-matrix":
        return np.diag(np.abs(B).sum(axis=1) + 0.01) - np.abs(B)
    if kind == "dominant rows":
        return np.diag(np.abs(B).sum(axis=1) + 0.01) + B
    if kind == "Murty":  # on which pivoting takes 2ⁿ steps
        return np.triu(np.full((n, n), 2.0), 1) + np.eye(n)
    if kind == "triangular":  # in random order
        order = rng.permutation(n)
        return (np.triu(0.3 * rng.normal(size=(n, n)), 1) + np.diag(rng.uniform(0.5, 1.5, n)))[order][:, order]
    F, K = rng.normal(size=(2, n, n))  # "large skew part": definite
    A = F @ F.T / n + 0.05 * np.eye(n) + 3 * rng.choice([0.1, 1.0, 10.0]) * (K - K.T) / np.sqrt(n)
    if kind == "badly scaled":
        A *= 10.0 ** rng.uniform(-4, 4, n)[:, None] * 10.0 ** rng.uniform(-2, 2, n)
    return A


KINDS = ("M-matrix", "dominant rows", "Murty", "triangular", "large skew part", "badly scaled")


def main(sizes=(50, 100, 200, 400), speeds=(1.0, 100.0, 1e3, 1e4), count: int = 100) -> dict[str, Counter]:
    """Print both tables; returns how the solves of random problems ended, by kind."""
    for speed in speeds:
        for n in sizes:
            A, b = convection(n, speed)
            s = nonstick.solve(A, b, 0.0, 0.1)
            held = np.mean(s.active != 0)
            print(f"speed {speed:g}, {n}²: {s.status}, {s.iterations} iterations, {s.outer_iterations} policies, "
                  f"{s.seconds:.2g} s, {held:.0%} of the rows at a bound")  # fmt: skip
    ends: dict[str, Counter] = {}
    for kind in KINDS:
        ends[kind] = Counter()
        for seed in range(count):
            rng = np.random.default_rng(seed)
            n = int(rng.integers(2, 60))
            A, b = p_matrix(kind, n, rng), rng.normal(size=n)
            b = b * A.diagonal() if kind == "badly scaled" else b
            low = np.where(rng.random(n) < 0.2, -np.inf, 0.0)
            high = np.where(rng.random(n) < 0.5, rng.uniform(0.05, 1.0, n), np.inf)
            s = nonstick.solve(A, b, low, high)
            ends[kind][s.status] += 1
            ends[kind]["rescued"] += "finished_by" in s.notes
        print(f"{kind}: {dict(ends[kind])}")
    return ends


if __name__ == "__main__":
    main()
