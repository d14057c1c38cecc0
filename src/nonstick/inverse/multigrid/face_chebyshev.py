"""Chebyshev–Jacobi smoothing of the viscosity system, and the cycle built on it (ours).

The box smoother of Aanjaneya §6.3 couples what a point smoother does not; but the viscous stress
`μ(∇u + ∇uᵀ)` has no large div-term, so a polynomial in D⁻¹A smooths all components at once. What damped Jacobi
lacks is the right interval: the spectrum of D⁻¹A reaches 3 inside 3D liquid (8/3 in 2D) and at most 4 anywhere,
because a stress sample couples at most four faces. Two steps of Chebyshev on [4/(r+1), 4r/(r+1)] keep every mode
up to 4 from growing, cost two products, and need no factors, no colours and no storage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from ...kernels._faces import _faces_polynomial, _faces_polynomial_small, _faces_scaled
from ...operators.faces import FaceSystem
from .face_cycle import Bottom, FaceCycle, FaceLevel, FaceMultigrid, Smoother
from .faces import FaceTransfer, coarsen_volumes

#: levels with fewer unknowns than this run on one thread
SMALL = 20_000
#: no eigenvalue of D⁻¹A is larger: the number of faces in an edge's difference
LARGEST = 4.0


class Chebyshev(Smoother):
    """`degree` steps on the interval [high/ratio, high], high = 4/(1 + 1/ratio)."""

    def __init__(self, degree: int, ratio: float):
        high = LARGEST / (1 + 1 / ratio)
        self.degree, self.middle, self.half = degree, 0.5 * (high + high / ratio), 0.5 * (high - high / ratio)

    def before(self, level):
        S = level.system
        _faces_scaled(level.x, level.b, S.m, S.k, S.runs, S.plain, S.strides, S.P, 1 / self.middle)
        self._steps(level, from_zero=True)

    def after(self, level):
        self._step(level, 1.0, 0.0, 1 / self.middle)
        self._steps(level, from_zero=False)

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
        S = level.system
        kernel = _faces_polynomial_small if S.n < SMALL else _faces_polynomial
        kernel(level.spare, level.x, level.b, S.m, S.k, S.runs, S.plain, S.strides, S.P, cx, cy, cr)
        level.x, level.spare = level.spare, level.x


class DirectBottom(Bottom):
    """A sparse factor; a trace of the diagonal makes it definite where faces have no mass."""

    def __init__(self, system: FaceSystem):
        A = system.matrix()
        # A sparse factor even for a few hundred unknowns: threaded dense algebra waits for busy cores.
        self._factor = sla.splu(sp.csc_array(A + sp.diags_array(1e-8 * A.diagonal())), permc_spec="MMD_AT_PLUS_A")

    def solve(self, level):
        S = level.system
        S.scatter(self._factor.solve(S.gather(level.b).astype(np.float64)).astype(level.x.dtype), level.x)


class SmoothedBottom(Bottom):
    """Many steps of the smoother: for a bottom too large for a factor, or so little viscous that mass rules."""

    def __init__(self, degree: int, ratio: float):
        self._smoother = Chebyshev(degree, ratio)

    def solve(self, level):
        self._smoother.before(level)


@dataclass(frozen=True)
class ChebyshevMultigrid(FaceMultigrid):
    """The V-cycle of `visc-auto`: averaged volumes, Chebyshev smoothing, single precision."""

    degree: int = 2
    ratio: float = 5.0
    #: coarsen down to this many unknowns
    bottom: int = 600
    #: a level whose stress is this small beside its mass needs no coarser one
    negligible: float = 0.02
    dtype: type = np.float32

    def setup(self, problem):
        fluid = problem.source.padded_fluid()
        systems: list[FaceSystem] = [problem.A.system]
        transfers: list[FaceTransfer] = []
        while systems[-1].n > self.bottom and self._strongest(systems[-1]) > self.negligible:
            fine = systems[-1]
            coarse, fluid = coarsen_volumes(fine, fluid)
            if coarse.n == 0 or coarse.n >= fine.n:
                break
            transfers.append(FaceTransfer(fine, coarse, self.dtype))
            systems.append(coarse)
        levels = [FaceLevel(s, self.dtype) for s in systems]
        smoothers: list[Smoother] = [Chebyshev(self.degree, self.ratio) for _ in transfers]
        return FaceCycle(levels, transfers, smoothers, self._bottom(systems[-1]))

    def _bottom(self, system: FaceSystem) -> Bottom:
        if system.n <= self.bottom:
            return DirectBottom(system)
        if self._strongest(system) <= self.negligible:
            return SmoothedBottom(3, 4.0)
        return SmoothedBottom(40, 1000.0)

    @staticmethod
    def _strongest(system: FaceSystem) -> float:
        return float(system.scale if system.scale is not None else system.k.max(initial=0.0))
