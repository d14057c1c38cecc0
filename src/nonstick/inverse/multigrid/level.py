"""The level of most hierarchies: an operator, a smoother, and a transfer to the next level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...operators.base import Operator
from ...operators.transfer import Transfer
from ..base import Directions, Inverse
from .cycles import Level

if TYPE_CHECKING:
    from .smoothers import Smoother


class OperatorLevel(Level):
    """Vectors are those of the operator; `bottom` solves the coarsest level."""

    def __init__(self, A: Operator, smoother: Smoother, bottom: Inverse | None = None):
        self.A = A
        self.smoother = smoother
        self.bottom = bottom
        self.transfer: Transfer = None  # type: ignore[assignment]  # set unless this is the coarsest
        self.x, self.b, self.r = (A.zeros(A.dtype) for _ in range(3))

    def smooth(self, sweeps, from_zero):
        if from_zero:
            if sweeps:
                self.smoother.pre_from_zero(self.x, self.b)
            else:
                self.x[:] = 0.0
        for _ in range(sweeps - from_zero):
            self.smoother.pre(self.x, self.b)

    def restrict_residual(self, coarse, from_zero):
        self.A.residual(self.b, self.x, self.r)
        self.transfer.restrict(self.r, coarse.b)

    def correct(self, coarse):
        self.transfer.prolong_add(coarse.x, self.x)

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            self.smoother.post(self.x, self.b)

    def solve(self):
        assert self.bottom is not None
        self.bottom.apply(self.b, self.x)

    def directions(self, A: Operator, M: Inverse) -> Directions:
        """What conjugate gradients see of a cycle M whose finest level this is."""
        return Directions(A, M)
