"""Incomplete LU without fill of a matrix that need not be symmetric, and its triangular solves.

`A ≈ (I + L) (E + U)` on the pattern of A (Saad, Iterative Methods, algorithm 10.4). The factors lie over a copy of the
entries of A; 1/E is stored apart. Rows outside the free set, and rows without an equation, have 1/E = 0, and no other
row sees them. A pivot below `safety` times the diagonal is replaced by the diagonal.

Elimination and substitution are recurrences from row to row: these kernels are serial.
"""

from ...kernels import serial
from ._incomplete import _inverse_pivot


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
