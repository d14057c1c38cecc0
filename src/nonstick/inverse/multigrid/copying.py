"""Cycles with their own copies of r and z, in another precision or order of rows.

`run` copies r in, `leave` copies z out, and `inner` multiplies by the copies. A Krylov method that uses these three
(`CopiedDirections`) saves the passes over memory that `apply` needs for vectors between them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from ...operators.base import Operator
from ..base import Directions, Inverse, max_abs


class Hierarchy(Inverse):
    """One cycle from a zero guess for `F A F + (I - F) + D`, with a free set F and a shift D.

    It also offers the coarse problem of nested iteration, and lends its levels to that: `below`.
    """

    #: True if coarse problems are those of a coarser grid
    on_grid: ClassVar[bool]
    #: set by a solve that takes many iterations: levels may be made anew for its free set
    slow: bool = False

    #: D, or None
    _shift: np.ndarray | None

    @property
    def hierarchy(self):
        return self

    @abstractmethod
    def below(self, A: Any) -> Hierarchy:
        """The hierarchy of a matrix on the first coarse level, on the levels of this one.

        This hierarchy restores its own matrices when it is refreshed.
        """

    @abstractmethod
    def run(self, r: np.ndarray, top: float) -> None:
        """One cycle for a right-hand side of size `top`; z stays in the copies."""

    @abstractmethod
    def inner(self, q: np.ndarray | None = None) -> tuple[float, float]:
        """rᵀz and qᵀz of the last cycle."""

    @abstractmethod
    def leave(self, out: np.ndarray, beta: float = 0.0) -> None:
        """out = z + beta out"""

    @abstractmethod
    def _outside(self) -> np.ndarray | None:
        """A mask of the rows that are not in the free set; None if all are."""

    def _size(self, r: np.ndarray) -> float:
        return max_abs(r)

    def apply(self, r, out):
        top = self._size(r)
        if 0.0 < top < np.inf:
            self.run(r, top)
            self.leave(out)
        else:
            out[:] = 0.0
        outside = self._outside()
        if outside is not None:  # F A F + (I - F) + D is diagonal there
            out[outside] = r[outside] if self._shift is None else r[outside] / (1.0 + self._shift[outside])
        return out

    def directions(self, A, flexible=False):
        # Rows outside a free set have their own equations: `apply` solves them, a bare cycle does not.
        return CopiedDirections(A, self) if A.free is None else super().directions(A, flexible)


class CopiedDirections(Directions):
    """Directions from the cycle's copies of r and z."""

    def __init__(self, A: Operator, M: Hierarchy):
        self.A, self.cycle = A, M

    @property
    def z(self):
        out = np.empty(self.A.n)
        self.cycle.leave(out)
        return out

    def hold(self, rows, policy):
        """The cycle uses the free set and keeps z zero elsewhere."""

    def find(self, r, size):
        self.cycle.run(r, size or 1.0)
        return self.cycle.inner()[0]

    def find_along(self, r, size, q):
        self.cycle.run(r, size or 1.0)
        return self.cycle.inner(q)

    def add_to(self, p, beta):
        self.cycle.leave(p, beta)
