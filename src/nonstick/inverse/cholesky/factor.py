"""`z = (A + shift diag(A))⁻¹ r` on a free set, by the fronts of A, with BLAS on one thread.

OpenBLAS gives a front to as many threads as there are cores. Fronts are small: on a busy computer the threads wait for
each other far longer than the work takes, and how the sums are split decides about last bits. SciPy's BLAS is a library
of its own, beside that of NumPy, so nobody else waits meanwhile but SciPy's own dense routines.

`Fronts` is the symbolic part: everything about a factor that follows from the pattern of the matrix.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core import rounding
from ...core.validate import FEW_ZEROS
from ...operators.base import Operator, once_for_a_pattern
from ..base import Inverse
from ._fronts import Blas, _factor, _substitute
from ._symbolic import (
    _count_rows,
    _elimination_tree,
    _gather_alike,
    _gather_columns,
    _largest_stack,
    _list_rows,
    _postorder,
)


class CholeskyFactor(Inverse):
    """The factor of one operator; `refill` makes that of another free set or shift in the same memory.

    An unknown whose pivot vanishes stays zero: it depends on those before it, as in a body that nothing holds.
    """

    def __init__(self, operator: Operator, shift: float, least: float = rounding.DIGITS):
        self.core, self._shift, self._least = operator.core, shift, least
        f = self._fronts = fronts(self.core, operator.clampable)
        tallest = int(np.diff(f.start).max(initial=0))
        self._L, self._x, self._work = np.empty(f.entries), np.empty(operator.n), np.empty(max(tallest, 1))
        letters, numbers = np.frombuffer(b"LNTR", np.uint8).copy(), np.array([1.0, -1.0, 0.0])
        self._blas = Blas(letters, numbers, np.array([0, 0, 0, 0, 1], np.int32))
        self._waiting, self._begins = np.zeros((2, f.first.size + 1), np.int64)
        #: what the fronts without clampable rows leave on the stack, how many updates that is, and pivots replaced
        self._early: tuple[np.ndarray, int, int] | None = None
        self.refill(operator)

    def refill(self, operator: Operator) -> None:
        """The numbers for another free set or shift; what clamped rows do not change is kept."""
        f, n = self._fronts, operator.n
        diagonal = self.core.diagonal * (1.0 + self._shift)
        self.free = np.ones(n, bool) if operator.free is None else operator.free.copy()
        self._outside: float | np.ndarray = 1.0
        if operator.shift is not None:
            diagonal = diagonal + operator.shift
            self._outside = 1.0 + operator.shift
            self._early = None
        stack, pieces = np.empty(f.stack), f.first.size - 1
        if self._early is None:
            count, replaced = self._run(stack, np.ones(n, bool), diagonal, 0, f.last, 0)
            top = int(self._begins[count])
            self._early = stack[:top].copy() if f.last else stack[:0], count, replaced
        else:
            stack[: self._early[0].size] = self._early[0]
        before = self._waiting.copy(), self._begins.copy()
        _, replaced = self._run(stack, self.free, diagonal, f.last, pieces, self._early[1])
        self._waiting, self._begins = before
        self.replaced = self._early[2] + replaced
        if operator.shift is not None:
            self._early = None

    def serves(self, operator: Operator) -> bool:
        """True if this factor can be refilled for an operator: all rows that are clamped may be."""
        f = self._fronts
        early = f.order[: f.first[f.last]]
        return self.core is operator.core and (operator.free is None or bool(operator.free[early].all()))

    def _run(self, stack, free, diagonal, begin: int, end: int, waiting: int) -> tuple[int, int]:
        """Eliminate some fronts; how many updates wait then, and the pivots replaced."""
        f, M = self._fronts, self.core.matrix()
        state = np.array([begin, end, waiting, 0, f.last or f.first.size])
        work = self._L, stack, self._waiting, self._begins, state, np.empty(self.core.n, np.int64), self._blas
        with blas_on_one_thread():
            _factor(*work, free, diagonal, self._least, (M.data, M.indices, M.indptr), f)
        return int(state[2]), int(state[3])

    def apply(self, r, out):
        f = self._fronts
        self._x[:] = r[f.order]
        with blas_on_one_thread():
            _substitute(self._x, self._work, self._blas, self.free, self._L, f)
        out[f.order] = self._x
        np.divide(r, self._outside, out=out, where=~self.free)
        return out


#: how OpenBLAS is named in SciPy's wheels, and elsewhere
_PREFIXES = ("scipy_openblas", "openblas")


@cache
def _functions() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """What asks for and what sets the number of threads of SciPy's BLAS; None if it is not OpenBLAS, or not found."""
    from scipy.linalg import cython_blas  # slow to load

    try:
        library = ctypes.CDLL(cython_blas.__file__)  # a name is looked for in what it is linked with, too
    except OSError:
        return None
    for prefix in _PREFIXES:
        if hasattr(library, f"{prefix}_set_num_threads"):
            return library[f"{prefix}_get_num_threads"], library[f"{prefix}_set_num_threads"]
    return None


class _Users:
    """How many solves want one thread now, and how many threads there were before the first of them."""

    lock = threading.Lock()
    count = 0
    before = 1


@contextmanager
def blas_on_one_thread() -> Iterator[None]:
    """SciPy's BLAS works on one thread meanwhile; the last one to leave restores what the first one found."""
    functions = _functions()
    if functions is None:
        yield
        return
    ask, tell = functions
    with _Users.lock:
        if _Users.count == 0:
            _Users.before = ask()
            tell(1)
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            if _Users.count == 0:
                tell(_Users.before)


#: free sets that a solve goes through, at least: contact problems have 5 to 15
CHANGES = 5


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

    A matrix with few zeros is one point: it fills up before long, in any order.
    """
    M, n = A.matrix(), A.n
    if M.nnz > FEW_ZEROS * n**2:
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
