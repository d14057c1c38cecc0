"""Hertz contact with scikit-fem: a cylinder of steel pressed onto a rigid plane, which alone holds it from below.

python examples/contact.py            prints pressure and half-width beside Hertz's, writes contact.png
"""

from __future__ import annotations

import numpy as np
import skfem
from skfem.models.elasticity import lame_parameters, linear_elasticity

import nonstick

RADIUS, YOUNG, POISSON = 0.1, 210e9, 0.3  # metres, pascals
HALF_WIDTH = 1e-3  # that the load is chosen for


def axis(fine: int) -> np.ndarray:
    """Small elements up to 1.5 half-widths, then larger and larger ones up to 20."""
    inner = np.linspace(0.0, 1.5, int(1.5 * fine) + 1)
    outer = 1.5 + np.cumsum(1.3 ** np.arange(1, 60) / fine)
    return HALF_WIDTH * np.concatenate([inner, outer[: np.searchsorted(outer, 20.0) + 1]])


def main(fine: int = 16, picture: str | None = None) -> tuple[float, float]:
    """The largest pressure and the half-width, both over those of Hertz; half of the cylinder, by symmetry."""
    modulus = YOUNG / (1 - POISSON**2)
    load = np.pi * modulus * HALF_WIDTH**2 / (4 * RADIUS)  # newtons for a metre of the cylinder
    x = axis(fine)
    mesh = skfem.MeshQuad.init_tensor(x, x)
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementQuad1()))
    A = linear_elasticity(*lame_parameters(YOUNG, POISSON)).assemble(basis)
    top = basis.boundary(mesh.facets_satisfying(lambda p: np.isclose(p[1], x[-1])))
    b = skfem.LinearForm(lambda v, w: -load / 2 / x[-1] * v[1]).assemble(top)
    nodes = np.flatnonzero(mesh.p[1] == 0.0)
    nodes = nodes[np.argsort(mesh.p[0, nodes])]
    below = basis.nodal_dofs[1, nodes]
    lower, upper = np.full(basis.N, -np.inf), np.full(basis.N, np.inf)
    lower[below] = -(x**2) / (2 * RADIUS)  # the plane is this far below the round surface
    middle = basis.nodal_dofs[0, np.flatnonzero(mesh.p[0] == 0.0)]
    lower[middle] = upper[middle] = 0.0
    solution = nonstick.solve(A, b, lower, upper, rtol=1e-8)
    assert solution.success, solution.message
    share = np.convolve(np.diff(x), [0.5, 0.5])  # the part of the surface that belongs to each node
    pressure = solution.dual[below] / share
    inside = x < 0.9 * HALF_WIDTH
    square, slope = np.polynomial.Polynomial.fit(x[inside] ** 2, pressure[inside] ** 2, 1).convert().coef
    largest = 2 * load / (np.pi * HALF_WIDTH)
    if picture:
        draw(x, pressure, largest, picture)
    return float(np.sqrt(square) / largest), float(np.sqrt(-square / slope) / HALF_WIDTH)


def draw(x: np.ndarray, pressure: np.ndarray, largest: float, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    t, near = np.linspace(0, 1.5, 400), x < 1.5 * HALF_WIDTH
    axes.plot(t, 1e-6 * largest * np.sqrt(np.maximum(1 - t**2, 0)), label="Hertz")
    axes.plot(x[near] / HALF_WIDTH, 1e-6 * pressure[near], ".", label="nodes")
    axes.set(xlabel="distance from the middle, half-widths", ylabel="pressure, MPa")
    axes.legend()
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    print("pressure {:.4f}, half-width {:.4f} of Hertz's".format(*main(picture="contact.png")))
