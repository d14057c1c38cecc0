"""Connected parts that reach over the boxes of several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..grid.masks import connected_parts
from .comm import Comm


def united(comm: Comm, pairs: np.ndarray, count: int) -> tuple[int, np.ndarray]:
    """Join `count` labels of all ranks wherever a rank has a pair (m, 2) of them: the number of parts, and the part of
    each label.

    Parts are numbered by their first label, so the numbers are the same on all ranks.
    """
    import scipy.sparse as sp  # slow to load
    from scipy.sparse.csgraph import connected_components

    a, b = comm.joined(np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)).T
    graph = sp.coo_array((np.ones(a.size), (a, b)), shape=(count, count))
    parts, number = connected_components(graph, directed=False)
    return parts, number.astype(np.int64)


def join_parts(part: Any, space: np.ndarray) -> tuple[np.ndarray, int]:
    """Number of the connected part of `space > 0` that each cell lies in, and the number of parts; 0 outside.

    Every rank labels its own cells. Labels that meet across the side of two boxes are pairs, and only pairs travel to
    all ranks.
    """
    comm = part.comm
    which = np.zeros(space.shape, np.int64)
    own, count = connected_parts(part.own(space) > 0.0)
    counts = comm.gathered(int(count))
    part.own(which)[...] = np.where(own > 0, own + sum(counts[: comm.rank]), 0)
    part.fill_cells(which)
    pairs = np.unique(np.concatenate([_touching(which, axis) for axis in range(which.ndim)]), axis=0)
    parts, number = united(comm, pairs, sum(counts) + 1)  # label 0 is outside, and nothing is joined with it
    return number[which], parts - 1


def _touching(which: np.ndarray, axis: int) -> np.ndarray:
    """Pairs (m, 2) of different labels on both sides of a face."""
    a, b = np.moveaxis(which, axis, 0)[:-1].ravel(), np.moveaxis(which, axis, 0)[1:].ravel()
    different = (a != b) & (a > 0) & (b > 0)
    return np.stack([a[different], b[different]], axis=1)
