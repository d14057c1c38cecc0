"""Smoothed aggregation with several near-null vectors (Vaněk, Mandel, Brezina 1996), for vector problems.

The smooth errors of elasticity are the rigid-body modes: three in the plane, six in space. Nodes (the unknowns of one
point) are gathered into aggregates; on each the given vectors B become the columns of T by a QR factorisation, so that
T B_coarse = B, and P = (I - ω D⁻¹A) T is smoother. A coarse node has as many unknowns as there are vectors.

Rows outside the free set are zero in B. If that leaves the columns of an aggregate dependent, a column is left out.
A body that nothing holds has a singular matrix; the pseudo-inverse on the coarsest level then leaves its rigid modes
alone, and the bounds decide about them.
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
class NearNull(Stepwise):
    """For operators that know their near-null vectors (`nonstick.solve(…, near_null=…)`, or `nodes=…`).

    Parameters
    ----------
    theta : float
        The threshold of strong couplings between nodes, halved on each coarser level.
    omega : float
        The step that smooths P, in units of 1/ρ(D⁻¹A).
    stale : float
        The largest change of the free set, as a part of the unknowns, that does not rebuild the hierarchy.

    Examples
    --------
    >>> from nonstick.inverse import Multigrid, NearNull
    >>> from nonstick.operators.csr import CSROperator
    >>> Multigrid(NearNull()).fits(CSROperator([[2.0, -1.0], [-1.0, 2.0]]))
    False
    """

    theta: float = 0.08
    omega: float = 4 / 3
    stale: float = 0.002

    def fits(self, A):
        return A.has_entries and getattr(A.core, "near_null", None) is not None

    def coarsen(self, A, depth):
        core = A.core
        B, node = core.near_null, core.node
        M, free = A.matrix(), A.free
        if free is not None:
            B = np.where(free[:, None], B, 0.0)
        count = int(node.max()) + 1
        E = sp.csr_array((np.ones(A.n), (np.arange(A.n), node)), shape=(A.n, count))
        size = sp.csr_array(E.T @ (M.multiply(M) @ E))
        size.sort_indices()
        entries = np.sqrt(size.data)
        _drop_weak(entries, size.indices, size.indptr, np.sqrt(size.diagonal()), self.theta / 2**depth)
        parent = np.empty(count, np.int32)
        aggregates = _gather_aggregates(parent, entries, size.indices, size.indptr)
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
        transfer = MatrixTransfer(P, 1.0, k * np.maximum(parent[node], 0))
        if depth == 0:
            transfer.built_for = None if free is None else free.copy()
            transfer.truncate(free)
        below = CSROperator(coarse)
        below.near_null, below.node = coarse_B, np.arange(aggregates * k) // k
        return below, transfer

    def can_refresh(self, operator, levels):
        if operator.shift is not None or len(levels) < 2:
            return False
        free, built = operator.free, levels[0].transfer.built_for
        if free is None or built is None:  # the first contact may be what holds a body
            return free is built or (built is None and bool(free.all()))
        return np.count_nonzero(free != built) <= self.stale * operator.n

    def refresh(self, A, depth, coarse, transfer):
        if depth == 0:
            transfer.truncate(A.free)
        return coarse, transfer


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
