"""`F A F + (I - F) + D`: an operator restricted to a free set, plus a diagonal.

Policy iteration, the penalty method, minimum-map Newton, the face problem of MPRGP and interior point
all solve with this one operator. Nothing is assembled; changing F or D costs nothing.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .base import Operator


class Masked(Operator):
    """`free` is a boolean array (None: all free); `shift` a non-negative array added to the diagonal (None: 0)."""

    def __init__(self, A: Operator, free: np.ndarray | None = None, shift: np.ndarray | None = None):
        self.A = A
        self.n = A.n
        self._work = np.empty(A.n, A.dtype)
        self.update(free, shift)

    def update(self, free: np.ndarray | None = None, shift: np.ndarray | None = None) -> Masked:
        """Change the free set and the shift in place."""
        self.free = free
        self.clamped = None if free is None else ~free
        self.shift = shift
        d = self.A.diagonal if free is None else np.where(free, self.A.diagonal, 1)
        self.diagonal = d if shift is None else d + shift
        return self

    @property
    def cells(self):  # type: ignore[override]
        return self.A.cells

    @property
    def bodies(self):
        return self.A.bodies

    def apply(self, x, out):
        if self.free is None:
            self.A.apply(x, out)
        else:
            np.multiply(x, self.free, out=self._work)
            self.A.apply(self._work, out)
            np.copyto(out, x, where=self.clamped)
        if self.shift is not None:
            np.multiply(self.shift, x, out=self._work)
            out += self._work
        return out

    def matrix(self) -> sp.csr_array:
        A = self.A.matrix()
        if self.free is not None:
            F = sp.diags_array(self.free.astype(float))
            A = F @ A @ F + sp.diags_array((~self.free).astype(float))
        if self.shift is not None:
            A = A + sp.diags_array(self.shift)
        A = sp.csr_array(A)
        A.eliminate_zeros()
        return A

    def row_sums(self):
        return self @ np.ones(self.n, self.dtype)

    def components(self):
        return sp.csgraph.connected_components(self.matrix(), directed=False)


def peel(operator: Operator) -> tuple[Operator, np.ndarray | None]:
    """The operator under any masks, and the common free set (None: all free).

    Off-diagonal entries of `operator` are those of the base between free rows; its diagonal is its own.
    """
    free: np.ndarray | None = None
    while isinstance(operator, Masked):
        if operator.free is not None:
            free = operator.free if free is None else free & operator.free
        operator = operator.A
    return operator, free
