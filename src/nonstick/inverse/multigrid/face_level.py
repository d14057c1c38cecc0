"""Levels over face velocities: padded vectors, two of which a smoother may swap."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...errors import NonstickError
from ...operators.base import Operator
from ...operators.faces import FaceSystem
from ..base import Directions
from .face_transfer import FaceTransfer
from .hierarchy import MultigridInverse, Stepwise
from .level import OperatorLevel
from .smoothers import SmootherRecipe


class FaceCoarsening(Stepwise):
    """Makes a coarser grid of faces from a grid of faces."""

    @abstractmethod
    def coarser(self, fine: FaceSystem) -> FaceSystem | None:
        """The system of the next grid; None if none is needed."""

    def require(self, A: Operator) -> None:
        if not isinstance(A, FaceSystem):
            raise NonstickError("the visc-… methods solve a nonstick.ViscosityProblem; for a matrix take 'no-lcp'")

    def coarsen(self, A, depth):
        coarse = self.coarser(A)
        if coarse is None or coarse.n == 0 or coarse.n >= A.n:
            return None
        coarse = coarse.astype(A.dtype)
        return coarse, FaceTransfer(A, coarse)


class FaceSmoother(ABC):
    """Sweeps over a `FaceLevel`: they improve `level.x` for `level.b`, and may use `level.r` or swap it with x."""

    @abstractmethod
    def pre(self, level: FaceLevel) -> None:
        """One sweep before the coarse correction."""

    @abstractmethod
    def post(self, level: FaceLevel) -> None:
        """One sweep after it: the adjoint of `pre`."""

    def pre_from_zero(self, level: FaceLevel) -> None:
        """`pre` for x = 0; the present x is ignored."""
        level.x[:] = 0.0
        self.pre(level)

    def level(self, A: FaceSystem) -> FaceLevel:
        return FaceLevel(A, self)


class FaceSmootherRecipe(SmootherRecipe):
    """Parameters of a smoother of faces."""

    def coarsest(self, A):
        return FaceLevel(A)


class FaceLevel(OperatorLevel):
    """One grid: its system and three vectors of its precision."""

    A: FaceSystem
    smoother: FaceSmoother  # type: ignore[assignment]

    def __init__(self, A: FaceSystem, smoother: FaceSmoother | None = None):
        super().__init__(A, smoother)  # type: ignore[arg-type]  # only the coarsest level has none

    def smooth(self, sweeps, from_zero):
        if from_zero and not sweeps:
            self.x[:] = 0.0
        for sweep in range(sweeps):
            if from_zero and sweep == 0:
                self.smoother.pre_from_zero(self)
            else:
                self.smoother.pre(self)

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            self.smoother.post(self)

    def directions(self, A, M):
        return FaceDirections(A, M)


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
