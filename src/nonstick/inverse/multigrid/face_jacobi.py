"""The smoother of Aanjaneya's multigrid baseline (§7), after McAdams et al. 2010: damped Jacobi, more at the boundary.

Every level makes three Jacobi steps in a band three voxels wide, one step everywhere, and three in the band again. At
the bottom the naïve baseline makes 200 steps without a band, and the improved one uses conjugate gradients. McAdams'
damping of 2/3 is for the Laplacian. The largest eigenvalue of D⁻¹A of the viscosity matrix is 3 in the interior and at
most 4, so 1/2 is the largest factor for which no mode grows and the preconditioner stays positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels._faces import _copy_runs, _faces_polynomial
from ...operators.faces import FaceSystem
from .face_level import FaceLevel, FaceSmoother, FaceSmootherRecipe


@dataclass(frozen=True)
class BandJacobi(FaceSmootherRecipe):
    """A sweep makes steps along the boundary, one step everywhere, then the first again: it is its own adjoint.

    Parameters
    ----------
    steps : int
        Steps along the boundary, before and after.
    width : int
        Width of the band along the boundary, in voxels.
    damping : float
        Damping factor of every step.

    Examples
    --------
    >>> from nonstick.inverse import BandJacobi, Multigrid, V, Voxels
    >>> cycle = Multigrid(Voxels(), BandJacobi(), V(1, 1), smallest=4000)
    """

    steps: int = 3
    width: int = 3
    damping: float = 0.5

    def setup(self, A):
        band = boundary_band(A, self.width) if self.steps else A.runs[:0]
        return _BandJacobi(band, self.steps, self.damping)


def boundary_band(system: FaceSystem, width: int) -> np.ndarray:
    """The run table of the unknowns at most `width` voxels from the boundary of the liquid."""
    grid = system.grid
    wet = np.zeros(grid.padded, np.bool_)
    wet[grid.window()] = system.k[: system.P].reshape(grid.padded)[grid.window()] > 0
    shape = np.ones([3 if axis in grid.axes else 1 for axis in range(3)], np.bool_)
    from scipy.ndimage import binary_erosion  # slow to load, rarely needed

    deep = binary_erosion(wet, shape, iterations=width)
    active = system.active()
    for a in grid.axes:
        active[a] &= ~(deep & np.roll(deep, 1, a))
    return system.runs_of(active)


class _BandJacobi(FaceSmoother):
    def __init__(self, band: np.ndarray, steps: int, damping: float):
        self.band, self.steps, self.damping = band, steps, damping

    def pre(self, level):
        self._in_band(level)
        self._step(level, level.A.runs)
        level.x, level.r = level.r, level.x
        self._in_band(level)

    post = pre

    def _in_band(self, level: FaceLevel) -> None:
        for _ in range(self.steps):
            self._step(level, self.band)
            _copy_runs(level.x, level.r, 1.0, self.band, level.A.P)

    def _step(self, level: FaceLevel, runs: np.ndarray) -> None:
        """r = x + damping D⁻¹ (b - A x) on the runs."""
        S = level.A
        _faces_polynomial(level.r, level.x, level.b, S.m, S.k, runs, S.plain, S.strides, S.P, 1.0, 0.0, self.damping)
