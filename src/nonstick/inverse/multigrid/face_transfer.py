"""Transfer of face velocities between two levels (Aanjaneya §6.4): means along each axis, and their transpose."""

from __future__ import annotations

import numpy as np
from numba import config

from ...operators.faces import FaceSystem
from ._face_transfer import _faces_prolong, _faces_restrict

#: reach and weights along a face's own axis (eq. 12) and across it (eq. 13)
_STENCIL_A = (-1, 0, 1), (0.25, 0.5, 0.25)
_STENCIL_B = (-1, 0, 1, 2), (0.125, 0.375, 0.375, 0.125)


class FaceTransfer:
    """Restriction and prolongation between the unknowns of two levels, in the precision of the fine one."""

    def __init__(self, fine: FaceSystem, coarse: FaceSystem):
        self.fine, self.coarse = fine, coarse
        grid, dtype = fine.grid, fine.dtype
        self._shapes = np.array(coarse.grid.padded, np.int64), np.array(grid.padded, np.int64)
        self._halved = np.array([axis in grid.axes for axis in range(3)], np.int64)
        self._rows = np.zeros((3, 16), np.int64)
        self._shares = np.zeros((3, 16), dtype)
        self._count = np.zeros(3, np.int64)
        threads = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        self._scratch = np.zeros((threads, grid.padded[2] + 8), dtype)
        for a in grid.axes:
            offsets, weights = np.zeros(1, np.int64), np.ones(1)
            for axis in grid.axes:
                if axis < 2:  # the kernel does the last axis itself
                    reach, share = _STENCIL_A if axis == a else _STENCIL_B
                    offsets = (offsets[:, None] + np.array(reach) * fine.strides[axis]).ravel()
                    weights = (weights[:, None] * np.array(share)).ravel()
            self._count[a] = offsets.size
            self._rows[a, : offsets.size], self._shares[a, : offsets.size] = offsets, weights

    def restrict(self, fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
        """coarse = R fine"""
        _faces_restrict(
            coarse, fine, self._scratch, self.coarse.runs, *self._shapes, self._halved,
            self._rows, self._shares, self._count, self.coarse.P, self.fine.P,
        )  # fmt: skip
        return coarse

    def prolong_add(self, coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
        """fine += P coarse, P = 2ᵈ Rᵀ"""
        _faces_prolong(
            fine, coarse, self._scratch, self.fine.runs, *self._shapes, self._halved, self.coarse.P, self.fine.P
        )
        return fine
