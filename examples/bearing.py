"""A journal bearing with cavitation: Reynolds' equation for the oil film, with a pressure that cannot be negative.

python examples/bearing.py            prints load and angle, writes bearing.png
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import nonstick


def bearing(eccentricity: float, ratio: float, n: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """A, b and the cells for n × n/2 cells around and along the bearing; `ratio` is width / diameter."""
    m = n // 2
    dt, dz = 2 * np.pi / n, 2 * ratio / m
    theta = dt * np.arange(1, n)
    h = 1 + eccentricity * np.cos(theta)
    between = (1 + eccentricity * np.cos(dt * (np.arange(n) + 0.5))) ** 3 * dz / dt
    around = sp.diags_array([-between[1:-1], between[:-1] + between[1:], -between[1:-1]], offsets=[-1, 0, 1])
    along = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(m - 1, m - 1)) * (dt / dz)
    A = sp.csr_array(sp.kron(around, sp.eye_array(m - 1)) + sp.kron(sp.diags_array(h**3), along))
    b = np.repeat(12 * eccentricity * np.sin(theta) * np.sin(dt / 2) * dz, m - 1)  # -6 dh, integrated over a cell
    return A, b, np.argwhere(np.ones((n - 1, m - 1)))


def main(eccentricity: float = 0.5, ratio: float = 1.0, n: int = 240, picture: str | None = None):
    """Sommerfeld number and attitude angle in degrees of the bearing."""
    A, b, cells = bearing(eccentricity, ratio, n)
    solution = nonstick.solve(A, b, lower=0.0, cells=cells, rtol=1e-8)
    assert solution.converged, solution.message
    p = solution.x.reshape(n - 1, -1)
    theta, area = 2 * np.pi * np.arange(1, n) / n, 4 * np.pi * ratio / n / (p.shape[1] + 1)
    radial, tangential = -(p.sum(axis=1) @ np.cos(theta)) * area, (p.sum(axis=1) @ np.sin(theta)) * area
    if picture:
        draw(theta, p, picture)
    return float(np.hypot(radial, tangential) / (4 * ratio)), float(np.degrees(np.arctan2(tangential, radial)))


def draw(theta: np.ndarray, p: np.ndarray, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    shown = axes.imshow(np.where(p > 0, p, np.nan).T, extent=(0, 360, 0, 1), aspect="auto", cmap="viridis")
    axes.set(xlabel="angle in degrees", ylabel="along the width", title="oil pressure; white: cavitation")
    figure.colorbar(shown, label="p ψ² / (η ω)")
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("So = {:.4f}, angle = {:.2f} degrees".format(*main(picture="bearing.png")))
