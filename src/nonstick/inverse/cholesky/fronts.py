"""The symbolic part: everything about a factor that follows from the pattern of the matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...operators.base import Operator, once_for_a_pattern
from ._symbolic import (
    _count_rows,
    _elimination_tree,
    _gather_alike,
    _gather_columns,
    _list_rows,
    _postorder,
)

#: free sets that a solve goes through, at least: contact problems have 5 to 15
CHANGES = 5
#: matrices with more than this part of all places filled fill up before long, in any order
FULL = 0.3


class Fronts(NamedTuple):
    """The order of elimination, and the fronts: columns `first[s]:first[s + 1]`, rows `rows[start[s]:start[s + 1]]`.

    Kernels take it as it is.
    """

    order: np.ndarray
    place: np.ndarray
    first: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    parent: np.ndarray
    #: where the columns of each front begin in the factor
    panel: np.ndarray
    #: numbers on the stack of updates at most
    stack: int
    #: the first front with rows that may be clamped
    last: int

    @property
    def entries(self) -> int:
        """Numbers in the factor."""
        return int(self.panel[-1])

    @property
    def cost(self) -> np.ndarray:
        """Multiplications and additions of every front."""
        wide, tall = np.diff(self.first).astype(float), np.diff(self.start).astype(float)
        return np.asarray(wide**3 / 3 + wide**2 * tall + wide * tall**2)

    @property
    def operations(self) -> float:
        """Multiplications and additions of a factorisation."""
        return float(self.cost.sum())


def fronts(A: Operator, clampable: np.ndarray | None = None) -> Fronts:
    """The fronts of the matrix of an operator, for every free set.

    Rows that may be clamped are eliminated last if there are so few of them that this saves work: then a change of the
    free set concerns the last fronts only.
    """
    whole = _fronts(A)
    if clampable is None or not 0 < np.count_nonzero(clampable) < A.n // 4:
        return whole
    part = _made(*_points(A), clampable)
    late = part.cost[part.last :].sum()
    return part if part.operations + CHANGES * late < CHANGES * whole.operations else whole


@once_for_a_pattern
def _fronts(A: Operator) -> Fronts:
    return _made(*_points(A))


@once_for_a_pattern
def _points(A: Operator) -> tuple[np.ndarray, sp.csr_array, np.ndarray]:
    """The point of each unknown, the couplings of points, and an order of elimination for them.

    A matrix that is nearly full is one point.
    """
    M, n = A.matrix(), A.n
    if M.nnz > FULL * n**2:
        return np.zeros(n, np.int64), sp.csr_array(np.ones((1, 1), np.float32)), np.zeros(1, np.int64)
    Q = _pattern(M)
    group = np.empty(n, np.int64)
    count = _gather_alike(group, Q.indices, Q.indptr)
    if count < n:
        E = sp.csr_array((np.ones(n, np.float32), (np.arange(n), group)), shape=(n, count))
        Q = sp.csr_array(E.T @ Q @ E)
        Q.sort_indices()
    return group, Q, minimum_degree(Q)


def _made(group: np.ndarray, Q: sp.csr_array, order: np.ndarray, clampable: np.ndarray | None = None) -> Fronts:
    count, indices, indptr = Q.shape[0], Q.indices, Q.indptr
    weight = np.bincount(group, minlength=count)
    late = np.zeros(count, bool)
    if clampable is not None:
        late[group[clampable]] = True
        order = np.concatenate([order[~late[order]], order[late[order]]])
    early = count - np.count_nonzero(late)
    place = _inverse(order)
    parent, post = np.empty(count, np.int64), np.empty(count, np.int64)
    _elimination_tree(parent, indices, indptr, order, place)
    _postorder(post, parent)
    # Subtrees together, but nothing late before anything early.
    post = np.concatenate([post[post < early], post[post >= early]])
    order = order[post]
    place = _inverse(order)
    _elimination_tree(parent, indices, indptr, order, place)
    number, below, first = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count + 1, np.int64)
    _count_rows(number, below, parent, weight[order], indices, indptr, order, place)
    pieces = _gather_columns(first, parent, below, weight[order], early)
    first = first[: pieces + 1].copy()
    start = np.concatenate([[0], np.cumsum(number[first[1:] - 1])])
    rows, up = np.empty(int(start[-1]), np.int64), np.empty(pieces, np.int64)
    owner = np.repeat(np.arange(pieces), np.diff(first))
    whole = _list_rows(rows, start, owner, up, first, pieces, indices, indptr, order, place)
    assert whole, "the rows of a front are not as many as counted"
    last = int(np.searchsorted(first, early)) if late.any() else 0
    return _of_unknowns(group, weight, order, first, start, rows, up, last)


def _pattern(M: sp.csr_array) -> sp.csr_array:
    """Ones where M or its transpose has an entry, and on the diagonal; rows are sorted."""
    P = sp.csr_array((np.ones(M.nnz, np.float32), M.indices, M.indptr), shape=M.shape)
    T = sp.csr_array(P.T)
    same = np.array_equal(P.indptr, T.indptr) and np.array_equal(P.indices, T.indices)
    if same and np.count_nonzero(M.diagonal()) == M.shape[0]:
        return P  # a transpose in CSR has sorted rows
    P = sp.csr_array(P + T + sp.eye_array(M.shape[0], dtype=np.float32))
    P.sort_indices()
    return P


def _of_unknowns(group, weight, order, first, start, rows, up, last) -> Fronts:
    """The fronts of groups as fronts of unknowns."""
    begin = np.concatenate([[0], np.cumsum(weight[order])])
    members = np.argsort(_inverse(order)[group], kind="stable")
    length = np.diff(begin)[rows]
    each = np.repeat(begin[rows] - np.concatenate([[0], np.cumsum(length)[:-1]]), length) + np.arange(length.sum())
    start = np.concatenate([[0], np.cumsum(length)])[start]
    first = begin[first]
    wide, tall = np.diff(first), np.diff(start)
    panel = np.concatenate([[0], np.cumsum(wide * (wide + tall))])
    return Fronts(members, _inverse(members), first, start, each, up, panel, _largest_stack(tall, up, last), last)


def _largest_stack(tall: np.ndarray, up: np.ndarray, last: int) -> int:
    """What waits on the stack at most, while children lie below the update of their parent."""
    waiting: list[int] = []
    begins = [0]
    most = 0
    sizes, parents = (tall.astype(np.int64) ** 2).tolist(), up.tolist()
    for s, size in enumerate(sizes):
        most = max(most, begins[-1] + size)
        for k in range(len(waiting) - 1, -1, -1):
            if waiting[k] >= 0 and parents[waiting[k]] == s:
                waiting[k] = -1
            elif s < last:
                break
        while waiting and waiting[-1] < 0:
            waiting.pop()
            begins.pop()
        if size:
            waiting.append(s)
            begins.append(begins[-1] + size)
    return most


def minimum_degree(Q: sp.csr_array) -> np.ndarray:
    """An order of elimination with little fill: multiple minimum degree, as SuperLU has it.

    SciPy has no function for it. An incomplete factorisation that keeps nothing is a cheap way to ask SuperLU.
    """
    from scipy.sparse.linalg import spilu  # slow to load

    n = Q.shape[0]
    if n == 0:
        return np.empty(0, np.int64)
    data = np.full(Q.nnz, -1.0)
    row = np.repeat(np.arange(n), np.diff(Q.indptr))
    data[row == Q.indices] = 2.0 * n
    M = sp.csc_array((data, Q.indices, Q.indptr), shape=Q.shape)
    options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    return _inverse(spilu(M, drop_tol=1.0, fill_factor=1.0, **options).perm_c).astype(np.int64)


def _inverse(order: np.ndarray) -> np.ndarray:
    out = np.empty(order.size, np.int64)
    out[order] = np.arange(order.size)
    return out
