"""A diagonal scaling that makes constants smooth: S with (S A S) 1 ≈ 0 where A lets it be.

Aggregation interpolates constants. They are smooth errors of a discretised operator, but not of D·A·D: there D⁻¹1 is.
The diagonal of S is found from the matrix: 1 if the row sums show that it fits, else 1/sqrt(diagonal), which fits
D·A·D if the diagonal of A is constant. If it does not fit, it is relaxed towards A s = 0 by sweeps, which is right for
every D on every scale that the sweeps reach. Matrices that no positive s fits keep constants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....core import rounding
from ....operators.base import Operator, once_for_an_operator, row_sums
from . import _matrix as kernels


@dataclass(frozen=True)
class AlgebraicSettings:
    """What decides how an algebraic hierarchy is built; `docs/explanation/settings.md` says what each is worth."""

    #: a small part: of the rows, those that may break a rule (speak against constants, be unlike those of an M-matrix,
    #: or differ from the set for which coarse rows were chosen; above it, coarse matrices are filled as a whole); of a
    #: row's diagonal, a negative sum that speaks against constants; of all couplings of the median row, positive ones
    #: that matter
    few: float = 0.02
    #: sweeps that relax a scaling, unless no row speaks against it
    sweeps: int = 160
    #: the first coarse rows are chosen sparsely if there would be more than this part of the rows, and rows have more
    #: than `all_around` strong couplings in the mean: all directions are strong, and one step may coarsen them all.
    #: (Coarse levels of a rotated anisotropy look like that too, and need more rows: 14 iterations in place of 12 at
    #: 400².)
    dense: float = 0.4
    all_around: float = 5.0
    #: if positive couplings matter on the finest level, `cut` is multiplied by this, and in the sweep on P by the
    #: second number; below, more entries of P would cost more than they gain
    finer: float = 0.5
    finest: float = 0.2


SETTINGS = AlgebraicSettings()


@once_for_an_operator
def near_null(A: Operator) -> np.ndarray:
    """The diagonal of S, scaled so that the largest diagonal of S A S is 1; constant if no other one is better."""
    M, d = A.matrix(), A.diagonal
    s = np.ones(d.size)
    doubt = _against(M, d, s)
    if doubt > SETTINGS.few:
        other = np.divide(1.0, np.sqrt(d, where=d > 0.0, out=np.ones(d.size)))
        found, left = _relaxed(M, d, min((s, other), key=lambda v: _against(M, d, v)))
        if 2.0 * left < doubt:
            s = found
    top = float((s * s * d).max(initial=0.0))
    return s / np.sqrt(top) if 0.0 < top < np.inf else s


def in_other_units(A: Operator) -> bool:
    """True if row sums say that constants are not near-null; asked of an operator, without its entries."""
    return bool(np.count_nonzero(row_sums(A) < -SETTINGS.few * A.diagonal) > SETTINGS.few * A.n)


def _relaxed(M: sp.csr_array, d: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
    """The best s on the way from a first one towards A s = 0, and the part of the rows against it.

    If the first one fits, it is best: with positive couplings, sweeps may lead to an s that is not positive. If it
    does not fit, because A jumps, many sweeps are needed to carry the scale of one region to the next.
    """
    least, now = rounding.VANISHED * s, s.copy()
    best, left = s, _against(M, d, s)
    relaxed = np.where(d * s > rounding.HELD * (abs(M) @ s - d * s), 0.0, d)
    for _ in range(SETTINGS.sweeps if left > 0.0 else 0):
        kernels._relax(now, least, relaxed, M.data, M.indices, M.indptr)
        if not (np.isfinite(now).all() and (now > least).all()):
            break
        part = _against(M, d, now)
        if part <= left:
            best, left = now.copy(), part
    return best, left


def _against(M: sp.csr_array, d: np.ndarray, s: np.ndarray) -> float:
    """The part of the rows in which (A s)_i is clearly negative."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.count_nonzero(M @ s < -SETTINGS.few * d * s)) / max(1, d.size)


def off_diagonals(M: sp.csr_array) -> np.ndarray:
    """The number of stored entries off the diagonal, for each row."""
    count = np.empty(M.shape[0], np.int64)
    kernels._count_off_diagonals(count, M.indices, M.indptr)
    return count
