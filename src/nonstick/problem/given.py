"""A matrix as a user gives it: checked and converted once, for any number of right-hand sides and bounds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import validate
from ..errors import NonstickError
from ..operators.base import Operator
from ..operators.csr import CSROperator
from ..operators.products import Products
from ..operators.stencil import as_operator, whole_box
from .box import BoxProblem
from .modes import Modes
from .solution import Solution

#: matrices with fewer unknowns are solved as fast without their grid
WORTH_A_LOOK = 1000


class Given:
    """The operator that methods see, and the way from the caller's vectors to its vectors and back.

    Grids are kept in C order inside. The caller gets everything back in the order it came in.

    Parameters
    ----------
    A : scipy.sparse matrix, 2-D array, nonstick operator or scipy.sparse.linalg.LinearOperator
        Checked as by `nonstick.solve`.
    cells : array_like of int, optional
        Grid coordinates of the unknowns of a matrix.
    diagonal : array_like, optional
        The diagonal of a LinearOperator.
    names : tuple of str
        What the messages call A and b.
    modes : Modes, optional
        The near-null vectors of a matrix of a vector problem.
    """

    def __init__(
        self,
        A: Any,
        cells: Any = None,
        diagonal: Any = None,
        names: tuple[str, str] = ("A", "b"),
        modes: Modes | None = None,
    ):
        self.names = names
        #: the positions of the caller's unknowns in C order; None if they are in this order
        self.order: np.ndarray | None = None
        self._matrix: sp.csr_array | None = None
        self._cells: np.ndarray | None = None
        if diagonal is not None and not _is_linear_operator(A):
            raise NonstickError(f"diagonal belongs to a LinearOperator; {names[0]} already has one")
        if isinstance(A, Operator) or _is_linear_operator(A):
            if cells is not None:
                what = "an operator already knows its grid" if isinstance(A, Operator) else "a LinearOperator has none"
                raise NonstickError(f"cells belongs to a matrix; {what}")
            self.operator = A if isinstance(A, Operator) else Products(*validate.products(A, diagonal, names[0]))
            return
        self._matrix = validate.matrix(A, names[0])
        self._symmetric = validate.symmetric(self._matrix, names[0])
        if cells is not None:
            self._cells = validate.cells(cells, self._matrix.shape[0])
            self.order = validate.c_order(self._cells)
        elif modes is None and self._symmetric and self._matrix.shape[0] >= WORTH_A_LOOK:
            self._cells = whole_box(self._matrix)
        self.operator = self._convert()
        if cells is None and self.operator.stencil is None and self._cells is not None:
            self._cells, self.operator = None, CSROperator(self._matrix, symmetric=True)  # it only looked like a grid
        if modes is not None:
            self._set_modes(modes)

    def _set_modes(self, modes: Modes) -> None:
        """Tell the operator its near-null vectors."""
        if not isinstance(self.operator, CSROperator) or self.order is not None:
            raise NonstickError("near_null, nodes and block belong to a matrix without cells")
        self.modes = modes
        self.operator.near_null, self.operator.node = modes.vectors(self.n)

    modes: Modes | None = None

    @property
    def n(self) -> int:
        return self.operator.n

    def _convert(self) -> Operator:
        if self.order is None:
            return as_operator(self._matrix, self._cells, self._symmetric)
        assert self._matrix is not None and self._cells is not None
        return as_operator(self._matrix[self.order][:, self.order], self._cells[self.order], self._symmetric)

    def vector(self, values: Any, name: str) -> np.ndarray:
        """A checked vector in the order of the operator."""
        return self.enter(validate.vector(values, self.n, name))

    def enter(self, values: np.ndarray) -> np.ndarray:
        return values if self.order is None else values[self.order]

    @property
    def back(self) -> np.ndarray | None:
        """The positions of the operator's unknowns in the caller's order."""
        return None if self.order is None else np.argsort(self.order)

    def leave(self, values: np.ndarray) -> np.ndarray:
        if self.order is None:
            return values
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def problem(self, b: Any, lower: Any, upper: Any, sign: float = 1.0) -> BoxProblem:
        """The problem with this matrix, as methods see it; b is multiplied by `sign`."""
        b = sign * self.vector(b, self.names[1])
        low, high = validate.bounds(lower, upper, self.n)
        return BoxProblem(self.operator, b, self.enter(low), self.enter(high))

    def columns(
        self, k: int, b: Any, lower: Any, upper: Any, x0: Any = None, active: Any = None
    ) -> tuple[np.ndarray | None, ...]:
        """Checked b, bounds and starts of k problems, each n × k, in the caller's order; None stays None."""
        n, spread = self.n, partial(_spread, k=k)
        checked = [spread(b, lambda column: validate.vector(column, n, self.names[1]))]
        low, high = validate.no_bound(lower, -np.inf), validate.no_bound(upper, np.inf)
        sides = [(_column(low, j), _column(high, j)) for j in range(k)]
        both = [validate.bounds(*side, n) for side in sides]
        checked += [np.stack([pair[side] for pair in both], axis=1) for side in (0, 1)]
        starts = (x0, lambda column: validate.vector(column, n, "x0")), (active, lambda c: validate.active(c, n))
        return *checked, *(None if values is None else spread(values, check) for values, check in starts)

    def start(self, x0: Any, active: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """A checked x0 and active set in the order of the operator; None stays None."""
        x0 = None if x0 is None else self.vector(x0, "x0")
        return x0, None if active is None else self.enter(validate.active(active, self.n))

    def solution(self, solution: Solution) -> Solution:
        """A solution of such a problem in the caller's order."""
        if self.order is None:
            return solution
        inner = solution.problem
        box, A = inner.box, CSROperator(self._matrix, self._cells, self._symmetric)
        problem = BoxProblem(A, self.leave(inner.b), self.leave(box.lower), self.leave(box.upper))
        return replace(solution, problem=problem, x=self.leave(solution.x), dual=self.leave(solution.dual))

    # -- other numbers, the same pattern ----------------------------------------------------------------------

    def drift(self, other: Given) -> float:
        """The largest difference of a coupling a_ij / sqrt(a_ii a_jj) between two matrices of one pattern."""
        A, B = self._matrix, other._matrix
        if A is None or B is None:
            return np.inf
        row = np.repeat(np.arange(self.n), np.diff(A.indptr))
        mine, others = (M.data * s[row] * s[M.indices] for M, s in ((A, _scaling(A)), (B, _scaling(B))))
        return float(np.abs(mine - others).max(initial=0.0))

    def updated(self, values: Any) -> Given:
        """The same with other numbers in the matrix: `values` is a matrix with the same pattern, or its entries in the
        order of the canonical CSR form of the first matrix."""
        old = self._matrix
        if old is None:
            raise NonstickError("only a Solver made from a matrix can be updated; make a new one from the new operator")
        M = validate.refilled(old, values, self.names[0])
        symmetric = validate.symmetric(M, self.names[0])
        new = Given.__new__(Given)
        new.names, new.order, new._cells, new._matrix = self.names, self.order, self._cells, M
        new._symmetric = symmetric
        new.operator = new._convert()
        if self.modes is not None:
            new._set_modes(self.modes)
        mine, other = self.operator.stencil, new.operator.stencil
        if mine is not None and other is not None:
            other.rows = mine.rows  # equal tables: by the same object hierarchies see that the grid is the same
        return new


def _is_linear_operator(A: Any) -> bool:
    """True for SciPy's LinearOperator. Its module is slow to load; whoever has such an object has loaded it."""
    module = sys.modules.get("scipy.sparse.linalg")
    return module is not None and isinstance(A, module.LinearOperator)


def _column(values: Any, j: int) -> Any:
    """Column j of values for k problems; values for one problem are those of each."""
    return values[:, j] if np.ndim(values) == 2 and np.shape(values)[1] > 1 else values


def _spread(values: Any, check: Callable[[Any], np.ndarray], k: int) -> np.ndarray:
    """A checked vector for each of k problems, as columns."""
    values = values if sp.issparse(values) else validate.numbers(values, "b")
    return np.stack([check(_column(values, j)) for j in range(k)], axis=1)


def _scaling(A: sp.csr_array) -> np.ndarray:
    return np.asarray(1.0 / np.sqrt(A.diagonal()))
