"""Chebyshev–Jacobi smoothing of the viscosity system, and the bottom of the cycle built on it (ours).

The box smoother of Aanjaneya §6.3 solves coupled components together, which a point smoother does not. But the viscous
stress `μ(∇u + ∇uᵀ)` has no large div-term, so a polynomial in D⁻¹A smooths all components at once. Damped Jacobi only
lacks the right interval: the largest eigenvalue of D⁻¹A is 3 inside 3D liquid (8/3 in 2D) and at most 4 anywhere,
because a stress sample couples at most four faces. Two steps of Chebyshev on [4/(r+1), 4r/(r+1)] keep every mode up to
4 from growing, cost two products, and need no factors, no colours and no storage.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...kernels._faces import _faces_polynomial, _faces_polynomial_small
from ..base import Recipe
from ..krylov.direct import Factor
from ..precond.as_matrix import AsMatrix
from .face_level import FaceLevel, FaceSmoother, FaceSmootherRecipe
from .hierarchy import Sweeps

#: levels with fewer unknowns than this run on one thread
ONE_THREAD_BELOW = 20_000
#: bound of the eigenvalues of D⁻¹A: the number of faces in an edge's difference
LARGEST = 4.0


@dataclass(frozen=True)
class Chebyshev(FaceSmootherRecipe):
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
        return _Chebyshev(self.degree, self.ratio)


class _Chebyshev(FaceSmoother):
    def __init__(self, degree: int, ratio: float):
        high = LARGEST / (1 + 1 / ratio)
        self.degree, self.middle, self.half = degree, 0.5 * (high + high / ratio), 0.5 * (high - high / ratio)

    def pre_from_zero(self, level):
        level.A.jacobi(1 / self.middle)(level.b, level.x)
        self._steps(level, from_zero=True)

    def pre(self, level):
        self._step(level, 1.0, 0.0, 1 / self.middle)
        self._steps(level, from_zero=False)

    post = pre

    def _steps(self, level: FaceLevel, from_zero: bool) -> None:
        sigma = self.middle / self.half
        rho = 1 / sigma
        for n in range(1, self.degree):
            new = 1 / (2 * sigma - rho)
            back = 0.0 if from_zero and n == 1 else -new * rho
            self._step(level, 1 + new * rho, back, 2 * new / self.half)
            rho = new

    @staticmethod
    def _step(level: FaceLevel, cx: float, cy: float, cr: float) -> None:
        kernel = _faces_polynomial_small if level.A.n < ONE_THREAD_BELOW else _faces_polynomial
        kernel(level.r, level.x, level.b, *level.A.coefficients, cx, cy, cr)
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
