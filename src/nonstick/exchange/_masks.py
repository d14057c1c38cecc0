"""Masks over cells, made wider."""

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
