"""Jacobi sweeps over face velocities: Chebyshev (ours), with the bottom of its cycle, and Aanjaneya's baseline.

The box smoother of Aanjaneya §6.3 solves coupled components together, which a point smoother does not. But the viscous
stress `μ(∇u + ∇uᵀ)` has no large div-term, so a polynomial in D⁻¹A smooths all components at once. Damped Jacobi only
lacks the right interval: the largest eigenvalue of D⁻¹A is 3 inside 3D liquid (8/3 in 2D) and at most 4 anywhere,
because a stress sample couples at most four faces. Two steps of Chebyshev on [4/(r+1), 4r/(r+1)] keep every mode up to
4 from growing, cost two products, and need no factors, no colours and no storage.

The baseline (§7) is McAdams et al. 2010: damped Jacobi, more at the boundary. Every level makes three Jacobi steps in
a band three voxels wide, one step everywhere, and three in the band again. At the bottom the naïve baseline makes 200
steps without a band, and the improved one uses conjugate gradients. McAdams' damping of 2/3 is for the Laplacian. The
largest eigenvalue of D⁻¹A of the viscosity matrix is 3 in the interior and at most 4, so 1/2 is the largest factor for
which no mode grows and the preconditioner stays positive.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....kernels._faces import _copy_runs, _faces_polynomial
from ....operators.faces import FaceSystem
from ...base import Recipe
from ...krylov.direct import Factor
from ...precond.adapters import AsMatrix
from ..bottom import Sweeps
from ..level import OperatorLevel
from ..smoothers import Smoother, SmootherRecipe
from .coarsening import require_faces

#: bound of the eigenvalues of D⁻¹A: the number of faces in an edge's difference
LARGEST = 4.0


@dataclass(frozen=True)
class Chebyshev(SmootherRecipe):
    """A sweep is a few Chebyshev steps on the interval [high/ratio, high], high = 4/(1 + 1/ratio); its own adjoint.

    Parameters
    ----------
    degree : int
        The number of steps, each of them a product with A.
    ratio : float
        The largest eigenvalue of the interval over the smallest.

    Examples
    --------
    The cycle of `visc-auto`, in single precision:

    >>> import numpy as np
    >>> from nonstick.inverse import Chebyshev, MeanVolumes, Multigrid, V, ViscousBottom
    >>> cycle = Multigrid(
    ...     MeanVolumes(), Chebyshev(2, 5.0), V(1, 1), coarsest=ViscousBottom(600), smallest=600, dtype=np.float32
    ... )
    """

    degree: int = 2
    ratio: float = 5.0

    def setup(self, A):
        require_faces(A)
        return _Chebyshev(A, self.degree, self.ratio)


class _Chebyshev(Smoother):
    def __init__(self, system: FaceSystem, degree: int, ratio: float):
        self.system = system
        high = LARGEST / (1 + 1 / ratio)
        self.degree, self.middle, self.half = degree, 0.5 * (high + high / ratio), 0.5 * (high - high / ratio)

    def pre_from_zero(self, level):
        self.system.scaled(1 / self.middle, level.b, level.x)
        self._steps(level, from_zero=True)

    def pre(self, level):
        self._step(level, 1.0, 0.0, 1 / self.middle)
        self._steps(level, from_zero=False)

    post = pre

    def _steps(self, level: OperatorLevel, from_zero: bool) -> None:
        sigma = self.middle / self.half
        rho = 1 / sigma
        for n in range(1, self.degree):
            new = 1 / (2 * sigma - rho)
            back = 0.0 if from_zero and n == 1 else -new * rho
            self._step(level, 1 + new * rho, back, 2 * new / self.half)
            rho = new

    def _step(self, level: OperatorLevel, cx: float, cy: float, cr: float) -> None:
        _faces_polynomial(level.r, level.x, level.b, *self.system.coefficients, cx, cy, cr)
        level.x, level.r = level.r, level.x


@dataclass(frozen=True)
class ViscousBottom(Recipe):
    """A sparse factor for a small level; sweeps for a larger one, few if mass dominates and many if not.

    The factor is sparse even for a few hundred unknowns, because threaded dense algebra waits for busy cores.

    Parameters
    ----------
    size : int
        The most unknowns that are factored.
    negligible : float
        Mass dominates if the stress is at most this part of it.
    factor, light, heavy : Recipe
        For up to `size` unknowns; for more, if mass dominates; for more, if it does not.

    Examples
    --------
    >>> from nonstick.inverse import ViscousBottom
    >>> ViscousBottom(size=600).light.smoother
    Chebyshev(degree=3, ratio=4.0)
    """

    size: int = 600
    negligible: float = 0.02
    factor: Recipe = field(default_factory=lambda: AsMatrix(Factor(1e-8)))
    light: Recipe = field(default_factory=lambda: Sweeps(Chebyshev(3, 4.0)))
    heavy: Recipe = field(default_factory=lambda: Sweeps(Chebyshev(40, 1000.0)))

    def setup(self, operator, reuse=None):
        if operator.n <= self.size:
            return self.factor.setup(operator)
        recipe = self.light if operator.strongest <= self.negligible else self.heavy
        return recipe.setup(operator)


@dataclass(frozen=True)
class BandJacobi(SmootherRecipe):
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
        require_faces(A)
        band = boundary_band(A, self.width) if self.steps else A.runs[:0]
        return _BandJacobi(A, band, self.steps, self.damping)


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


class _BandJacobi(Smoother):
    def __init__(self, system: FaceSystem, band: np.ndarray, steps: int, damping: float):
        self.system, self.band, self.steps, self.damping = system, band, steps, damping

    def pre(self, level):
        self._in_band(level)
        self._step(level, self.system.runs)
        level.x, level.r = level.r, level.x
        self._in_band(level)

    post = pre

    def _in_band(self, level: OperatorLevel) -> None:
        for _ in range(self.steps):
            self._step(level, self.band)
            _copy_runs(level.x, level.r, 1.0, self.band, self.system.P)

    def _step(self, level: OperatorLevel, runs: np.ndarray) -> None:
        """r = x + damping D⁻¹ (b - A x) on the runs."""
        S = self.system
        _faces_polynomial(level.r, level.x, level.b, S.m, S.k, runs, S.plain, S.strides, S.P, 1.0, 0.0, self.damping)
