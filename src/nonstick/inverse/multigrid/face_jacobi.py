"""The multigrid baseline of Aanjaneya §7, after McAdams et al. 2010: damped Jacobi, more of it along the boundary.

On every level three Jacobi steps in a band three voxels wide, one everywhere, three in the band again; at the
bottom 200 Jacobi steps (naïve) or conjugate gradients (improved). Damping: McAdams' 2/3 is for the Laplacian. The
spectrum of D⁻¹A of the viscosity matrix reaches 3 in the interior and 4 at most, so that 1/2 is the largest
factor that lets no mode grow and keeps the preconditioner positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_erosion

from ...kernels._faces import _copy_runs, _faces_polynomial
from ...operators.faces import FaceSystem
from .face_box import CGBottom, voxel_hierarchy
from .face_cycle import Bottom, FaceCycle, FaceLevel, FaceMultigrid, Smoother


class BandJacobi(Smoother):
    """`band` steps along the boundary, one everywhere, `band` again: its own adjoint."""

    def __init__(self, system: FaceSystem, steps: int, width: int, damping: float):
        self.steps, self.damping = steps, damping
        grid = system.grid
        wet = np.zeros(grid.padded, np.bool_)
        wet[grid.window()] = system.k[: system.P].reshape(grid.padded)[grid.window()] > 0
        shape = np.ones([3 if axis in grid.axes else 1 for axis in range(3)], np.bool_)
        deep = binary_erosion(wet, shape, iterations=width)
        active = system.active()
        for a in grid.axes:
            active[a] &= ~(deep & np.roll(deep, 1, a))
        self.band = system.runs_of(active)

    def before(self, level):
        level.x[:] = 0.0
        self.after(level)

    def after(self, level):
        for _ in range(self.steps):
            self._in_band(level)
        jacobi(level, level.system.runs, self.damping)
        level.x, level.spare = level.spare, level.x
        for _ in range(self.steps):
            self._in_band(level)

    def _in_band(self, level: FaceLevel) -> None:
        jacobi(level, self.band, self.damping)
        _copy_runs(level.x, level.spare, self.band, level.system.P)


def jacobi(level: FaceLevel, runs: np.ndarray, damping: float) -> None:
    """spare = x + damping D⁻¹ (b - A x) on the runs."""
    S = level.system
    _faces_polynomial(level.spare, level.x, level.b, S.m, S.k, runs, S.plain, S.strides, S.P, 1.0, 0.0, damping)


@dataclass(frozen=True)
class JacobiBottom(Bottom):
    """Many Jacobi steps in place of a solve."""

    steps: int
    damping: float

    def solve(self, level):
        level.x[:] = 0.0
        for _ in range(self.steps):
            jacobi(level, level.system.runs, self.damping)
            level.x, level.spare = level.spare, level.x


@dataclass(frozen=True)
class JacobiMultigrid(FaceMultigrid):
    """`exact_bottom` is the improved baseline."""

    exact_bottom: bool = False
    band_steps: int = 3
    band_width: int = 3
    damping: float = 0.5
    bottom_steps: int = 200
    bottom: int = 4000
    levels: int | None = None

    def setup(self, problem):
        systems, transfers = voxel_hierarchy(problem, self.bottom, self.levels)
        smoothers: list[Smoother] = [
            BandJacobi(s, self.band_steps, self.band_width, self.damping) for s in systems[:-1]
        ]
        last = CGBottom(systems[-1]) if self.exact_bottom else JacobiBottom(self.bottom_steps, self.damping)
        return FaceCycle([FaceLevel(s, np.float64) for s in systems], transfers, smoothers, last)
