"""Distance to a flat surface, from the mean of the points below it.

The particles within a radius of a point c are averaged with the weights (1 - s²)³, s their distance from c over the
radius (Zhu & Bridson 2005). The farther outside the surface c lies, the farther away is the mean. How far follows from
an integral, and `flat_distance` is its inverse: with it φ is a distance, and no radius has to be tuned to get the
volume right.
"""

from __future__ import annotations

import numpy as np


def flat_distance(dimension: int, size: int = 257, spacing: float = 0.0) -> np.ndarray:
    """Distance to a flat surface of evenly filled space, as a table over the distance δ of the mean; in radii.

    Entry k belongs to δ = k / (size - 1). A slice of the weights at height z weighs (1 - z²)^m, m = 4 in 3D and 3.5 in
    2D. If the points fill z > τ, the mean height of the weight there is
    δ(τ) = (1 - τ²)^(m+1) / (2 (m+1)) / ∫_τ¹ (1 - z²)^m dz.

    With `spacing` > 0 the points lie in layers this far apart, the first of them half of it below the surface, as on a
    lattice, and sums over the layers take the place of the integrals. With the integrals the surface of a lattice of
    two points along the side of a cell would be 0.03 cells too low.

    Examples
    --------
    >>> table = flat_distance(3)
    >>> table.size, float(table[0]), float(table[-1])
    (257, -1.0, 1.0)
    """
    m = 4.0 if dimension == 3 else 3.5
    if spacing > 0.0:
        tau = np.linspace(-1.0, 1.0 - 0.5 * spacing, 4001)[:-1]
        z = tau[:, None] + spacing * (np.arange(int(2.0 / spacing) + 1) + 0.5)
        f = np.maximum(1.0 - z**2, 0.0) ** m
        delta = np.maximum.accumulate((z * f).sum(axis=1) / f.sum(axis=1))
        delta[0] = 0.0
        return np.interp(np.linspace(0.0, 1.0, size), np.append(delta, 1.0), np.append(tau, 1.0 - 0.5 * spacing))
    tau = np.linspace(-1.0, 1.0, 20001)
    f = (1.0 - tau**2) ** m
    tail = np.concatenate([np.cumsum((0.5 * (f[1:] + f[:-1]))[::-1])[::-1] * (tau[1] - tau[0]), [0.0]])
    inner = slice(1, -200)  # the quotient is 0/0 at τ = 1, where δ = τ
    delta = (1.0 - tau[inner] ** 2) ** (m + 1.0) / (2.0 * (m + 1.0)) / tail[inner]
    delta, tau = np.concatenate([[0.0], delta, [1.0]]), np.concatenate([[-1.0], tau[inner], [1.0]])
    return np.interp(np.linspace(0.0, 1.0, size), delta, tau)
