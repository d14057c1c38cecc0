"""Transfer of vectors between two levels: `restrict`, `prolong`, `restrict_bounds`.

Restriction is always a multiple of the transpose of prolongation, `R = scale·Pᵀ`, so that Galerkin
coarse operators `R A P` are symmetric and a symmetric cycle stays symmetric. A transfer can be
*truncated* to a free set: the rows of P outside it are treated as zero, and P is not changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._vectors import _children, _copy_parent, _gather, _interpolate, _restrict_bounds, _sum_children

_ALL = np.empty(0, np.bool_)


class Transfer(ABC):
    """Between `n_fine` and `n_coarse` unknowns."""

    n_fine: int
    n_coarse: int
    #: coarse unknown whose cell contains each fine unknown (int32), -1 where there is none
    parent: np.ndarray
    #: R = scale · Pᵀ
    scale: float
    _free: np.ndarray = _ALL
    #: what an aggregation was made for: its operator or its free set
    built_for: Any = None

    @abstractmethod
    def restrict(self, fine: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = R fine"""

    @abstractmethod
    def prolong(self, coarse: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = P coarse"""

    @abstractmethod
    def prolong_add(self, coarse: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x += P coarse"""

    def restrict_bounds(self, lower, upper, x, out_lower, out_upper) -> None:
        """Bounds of a coarse correction to x: max over children of lower - x, min of upper - x."""
        _restrict_bounds(out_lower, out_upper, lower, upper, x, self.parent)

    @abstractmethod
    def matrix(self) -> sp.csr_array:
        """P, truncated rows zero."""

    def truncate(self, free: np.ndarray | None) -> Transfer:
        """Treat the rows of P outside `free` as zero from now on; None undoes it."""
        self._free = _ALL if free is None else np.ascontiguousarray(free, dtype=np.bool_)
        return self


class MatrixTransfer(Transfer):
    """An interpolation matrix P (n_fine × n_coarse)."""

    def __init__(self, P, scale: float, parent: np.ndarray):
        P = sp.csr_array(P, dtype=np.float64)
        P.sort_indices()
        self._P = P
        self._Pt = sp.csr_array(P.T)
        self._Pt.sort_indices()
        self.n_fine, self.n_coarse = P.shape
        self.scale = scale
        self.parent = np.ascontiguousarray(parent, dtype=np.int32)

    def restrict(self, fine, out):
        _gather(out, fine, self._Pt.data, self._Pt.indices, self._Pt.indptr, self._free, self.scale)
        return out

    def prolong(self, coarse, out):
        _interpolate(out, coarse, self._P.data, self._P.indices, self._P.indptr, self._free, False)
        return out

    def prolong_add(self, coarse, x):
        _interpolate(x, coarse, self._P.data, self._P.indices, self._P.indptr, self._free, True)
        return x

    def whole(self) -> tuple[sp.csr_array, sp.csr_array]:
        """P and Pᵀ without truncation."""
        return self._P, self._Pt

    def matrix(self):
        if self._free.size == 0:
            return self._P
        rows = np.repeat(self._free, np.diff(self._P.indptr))
        P = sp.csr_array((self._P.data * rows, self._P.indices, self._P.indptr), shape=self._P.shape, copy=True)
        P.eliminate_zeros()
        return P


class AggregateTransfer(Transfer):
    """Piecewise constant: each fine unknown belongs to one coarse unknown or to none; R = Pᵀ unless scaled."""

    def __init__(self, parent: np.ndarray, n_coarse: int, scale: float = 1.0):
        self.parent = np.ascontiguousarray(parent, dtype=np.int32)
        self.n_fine, self.n_coarse, self.scale = self.parent.size, n_coarse, scale
        self._first = np.empty(n_coarse + 1, np.int32)
        self._child = np.empty(self.n_fine, np.int32)
        _children(self._first, self._child, self.parent)

    def restrict(self, fine, out):
        _sum_children(out, fine, self._first, self._child, self._free, self.scale)
        return out

    def prolong(self, coarse, out):
        _copy_parent(out, coarse, self.parent, self._free, False)
        return out

    def prolong_add(self, coarse, x):
        _copy_parent(x, coarse, self.parent, self._free, True)
        return x

    def matrix(self):
        live = self.parent >= 0
        if self._free.size:
            live = live & self._free
        rows = np.flatnonzero(live)
        entries = (np.ones(rows.size), (rows, self.parent[rows]))
        return sp.csr_array(sp.coo_array(entries, shape=(self.n_fine, self.n_coarse)))
