"""The time loop of an American put with equal steps: `nonstick.Solver` against a policy iteration written by hand.

    python benchmarks/option.py                  processor seconds of both, for some numbers of prices and steps

The loop by hand keeps the exercise region of the step before and solves a tridiagonal system for each policy: with
`scipy.linalg.solve_banded`, or with LAPACK's `dgtsv`, which does not check its input. Neither computes a residual.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import scipy.sparse as sp

import nonstick


def put(n, steps, years=1.0, volatility=0.2, rate=0.06, strike=40.0):
    """The matrix of an implicit step, what the right brings, and what the edge adds to b."""
    x = np.linspace(-6.0, 6.0, n + 2) * volatility * np.sqrt(years)
    h, dt = x[1] - x[0], years / steps
    payoff = np.maximum(strike - strike * np.exp(x), 0.0)
    spread, drift = 0.5 * volatility**2 / h**2, (rate - 0.5 * volatility**2) / (2 * h)
    diagonals = [drift - spread, 2 * spread + rate + 1 / dt, -spread - drift]
    A = sp.csr_array(dt * sp.diags_array(diagonals, offsets=[-1, 0, 1], shape=(n, n)))
    edge = np.zeros(n)
    edge[0] = dt * (spread - drift) * payoff[0]
    return A, payoff[1:-1].copy(), edge


def by_solver(A, payoff, edge, steps):
    solver, value = nonstick.Solver(A), payoff
    for _ in range(steps):
        value = solver.solve(value + edge, payoff, rtol=1e-9).x
    return value


def by_hand(A, payoff, edge, steps, solve):
    low, d, high = (A.diagonal(k) for k in (-1, 0, 1))
    value, held = payoff, np.zeros(payoff.size, bool)
    for _ in range(steps):
        b = value + edge
        while True:
            rows = np.where(held[1:], 0.0, low), np.where(held, 1.0, d), np.where(held[:-1], 0.0, high)
            value = solve(*rows, np.where(held, payoff, b))
            g = d * value - b
            g[1:] += low * value[:-1]
            g[:-1] += high * value[1:]
            before, held = held, d * (value - payoff) < g
            if np.array_equal(before, held):
                break
    return value


def banded(low, d, high, b):
    from scipy.linalg import solve_banded

    band = np.zeros((3, d.size))
    band[0, 1:], band[1], band[2, :-1] = high, d, low
    return solve_banded((1, 1), band, b, overwrite_ab=True, overwrite_b=True, check_finite=False)


def lapack(low, d, high, b):
    from scipy.linalg.lapack import dgtsv

    return dgtsv(low, d, high, b, 1, 1, 1, 1)[3]


def main(sizes=((200, 200), (200, 2000), (800, 200), (800, 1000), (3000, 200)), turns=7):
    ways = {
        "Solver": by_solver,
        "solve_banded": partial(by_hand, solve=banded),
        "dgtsv": partial(by_hand, solve=lapack),
    }
    print("| prices | steps |", " | ".join(f"{name}, µs a step" for name in ways), "|\n|---|---|---|---|---|")
    for n, steps in sizes:
        problem, seconds, values = put(n, steps), {name: [] for name in ways}, {}
        for _ in range(turns):
            for name, way in ways.items():
                began = time.process_time()
                values[name] = way(*problem, steps)
                seconds[name].append(time.process_time() - began)
        assert all(abs(value - values["Solver"]).max() < 1e-6 for value in values.values())
        print(
            f"| {n} | {steps} |", " | ".join(f"{1e6 * min(s) / steps:.0f}" for s in seconds.values()), "|", flush=True
        )


if __name__ == "__main__":
    main()
