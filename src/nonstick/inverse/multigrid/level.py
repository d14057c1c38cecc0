"""Two kinds of levels: an operator with a smoother and a transfer, and Gauss–Seidel in two colours.

Most hierarchies use the first. The second is the base of three others (structured, sparse and packed levels): it saves
the passes that would change nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from ...errors import NonstickError
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
        """The directions of a cycle M whose finest level this is."""
        return Directions(A, M)


class RedBlackLevel(Level):
    """Gauss–Seidel in two colours, one pass per colour and sweep.

    Down: red, then black. Black is relaxed last and has no residual, so `restrict_residual` needs only the red
    residual. Up: black, then red. Black is relaxed next, so `correct` may omit it. Every cycle after the first starts
    after a red pass: its first red pass would change nothing and is skipped.
    """

    #: True after one sweep from zero: the residual of red then comes only from the black pass
    fresh = False

    @abstractmethod
    def start_red(self) -> None:
        """Relax red from zero."""

    @abstractmethod
    def relax_red(self) -> None: ...

    @abstractmethod
    def relax_black(self) -> None: ...

    def smooth(self, sweeps, from_zero):
        if sweeps < 1:
            raise NonstickError("red-black levels need at least one sweep before the coarse correction")
        for sweep in range(sweeps):
            if sweep:
                self.relax_red()
            elif from_zero:
                self.start_red()
            self.relax_black()
        self.fresh = from_zero and sweeps == 1

    def resmooth(self, sweeps):
        for _ in range(sweeps):
            self.relax_black()
            self.relax_red()
        self.relax_black()
        self.fresh = False

    def smooth_back(self, sweeps):
        for _ in range(sweeps):
            self.relax_black()
            self.relax_red()
