"""The liquid's level set near the free surface and near solids."""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError
from ._levelset import _extend_into_solids

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
    three = (1,) * (3 - phi.ndim) + phi.shape
    out = np.empty(three)
    none = np.zeros((0, 0, 0))
    _extend_into_solids(
        out,
        phi.reshape(three),
        np.ascontiguousarray(solid, dtype=np.bool_).reshape(three),
        np.zeros((0, 0, 0), np.bool_) if released is None else np.ascontiguousarray(released, np.bool_).reshape(three),
        none if solid_distance is None else np.abs(np.ascontiguousarray(solid_distance, np.float64)).reshape(three),
    )
    return out.reshape(phi.shape)
