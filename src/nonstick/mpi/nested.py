"""Nested iteration on many ranks: coarser problems on the shared levels, the last of them held by every rank."""

from __future__ import annotations

import numpy as np

from ..kernels import _blocks as blocks
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..solvers import _nested as kernels
from ..solvers.nested import Coarser
from .levels import SharedHierarchy
from .stencil import SharedStencil


class SharedCoarser(Coarser):
    """A problem on 2×2×2 blocks, shared if its level is, else the same problem on every rank."""

    def __init__(self, problem: BoxProblem, cycle: SharedHierarchy):
        A = problem.A
        assert isinstance(A, SharedStencil)
        self.A, self.cycle, self.box = A, cycle, problem.box
        self.shape = np.array(A.rows.shape, np.int64)
        self.groups = cycle.grids[0].groups
        self.gate = None if cycle.parents else cycle.gate
        piece = cycle.gate.piece if self.gate else cycle.grids[1].piece  # type: ignore[attr-defined]
        self.parent = cycle._gate_parent if self.gate else cycle.parents[0]
        if self.gate is None:
            c0, c1, c2, e = (values / (cycle.alpha * cycle.scale) for values in cycle.matrices[1])
        else:
            c0, c1, c2, e = (np.zeros(piece.rows.n) for _ in range(4))
            blocks._galerkin_blocks(
                c0, c1, c2, e, *cycle.matrices[0], np.zeros(A.n, np.int8), self.parent, A.rows.cells, self.shape,
                A.rows.start, A.rows.offset, 1.0, self.groups,
            )  # fmt: skip
        for w in (c0, c1, c2):
            w *= 0.5
        b, lower, upper = (np.zeros(piece.rows.n) for _ in range(3))
        counts = np.zeros((2, piece.rows.n), np.int64)
        kernels._gather_rhs_and_bounds(
            b, lower, upper, problem.b, self.box.lower, self.box.upper, self.parent, *counts, A.rows.start, self.groups
        )
        rows = piece.rows
        if self.gate is not None:
            c0, c1, c2, e, b, lower, upper = (self.gate.joined(v) for v in (c0, c1, c2, e, b, lower, upper))
            rows = self.gate.rows
        d = np.empty(rows.n)
        whole = np.array([0, rows.start.size - 1])
        kernels._coarse_diagonal(d, e, c0, c1, c2, rows.start, rows.offset, whole)
        if self.gate is not None:
            coarse = StencilOperator(rows, (c0, c1, c2), d)
        else:
            piece.graph.exchange(d)
            coarse = SharedStencil(piece, (c0, c1, c2), d)
        self.problem = BoxProblem(coarse, b, lower, upper)

    def inverse(self):
        return self.cycle.below(self.problem.A) if self.gate is None else None  # type: ignore[arg-type]

    def interpolate(self, coarse, x):
        if self.gate is not None:
            coarse = coarse[self.gate.number]
        else:
            self.problem.A.exchange(coarse)  # type: ignore[attr-defined]
        super().interpolate(coarse, x)
