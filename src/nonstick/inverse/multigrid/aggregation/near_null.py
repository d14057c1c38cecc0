"""Smoothed aggregation that interpolates given vectors B, for vector problems (Vaněk, Mandel, Brezina 1996).

The smooth errors of elasticity are the rigid-body modes: three in the plane, six in space. Nodes (the unknowns of one
point) are gathered into aggregates along strong couplings. On each, B becomes the columns of T by orthogonalisation, so
that T B_coarse = B, and one damped Jacobi step smooths it: P = (I - ω D⁻¹A) T. A coarse node has as many unknowns as
there are vectors.

All of that belongs to the whole matrix. A free set F leaves P as it is and clears its clamped rows: the coarse matrices
are those of F P, exactly, and where F changes only the coarse rows near it are computed again. Iterations are then
those of the linear problem, whatever the contact. A body that nothing holds has a singular matrix; the pseudo-inverse
on the coarsest level leaves its rigid modes alone, and the bounds decide about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from ....core import rounding
from ....operators.base import Operator
from ....operators.csr import CSROperator
from ....operators.transfer import MatrixTransfer
from ..hierarchy import Stepwise
from ._coarse_matrix import _drop_weak, _gather_aggregates
from ._near_null import _link_nodes, _make_orthonormal, _multiply_galerkin, _smooth


@dataclass(frozen=True)
class NearNull(Stepwise):
    """For operators that know their near-null vectors (`nonstick.solve(…, near_null=…)`, or `nodes=…`).

    Parameters
    ----------
    theta : float
        The threshold of strong couplings between nodes on the finest level, halved on each coarser one.
    omega : float
        The step that smooths P, in units of 1/ρ(D⁻¹A).

    Examples
    --------
    >>> from nonstick.inverse import Multigrid, NearNull
    >>> from nonstick.operators.csr import CSROperator
    >>> Multigrid(NearNull()).fits(CSROperator([[2.0, -1.0], [-1.0, 2.0]]))
    False
    """

    theta: float = 0.08
    omega: float = 4 / 3

    def fits(self, A):
        return A.has_entries and getattr(A.core, "near_null", None) is not None

    def coarsen(self, A, depth):
        M, B = _entries(A), A.core.near_null
        width = A.n // (int(A.core.node.max()) + 1)
        links = node_links(M, width)
        strong = np.sqrt(links.data)
        _drop_weak(strong, links.indices, links.indptr, np.sqrt(links.diagonal()), self.theta / 2**depth)
        parent = np.empty(links.shape[0], np.int32)
        count, k = _gather_aggregates(parent, strong, links.indices, links.indptr), B.shape[1]
        if count == 0 or count * k >= A.n:
            return None
        T, coarse_B = tentative(B, np.repeat(parent, width), count)
        d = M.diagonal()
        scale = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0.0)
        step = self.omega / spectral_radius(M, scale) * scale
        transfer = NodeTransfer(M, links, T, parent, count, step)
        return transfer.coarse(A, depth, np.ones(parent.size, bool), coarse_B), transfer

    def can_refresh(self, operator, levels):
        return operator.shift is None and levels[0].A.shift is None

    def refresh(self, A, depth, coarse, transfer):
        changed = transfer.differs(A.free) if depth == 0 else A.changed
        return transfer.coarse(A, depth, changed, coarse.near_null), transfer


def _entries(A: Operator) -> sp.csr_array:
    """The matrix without regard to a free set: the cycle keeps x = 0 outside."""
    return A.core.matrix() if A.shift is None else A.matrix()


class NodeTransfer(MatrixTransfer):
    """P = T - diag(step) A T, and what makes Pᵀ F A F P again where F has changed."""

    def __init__(self, M: sp.csr_array, links: sp.csr_array, T: np.ndarray, parent, count: int, step: np.ndarray):
        rows = np.flatnonzero(parent >= 0)
        pieces = sp.csr_array((np.ones(rows.size, np.float32), (rows, parent[rows])), shape=(parent.size, count))
        self._links = sp.csr_array((np.ones(links.nnz, np.float32), links.indices, links.indptr), shape=links.shape)
        #: which aggregates a node is interpolated from
        self._reach = _pattern(self._links @ pieces)
        self._back = sp.csr_array(self._reach.T)
        width, k = T.shape[0] // parent.size, T.shape[1]
        P = blocks(self._reach, width, k)
        slot = np.empty(count, np.int32)
        _smooth(P.data, self._reach.indices, self._reach.indptr, slot, T, parent, step, M.data, M.indices, M.indptr)
        super().__init__(P, 1.0, np.repeat(k * np.maximum(parent, 0), width))
        product = self._links @ self._reach
        most = int(np.diff(product.indptr).max(initial=0))
        self._pattern = _pattern(self._back @ product)
        self._coarse = blocks(self._pattern, k, k)
        self._work = np.full(count, -1, np.int32), np.empty(most, np.int32), np.empty((most, width, k))

    def differs(self, free: np.ndarray | None) -> np.ndarray:
        """The nodes of which a row is free now and was not, or was and is not."""
        changed = np.zeros(self.n_fine, bool)
        before = self._free
        if before.size and free is not None:
            np.not_equal(before, free, out=changed)
        elif before.size or free is not None:
            np.logical_not(before if free is None else free, out=changed)
        return np.logical_or.reduce(changed.reshape(self._links.shape[0], -1), axis=1)

    def coarse(self, A: Operator, depth: int, changed: np.ndarray, near_null: np.ndarray) -> CoarseNodes:
        """The coarse operator after the rows of the nodes `changed` have."""
        if depth == 0:  # a column of A changes with its row
            self.truncate(A.free)
            changed = self._links @ changed.astype(np.float32) > 0.0
        wanted = self._back @ changed.astype(np.float32) > 0.0
        nodes = np.flatnonzero(self._reach @ wanted.astype(np.float32))
        M, C, reach, pattern = _entries(A), self._coarse, self._reach, self._pattern
        if nodes.size:
            places = pattern.indices, pattern.indptr, wanted, nodes, self._free, *self._work
            entries = M.data, M.indices, M.indptr
            _multiply_galerkin(C.data, *places, entries, self._P.data, reach.indices, reach.indptr)
        return CoarseNodes(C, near_null, wanted)


class CoarseNodes(CSROperator):
    """A coarse matrix, its near-null vectors, and which of its nodes have other rows than before."""

    def __init__(self, M: sp.csr_array, near_null: np.ndarray, changed: np.ndarray):
        super().__init__(M)
        self.near_null, self.changed = near_null, changed
        self.node = np.repeat(np.arange(changed.size), near_null.shape[1])


def _pattern(M: sp.csr_array) -> sp.csr_array:
    """Ones where M has entries, in sorted rows."""
    M.sort_indices()
    return sp.csr_array((np.ones(M.nnz, np.float32), M.indices, M.indptr), shape=M.shape)


def blocks(pattern: sp.csr_array, height: int, width: int) -> sp.csr_array:
    """Zeros in the place of full blocks of height × width entries."""
    count = np.diff(pattern.indptr)
    row = np.repeat(count, height) * width
    indptr = np.zeros(height * count.size + 1, np.int32)
    np.cumsum(row, out=indptr[1:])
    wide = (pattern.indices[:, None] * width + np.arange(width, dtype=np.int32)).astype(np.int32).ravel()
    begin = np.repeat(width * pattern.indptr[:-1].astype(np.int64), height)
    indices = wide[np.repeat(begin - indptr[:-1], row) + np.arange(indptr[-1])]
    M = sp.csr_array((np.zeros(indices.size), indices, indptr), shape=(height * count.size, width * pattern.shape[1]))
    M.has_canonical_format = True
    return M


def node_links(M: sp.csr_array, width: int) -> sp.csr_array:
    """The sum of the squares of the entries between nodes of `width` unknowns."""
    n = M.shape[0] // width
    link = partial(_link_nodes, width=width, data=M.data, indices=M.indices, starts=M.indptr)
    indptr, none = np.zeros(n + 1, np.int32), np.empty(0)
    count = link(none, np.empty(0, np.int32), indptr, np.full(n, -1))
    values, columns = np.empty(count), np.empty(count, np.int32)
    link(values, columns, indptr, np.full(n, -1))
    links = sp.csr_array((values, columns, indptr), shape=(n, n))
    links.sort_indices()
    return links


def tentative(B: np.ndarray, parent: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """T with orthonormal columns on each aggregate, and the coarse vectors R, with T R = B where a row has a parent.

    T has the rows of B; a row without a parent is zero.
    """
    rows = np.argsort(parent, kind="stable")
    rows = rows[np.searchsorted(parent[rows], 0) :]
    first = np.searchsorted(parent[rows], np.arange(count + 1))
    T, R = np.where(parent[:, None] >= 0, B, 0.0), np.zeros((count, B.shape[1], B.shape[1]))
    _make_orthonormal(T, R, rows, first, rounding.HALF)
    return T, R.reshape(-1, B.shape[1])


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
