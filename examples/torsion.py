"""Elastic-plastic torsion of a square bar: a stress function between two bounds.

python examples/torsion.py            prints the energy and the plastic part, writes torsion.png
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import nonstick


def main(c: float = 5.0, n: int = 100, picture: str | None = None) -> tuple[float, float]:
    """Energy and plastic part of the section for the twist c, with n grid points along a side."""
    h, m = 1.0 / (n - 1), n - 2
    side = h * np.minimum(np.arange(1, n - 1), n - 1 - np.arange(1, n - 1))
    distance = np.minimum(side[:, None], side[None, :]).ravel()  # to the boundary
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(m, m))
    A = sp.csr_array(sp.kron(line, sp.eye_array(m)) + sp.kron(sp.eye_array(m), line))
    b = np.full(m * m, c * h * h)
    solution = nonstick.solve(A, b, -distance, distance, cells=np.argwhere(np.ones((m, m))), rtol=1e-8)
    assert solution.converged, solution.message
    x, plastic = solution.x, solution.active != 0
    if picture:
        draw(plastic.reshape(m, m), x.reshape(m, m), picture)
    return float(0.5 * x @ (A @ x) - b @ x), float(plastic.mean())


def draw(plastic: np.ndarray, x: np.ndarray, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(3.6, 3.4), layout="constrained")
    axes.imshow(plastic, extent=(0, 1, 0, 1), cmap="Oranges", vmax=2)
    axes.contour(x, extent=(0, 1, 0, 1), origin="upper", colors="k", linewidths=0.6)
    axes.set(title="stress function; plastic part coloured", xticks=[], yticks=[])
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("energy = {:.5f}, plastic part = {:.3f}".format(*main(picture="torsion.png")))
