"""The interface of a matrix for every method: `A x`, its diagonal, (rarely) its entries, and its vectors.

A problem's vectors are flat float64 arrays over the unknowns; only the operator knows the position of an unknown on a
grid (`StencilOperator.rows`), so one solver works for grids and plain matrices. Some operators are faster on vectors of
another layout, for example padded arrays over a grid: `native` is the same operator on these vectors. Iterations use
only the methods under "vectors", so that one conjugate gradient method works for every layout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from ..core import rounding
from ..kernels import ONE_THREAD_BELOW
from ..kernels._components import _csr_components
from ..kernels._vector import _axpy, _xpby, dot, peak_and_sum
from ..parallel.comm import SELF, Comm

if TYPE_CHECKING:
    from .masked import LowRank
    from .stencil import StencilOperator


class Vectors:
    """The vectors of one layout: flat arrays over the unknowns here, padded arrays or parts of them in subclasses.

    On many ranks each has its part of a vector; products and maxima go over all of them.
    """

    n: int
    #: the ranks that have rows of it
    comm: Comm = SELF

    @property
    def unknowns(self) -> int:
        """The number of unknowns on all ranks."""
        return self.n

    @property
    def dtype(self) -> np.dtype:
        """The precision of vectors."""
        return np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    def zeros(self, dtype=np.float64) -> np.ndarray:
        """A vector of the layout."""
        return np.zeros(self.n, dtype)

    def positions(self) -> np.ndarray:
        """Index of each unknown in a vector of the layout."""
        return np.arange(self.n)

    def enter(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The vector of the layout for a flat vector over the unknowns; without `out` it may be the same array."""
        if out is None:
            return x
        out[:] = x
        return out

    def right_hand_side(self, b: np.ndarray) -> np.ndarray:
        """b for solvers, which give it to `residual`, `peak` and `leave` alone: a vector of the layout."""
        return self.enter(b)

    def leave(self, vector: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = the flat vector over the unknowns, from a vector of the layout."""
        if out is not vector:
            out[:] = vector
        return out

    def dot(self, x: np.ndarray, y: np.ndarray) -> float:
        """xᵀy, the same bits for any number of threads."""
        return float(self.comm.total(dot(x, y)))

    def negative(self, energy: float, x: np.ndarray, image: np.ndarray) -> bool:
        """True if energy = xᵀA x, with image = A x, is negative by more than rounding: A is not positive definite."""
        return energy < -rounding.VANISHED * float(np.sqrt(self.dot(x, x) * self.dot(image, image)))

    def peak(self, x: np.ndarray) -> float:
        """max|x|; not finite if any entry is not finite."""
        small = x.size < ONE_THREAD_BELOW
        return float(self.comm.largest(max(x.max(initial=0.0), -x.min(initial=0.0)) if small else peak_and_sum(x)[0]))

    def combine(self, y: np.ndarray, x: np.ndarray, beta: float) -> None:
        """y = x + beta y"""
        if beta == 0.0:
            y[:] = x
        else:
            _xpby(y, x, beta)

    def step(self, x: np.ndarray, r: np.ndarray, p: np.ndarray, q: np.ndarray, alpha: float) -> float:
        """x += alpha p and r -= alpha q; returns max|r|."""
        _axpy(x, alpha, p)
        _axpy(r, -alpha, q)
        return self.peak(r)


class Operator(Vectors, ABC):
    """A linear operator on vectors of `n` unknowns, symmetric unless `symmetric` says otherwise."""

    if TYPE_CHECKING:  # a subclass stores these two or computes them

        @property
        def diagonal(self) -> np.ndarray: ...

        @property
        def cells(self) -> np.ndarray | None:
            """(n, d) integer grid coordinates of the unknowns, or None for a bare matrix."""

    else:
        cells = None

    #: False if only products and the diagonal are known, and `matrix` refuses
    has_entries: bool = True
    #: rows that masks of this operator may clamp, now or later; None: any
    clampable: np.ndarray | None = None

    @property
    def pattern(self) -> object:
        """What all operators with entries in the same places share."""
        return self

    #: methods that need A = Aᵀ refuse an operator for which this is False
    symmetric: bool = True

    @abstractmethod
    def apply(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = A x"""

    def energy(self, x: np.ndarray, out: np.ndarray) -> float:
        """out = A x; returns xᵀA x."""
        self.apply(x, out)
        return self.dot(x, out)

    def residual(self, b: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = b - A x"""
        self.apply(x, out)
        np.subtract(b, out, out=out)
        return out

    @abstractmethod
    def matrix(self) -> sp.csr_array:
        """The assembled matrix, made and stored on the first call; only for methods that need the entries."""

    def components(self) -> tuple[int, np.ndarray]:
        """Connected parts of the graph of A: their number, and the label of each unknown (-1: of another rank)."""
        M, label = self.matrix(), np.empty(self.n, np.int32)
        return _csr_components(label, M.data, M.indices, M.indptr), label

    # -- what it is made of --------------------------------------------------------------------------------

    @property
    def core(self) -> Operator:
        """The operator without masks; free rows have the same off-diagonal entries in both."""
        return self

    @property
    def free(self) -> np.ndarray | None:
        """The rows that no mask clamps; None: all rows."""
        return None

    @property
    def shift(self) -> np.ndarray | None:
        """The shift that masks add to the diagonal of the core; None: no shift."""
        return None

    @property
    def stencil(self) -> StencilOperator | None:
        """This operator as conductances on the faces of a grid; None if it is masked or of another kind."""
        return None

    @property
    def units(self) -> np.ndarray | None:
        """Factors that give the rows of a residual one unit; None: they have one."""
        return None

    @property
    def bodies(self) -> LowRank | None:
        """The low-rank term of rigid bodies, under masks too; None without bodies."""
        return None

    # -- variations ----------------------------------------------------------------------------------------

    def part(self, rows: np.ndarray) -> Operator:
        """The operator on some of the unknowns (ascending), without its couplings to the others."""
        raise TypeError(f"{type(self).__name__} has no parts")

    def plus_diagonal(self, shift: np.ndarray) -> Operator:
        """A + diag(shift), of the same kind as A."""
        raise TypeError(f"{type(self).__name__} takes no other diagonal")

    def magnitude(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = |A||x|: the size of the terms that a row of A x is the sum of."""
        out[:] = abs(self.matrix()) @ np.abs(x)
        return out

    def astype(self, dtype) -> Operator:
        """The same operator in another precision."""
        raise TypeError(f"{type(self).__name__} has one precision only")

    @property
    def native(self) -> Operator:
        """The same operator on the vectors it is fastest on."""
        return self

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return self.apply(x, np.empty_like(x))


R = TypeVar("R")
P = ParamSpec("P")


class Once(Generic[P, R]):
    """A function of an operator whose results are kept for as long as the operator exists, or its pattern."""

    def __init__(self, function: Callable[Concatenate[Operator, P], R], by_pattern: bool = False):
        self._function, self._by_pattern = function, by_pattern
        self._known: WeakKeyDictionary[object, R] = WeakKeyDictionary()
        update_wrapper(self, function)

    def __call__(self, A: Operator, *args: P.args, **options: P.kwargs) -> R:
        key = A.pattern if self._by_pattern else A
        if key not in self._known:
            self._known[key] = self._function(A, *args, **options)
        return self._known[key]

    def known(self, A: Operator) -> R | None:
        """The result for A if the function has been called for it."""
        return self._known.get(A.pattern if self._by_pattern else A)


def once_for_an_operator(function: Callable[Concatenate[Operator, P], R]) -> Once[P, R]:
    """Decorator: what a function finds out about an operator is kept for as long as the operator exists."""
    return Once(function)


def once_for_a_pattern(function: Callable[Concatenate[Operator, P], R]) -> Once[P, R]:
    """Decorator: the same for what follows from the places of the entries alone."""
    return Once(function, by_pattern=True)


def row_sums(A: Operator) -> np.ndarray:
    """A 1: zero on rows that are coupled only to their neighbours (pure Neumann)."""
    ones = A.enter(np.ones(A.n, A.dtype))
    return A.apply(ones, np.zeros_like(ones))
