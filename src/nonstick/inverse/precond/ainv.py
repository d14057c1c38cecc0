"""AINV, the factored sparse approximate inverse `A⁻¹ ≈ Wᵀ D⁻¹ W` of Benzi, Meyer and Tůma (1996).

The family of Andersen's study (§6.1, figures 12–13), named after CUSP, whose AINV is Bridson's outer-product
form. W is unit lower triangular, and its rows are A-orthogonal except for dropped entries:

- `AINV()`                            "Bridson": updates of W below `drop` are dropped
- `AINV(scaled=True)`                 "Scaled Bridson": D is folded into W, and an update is measured in the
                                      scaling that gives A a unit diagonal
- `AINV(nonzeros=10, drop=0)`         "Static Bridson": the 10 largest entries of each row are kept
- `AINV(scaled=True, nonzeros=10, drop=0)`  "Static Scaled Bridson", the paper's best

CUSP's scaled variant only folds D into W, which saves an operation and changes no number. Measuring in this scaling
makes the dropping independent of the size of rows, which differs much in cut cells.

Applying it takes two sparse products and no triangular solve, which suits GPUs. Wᵀ D⁻¹ W is symmetric positive definite
for any dropping, so conjugate gradients may use it.

The loops below make W by incomplete A-orthogonalisation, in the outer-product form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...kernels import merged, serial
from ...kernels._csr import _csr_apply
from ..base import Inverse, Recipe


@merged
def _add_entry(cols, vals, count, i, k, term, static):
    """w_i[k] += term; a full row drops its smallest entry (static) or returns False. Slot 0 is the diagonal."""
    n = count[i]
    smallest = 1
    for q in range(n):
        if cols[i, q] == k:
            vals[i, q] += term
            return True
        if q > 1 and abs(vals[i, q]) < abs(vals[i, smallest]):
            smallest = q
    if n < cols.shape[1]:
        cols[i, n] = k
        vals[i, n] = term
        count[i] = n + 1
    elif not static:
        return False
    elif n > 1 and abs(term) > abs(vals[i, smallest]):
        cols[i, smallest] = k
        vals[i, smallest] = term
    return True


@serial
def _ainv_rows(cols, vals, count, pivot, data, indices, indptr, d, free, root, drop, static):
    """Rows of W in `cols`, `vals`, `count` and 1/D in `pivot`; False if a row outgrew its slots.

    root[k] scales entries: w_ik is dropped if |w_ik| root[k]/root[i] < drop.
    """
    n = pivot.size
    u = np.zeros(n)
    touched = np.empty(n, np.int64)
    mark = np.zeros(n, np.bool_)
    for i in range(n):
        cols[i, 0] = i
        vals[i, 0] = 1.0
        count[i] = 1
    for j in range(n):
        seen = 0
        for q in range(count[j]):  # u = A w_j
            k, v = cols[j, q], vals[j, q]
            if not mark[k]:
                mark[k] = True
                touched[seen] = k
                seen += 1
            u[k] += d[k] * v
            if free[k]:
                for e in range(indptr[k], indptr[k + 1]):
                    m = indices[e]
                    if m != k and free[m]:
                        if not mark[m]:
                            mark[m] = True
                            touched[seen] = m
                            seen += 1
                        u[m] += data[e] * v
        p = 0.0
        for q in range(count[j]):
            p += vals[j, q] * u[cols[j, q]]
        if not p > 0.0:
            p = d[j]
        pivot[j] = 1.0 / p if p > 0.0 else 0.0
        for t in range(seen):
            i = touched[t]
            if i > j and u[i] != 0.0 and p > 0.0:
                for q in range(count[j]):
                    k = cols[j, q]
                    term = -u[i] / p * vals[j, q]
                    if abs(term) * root[k] >= drop * root[i] and not _add_entry(cols, vals, count, i, k, term, static):
                        return False
            u[i] = 0.0
            mark[i] = False
    return True


ROOM = 16


@dataclass(frozen=True)
class AINV(Recipe):
    """Drop tolerance, or a fixed number of non-zeros per row of W (`nonzeros`), or both."""

    drop: float = 0.1
    scaled: bool = False
    nonzeros: int | None = None

    def setup(self, operator, reuse=None):
        base, free = operator.core, operator.free
        A, d = base.matrix(), operator.diagonal.astype(np.float64)
        free = np.ones(base.n, bool) if free is None else free
        root = np.sqrt(np.where(d > 0, d, 1.0)) if self.scaled else np.ones(base.n)
        entries = A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32), d, free, root
        static = self.nonzeros is not None
        room = max(self.nonzeros or ROOM, 1)
        while True:
            cols, vals = np.empty((base.n, room), np.int32), np.empty((base.n, room))
            count, pivot = np.empty(base.n, np.int64), np.empty(base.n)
            if _ainv_rows(cols, vals, count, pivot, *entries, float(self.drop), static):
                break
            room *= 2
        used = np.arange(room) < count[:, None]
        indptr = np.concatenate(([0], np.cumsum(count)))
        W = sp.csr_array((vals[used], cols[used], indptr), shape=A.shape)
        if self.scaled:
            return _Factored(sp.csr_array(sp.diags_array(np.sqrt(pivot)) @ W), None)
        return _Factored(W, pivot)


class _Factored(Inverse):
    def __init__(self, W: sp.csr_array, pivot: np.ndarray | None):
        self.W, self.pivot = W, pivot
        self._rows = _arrays(W)
        self._columns = _arrays(sp.csr_array(W.T))
        self._y = np.empty(W.shape[0])

    def apply(self, r, out):
        _csr_apply(self._y, r, *self._rows)
        if self.pivot is not None:
            self._y *= self.pivot
        _csr_apply(out, self._y, *self._columns)
        return out


def _arrays(W: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    W.sort_indices()
    return W.data, W.indices.astype(np.int32), W.indptr.astype(np.int32)
