"""A diagonal scaling that makes constants smooth: S with (S A S) 1 ≈ 0 where A lets it be.

Aggregation interpolates constants. They are smooth errors of a discretised operator, but not of D·A·D: there D⁻¹1 is.
The diagonal of S is found from the matrix: 1 if the row sums show that it fits, else 1/sqrt(diagonal) relaxed towards
A s = 0 by a few sweeps, which is right for every D on every scale that a few sweeps reach.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from . import _near_null as kernels

#: row sums below minus this part of the diagonal speak against constants
NEGATIVE = 0.01
#: the part of the rows that may do so
FEW = 0.02
SWEEPS = 8


def near_null(M: sp.csr_array) -> np.ndarray:
    """The diagonal of S, scaled so that the largest diagonal of S A S is 1."""
    d = M.diagonal()
    live = d > 0.0
    s = np.ones(d.size)
    if _against(M, d, s) > FEW:
        other = np.divide(1.0, np.sqrt(d, where=live, out=np.ones(d.size)), where=live, out=np.ones(d.size))
        if _against(M, d, other) < _against(M, d, s):
            s = other
        for _ in range(SWEEPS):
            kernels._relax(s, d, M.data, M.indices, M.indptr)
    top = float((s * s * d).max(initial=0.0))
    return s / np.sqrt(top) if 0.0 < top < np.inf else s


def _against(M: sp.csr_array, d: np.ndarray, s: np.ndarray) -> float:
    """The part of the rows in which (A s)_i is clearly negative."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.count_nonzero(M @ s < -NEGATIVE * d * s)) / max(1, d.size)


def off_diagonals(M: sp.csr_array) -> np.ndarray:
    """The number of stored entries off the diagonal, for each row."""
    count = np.empty(M.shape[0], np.int64)
    kernels._count_off_diagonals(count, M.indices, M.indptr)
    return count
