"""Modified incomplete Cholesky without fill, MIC(0), with Bridson's tuning and safety (SIGGRAPH course, 2007).

On a stencil operator, also a masked or shifted one, no matrix is assembled: the factor is one number per unknown.
Any other operator is factored from its CSR entries. `MIC(tuning=0)` is IC(0).

ILU(0): the incomplete factor on the pattern of A, the preconditioner of Lai's PCG.

For a symmetric A, ILU(0) is the root-free IC(0): `A ≈ (E + U)ᵀ E⁻¹ (E + U)`, and conjugate gradients may use it. For
other matrices it is `A ≈ (I + L) (E + U)`, for BiCGStab and GMRES. On M-matrices every pivot is positive; on other
matrices a pivot that vanishes is replaced by the diagonal.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...core import rounding
from ...operators.base import Operator
from ..base import Inverse, Recipe
from ._incomplete import (
    _csr_factor,
    _csr_substitute,
    _lu_factor,
    _lu_substitute,
    _stencil_factor,
    _stencil_substitute,
)


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
