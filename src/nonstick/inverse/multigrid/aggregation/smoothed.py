"""Smoothed aggregation (Vaněk, Mandel, Brezina 1996): purely algebraic, no grid needed.

Aggregates follow strong couplings; what they interpolate is smoothed by one damped Jacobi step, P = (I - ω D⁻¹A) T.
Coarse matrices are denser than those of `coarsening`.

- `Smoothed` interpolates constants. It is the SAAMG of Takahashi–Batty's tables: V-cycle, SPAI-0 smoothing. A is taken
  with its weak couplings lumped into the diagonal.
- `NearNull` interpolates given vectors B, for vector problems. The smooth errors of elasticity are the rigid-body
  modes: three in the plane, six in space. Nodes (the unknowns of one point) are gathered into aggregates; on each, B
  becomes the columns of T by a QR factorisation, so that T B_coarse = B. A coarse node has as many unknowns as there
  are vectors. Rows outside the free set are zero in B; if that leaves the columns of an aggregate dependent, a column
  is left out. A body that nothing holds has a singular matrix; the pseudo-inverse on the coarsest level then leaves its
  rigid modes alone, and the bounds decide about them.

A shift of the diagonal changes which couplings are strong, so the hierarchy is rebuilt for it. Rows with a large shift
are then not on the coarse levels. If the free set differs little from that of the hierarchy, only the finest level is
updated: its smoother and the rows of P. Coarse matrices do not change; the cycle remains symmetric and positive
definite in the face.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....core import rounding
from ....operators.csr import CSROperator
from ....operators.transfer import MatrixTransfer
from ..hierarchy import Stepwise
from ._merge import _drop_weak, _gather_aggregates


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


@dataclass(frozen=True)
class NearNull(Smoothed):
    """For operators that know their near-null vectors (`nonstick.solve(…, near_null=…)`, or `nodes=…`).

    `theta` is for couplings between nodes; `omega` is in units of 1/ρ(D⁻¹A).

    Examples
    --------
    >>> from nonstick.inverse import Multigrid, NearNull
    >>> from nonstick.operators.csr import CSROperator
    >>> Multigrid(NearNull()).fits(CSROperator([[2.0, -1.0], [-1.0, 2.0]]))
    False
    """

    omega: float = 4 / 3
    stale: float = 0.002

    def fits(self, A):
        return A.has_entries and getattr(A.core, "near_null", None) is not None

    def coarsen(self, A, depth):
        B, node = A.core.near_null, A.core.node
        M, free = A.matrix(), A.free
        if free is not None:
            B = np.where(free[:, None], B, 0.0)
        E = sp.csr_array((np.ones(A.n), (np.arange(A.n), node)), shape=(A.n, int(node.max()) + 1))
        size = sp.csr_array(E.T @ (M.multiply(M) @ E))
        size.sort_indices()
        _, parent, aggregates = self._aggregates(size, np.sqrt(size.data), np.sqrt(size.diagonal()), depth)
        k = B.shape[1]
        if aggregates == 0 or aggregates * k >= A.n:
            return None
        T, coarse_B = tentative(B, parent[node], aggregates)
        d = M.diagonal()
        scale = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0.0)
        step = self.omega / spectral_radius(M, scale)
        P = sp.csr_array(T - sp.diags_array(step * scale) @ sp.csr_array(M @ T))
        if free is not None:
            P = sp.csr_array(sp.diags_array(free.astype(float)) @ P)
        coarse = sp.csr_array(P.T @ (M @ P))
        empty = coarse.diagonal() <= 0.0
        if empty.any():
            coarse = sp.csr_array(coarse + sp.diags_array(empty.astype(float)))
        below = CSROperator(coarse)
        below.near_null, below.node = coarse_B, np.arange(aggregates * k) // k
        return below, self._transfer(P, k * np.maximum(parent[node], 0), free, depth)


def tentative(B: np.ndarray, parent: np.ndarray, count: int) -> tuple[sp.csr_array, np.ndarray]:
    """T with orthonormal columns on each aggregate, and the coarse vectors R, with T R = B where a row has a parent."""
    n, k = B.shape
    order = np.argsort(parent, kind="stable")
    order = order[np.searchsorted(parent[order], 0) :]
    edges = np.searchsorted(parent[order], np.arange(count + 1))
    values, R = np.zeros((order.size, k)), np.zeros((count, k, k))
    for a in range(count):
        own = slice(edges[a], edges[a + 1])
        part = B[order[own]]
        Q, upper = np.linalg.qr(part)
        kept = np.abs(np.diag(upper)) > rounding.HALF * np.linalg.norm(part, axis=0)[: upper.shape[0]]
        r = kept.size
        values[own, :r] = Q * kept
        R[a, :r] = upper * kept[:, None]
    columns = (parent[order][:, None] * k + np.arange(k)).ravel()
    rows = np.repeat(order, k)
    T = sp.csr_array((values.ravel(), (rows, columns)), shape=(n, count * k))
    T.eliminate_zeros()
    return T, R.reshape(count * k, k)


def spectral_radius(M: sp.csr_array, scale: np.ndarray, steps: int = 12) -> float:
    """The largest eigenvalue of diag(scale) M, by power iteration."""
    x, value = np.random.default_rng(0).standard_normal(scale.size), 1.0
    for _ in range(steps):
        x = scale * (M @ x)
        value = float(np.linalg.norm(x))
        if not value > 0.0:
            return 1.0
        x /= value
    return 1.1 * value
