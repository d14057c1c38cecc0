"""Connected parts of the cells of a mask; cells are neighbours if they share a face."""

from __future__ import annotations

import numpy as np

from ._parts import _label


def connected_parts(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """The number of the part of each cell, from 1 in the order of first cells and 0 outside, and the number of parts.

    Examples
    --------
    >>> connected_parts(np.array([[True, False, True], [True, False, False]]))
    (array([[1, 0, 2],
           [1, 0, 0]], dtype=int32), 2)
    """
    cells = np.ascontiguousarray(mask, bool).reshape((*mask.shape, *(1,) * (3 - mask.ndim)))
    label = np.empty(cells.shape, np.int32)
    count = _label(label, np.empty(cells.size, np.int32), cells)
    return label.reshape(mask.shape), int(count)
