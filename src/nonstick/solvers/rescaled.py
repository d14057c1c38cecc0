"""A badly scaled problem in better units: y = S⁻¹x solves the problem of S A S, S b and bounds S⁻¹lower, S⁻¹upper.

Policies change where a residual exceeds a part of max|b|. If units differ by powers of ten from row to row, as in
D·A·D, small rows would change last, one after the other. The scaling of the algebraic hierarchy makes rows comparable
(`near_null`). The residual that decides is that of the problem as it was given.

If A jumps too, sweeps carry the scale of one region to the next over some ten unknowns only. Then S is corrected once
by y with S A S y = diag(S A S), solved roughly by multigrid CG: one step of inverse iteration, on all levels. A
positive y makes all row sums of the new matrix positive. (D·A·D with jumps of 1e6 in blocks of 20 × 20, at 200²: 11
iterations of a linear solve in place of 65.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..inverse.krylov.cg import CG
from ..inverse.multigrid.algebraic import Algebraic
from ..inverse.multigrid.hierarchy import Multigrid
from ..inverse.multigrid.near_null import in_other_units, near_null
from ..operators.base import Operator
from ..operators.csr import CSROperator
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..problem.monitor import Monitor, Start

#: attempts with smaller tolerances, if the given problem is not solved by what solves the scaled one
ATTEMPTS = 5
#: the correction of S: solver, accuracy, iterations at most, and its least entry against the largest
LEVELS = CG(Multigrid(Algebraic(), smallest=100), maxiter=60)
ROUGH = 0.01
LEAST = 1e-12


class Rescaled:
    """The problem in other units."""

    def __init__(self, problem: BoxProblem, s: np.ndarray):
        self.given, self.s = problem, s
        M = problem.A.matrix()
        row = np.repeat(s, np.diff(M.indptr))
        A = sp.csr_array((row * M.data * s[M.indices], M.indices, M.indptr), shape=M.shape)
        box = problem.box
        self.problem = BoxProblem(CSROperator(A), s * problem.b, box.lower / s, box.upper / s)

    def solve(self, method: Callable[[BoxProblem, Start, Monitor], None], start: Start, monitor: Monitor) -> None:
        """Solve the problem with a method, until the given one is solved; improves `start.x`."""
        asked, given = monitor.tolerance, monitor.problem
        inner = Start(start.x / self.s, start.active, start.cold)
        for _ in range(ATTEMPTS):
            monitor.problem, monitor.status, monitor.message = self.problem, "", ""
            method(self.problem, inner, monitor)
            np.multiply(inner.x, self.s, out=start.x)
            self.given.box.project(start.x, out=start.x)
            monitor.problem = given
            residual = monitor.measure(start.x)
            if residual <= asked or monitor.status != "converged" or monitor.exhausted(start.x):
                break
            inner.cold = False
            monitor.tolerance *= 0.3 * asked / residual
        monitor.tolerance = asked
        ended = monitor.status, monitor.message
        monitor.status = monitor.message = ""
        if not monitor.check(start.x) and ended[0] != "converged":
            monitor.status, monitor.message = ended


def rescaled(problem: BoxProblem) -> Rescaled | None:
    """The problem in better units, as a bare matrix; None if those it has are good."""
    A = problem.A
    if not (isinstance(A, CSROperator) or (isinstance(A, StencilOperator) and in_other_units(A))):
        return None
    s = near_null(A.matrix())
    if s.size == 0 or s.min() == s.max():
        return None
    scaled = Rescaled(problem, s)
    y = _correction(scaled.problem.A)
    return scaled if y is None else Rescaled(problem, s * y)


def _correction(A: Operator) -> np.ndarray | None:
    """y with A y ≈ diag(A), of size 1; None if it is not positive, or if a constant diagonal shows no need for it."""
    d = A.diagonal
    if d.max() < 1.001 * d.min() or not LEVELS.M.fits(A):
        return None
    y = np.zeros(A.n)
    LEVELS.setup(A).solve(d, y, rtol=ROUGH)
    top = y.max()
    return y / top if 0.0 < top < np.inf and y.min() > LEAST * top else None
