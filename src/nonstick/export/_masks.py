"""Masks over samples, made wider."""

import numpy as np
from numba import prange

from ..kernels import parallel


def widen(mask: np.ndarray, r: int, outside: bool = False) -> np.ndarray:
    """Samples within r of one in the mask along every axis, as uint8; `outside` says whether those beyond are in it."""
    mask = np.ascontiguousarray(mask).view(np.uint8)
    one, other = np.empty_like(mask), np.empty_like(mask)
    _widen(one, other, mask, r, np.uint8(outside))
    return one


@parallel
def _widen(out, room, mask, r, outside):
    """One axis after the other; rows of bytes, so that many are done at once."""
    nx, ny, nz = mask.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = mask[i, j, k]
            for d in range(1, r + 1):
                for k in range(nz - d):
                    out[i, j, k] |= mask[i, j, k + d]
                for k in range(d, nz):
                    out[i, j, k] |= mask[i, j, k - d]
            if outside:
                for k in range(min(r, nz)):
                    out[i, j, k] = 1
                    out[i, j, nz - 1 - k] = 1
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                room[i, j, k] = outside if j < r or j >= ny - r else 0
            for q in range(max(j - r, 0), min(j + r + 1, ny)):
                for k in range(nz):
                    room[i, j, k] |= out[i, q, k]
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = outside if i < r or i >= nx - r else 0
            for q in range(max(i - r, 0), min(i + r + 1, nx)):
                for k in range(nz):
                    out[i, j, k] |= room[q, j, k]
