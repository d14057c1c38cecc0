"""Sets of cells as masks: the cells in which liquid may separate from walls, by name, and connected parts.

- `cut`    cells that lie in both liquid and solid: some face is not fully open (Lai, figure 3.1, grey)
- `solid`  unknowns whose centre lies in the solid (Chentanez–Müller, eq. 17)
- `edge`   no cell; the pressure is constrained at the wall itself, on edges between cells (Chentanez–Müller §3.1)
- `all`    every cell
- `none`   no cell: sticky walls
"""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError, brief, did_you_mean
from ..kernels._components import _label
from .faces import lifted, lower, upper

WALLS = ("cut", "solid", "edge", "all", "none")


def cut_cells(weights: tuple[np.ndarray, ...]) -> np.ndarray:
    """Cells with a face that is not fully open. Walls that coincide with faces and the edge of the grid count too."""
    narrow = [w < 1.0 for w in weights]
    return np.logical_or.reduce([lower(m, axis) | upper(m, axis) for axis, m in enumerate(narrow)])


def wall_cells(walls, weights: tuple[np.ndarray, ...], centre: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """Boolean array over the grid: the cells constrained by `walls`, a name or a mask.

    `centre` is the signed solid distance (or any value of that sign) at cell centres, which "solid" needs.
    """
    if isinstance(walls, str):
        if walls == "cut":
            return cut_cells(weights)
        if walls == "solid":
            assert centre is not None
            return centre < 0
        if walls == "all":
            return np.ones(shape, bool)
        if walls in ("none", "edge"):
            return np.zeros(shape, bool)
        hint = did_you_mean(walls, WALLS, most=1, cutoff=0.6)
        raise NonstickError(
            f"unknown walls {brief(walls)}{hint}; choose one of {', '.join(WALLS)} or pass a boolean array"
        )
    mask = np.asarray(walls)
    if mask.shape != tuple(shape) or not (mask.dtype == bool or np.isin(mask, (0, 1)).all()):
        raise NonstickError(
            f"walls must be a name or a boolean array of shape {tuple(shape)}, not {mask.dtype} of shape {mask.shape}"
        )
    return mask.astype(bool)


def connected_parts(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """The number of the part of each cell, from 1 in the order of first cells and 0 outside, and the number of parts.

    Examples
    --------
    >>> connected_parts(np.array([[True, False, True], [True, False, False]]))
    (array([[1, 0, 2],
           [1, 0, 0]], dtype=int32), 2)
    """
    cells = lifted(np.ascontiguousarray(mask, bool))
    label = np.empty(cells.shape, np.int32)
    count = _label(label, np.empty(cells.size, np.int32), cells)
    return label.reshape(mask.shape), int(count)
