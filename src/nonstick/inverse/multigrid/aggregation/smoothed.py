"""Smoothed aggregation (Vaněk, Mandel, Brezina 1996): purely algebraic, no grid needed.

Aggregates follow strong couplings; what they interpolate is smoothed by one damped Jacobi step, P = (I - ω D⁻¹A) T.
Coarse matrices are denser than those of `coarsening`.

It interpolates constants, and is the SAAMG of Takahashi–Batty's tables: V-cycle, SPAI-0 smoothing. A is taken with its
weak couplings lumped into the diagonal. For vector problems see `near_null`.

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
from ._coarse_matrix import _drop_weak, _gather_aggregates


@dataclass(frozen=True)
class Smoothed(Stepwise):
    """Smoothed aggregation for constants.

    Parameters
    ----------
    theta : float
        The threshold of strong couplings on the finest level, halved on each coarser one.
    omega : float
        The step that smooths P.
    stale : float
        The largest change of the free set, as a part of the unknowns, that does not rebuild the hierarchy.
    """

    theta: float = 0.08
    omega: float = 2 / 3
    stale: float = 0.05

    def coarsen(self, A, depth):
        M = A.matrix()
        entries, parent, count = self._aggregates(M, M.data.copy(), M.diagonal(), depth)
        if count == 0 or count == A.n:
            return None
        P = self._prolongation(M, entries, parent, count)
        return CSROperator(sp.csr_array(P.T @ (M @ P))), self._transfer(P, parent, A.free, depth)

    def _aggregates(self, M: sp.csr_array, entries: np.ndarray, d: np.ndarray, depth: int):
        """The entries of M without weak ones, the aggregate of each row, and the number of aggregates."""
        _drop_weak(entries, M.indices, M.indptr, d, self.theta / 2**depth)
        parent = np.empty(M.shape[0], np.int32)
        return entries, parent, _gather_aggregates(parent, entries, M.indices, M.indptr)

    def _prolongation(self, M, entries, parent, count) -> sp.csr_array:
        """(I - omega D_F⁻¹ A_F) T, where A_F has no weak couplings: they are added to its diagonal D_F."""
        rows, d = np.flatnonzero(parent >= 0), M.diagonal()
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

    def _transfer(self, P: sp.csr_array, parent: np.ndarray, free: np.ndarray | None, depth: int) -> MatrixTransfer:
        """The transfer of P; that of the finest level notes the free set it was made for."""
        transfer = MatrixTransfer(P, 1.0, parent)
        if depth == 0:
            transfer.built_for = None if free is None else free.copy()
            transfer.truncate(free)
        return transfer

    def can_refresh(self, operator, levels):
        if operator.shift is not None or len(levels) < 2:
            return False
        free, built = operator.free, levels[0].transfer.built_for
        if free is None or built is None:  # the first contact may be what holds a body
            return free is built or (built is None and bool(free.all()))
        # A row that was clamped when the hierarchy was built has no row in P.
        return np.count_nonzero(free != built) <= self.stale * operator.n

    def refresh(self, A, depth, coarse, transfer):
        if depth == 0:
            transfer.truncate(A.free)
        return coarse, transfer
