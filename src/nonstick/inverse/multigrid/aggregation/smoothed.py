"""Smoothed aggregation (Vaněk, Mandel, Brezina 1996): purely algebraic, no grid needed.

Aggregates follow strong couplings; piecewise constants on them are smoothed by one damped Jacobi step,
`P = (I - omega D⁻¹ A_F) T`, with A_F the matrix whose weak couplings are lumped into the diagonal. This is the
SAAMG of Takahashi–Batty's tables: V-cycle, SPAI-0 smoothing. Coarse matrices are denser than those of `aggregation`.

A shift of the diagonal changes which couplings are strong, so the hierarchy is rebuilt for it. Rows with a large shift
are then not on the coarse levels. If the free set differs little from that of the hierarchy, only the finest level is
updated: its smoother and the rows of P. Coarse matrices do not change; the cycle remains symmetric and positive
definite in the face.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....operators.csr import CSROperator
from ....operators.transfer import MatrixTransfer
from ..hierarchy import Stepwise
from ._merge import _drop_weak, _gather_aggregates


@dataclass(frozen=True)
class Smoothed(Stepwise):
    """`theta` is the threshold of strong couplings on the finest level, halved on each coarser one."""

    theta: float = 0.08
    omega: float = 2 / 3
    #: largest change of the free set, as a fraction of the unknowns, that does not rebuild the hierarchy
    stale: float = 0.05

    def coarsen(self, A, depth):
        M = A.matrix()
        d = M.diagonal()
        entries = M.data.copy()
        _drop_weak(entries, M.indices, M.indptr, d, self.theta / 2**depth)
        parent = np.empty(A.n, np.int32)
        count = _gather_aggregates(parent, entries, M.indices, M.indptr)
        if count == 0 or count == A.n:
            return None
        P = self._prolongation(M, entries, d, parent, count)
        coarse = sp.csr_array(P.T @ (M @ P))
        transfer = MatrixTransfer(P, 1.0, parent)
        if depth == 0:
            free = A.free
            transfer.built_for = None if free is None else free.copy()
            transfer.truncate(free)
        return CSROperator(coarse), transfer

    def _prolongation(self, M, entries, d, parent, count) -> sp.csr_array:
        """(I - omega D_F⁻¹ A_F) T, where D_F is the diagonal with the weak couplings added."""
        rows = np.flatnonzero(parent >= 0)
        T = sp.csr_array((np.ones(rows.size), (rows, parent[rows])), shape=(parent.size, count))
        filtered = sp.csr_array((entries, M.indices, M.indptr), shape=M.shape)
        weak = np.asarray(M.sum(axis=1)).ravel() - np.asarray(filtered.sum(axis=1)).ravel()
        lumped = d + weak
        scale = np.divide(self.omega, lumped, out=np.zeros_like(d), where=lumped > 0.0)
        step = sp.diags_array(scale) @ (filtered + sp.diags_array(weak))
        P = sp.csr_array(T - sp.csr_array(step) @ T)
        P.eliminate_zeros()
        P.sort_indices()
        return P

    def can_refresh(self, operator, levels):
        if operator.shift is not None or len(levels) < 2:
            return False
        free = operator.free
        built = levels[0].transfer.built_for
        if free is None or built is None:
            return free is built
        # A row that was clamped when the hierarchy was built has no row in P.
        return np.count_nonzero(free != built) <= self.stale * operator.n

    def refresh(self, A, depth, coarse, transfer):
        if depth == 0:
            transfer.truncate(A.free)
        return coarse, transfer
