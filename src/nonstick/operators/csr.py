"""Any sparse matrix as an operator."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..core.validate import FEW_ZEROS
from ..kernels._csr import _csr_apply, _csr_magnitude, _csr_residual, _dense_apply
from .base import Operator


class Pattern:
    """Stands for the places of the entries of a matrix."""


class CSROperator(Operator):
    """Wraps a `scipy.sparse` matrix; `cells` (n, d), if given, makes geometric methods possible.

    `symmetric` says whether A = Aᵀ. It is not checked here.
    """

    diagonal: np.ndarray
    cells: np.ndarray | None

    def __init__(self, A, cells: np.ndarray | None = None, symmetric: bool = True):
        if not (isinstance(A, sp.csr_array) and A.dtype == np.float64 and A.has_canonical_format):
            A = sp.csr_array(A, dtype=np.float64)
            A.sum_duplicates()
        if A.indices.dtype != np.int32 and A.nnz < 2**31:  # SciPy gives either; one width needs one compilation
            A = sp.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
        self._A = A
        self._pattern: object = Pattern()
        self.n = A.shape[0]
        self.diagonal = A.diagonal()
        self.cells = cells
        self.symmetric = symmetric
        #: colour of each row, so that coupled rows have different colours; None if the maker of the matrix did not give
        #: it
        self.colour: np.ndarray | None = None
        #: vectors that A nearly annihilates, as columns, and the node that each unknown belongs to; None if not given
        self.near_null: np.ndarray | None = None
        self.node: np.ndarray | None = None

    @cached_property
    def full(self) -> np.ndarray | None:
        """All n² numbers of a matrix with few zeros, whose rows are then multiplied without looking up columns."""
        return self._A.toarray() if self._A.nnz > FEW_ZEROS * float(self.n) ** 2 else None

    @property
    def pattern(self) -> object:
        return self._pattern

    def share_pattern(self, other: Operator) -> None:
        """Say that the entries of another operator are in the same places."""
        self._pattern = other.pattern

    def apply(self, x, out):
        if self.full is not None:
            _dense_apply(out, x, self.full)
            return out
        _csr_apply(out, x, self._A.data, self._A.indices, self._A.indptr)
        return out

    def residual(self, b, x, out):
        _csr_residual(out, b, x, self._A.data, self._A.indices, self._A.indptr)
        return out

    def magnitude(self, x, out):
        _csr_magnitude(out, x, self._A.data, self._A.indices, self._A.indptr)
        return out

    def matrix(self) -> sp.csr_array:
        return self._A

    def part(self, rows):
        return CSROperator(self._A[rows][:, rows], symmetric=self.symmetric)

    def plus_diagonal(self, shift):
        M = self._A
        places = np.flatnonzero(M.indices == np.repeat(np.arange(self.n, dtype=M.indices.dtype), np.diff(M.indptr)))
        if places.size < self.n:  # some have no place
            return CSROperator(M + sp.diags_array(shift), self.cells, self.symmetric)
        data = M.data.copy()
        data[places] += shift
        out = CSROperator(sp.csr_array((data, M.indices, M.indptr), shape=M.shape), self.cells, self.symmetric)
        out.share_pattern(self)
        return out
