"""Connected parts of space that reach over the boxes of several ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..grid.parts import connected_parts


def join_parts(part: Any, space: np.ndarray) -> tuple[np.ndarray, int]:
    """Number of the connected part of `space > 0` that each cell lies in, and the number of parts; 0 outside.

    Every rank labels its own cells. Labels that meet across the side of two boxes are pairs, and only pairs travel to
    all ranks. Parts are numbered by their first label, so the numbers are the same on all ranks.
    """
    comm = part.comm
    which = np.zeros(space.shape, np.int64)
    own, count = connected_parts(part.own(space) > 0.0)
    before = sum(comm.gathered(int(count))[: comm.rank])
    part.own(which)[...] = np.where(own > 0, own + before, 0)
    total = comm.total(int(count))
    part.fill_cells(which)
    pairs = np.unique(np.concatenate([_touching(which, axis) for axis in range(which.ndim)]), axis=0)
    root = np.arange(total + 1)
    for a, b in np.concatenate(comm.gathered(pairs)):
        _unite(root, int(a), int(b))
    for n in range(total + 1):
        root[n] = _find(root, n)
    firsts, number = np.unique(root, return_inverse=True)  # 0 stays 0: nothing is united with it
    return number[which], len(firsts) - 1


def _touching(which: np.ndarray, axis: int) -> np.ndarray:
    """Pairs (m, 2) of different labels on both sides of a face."""
    a, b = np.moveaxis(which, axis, 0)[:-1].ravel(), np.moveaxis(which, axis, 0)[1:].ravel()
    different = (a != b) & (a > 0) & (b > 0)
    return np.stack([a[different], b[different]], axis=1)


def _find(root: np.ndarray, n: int) -> int:
    while root[n] != n:
        root[n] = root[root[n]]
        n = int(root[n])
    return n


def _unite(root: np.ndarray, a: int, b: int) -> None:
    a, b = _find(root, a), _find(root, b)
    root[max(a, b)] = min(a, b)
