"""ILU(0): the incomplete factor on the pattern of A, the preconditioner of Lai's PCG.

For a symmetric A, ILU(0) is the root-free IC(0): `A ≈ (E + U)ᵀ E⁻¹ (E + U)`, and conjugate gradients may use it. For
other matrices it is `A ≈ (I + L) (E + U)`, for BiCGStab and GMRES. On M-matrices every pivot is positive; on other
matrices a pivot that vanishes is replaced by the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...operators.base import Operator
from ..base import Recipe
from ._ilu import _lu_factor, _lu_substitute
from .mic import IncompleteFactor, factor

# A singular component whose graph is a tree is factored exactly, and its last pivot has the size of rounding errors.
VANISHED = 1e-10


@dataclass(frozen=True)
class ILU(Recipe):
    """ILU without fill; on stencil operators no matrix is assembled."""

    def setup(self, operator, reuse=None):
        if operator.symmetric:
            return factor(operator, 0.0, VANISHED, reuse)
        inverse = reuse if reuse is not None and reuse.base is operator.core else _LU(operator.core)
        return inverse.refresh(operator.diagonal, operator.free, 0.0, VANISHED)


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
