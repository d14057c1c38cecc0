"""The liquid's level set: from particles, near the free surface, and near solids."""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError
from ._levelset import ANY, DEEP, LONG, ROW, _continue_linearly, _extend_into_solids
from .faces import lifted

#: smallest fraction of a cell between a pressure sample and the surface (bounds the condition of the matrix)
THETA_MIN = 0.01


def theta(phi_liquid_cell: np.ndarray, phi_air_cell: np.ndarray) -> np.ndarray:
    """The place where the surface cuts the line from a liquid cell (phi < 0) to an air cell, as a fraction in [0.01,
    1]."""
    t = phi_liquid_cell / (phi_liquid_cell - phi_air_cell)
    return np.maximum(t, THETA_MIN)


def extend_into_solids(
    phi_liquid: np.ndarray,
    solid: np.ndarray,
    *,
    released: np.ndarray | None = None,
    solid_distance: np.ndarray | None = None,
) -> np.ndarray:
    """phi extended into the solid cells that touch liquid, so that these cells become unknowns.

    A cell may have its centre in the solid (`solid`: boolean over cells) and be partly filled with liquid. It would
    otherwise count as air and pull the pressure at the wall to zero. This cell takes the mean phi of the liquid cells
    outside solids that share a face with it; if there are none, of those that share an edge, or else a corner. (Batty's
    widely copied code sets -dx/2 instead; the mean keeps the surface where it meets the wall.)

    `released` (boolean over cells) marks liquid cells of zero pressure. A solid cell that touches only
    released liquid takes its positive `solid_distance` (default: the magnitude of its extended phi)
    instead. Otherwise liquid tracked on the grid never separates (Chentanez–Müller §3.2).
    """
    phi = np.ascontiguousarray(phi_liquid, dtype=np.float64)
    for name, array in (("solid", solid), ("released", released), ("solid_distance", solid_distance)):
        if array is not None and np.shape(array) != phi.shape:
            raise NonstickError(f"{name} has shape {np.shape(array)}, but phi_liquid has shape {phi.shape}")
    out, none = np.empty(phi.shape), np.zeros((0, 0, 0))
    walls = lifted(np.ascontiguousarray(solid, dtype=np.bool_))
    left = none > 0.0 if released is None else lifted(np.ascontiguousarray(released, np.bool_))
    far = none if solid_distance is None else lifted(np.abs(np.ascontiguousarray(solid_distance, np.float64)))
    _extend_into_solids(lifted(out), lifted(phi), walls, left, far)
    return out


#: so deep in walls φ is continued, in cells: what it is made for looks no deeper
REACH = 3.0


def continue_linearly(phi: np.ndarray, unknown: np.ndarray, centre: np.ndarray, anyway: bool = False) -> np.ndarray:
    """φ in cells, on three axes, continued linearly into the `unknown` cells, two layers deep.

    So a plane surface stays one. `centre` is the distance of cells to walls. Cells about which no row of two others
    tells keep their φ, or with `anyway` take that of a neighbour.
    """
    out, known = phi.copy(), ~unknown
    cells = np.flatnonzero(unknown & (centre > -REACH))
    for rule in (ROW, ROW, LONG, LONG, DEEP, DEEP, *((ANY, ANY) if anyway else ())):
        values = np.empty(cells.size)
        _continue_linearly(values, cells, out, known, centre, rule)
        told = ~np.isnan(values)
        out.reshape(-1)[cells[told]] = values[told]
        known.reshape(-1)[cells[told]] = True
        cells = cells[~told]
    return out


def flat_distance(dimension: int, size: int = 257, spacing: float = 0.0) -> np.ndarray:
    """Distance to a flat surface of evenly filled space, as a table over the distance δ of the mean; in radii.

    The particles within a radius of a point c are averaged with the weights (1 - s²)³, s their distance from c over the
    radius (Zhu & Bridson 2005). The farther outside the surface c lies, the farther away is the mean. How far follows
    from an integral, and this is its inverse: with it φ is a distance, and no radius has to be tuned to get the volume
    right. The surface of a simulation and that of exported files are found with it.

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


def smooth(field: np.ndarray) -> np.ndarray:
    """A field over cells smoothed by ⅛-¾-⅛ along every axis, so that single particles are not seen as bumps."""
    out = field
    for axis in range(field.ndim):
        n = out.shape[axis]
        if n == 1:
            continue
        before_it = (slice(None),) * axis
        inside, low, high = ((*before_it, part) for part in (slice(1, -1), slice(None, -2), slice(2, None)))
        new = np.float32(0.75) * out if out.dtype == np.float32 else 0.75 * out
        eighth = new.dtype.type(0.125)
        new[inside] += eighth * (out[low] + out[high])
        first, last, second, before = ((*before_it, k) for k in (0, n - 1, 1, n - 2))
        new[first] += eighth * (out[first] + out[second])
        new[last] += eighth * (out[last] + out[before])
        out = new
    return np.ascontiguousarray(out)
