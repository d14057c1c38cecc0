"""An obstacle problem on an unstructured mesh of triangles: a membrane over a ball.

python examples/triangles.py            prints value, contact radius and error, writes triangles.png
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.spatial import Delaunay

import nonstick

#: radius of the contact and constants of the exact solution u = B - A log r
CONTACT, SLOPE, HEIGHT = 0.697965148223374, 0.680259411891719, 0.471519893402112


def mesh(n: int, seed: int = 0) -> Delaunay:
    """Triangles over (-2, 2)²: nodes of a grid moved at random, the middle of the box and (1, 0) kept."""
    x, step = np.linspace(-2.0, 2.0, n + 1, retstep=True)
    points = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    inside = (np.abs(points) < 2.0 - 0.1 * step).all(axis=1)
    inside &= np.hypot(points[:, 0] - 1.0, points[:, 1]) > 0.1 * step
    points[inside] += 0.3 * step * np.random.default_rng(seed).uniform(-1, 1, (np.count_nonzero(inside), 2))
    return Delaunay(points)


def stiffness(triangles: Delaunay) -> tuple[sp.csr_array, np.ndarray]:
    """The matrix of ∫∇u·∇v for linear elements, and the area around each node."""
    corners = triangles.points[triangles.simplices]
    edges = corners[:, [2, 0, 1]] - corners[:, [1, 2, 0]]  # opposite to each corner
    area = 0.5 * np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    local = np.einsum("tik,tjk->tij", edges, edges) / (4 * area[:, None, None])
    rows, columns = np.repeat(triangles.simplices, 3, axis=1).ravel(), np.tile(triangles.simplices, 3).ravel()
    size = len(triangles.points)
    K = sp.coo_array((local.ravel(), (rows, columns)), shape=(size, size)).tocsr()
    return K, np.bincount(triangles.simplices.ravel(), np.repeat(area / 3, 3), size)


def main(n: int = 64, picture: str | None = None) -> tuple[float, float, float]:
    """u at (1, 0), the radius of the contact, and the largest error."""
    triangles = mesh(n)
    x, y = triangles.points.T
    r = np.hypot(x, y)
    ball = np.where(r < 0.9, np.sqrt(1 - np.minimum(r, 0.9) ** 2), np.sqrt(0.19) - 0.9 / np.sqrt(0.19) * (r - 0.9))
    exact = np.where(r > CONTACT, HEIGHT - SLOPE * np.log(np.maximum(r, CONTACT)), ball)
    K, area = stiffness(triangles)
    free = (np.abs(triangles.points) < 2.0).all(axis=1)
    b = -(K[free][:, ~free] @ exact[~free])
    solution = nonstick.solve(K[free][:, free], b, lower=ball[free], rtol=1e-8)
    assert solution.converged, solution.message
    u = exact.copy()
    u[free] = solution.x
    contact = np.sqrt(area[free][solution.active != 0].sum() / np.pi)
    if picture:
        draw(triangles, u - ball < 1e-12, picture)
    at = np.flatnonzero((np.abs(x - 1.0) < 1e-9) & (np.abs(y) < 1e-9))[0]
    return float(u[at]), float(contact), float(np.abs(u - exact).max())


def draw(triangles: Delaunay, touching: np.ndarray, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(3.6, 3.6), layout="constrained")
    axes.tripcolor(*triangles.points.T, touching.astype(float), triangles=triangles.simplices, cmap="Oranges", vmax=2)
    axes.triplot(*triangles.points.T, triangles.simplices, lw=0.2, color="k")
    axes.add_patch(plt.Circle((0, 0), CONTACT, fill=False, color="b"))
    axes.set(aspect=1, title="nodes in contact, exact circle", xticks=[], yticks=[])
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("u(1, 0) = {:.5f}, contact radius = {:.4f}, largest error = {:.1e}".format(*main(picture="triangles.png")))
