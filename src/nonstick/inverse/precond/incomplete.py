"""Incomplete factors without fill: MIC(0), with Bridson's tuning and safety (SIGGRAPH course, 2007), and ILU(0), the
preconditioner of Lai's PCG.

`MIC(tuning=0)` is IC(0). On a stencil operator, also a masked or shifted one, its factor is one number per unknown, and
no matrix is assembled. Any other operator is factored from its CSR entries.

ILU(0) is the factor on the pattern of A. For a symmetric A, ILU(0) is the root-free IC(0): `A ≈ (E + U)ᵀ E⁻¹ (E + U)`,
and conjugate gradients may use it. For other matrices it is `A ≈ (I + L) (E + U)`, for BiCGStab and GMRES. On
M-matrices every pivot is positive; on other matrices a pivot that vanishes is replaced by the diagonal.

The loops of LDLᵀ. `A ≈ (E + U)ᵀ E⁻¹ (E + U)`, U strictly upper triangular with the pattern of A. Dropped fill,
multiplied by `tuning`, is added to the two diagonals of its row and column: 0 is IC(0) (= ILU(0) of a symmetric
matrix), 0.97 Bridson's MIC(0). A pivot below `safety` times the diagonal is replaced by the diagonal.

Factors store 1/E. Rows outside the free set, and rows without an equation, have 1/E = 0, which separates them from
their neighbours in both solves, so no other code needs the mask. On the seven-point stencil no two neighbours of a cell
are neighbours of each other, so U is that of A, and only 1/E is stored.

The loops of LU, for matrices that need not be symmetric. `A ≈ (I + L) (E + U)` on the pattern of A (Saad, Iterative
Methods, algorithm 10.4). The factors lie over a copy of the entries of A; 1/E is stored apart. Rows outside the free
set, and rows without an equation, have 1/E = 0, and no other row sees them. A pivot below `safety` times the diagonal
is replaced by the diagonal.

Elimination and substitution are recurrences from row to row: these kernels are serial.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...core import rounding
from ...kernels import merged, serial
from ...operators.base import Operator
from ..base import Inverse, Recipe

u64 = np.uint64


@merged
def _inverse_pivot(e, d, free, safety):
    if not free or not d > 0.0:
        return 0.0 * d
    if not e >= safety * d or not e > 0.0:
        e = d
    return 1.0 / e


@serial
def _stencil_factor(inv, w0, w1, w2, d, free, start, offset, tuning, safety):
    """inv = 1/E of the masked stencil operator with diagonal d; `inv` also holds the intermediate diagonal."""
    inv[:] = d
    for s in range(start.size - 1):
        xp, yp, zp = u64(offset[s, 1]), u64(offset[s, 3]), u64(offset[s, 5])
        for t in range(u64(start[s]), u64(start[s + 1])):
            e = _inverse_pivot(inv[t], d[t], free[t], safety)
            inv[t] = e
            if e > 0.0:
                a = w0[t] if free[t + xp] else 0.0
                b = w1[t] if free[t + yp] else 0.0
                c = w2[t] if free[t + zp] else 0.0
                if a > 0.0:
                    inv[t + xp] -= e * a * (a + tuning * (b + c))
                if b > 0.0:
                    inv[t + yp] -= e * b * (b + tuning * (a + c))
                if c > 0.0:
                    inv[t + zp] -= e * c * (c + tuning * (a + b))


@serial
def _stencil_substitute(z, r, inv, w0, w1, w2, start, offset):
    """z = (E + U)⁻¹ E (E + U)⁻ᵀ r; zero where inv is zero."""
    for s in range(start.size - 1):
        xm, ym, zm = offset[s, 0], offset[s, 2], offset[s, 4]
        h0 = 1.0 if xm != 0 else 0.0
        h1 = 1.0 if ym != 0 else 0.0
        h2 = 1.0 if zm != 0 else 0.0
        xm, ym, zm = u64(xm), u64(ym), u64(zm)
        for t in range(u64(start[s]), u64(start[s + 1])):
            # A missing neighbour reads z[t] itself, which may be uninitialised or NaN: set it to a number first.
            z[t] = 0.0
            far = r[t] + (h0 * w0[t + xm] * z[t + xm] + h1 * w1[t + ym] * z[t + ym])
            z[t] = inv[t] * (far + h2 * w2[t + zm] * z[t + zm])
    for s in range(start.size - 2, -1, -1):
        xp, yp, zp = u64(offset[s, 1]), u64(offset[s, 3]), u64(offset[s, 5])
        first = u64(start[s])
        t = u64(start[s + 1])
        while t > first:
            t -= u64(1)
            z[t] += inv[t] * (w0[t] * z[t + xp] + w1[t] * z[t + yp] + w2[t] * z[t + zp])


@serial
def _csr_factor(inv, upper, indices, indptr, d, free, tuning, safety):
    """1/E and U (in place over the strictly upper entries of A, columns ascending) of a masked matrix."""
    inv[:] = d
    for k in range(inv.size):
        e = _inverse_pivot(inv[k], d[k], free[k], safety)
        inv[k] = e
        for p in range(indptr[k], indptr[k + 1]):
            if e == 0.0 or not free[indices[p]]:
                upper[p] = 0.0
        if e == 0.0:
            continue
        for p in range(indptr[k], indptr[k + 1]):
            if upper[p] == 0.0:
                continue
            i = indices[p]
            scaled = e * upper[p]
            inv[i] -= scaled * upper[p]
            # Row i is subtracted from row k > i: matching entries are updated, the others would be fill.
            q = indptr[i]
            for p2 in range(p + 1, indptr[k + 1]):
                if upper[p2] == 0.0:
                    continue
                j = indices[p2]
                while q < indptr[i + 1] and indices[q] < j:
                    q += 1
                if q < indptr[i + 1] and indices[q] == j:
                    upper[q] -= scaled * upper[p2]
                else:
                    inv[i] -= tuning * scaled * upper[p2]
                    inv[j] -= tuning * scaled * upper[p2]


@serial
def _csr_substitute(z, r, inv, upper, indices, indptr):
    """z = (E + U)⁻¹ E (E + U)⁻ᵀ r; zero where inv is zero."""
    z[:] = r
    for k in range(z.size):
        z[k] *= inv[k]
        for p in range(indptr[k], indptr[k + 1]):
            z[indices[p]] -= upper[p] * z[k]
    for k in range(z.size - 1, -1, -1):
        s = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            s += upper[p] * z[indices[p]]
        z[k] -= inv[k] * s


@serial
def _lu_factor(inv, lu, at, indices, indptr, d, free, safety):
    """1/E, and L and U in place over the entries `lu` (columns ascending); `at` is work space, -1 everywhere."""
    for i in range(inv.size):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if not free[i] or not free[j]:
                lu[p] = 0.0
            elif j == i:
                lu[p] = d[i]
            at[j] = p
        pivot = 0.0 * d[i]
        if free[i]:
            for p in range(indptr[i], indptr[i + 1]):
                j = indices[p]
                if j >= i:
                    break
                if lu[p] == 0.0:
                    continue
                lu[p] *= inv[j]
                for q in range(indptr[j], indptr[j + 1]):
                    if indices[q] > j and at[indices[q]] >= 0:
                        lu[at[indices[q]]] -= lu[p] * lu[q]
            if at[i] >= 0:
                pivot = lu[at[i]]
        inv[i] = _inverse_pivot(pivot, d[i], free[i], safety)
        for p in range(indptr[i], indptr[i + 1]):
            at[indices[p]] = -1


@serial
def _lu_substitute(z, r, inv, lu, indices, indptr):
    """z = (E + U)⁻¹ (I + L)⁻¹ r; zero where inv is zero."""
    for i in range(z.size):
        s = r[i]
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] >= i:
                break
            s -= lu[p] * z[indices[p]]
        z[i] = s
    for i in range(z.size - 1, -1, -1):
        s = z[i]
        for p in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            if indices[p] <= i:
                break
            s -= lu[p] * z[indices[p]]
        z[i] = inv[i] * s


@dataclass(frozen=True)
class MIC(Recipe):
    """Dropped fill times `tuning` is added to the diagonal; a pivot below `safety`·diagonal becomes the diagonal."""

    tuning: float = 0.97
    safety: float = 0.25

    def setup(self, operator, reuse=None):
        return factor(operator, self.tuning, self.safety, reuse)


def factor(operator: Operator, tuning: float, safety: float, reuse: IncompleteFactor | None = None) -> IncompleteFactor:
    """The incomplete factor of an operator; the arrays of `reuse` are used again if it has the same base operator."""
    base, free = operator.core, operator.free
    inverse = reuse
    if inverse is None or inverse.base is not base:
        inverse = _CSRFactor(base) if base.stencil is None else _StencilFactor(base)
    return inverse.refresh(operator.diagonal, free, tuning, safety)


class IncompleteFactor(Inverse):
    """1/E, zero on clamped rows, which are solved by their diagonal alone."""

    def __init__(self, base: Operator):
        self.base = base
        self._inv = np.empty(base.n, base.dtype)
        self._all = np.ones(base.n, bool)

    def refresh(self, diagonal: np.ndarray, free: np.ndarray | None, tuning: float, safety: float) -> IncompleteFactor:
        self._diagonal = diagonal
        self._clamped = None if free is None else ~free
        self._eliminate(diagonal, self._all if free is None else free, tuning, safety)
        return self

    def apply(self, r, out):
        self._substitute(r, out)
        if self._clamped is not None:
            np.divide(r, self._diagonal, out=out, where=self._clamped)
        return out

    @abstractmethod
    def _eliminate(self, diagonal: np.ndarray, free: np.ndarray, tuning: float, safety: float) -> None: ...

    @abstractmethod
    def _substitute(self, r: np.ndarray, out: np.ndarray) -> None: ...


class _StencilFactor(IncompleteFactor):
    def _eliminate(self, diagonal, free, tuning, safety):
        rows = self.base.rows
        _stencil_factor(
            self._inv, *self.base.weights, diagonal, free, rows.start, rows.offset, float(tuning), float(safety)
        )

    def _substitute(self, r, out):
        rows = self.base.rows
        _stencil_substitute(out, r, self._inv, *self.base.weights, rows.start, rows.offset)


class _CSRFactor(IncompleteFactor):
    def __init__(self, base):
        super().__init__(base)
        U = sp.csr_array(sp.triu(base.matrix(), k=1))
        U.sort_indices()
        self._entries, self._upper = U.data, np.empty_like(U.data)
        self._indices, self._indptr = U.indices.astype(np.int32), U.indptr.astype(np.int32)

    def _eliminate(self, diagonal, free, tuning, safety):
        self._upper[:] = self._entries
        _csr_factor(self._inv, self._upper, self._indices, self._indptr, diagonal, free, float(tuning), float(safety))

    def _substitute(self, r, out):
        _csr_substitute(out, r, self._inv, self._upper, self._indices, self._indptr)


@dataclass(frozen=True)
class ILU(Recipe):
    """ILU without fill; on stencil operators no matrix is assembled."""

    def setup(self, operator, reuse=None):
        # a singular component whose graph is a tree is factored exactly: its last pivot is rounding
        if operator.symmetric:
            return factor(operator, 0.0, rounding.PIVOT, reuse)
        inverse = reuse if reuse is not None and reuse.base is operator.core else _LU(operator.core)
        return inverse.refresh(operator.diagonal, operator.free, 0.0, rounding.PIVOT)


class _LU(IncompleteFactor):
    def __init__(self, base: Operator):
        super().__init__(base)
        M = base.matrix()
        self._entries, self._lu = M.data, np.empty_like(M.data)
        self._indices, self._indptr = M.indices, M.indptr
        self._at = np.full(base.n, -1, np.int64)

    def _eliminate(self, diagonal, free, tuning, safety):
        self._lu[:] = self._entries
        _lu_factor(self._inv, self._lu, self._at, self._indices, self._indptr, diagonal, free, float(safety))

    def _substitute(self, r, out):
        _lu_substitute(out, r, self._inv, self._lu, self._indices, self._indptr)
