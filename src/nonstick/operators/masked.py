"""Operators made from another, of which nothing is assembled.

`F A F + (I - F) + D`: an operator restricted to a free set, plus a diagonal.

Policy iteration, the penalty method, minimum-map Newton, the face problem of MPRGP and interior point
all solve with this one operator. Nothing is assembled; changing F or D costs nothing.

`B + U S Uᵀ`: an operator plus a few dense rows and columns.

U has one column per degree of freedom of a rigid body (3 in 2D, 6 in 3D) and entries only in the rows of the unknowns
that touch the body. A product takes one product with B and two with the thin U.

On many ranks each has the rows of U that belong to it, all have S, and Uᵀx is summed over all ranks.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..parallel.comm import Comm
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


class LowRank(Operator):
    """`rows` (ascending) are the numbers of the non-zero rows of U, `U` holds these (CSR), `S` is semidefinite.

    `light` estimates, column by column, the eigenvalue the term adds to 1 in the metric of the base: for a rigid body,
    the density of the liquid divided by that of the body. Preconditioners treat large values separately. `pool` are the
    ranks whose products with Uᵀ are summed; by default those of the base.
    """

    diagonal: np.ndarray

    def __init__(
        self,
        base: Operator,
        rows: np.ndarray,
        U,
        S: np.ndarray,
        light: np.ndarray | None = None,
        pool: Comm | None = None,
    ):
        self.base = base
        self.n, self.comm, self.has_entries = base.n, base.comm, base.has_entries
        self._pool = self.comm if pool is None else pool
        self.touched = np.ascontiguousarray(rows, dtype=np.int64)
        self.U = sp.csr_array(U, dtype=np.float64)
        self.S = np.ascontiguousarray(S, dtype=np.float64)
        self.light = light
        self._transposed = sp.csr_array(self.U.T)
        self.diagonal = base.diagonal.astype(np.float64)
        self.diagonal[self.touched] += np.asarray(self.U.multiply(self.U @ self.S).sum(axis=1)).ravel()

    @property
    def bodies(self) -> LowRank:
        return self

    @property
    def rank(self) -> int:
        return self.S.shape[0]

    @property
    def cells(self):
        return self.base.cells

    @property
    def unknowns(self):
        return self.base.unknowns

    def gather(self, x: np.ndarray) -> np.ndarray:
        """Uᵀ x"""
        return self._pool.total(self._transposed @ x[self.touched])

    def spread(self, c: np.ndarray, out: np.ndarray) -> None:
        """out += U c"""
        out[self.touched] += self.U @ c

    def apply(self, x, out):
        self.base.apply(x, out)
        self.spread(self.S @ self.gather(x), out)
        return out

    def residual(self, b, x, out):
        self.base.residual(b, x, out)
        self.spread(-(self.S @ self.gather(x)), out)
        return out

    def magnitude(self, x, out):
        self.base.magnitude(x, out)
        size = self._pool.total(abs(self._transposed) @ np.abs(x[self.touched]))
        out[self.touched] += abs(self.U) @ (np.abs(self.S) @ size)
        return out

    def matrix(self) -> sp.csr_array:
        """The entries; the rows of every body become a dense block."""
        wide = sp.csr_array((self.U.data, self.U.indices, self._indptr()), shape=(self.n, self.rank))
        return sp.csr_array(self.base.matrix() + wide @ sp.csr_array(self.S) @ wide.T)

    def _indptr(self) -> np.ndarray:
        count = np.zeros(self.n + 1, np.int64)
        count[self.touched + 1] = np.diff(self.U.indptr)
        return np.cumsum(count)

    def components(self):
        """Parts of the graph; a column of U joins all parts in which it has entries."""
        from scipy.sparse.csgraph import connected_components  # slow to load, rarely needed

        count, label = self.base.components()
        entries = sp.coo_array(self.U)
        body = connected_components(sp.csr_array(self.S != 0), directed=False)[1] if self.rank else np.empty(0, int)
        part, column = label[self.touched[entries.row]], count + body[entries.col]
        part, column = self.comm.joined(np.stack([part, column], axis=1).astype(np.int64)).T
        size = count + self.rank
        links = sp.coo_array((np.ones(part.size), (part, column)), shape=(size, size))
        _, merged = connected_components(sp.csr_array(links), directed=False)
        present, renamed = np.unique(merged[:count], return_inverse=True)
        return present.size, np.where(label < 0, -1, renamed[label]).astype(np.int32)

    # -- variations ---------------------------------------------------------------------------------------

    def plus_diagonal(self, shift):
        return LowRank(self.base.plus_diagonal(shift), self.touched, self.U, self.S, self.light)

    def part(self, rows):
        at = np.searchsorted(rows, self.touched)
        at[at == rows.size] = 0
        inside = np.flatnonzero(rows[at] == self.touched) if rows.size else np.empty(0, np.int64)
        return LowRank(self.base.part(rows), at[inside], self.U[inside], self.S, self.light)
