"""Levels of a multigrid hierarchy for face velocities, and the transfers between them.

Two ways to coarsen:

- `coarsen_voxels` (Aanjaneya §6.1, §6.4): voxels are SOLID, FLUID or AIR; a coarse voxel is SOLID if any child is,
  else FLUID if any child is. Volumes on coarse levels are 0 or 1. Every unknown gets mass 1: with mass only
  where the paper's rule (1) holds, faces found by rule (2) would make the coarse matrix singular.
- `coarsen_volumes` (ours): coarse volumes are the means of the fine ones, which is what the liquid fraction of a
  cube of twice the width is; a coarse face is solid if all fine faces on it are. The coarse free surface stays
  where it was instead of growing by up to a coarse cell.
"""

from __future__ import annotations

import numpy as np

from ..kernels._face_coarsen import _coarsen_faces, _coarsen_samples
from ..kernels._face_transfer import _faces_prolong, _faces_restrict
from ..operators.faces import FaceGrid, FaceSystem, face_shift

AIR, FLUID, SOLID = 0, 1, 2


class FaceTransfer:
    """Restriction and prolongation between the unknowns of two levels; `prolong` adds."""

    def __init__(self, fine: FaceSystem, coarse: FaceSystem, dtype=np.float64):
        self.fine, self.coarse = fine, coarse
        grid = fine.grid
        self._shapes = np.array(coarse.grid.padded, np.int64), np.array(grid.padded, np.int64)
        self._halved = np.array([axis in grid.axes for axis in range(3)], np.int64)
        self._taps = np.zeros((3, 48), np.int64)
        self._weights = np.zeros((3, 48), dtype)
        self._count = np.zeros(3, np.int64)
        for a in grid.axes:
            offsets, weights = np.zeros(1, np.int64), np.ones(1)
            for axis in grid.axes:
                reach, w = (
                    ((-1, 0, 1), (0.25, 0.5, 0.25)) if axis == a else ((-1, 0, 1, 2), (0.125, 0.375, 0.375, 0.125))
                )
                offsets = (offsets[:, None] + np.array(reach) * fine.strides[axis]).ravel()
                weights = (weights[:, None] * np.array(w)).ravel()
            self._count[a] = offsets.size
            self._taps[a, : offsets.size], self._weights[a, : offsets.size] = offsets, weights

    def restrict(self, fine: np.ndarray, coarse: np.ndarray) -> np.ndarray:
        """coarse = R fine"""
        _faces_restrict(
            coarse, fine, self.coarse.runs, *self._shapes, self._halved,
            self._taps, self._weights, self._count, self.coarse.P, self.fine.P,
        )  # fmt: skip
        return coarse

    def prolong(self, coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
        """fine += P coarse, P = 2ᵈ Rᵀ"""
        _faces_prolong(fine, coarse, self.fine.runs, *self._shapes, self._halved, self.coarse.P, self.fine.P)
        return fine


# -- ours: averaged volumes ---------------------------------------------------------------------------


def coarsen_volumes(fine: FaceSystem, fluid: np.ndarray, dtype=np.float32) -> tuple[FaceSystem, np.ndarray]:
    """The system of a grid twice as coarse and its faces that are not solid, given those of the fine grid."""
    grid, coarse = fine.grid, fine.grid.coarser()
    m, k = np.zeros(3 * coarse.P, dtype), np.zeros(4 * coarse.P, dtype)
    mass, stress = m.reshape(3, *coarse.padded), k.reshape(4, *coarse.padded)
    fine_m, fine_k = fine.m.reshape(3, *grid.padded), fine.k.reshape(4, *grid.padded)
    samples = [(mass[a], fine_m[a], face_shift(a), 1.0) for a in grid.axes]
    samples += [(stress[0], fine_k[0], (0, 0, 0), 0.25)]
    samples += [(stress[1 + e], fine_k[1 + e], grid.edge_shift(e), 0.25) for e in grid.edges]
    for out, values, shift, factor in samples:
        _coarsen_samples(out, values, *_frames(grid, coarse, shift), factor)
    was = fine.active()
    active, coarse_fluid = np.zeros((2, 3, *coarse.padded), np.bool_)
    for a in grid.axes:
        frames = _frames(grid, coarse, face_shift(a))
        _coarsen_faces(active[a], coarse_fluid[a], was[a], fluid[a], mass[a], stress, *frames, a)
    scale = None if fine.scale is None else fine.scale / 4
    return FaceSystem(coarse, m, k, active, scale), coarse_fluid


def _frames(grid: FaceGrid, coarse: FaceGrid, shift: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    """Number of coarse and of fine samples along each axis, and the kind of mean (see `_face_coarsen`)."""
    flat = grid.dimension == 2
    if flat:
        shift = (0, *shift[1:])
    extents = [np.array([n + s for n, s in zip(g.cells, shift)], np.int64) for g in (coarse, grid)]
    kinds = np.array([0 if flat and axis == 0 else 1 + s for axis, s in enumerate(shift)], np.int64)
    return *extents, kinds
