"""An American put: the price of a right that may be used at any time, a complementarity problem in every time step.

python examples/american_put.py            prints the price, writes american_put.png
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import nonstick


def main(
    price: float = 36.0, strike: float = 40.0, rate: float = 0.06, volatility: float = 0.2, years: float = 1.0,
    n: int = 800, steps: int = 100, picture: str | None = None,
) -> float:  # fmt: skip
    """The value today, with about n prices and so many time steps."""
    width = 6.0 * volatility * np.sqrt(years)
    h = 2.0 * width / n
    shift = np.log(price / strike)
    h = abs(shift) / max(round(abs(shift) / h), 1) if shift else h  # price and strike are both nodes
    x = h * np.arange(-round(width / h), round(width / h) + 1)  # log(S / strike)
    payoff = np.maximum(strike - strike * np.exp(x), 0.0)
    spread, drift = 0.5 * volatility**2 / h**2, (rate - 0.5 * volatility**2) / (2 * h)
    m = x.size - 2
    L = sp.diags_array([spread - drift, -2 * spread - rate, spread + drift], offsets=[-1, 0, 1], shape=(m, m)).tocsr()
    edge = np.zeros(m)
    edge[0] = (spread - drift) * payoff[0]  # deep in the money the option is used at once
    value, times = payoff[1:-1].copy(), years * np.linspace(0.0, 1.0, steps + 1) ** 2  # short steps near expiry
    for k, dt in enumerate(np.diff(times)):
        implicit = 1.0 if k < 4 else 0.5  # four implicit steps damp the kink of the payoff, then Crank–Nicolson
        A = sp.eye_array(m) - implicit * dt * L
        b = value + (1.0 - implicit) * dt * (L @ value) + dt * edge
        solution = nonstick.solve(A, b, lower=payoff[1:-1], x0=value, rtol=1e-9)
        assert solution.converged, solution.message
        value = solution.x
    if picture:
        draw(strike * np.exp(x[1:-1]), value, payoff[1:-1], picture)
    return float(np.interp(shift, x[1:-1], value))


def draw(prices: np.ndarray, value: np.ndarray, payoff: np.ndarray, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    near = (prices > 25) & (prices < 55)
    axes.plot(prices[near], value[near], label="value")
    axes.plot(prices[near], payoff[near], "--", label="payoff")
    axes.axvspan(25, prices[value > payoff + 1e-6][0], alpha=0.2, label="use it now")
    axes.set(xlabel="price of the share")
    axes.legend()
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print(f"value = {main(picture='american_put.png'):.4f}")
