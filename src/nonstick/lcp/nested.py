"""Nested iteration: the solution of a coarser problem predicts x, and with it the active set.

Coarse problems are made from the matrix alone. With A = L(w) + diag(e), face weights w and row sums e, a
coarse face has half the sum of its fine weights (its cells are twice as far apart), e and b are summed,
bounds are averaged over the children that have one. x is interpolated, not the set: the policy follows
from x and its residual after two sweeps.
"""

from __future__ import annotations

import numba
import numpy as np

from ..kernels import _blocks as blocks
from ..kernels import _nested as kernels
from ..multigrid.grid_level import balanced_groups, coarse_rows
from ..operators.stencil import StencilOperator
from .problem import BoxProblem


class Coarser:
    """A problem on 2x2x2 blocks, and the way back."""

    def __init__(self, problem: BoxProblem):
        A = problem.A
        assert isinstance(A, StencilOperator)
        self.A, rows = A, A.rows
        threads = numba.get_num_threads()
        groups = balanced_groups(rows, threads)
        coarse, self.parent = coarse_rows(rows, groups)
        e = np.empty(A.n)
        blocks._excess(e, A.diagonal, *A.weights, rows.start, rows.offset, groups)
        self.shape = np.array(rows.shape, np.int64)
        w0, w1, w2, ce = (np.zeros(coarse.n) for _ in range(4))
        everywhere = np.zeros(A.n, np.int8)
        blocks._galerkin_blocks(
            w0, w1, w2, ce, *A.weights, e, everywhere, self.parent, rows.cells, self.shape, rows.start, rows.offset,
            1.0, groups,
        )  # fmt: skip
        for w in (w0, w1, w2):
            w *= 0.5
        d = np.empty(coarse.n)
        kernels._coarse_diagonal(d, ce, w0, w1, w2, coarse.start, coarse.offset, balanced_groups(coarse, threads))
        b, lower, upper = (np.zeros(coarse.n) for _ in range(3))
        counts = np.zeros((2, coarse.n), np.int64)
        box = problem.box
        kernels._gather_rhs_and_bounds(b, lower, upper, problem.b, box.lower, box.upper, self.parent, *counts)
        self.problem = BoxProblem(StencilOperator(coarse, (w0, w1, w2), d), b, lower, upper)

    def interpolate(self, coarse: np.ndarray, x: np.ndarray) -> None:
        rows = self.A.rows
        kernels._interpolate(
            x, coarse, self.parent, rows.cells, self.shape, rows.start, rows.offset, *self.A.weights
        )  # fmt: skip
