"""Cavitation with inflow: a long bearing that gets a given amount of oil, with oil conserved where the film breaks.

python examples/cavitation.py            prints loads for three inflows, writes cavitation.png
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

import nonstick


def film(eccentricity: float, inflow: float, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles, pressure and filled part of the gap for an inflow in units of R C N L."""
    dt = 2 * np.pi / n
    h = 1 + eccentricity * np.cos(dt * (np.arange(n) + 0.5))
    w = h**3 / dt
    M = sp.diags_array([w, -w[:-1]], offsets=[0, 1])  # pressure flow from cell to cell: not symmetric
    solution = nonstick.lcp(M, 6 * h - 6 * inflow / np.pi, rtol=1e-10)  # dual: 6 h times the empty part
    assert solution.converged, solution.message
    return dt * np.arange(n), solution.x, 1 - solution.dual / (6 * h)


def load(theta: np.ndarray, p: np.ndarray) -> tuple[float, float]:
    """Sommerfeld number S = η N / P (R/C)² and attitude angle in degrees."""
    radial, tangential = -(p @ np.cos(theta)), p @ np.sin(theta)
    return theta.size / (2 * np.pi**2 * np.hypot(radial, tangential)), np.degrees(np.arctan2(tangential, radial))


def flooded(eccentricity: float, n: int) -> float:
    """The inflow with which the film begins at the groove, at the angle 0, without pressure there."""
    low, high = np.pi * (1 - eccentricity), np.pi * (1 + eccentricity)

    def excess(inflow: float) -> float:
        theta, p, _ = film(eccentricity, inflow, n)
        return p[0] if p[0] > 0 else -float(np.argmax(p > 0) + 1 if p.any() else n)

    return float(brentq(excess, low, high, xtol=1e-6))


def main(eccentricity: float = 0.6, n: int = 1440, picture: str | None = None) -> tuple[float, float, float]:
    """Inflow, Sommerfeld number and attitude angle of the flooded bearing."""
    inflow = flooded(eccentricity, n)
    theta, p, _ = film(eccentricity, inflow, n)
    if picture:
        draw(eccentricity, inflow, n, picture)
    return inflow, *map(float, load(theta, p))


def draw(eccentricity: float, inflow: float, n: int, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(6, 4), layout="constrained")
    for part in (1.0, 0.95, 0.9):
        theta, p, filled = film(eccentricity, part * inflow, n)
        above.plot(np.degrees(theta), p, label=f"{part:.0%} of the flow")
        below.plot(np.degrees(theta), filled)
    above.set(ylabel="pressure")
    above.legend()
    below.set(xlabel="angle in degrees", ylabel="filled part of the gap")
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("inflow = {:.3f}, S = {:.4f}, angle = {:.2f} degrees".format(*main(picture="cavitation.png")))
