"""Coarser grids of face velocities: means of the fine coefficients (ours), or voxels (Aanjaneya §6.1, §6.4).

`MeanVolumes`: coarse coefficients are the means of the fine ones. A coarse face is solid if any fine face on it is. The
coarse free surface does not move.

`Voxels`: a cell is SOLID, FLUID or AIR, and volumes are 0 or 1. A coarse voxel is SOLID if any child is SOLID,
otherwise FLUID if any child is FLUID, so the liquid grows by up to a coarse cell at each level. Every unknown gets
mass 1: with mass only where the paper's rule (1) holds, faces found by rule (2) would make the coarse matrix singular.

Both transfer velocities by means along each axis, and their transpose.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numba import config

from ....errors import NonstickError
from ....operators.base import Operator
from ....operators.faces import FaceGrid, FaceSystem, cell_array, face_shift
from ...base import Directions
from ..hierarchy import MultigridInverse, Stepwise
from ._transfer import (
    _coarsen_faces,
    _coarsen_samples,
    _faces_prolong,
    _faces_restrict,
    _wall_edges,
    _with_equations,
)

AIR, FLUID, SOLID = 0, 1, 2

#: reach and weights along a face's own axis (eq. 12) and across it (eq. 13)
_STENCIL_A = (-1, 0, 1), (0.25, 0.5, 0.25)
_STENCIL_B = (-1, 0, 1, 2), (0.125, 0.375, 0.375, 0.125)


def require_faces(A: Operator) -> None:
    """Raise an error for an operator on anything but the faces of a grid."""
    if not isinstance(A, FaceSystem):
        raise NonstickError("the visc-… methods solve a nonstick.ViscosityProblem; for a matrix take 'no-lcp'")


class FaceCoarsening(Stepwise):
    """Makes a coarser grid of faces from a grid of faces."""

    @abstractmethod
    def coarser(self, fine: FaceSystem) -> FaceSystem | None:
        """The system of the next grid; None if none is needed."""

    def require(self, A):
        require_faces(A)

    def coarsen(self, A, depth):
        coarse = self.coarser(A)
        if coarse is None or coarse.n == 0 or coarse.n >= A.n:
            return None
        coarse = coarse.astype(A.dtype)
        return coarse, FaceTransfer(A, coarse)

    def directions(self, A, cycle):
        return FaceDirections(A, cycle)


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
        self._scratch = np.zeros((vars(config)["NUMBA_NUM_THREADS"], grid.padded[2] + 8), dtype)
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
        stencil = self._rows, self._shares, self._count
        grids = self.coarse.runs, *self._shapes, self._halved
        _faces_restrict(coarse, fine, self._scratch, *grids, *stencil, self.coarse.P, self.fine.P)
        return coarse

    def prolong_add(self, coarse: np.ndarray, fine: np.ndarray) -> np.ndarray:
        """fine += P coarse, P = 2ᵈ Rᵀ"""
        _faces_prolong(
            fine, coarse, self._scratch, self.fine.runs, *self._shapes, self._halved, self.coarse.P, self.fine.P
        )
        return fine


class FaceDirections(Directions):
    """r enters the cycle, and z leaves it, without a copy.

    b of the finest level is r over max|b|, in the precision of the cycle, written while r is updated.
    """

    A: FaceSystem
    M: MultigridInverse

    def __init__(self, A: FaceSystem, M: MultigridInverse):
        self.A, self.M = A, M

    @property
    def z(self):
        return self.M.levels[0].x

    def begin(self, r, size):
        self.scale, self._fresh = 1.0 / (size or 1.0), True
        return self.A.peak(r)

    def find(self, r, size):
        if self._fresh:
            self.A.copy(r, self.M.levels[0].b, self.scale)
            self._fresh = False
        self.M.run()
        return self.along(r)

    def step(self, x, r, p, q, alpha):
        return self.A.step_and_copy(x, r, p, q, alpha, self.M.levels[0].b, self.scale)


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
        _coarsen_faces(active[a], fluid[a], was[a], fine.fluid[a], *_frames(grid, coarse, face_shift(a)))
    halved = np.array([axis in grid.axes for axis in range(3)], np.int64)
    for e in grid.edges:
        extents = _frames(grid, coarse, grid.edge_shift(e))[:2]
        for a, b in ((a, b) for a in grid.axes for b in grid.axes if {a, b, e} == {0, 1, 2}):
            _wall_edges(stress[1 + e], fine_k[1 + e], fluid[a], fine.fluid[a], *extents, halved, a, b, 0.25)
    for a in grid.axes:  # edges beside walls may have lost the only stress of a face
        _with_equations(active[a], mass[a], stress, _frames(grid, coarse, face_shift(a))[0], a)
    scale = None if fine.scale is None else fine.scale / 4
    return FaceSystem(coarse, m, k, active, scale, fluid)


def _frames(grid: FaceGrid, coarse: FaceGrid, shift: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    """Number of coarse and of fine samples along each axis, and the kind of mean (see `_coarsen`)."""
    flat = grid.dimension == 2
    if flat:
        shift = (0, *shift[1:])
    extents = [np.array([n + s for n, s in zip(g.cells, shift)], np.int64) for g in (coarse, grid)]
    kinds = np.array([0 if flat and axis == 0 else 1 + s for axis, s in enumerate(shift)], np.int64)
    return *extents, kinds


@dataclass(frozen=True)
class Voxels(FaceCoarsening):
    """The coarse levels of the paper.

    Examples
    --------
    >>> from nonstick.inverse import BandJacobi, Multigrid, V, Voxels
    >>> cycle = Multigrid(Voxels(), BandJacobi(), V(1, 1), smallest=4000)
    """

    def coarser(self, fine):
        labels = fine.labels if isinstance(fine, VoxelSystem) else fine_labels(fine)
        return coarsen_voxels(fine.grid, labels, fine.cell_stress)


class VoxelSystem(FaceSystem):
    """Every unknown has mass 1, every stress sample next to liquid the full stress `mu`."""

    def __init__(self, grid: FaceGrid, labels: np.ndarray, mu: np.ndarray | float):
        self.labels = labels
        m, k = np.zeros(3 * grid.P), np.zeros(4 * grid.P)
        stress = k.reshape(4, *grid.padded)
        label = np.full(grid.padded, SOLID, np.int8)
        label[grid.window()] = labels
        if grid.dimension == 2:  # there are no samples across the thin axis
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
        super().__init__(grid, m, k, active, scale, cell_stress=mu)


def fine_labels(system: FaceSystem) -> np.ndarray:
    """Labels of the cells of the finest grid: SOLID if all its faces are solid, FLUID if it holds liquid, or AIR."""
    grid, fluid = system.grid, system.fluid
    assert fluid is not None
    wet = system.k[: system.P].reshape(grid.padded)[grid.window()] > 0
    solid = np.ones(grid.cells, np.bool_)
    for a in grid.axes:
        w = grid.window()
        beyond = tuple(slice(s.start + 1, s.stop + 1) if axis == a else s for axis, s in enumerate(w))
        solid &= ~fluid[a][w] & ~fluid[a][beyond]
    return np.where(solid, SOLID, np.where(wet, FLUID, AIR)).astype(np.int8)


def coarsen_voxels(grid: FaceGrid, labels: np.ndarray, mu: np.ndarray | float) -> VoxelSystem:
    """The coarse system with volumes 0 or 1; `mu` is the stress of a full edge, one for each cell or one for all.

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
    return VoxelSystem(coarse, new, mu)


def _children(values: np.ndarray, grid: FaceGrid) -> np.ndarray:
    """(2ᵈ, coarse cells): the fine cells of every coarse cell."""
    parts = [values]
    for axis in grid.axes:
        parts = [v[(slice(None),) * axis + (slice(first, None, 2),)] for v in parts for first in (0, 1)]
    return np.stack(parts)


def _back(values: np.ndarray, *shifts: tuple[int, int]) -> np.ndarray:
    """The values, moved by one cell along each axis with shift 1."""
    for axis, by in shifts:
        if by:
            values = np.roll(values, 1, axis)
    return values
