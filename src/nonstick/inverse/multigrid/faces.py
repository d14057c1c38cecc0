"""Levels of a multigrid hierarchy for face velocities, and the transfers between them.

Two ways to coarsen:

- `coarsen_voxels` (Aanjaneya §6.1, §6.4): voxels are SOLID, FLUID or AIR; a coarse voxel is SOLID if any child is,
  else FLUID if any child is. Volumes on coarse levels are 0 or 1. Every unknown gets mass 1: with mass only
  where the paper's rule (1) holds, faces found by rule (2) would make the coarse matrix singular.
- `coarsen_volumes` (ours): coarse coefficients are the means of the fine ones; a coarse face is solid if any fine
  face on it is. The coarse free surface stays where it was instead of growing by up to a coarse cell at each level.
"""

from __future__ import annotations

import numpy as np
from numba import config

from ...operators.faces import FaceGrid, FaceSystem, cell_array, face_shift
from ._face_coarsen import _coarsen_faces, _coarsen_samples
from ._face_transfer import _faces_prolong, _faces_restrict

AIR, FLUID, SOLID = 0, 1, 2
#: reach and weights along a face's own axis (eq. 12) and across it (eq. 13)
_STENCIL_A = (-1, 0, 1), (0.25, 0.5, 0.25)
_STENCIL_B = (-1, 0, 1, 2), (0.125, 0.375, 0.375, 0.125)


class FaceTransfer:
    """Restriction and prolongation between the unknowns of two levels; `prolong` adds."""

    def __init__(self, fine: FaceSystem, coarse: FaceSystem, dtype=np.float64):
        self.fine, self.coarse = fine, coarse
        grid = fine.grid
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

    def prolong(self, coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
        """fine += P coarse, P = 2ᵈ Rᵀ"""
        _faces_prolong(
            fine, coarse, self._scratch, self.fine.runs, *self._shapes, self._halved, self.coarse.P, self.fine.P
        )
        return fine


# -- ours: averaged volumes ---------------------------------------------------------------------------


def coarsen_volumes(fine: FaceSystem, fluid: np.ndarray) -> tuple[FaceSystem, np.ndarray]:
    """The system of a grid twice as coarse and its faces that are not solid, given those of the fine grid."""
    grid, coarse = fine.grid, fine.grid.coarser()
    m, k = np.zeros(3 * coarse.P), np.zeros(6 * coarse.P)
    mass, stress = m.reshape(3, *coarse.padded), k.reshape(6, *coarse.padded)
    fine_m, fine_k = fine.m.reshape(3, *grid.padded), fine.k.reshape(-1, *grid.padded)
    for a in grid.axes:
        _coarsen_samples(mass[a], fine_m[a], *_frames(grid, coarse, face_shift(a)), 1.0)
        frames = _frames(grid, coarse, (0, 0, 0))
        frames[-1][a] = 3  # along its own axis the mean of two
        own = cell_array(a)
        _coarsen_samples(stress[own], fine_k[own if len(fine_k) > 4 else 0], *frames, 0.25)
    for e in grid.edges:
        _coarsen_samples(stress[1 + e], fine_k[1 + e], *_frames(grid, coarse, grid.edge_shift(e)), 0.25)
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


# -- Aanjaneya: voxels ----------------------------------------------------------------------------------


def fine_labels(system: FaceSystem, fluid: np.ndarray) -> np.ndarray:
    """Labels of the cells of the finest grid: SOLID if all its faces are, FLUID if it holds liquid, else AIR."""
    grid = system.grid
    wet = system.k[: system.P].reshape(grid.padded)[grid.window()] > 0
    solid = np.ones(grid.cells, np.bool_)
    for a in grid.axes:
        w = grid.window()
        beyond = tuple(slice(s.start + 1, s.stop + 1) if axis == a else s for axis, s in enumerate(w))
        solid &= ~fluid[a][w] & ~fluid[a][beyond]
    return np.where(solid, SOLID, np.where(wet, FLUID, AIR)).astype(np.int8)


def coarsen_voxels(grid: FaceGrid, labels: np.ndarray, mu: np.ndarray | float):
    """The coarse system with volumes 0 or 1, its labels and its stress coefficients (of a full edge, per cell or one).

    Cells beyond the box are SOLID, also those that pad an odd extent.
    """
    coarse = grid.coarser()
    pad = [(0, 2 * c - n if axis in grid.axes else 0) for axis, (n, c) in enumerate(zip(grid.cells, coarse.cells))]
    children = _children(np.pad(labels, pad, constant_values=SOLID), grid)
    wet = (children == FLUID).any(axis=0)
    new = np.where((children == SOLID).any(axis=0), SOLID, np.where(wet, FLUID, AIR)).astype(np.int8)
    if isinstance(mu, np.ndarray):
        weight = (children == FLUID).astype(float)
        values = _children(np.pad(mu, pad), grid)
        mu = (weight * values).sum(axis=0) / np.maximum(weight.sum(axis=0), 1.0) / 4
    else:
        mu = mu / 4
    return _voxel_system(coarse, new, mu), new, mu


def _children(values: np.ndarray, grid: FaceGrid) -> np.ndarray:
    """(2ᵈ, coarse cells): the fine cells of every coarse one."""
    parts = [values]
    for axis in grid.axes:
        parts = [v[(slice(None),) * axis + (slice(first, None, 2),)] for v in parts for first in (0, 1)]
    return np.stack(parts)


def _voxel_system(grid: FaceGrid, labels: np.ndarray, mu: np.ndarray | float) -> FaceSystem:
    m, k = np.zeros(3 * grid.P), np.zeros(4 * grid.P)
    stress = k.reshape(4, *grid.padded)
    label = np.full(grid.padded, SOLID, np.int8)
    label[grid.window()] = labels
    if grid.dimension == 2:  # nothing sits across the thin axis
        label[0] = label[2] = AIR
    fluid = label == FLUID
    strength = np.zeros(grid.padded)
    strength[grid.window()] = mu
    stress[0][fluid] = 2 * strength[fluid]
    for e in grid.edges:
        a, b = (axis for axis in range(3) if axis != e)
        around = [(0, 0), (1, 0), (0, 1), (1, 1)]
        count = sum(_back(fluid, (a, p), (b, q)).astype(float) for p, q in around)
        total = sum(_back(fluid * strength, (a, p), (b, q)) for p, q in around)
        stress[1 + e] = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    active = np.zeros((3, *grid.padded), np.bool_)
    for a in grid.axes:
        window = grid.face_window(a)
        free = (label != SOLID) & (_back(label, (a, 1)) != SOLID)
        touched = fluid | _back(fluid, (a, 1))
        for e in grid.edges:
            if e != a:
                across = 3 - a - e
                touched |= (stress[1 + e] > 0) | (np.roll(stress[1 + e], -1, across) > 0)
        active[a][window] = (free & touched)[window]
    m.reshape(3, *grid.padded)[active] = 1.0
    scale = None if isinstance(mu, np.ndarray) else float(mu)
    return FaceSystem(grid, m, k, active, scale)


def _back(values: np.ndarray, *shifts: tuple[int, int]) -> np.ndarray:
    """values one cell back along each axis with shift 1."""
    for axis, by in shifts:
        if by:
            values = np.roll(values, 1, axis)
    return values
