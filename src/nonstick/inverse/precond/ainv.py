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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...kernels._csr import _csr_apply
from ..base import Inverse, Recipe
from ._ainv import _ainv_rows

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
