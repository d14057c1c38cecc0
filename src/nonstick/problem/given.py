"""A matrix as a user gives it: checked and converted once, for any number of right-hand sides and bounds.

And what a caller knows about the smooth vectors of a vector problem: `near_null=`, `nodes=`, `block=`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import validate
from ..errors import NonstickError, brief
from ..operators.base import Operator
from ..operators.csr import CSROperator, Products
from ..operators.stencil import as_operator, whole_box
from .box import BoxProblem
from .solution import Solution

#: matrices with fewer unknowns are solved as fast without their grid
WORTH_A_LOOK = 1000


@dataclass(frozen=True)
class Modes:
    """Near-null vectors as given, or the points whose rigid-body modes they are, and the unknowns of a point."""

    near_null: Any = None
    nodes: Any = None
    block: int | None = None

    @classmethod
    def of(cls, near_null: Any, nodes: Any, block: int | None) -> Modes | None:
        """None if nothing is given."""
        return None if near_null is None and nodes is None and block is None else cls(near_null, nodes, block)

    def vectors(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The checked vectors, n × k, and the node of each unknown."""
        block = self.block
        if self.nodes is not None:
            nodes = validate.numbers(self.nodes, "nodes").astype(float)
            if nodes.ndim != 2 or nodes.shape[1] not in (2, 3) or nodes.size != n or not np.isfinite(nodes).all():
                raise NonstickError(
                    f"nodes has shape {' × '.join(map(str, nodes.shape))}; it must hold the finite coordinates of "
                    f"points with as many unknowns as coordinates, 2 or 3, together {n}"
                )
            if block not in (None, nodes.shape[1]):
                raise NonstickError(f"block is {block}, but nodes have {nodes.shape[1]} coordinates")
            block = nodes.shape[1]
        if block is None:
            block = 1
        if not isinstance(block, int) or block < 1 or n % block:
            raise NonstickError(f"block must be the number of unknowns of a point, and divide {n}, not {brief(block)}")
        node = np.arange(n) // block
        if self.near_null is not None:
            B = validate.numbers(self.near_null, "near_null").astype(float)
            B = B[:, None] if B.ndim == 1 else B
            if B.ndim != 2 or B.shape[0] != n or not 1 <= B.shape[1] <= 30 or not np.isfinite(B).all():
                raise NonstickError(
                    f"near_null has shape {' × '.join(map(str, B.shape))}; it must be {n} × k finite numbers, k at "
                    "most 30"
                )
            return B, node
        if self.nodes is not None:
            return rigid_body_modes(nodes), node
        return np.tile(np.eye(block), (n // block, 1)), node


def rigid_body_modes(nodes: np.ndarray) -> np.ndarray:
    """The rigid-body modes of points in the plane or in space, whose displacements are stored node by node.

    Examples
    --------
    >>> import numpy as np
    >>> rigid_body_modes(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    array([[ 1.,  0., -0.],
           [ 0.,  1., -1.],
           [ 1.,  0., -0.],
           [ 0.,  1.,  1.]])
    """
    count, d = nodes.shape
    centred = nodes - nodes.mean(axis=0)
    turns = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (2, 0)]
    B = np.zeros((count, d, d + len(turns)))
    for axis in range(d):
        B[:, axis, axis] = 1.0
    for mode, (i, j) in enumerate(turns, start=d):
        B[:, i, mode], B[:, j, mode] = -centred[:, j], centred[:, i]
    return B.reshape(count * d, -1)


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
    modes : Modes, optional
        The near-null vectors of a matrix of a vector problem.
    lcp : bool
        Whether it is M of a complementarity problem, so that messages call b q, and q is -b.
    """

    def __init__(
        self,
        A: Any,
        cells: Any = None,
        diagonal: Any = None,
        modes: Modes | None = None,
        lcp: bool = False,
    ):
        self.names = names = ("M", "q") if lcp else ("A", "b")
        self.sign = -1.0 if lcp else 1.0
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

    def problem(self, b: Any, lower: Any, upper: Any) -> BoxProblem:
        """The problem with this matrix, as methods see it."""
        b = self.sign * self.vector(b, self.names[1])
        low, high = validate.bounds(lower, upper, self.n)
        return BoxProblem(self.operator, b, self.enter(low), self.enter(high))

    def columns(
        self, k: int, b: Any, lower: Any, upper: Any, x0: Any = None, active: Any = None
    ) -> tuple[np.ndarray | None, ...]:
        """Checked b, bounds and starts of k problems, each n × k, in the caller's order; None stays None."""
        n, spread = self.n, partial(_spread, n=self.n, k=k)
        checked = [spread(b, lambda column: validate.vector(column, n, self.names[1]))]
        low, high = validate.no_bound(lower, -np.inf), validate.no_bound(upper, np.inf)
        sides = [(_column(low, n, j), _column(high, n, j)) for j in range(k)]
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
        new = copy(self)
        new._matrix, new._symmetric = M, validate.symmetric(M, self.names[0])
        new.operator = new._convert()
        if isinstance(new.operator, CSROperator):
            new.operator.share_pattern(self.operator)
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


def _column(values: Any, n: int, j: int) -> Any:
    """Column j of values for k problems of n unknowns; what is not n × k is for each."""
    shape = validate.shape(values)
    if len(shape) != 2 or shape[0] != n or shape[1] == 1:
        return values
    return values[:, j] if hasattr(values, "shape") else [row[j] for row in values]


def _spread(values: Any, check: Callable[[Any], np.ndarray], n: int, k: int) -> np.ndarray:
    """A checked vector for each of k problems, as columns."""
    values = validate.numbers(values, "b")
    return np.stack([check(_column(values, n, j)) for j in range(k)], axis=1)


def _scaling(A: sp.csr_array) -> np.ndarray:
    return np.asarray(1.0 / np.sqrt(A.diagonal()))
