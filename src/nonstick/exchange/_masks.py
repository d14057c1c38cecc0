"""Masks over cells: made wider, and the box around them."""

import numpy as np


def widen(mask: np.ndarray, r: int, outside: bool = False) -> np.ndarray:
    """Cells within r of one in the mask along every axis, as uint8; `outside` says whether those beyond are in it."""
    out = np.array(mask, np.uint8, order="C")
    for axis in range(out.ndim):
        before, part = out.copy(), [slice(None)] * out.ndim
        for d in range(1, r + 1):
            part[axis] = slice(d, None)
            later = tuple(part)
            part[axis] = slice(None, -d)
            sooner = tuple(part)
            out[later] |= before[sooner]
            out[sooner] |= before[later]
        if outside:
            for rim in (slice(None, r), slice(-r, None)):
                part[axis] = rim
                out[tuple(part)] = 1
    return out


def around(mask: np.ndarray, r: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """First and last corner of the box around a mask, r wider on every side; the whole box if nothing is in the mask.

    >>> around(np.array([[0, 0, 0, 0], [0, 0, 0, 1]]), 1)
    ((0, 2), (2, 4))
    """
    axes = range(mask.ndim)
    there = [np.flatnonzero(mask.any(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    if not len(there[0]):
        return (0,) * mask.ndim, mask.shape
    low = tuple(max(int(t[0]) - r, 0) for t in there)
    return low, tuple(min(int(t[-1]) + 1 + r, n) for t, n in zip(there, mask.shape))
