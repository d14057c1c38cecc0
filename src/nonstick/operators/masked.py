"""`F A F + (I - F) + D`: an operator restricted to a free set, plus a diagonal.

Policy iteration, the penalty method, minimum-map Newton, the face problem of MPRGP and interior point
all solve with this one operator. Nothing is assembled; changing F or D costs nothing.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .base import Operator


class Masked(Operator):
    """`free` is a boolean array (None: all free); `shift` a non-negative array added to the diagonal (None: 0).

    A mask over a mask is one mask: `core`, `free` and `shift` describe the whole chain.
    """

    def __init__(self, A: Operator, free: np.ndarray | None = None, shift: np.ndarray | None = None):
        self.A = A
        self.n, self.comm = A.n, A.comm
        self.has_entries, self.symmetric = A.has_entries, A.symmetric
        self._work = np.empty(A.n, A.dtype)
        self.update(free, shift)

    def update(self, free: np.ndarray | None = None, shift: np.ndarray | None = None) -> Masked:
        """Change the free set and the shift in place."""
        self._free, self._shift = free, shift
        self._diagonal: np.ndarray | None = None  # made on first use, because not every method needs it
        self._clamped: np.ndarray | None = None
        return self

    @property
    def diagonal(self) -> np.ndarray:
        if self._diagonal is None:
            d = self.A.diagonal if self._free is None else np.where(self._free, self.A.diagonal, 1)
            self._diagonal = d if self._shift is None else d + self._shift
        return self._diagonal

    @property
    def dtype(self):
        return self.A.dtype

    @property
    def cells(self):
        return self.A.cells

    @property
    def core(self):
        return self.A.core

    @property
    def free(self):
        below = self.A.free
        return self._free if below is None else below if self._free is None else below & self._free

    @property
    def shift(self):
        below = self.A.shift
        return self._shift if below is None else below if self._shift is None else below + self._shift

    @property
    def bodies(self):
        return self.A.bodies

    def apply(self, x, out):
        if self._free is None:
            self.A.apply(x, out)
        else:
            if self._clamped is None:
                self._clamped = ~self._free
            np.multiply(x, self._free, out=self._work)
            self.A.apply(self._work, out)
            np.copyto(out, x, where=self._clamped)
        if self._shift is not None:
            np.multiply(self._shift, x, out=self._work)
            out += self._work
        return out

    def matrix(self) -> sp.csr_array:
        A = self.A.matrix()
        if self._free is None and self._shift is None:
            return A
        if self._free is not None:
            F = sp.diags_array(self._free.astype(float))
            A = F @ A @ F + sp.diags_array((~self._free).astype(float))
        if self._shift is not None:
            A = A + sp.diags_array(self._shift)
        A = sp.csr_array(A)
        A.eliminate_zeros()
        return A

    def components(self):
        return super().components() if self.has_entries else self.A.components()
