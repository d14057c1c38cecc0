"""Coarse viscosity systems by voxels (Aanjaneya §6.1, §6.4): a cell is SOLID, FLUID or AIR, and volumes are 0 or 1.

A coarse voxel is SOLID if any child is SOLID, otherwise FLUID if any child is FLUID. Every unknown gets mass 1: with
mass only where the paper's rule (1) holds, faces found by rule (2) would make the coarse matrix singular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...operators.face_grid import FaceGrid
from ...operators.faces import FaceSystem
from .face_level import FaceCoarsening

AIR, FLUID, SOLID = 0, 1, 2


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
