"""`z = (A + shift diag(A))⁻¹ r` on a free set, by the fronts of A, with BLAS on one thread.

OpenBLAS gives a front to as many threads as there are cores. Fronts are small: on a busy computer the threads wait for
each other far longer than the work takes, and how the sums are split decides about last bits. SciPy's BLAS is a library
of its own, beside that of NumPy, so nobody else waits meanwhile but SciPy's own dense routines.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from ...core import rounding
from ...operators.base import Operator
from ..base import Inverse
from ._fronts import Blas, _factor, _substitute
from .fronts import fronts


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
