"""Coarse viscosity systems by averages (ours): coarse coefficients are the means of the fine ones.

A coarse face is solid if any fine face on it is. The coarse free surface does not move. With `face_voxels` the liquid
grows by up to a coarse cell at each level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...operators.face_grid import FaceGrid, cell_array, face_shift
from ...operators.faces import FaceSystem
from ._face_coarsen import _coarsen_faces, _coarsen_samples
from .face_level import FaceCoarsening


@dataclass(frozen=True)
class MeanVolumes(FaceCoarsening):
    """Coarse coefficients are the means of the fine ones.

    Parameters
    ----------
    negligible : float
        A level whose stress is at most this part of its mass needs no coarser level.

    Examples
    --------
    >>> from nonstick.inverse import BoxSweep, MeanVolumes, Multigrid, V
    >>> cycle = Multigrid(MeanVolumes(), BoxSweep(), V(1, 1), smallest=4000)
    """

    negligible: float = 0.0

    def coarser(self, fine):
        return coarsen_volumes(fine) if fine.strongest > self.negligible else None


def coarsen_volumes(fine: FaceSystem) -> FaceSystem:
    """The system of a grid twice as coarse."""
    assert fine.fluid is not None
    grid, coarse = fine.grid, fine.grid.coarser()
    m, k = np.zeros(3 * coarse.P), np.zeros(6 * coarse.P)
    mass, stress = m.reshape(3, *coarse.padded), k.reshape(6, *coarse.padded)
    fine_m, fine_k = fine.m.reshape(3, *grid.padded), fine.k.reshape(-1, *grid.padded)
    for a in grid.axes:
        _coarsen_samples(mass[a], fine_m[a], *_frames(grid, coarse, face_shift(a)), 1.0)
        frames = _frames(grid, coarse, (0, 0, 0))
        frames[-1][a] = 3  # the mean of two samples along its own axis
        own = cell_array(a)
        _coarsen_samples(stress[own], fine_k[own if len(fine_k) > 4 else 0], *frames, 0.25)
    for e in grid.edges:
        _coarsen_samples(stress[1 + e], fine_k[1 + e], *_frames(grid, coarse, grid.edge_shift(e)), 0.25)
    was = fine.active()
    active, fluid = np.zeros((2, 3, *coarse.padded), np.bool_)
    for a in grid.axes:
        frames = _frames(grid, coarse, face_shift(a))
        _coarsen_faces(active[a], fluid[a], was[a], fine.fluid[a], mass[a], stress, *frames, a)
    scale = None if fine.scale is None else fine.scale / 4
    return FaceSystem(coarse, m, k, active, scale, fluid)


def _frames(grid: FaceGrid, coarse: FaceGrid, shift: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    """Number of coarse and of fine samples along each axis, and the kind of mean (see `_face_coarsen`)."""
    flat = grid.dimension == 2
    if flat:
        shift = (0, *shift[1:])
    extents = [np.array([n + s for n, s in zip(g.cells, shift)], np.int64) for g in (coarse, grid)]
    kinds = np.array([0 if flat and axis == 0 else 1 + s for axis, s in enumerate(shift)], np.int64)
    return *extents, kinds
