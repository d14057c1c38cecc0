"""Policy iteration with a band factor: for problems on a line, such as the time steps of an option."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import rounding
from ...operators.base import Operator, once_for_an_operator
from ...operators.csr import CSROperator
from ...problem.box import BoxProblem
from ...problem.monitor import Monitor, Start
from ..base import Method
from ._banded import _iterate_banded


@dataclass(frozen=True)
class NarrowBand:
    """A condition: a bare matrix whose entries lie within `width` of the diagonal."""

    width: int = 4

    def holds(self, problem: BoxProblem) -> bool:
        """True if the matrix of the problem is like that."""
        A = problem.A
        return isinstance(A, CSROperator) and A.comm.size == 1 and A.n > 1 and _width(A) <= self.width


@once_for_an_operator
def _width(A: Operator) -> int:
    M = A.matrix()
    rows = np.repeat(np.arange(A.n, dtype=M.indices.dtype), np.diff(M.indptr))
    return int(np.abs(M.indices - rows).max(initial=0))


@once_for_an_operator
def _band(A: Operator) -> np.ndarray:
    """band[i, w + k] = A[i, i + k]"""
    M, w = A.matrix(), _width(A)
    rows = np.repeat(np.arange(A.n), np.diff(M.indptr))
    out = np.zeros((A.n, 2 * w + 1))
    out[rows, w + M.indices - rows] = M.data
    return out


@dataclass(frozen=True)
class Banded(Method):
    """Policy iteration in one compiled loop; every policy is solved exactly by a band factor.

    On M-matrices, symmetric or not, no policy occurs twice. Where it does not end soon, another method goes on.

    Parameters
    ----------
    maxiter : int
        Policies at most.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, nonstick
    >>> from nonstick.solvers import Banded
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(5, 5))
    >>> nonstick.solve(A, [1.0, 0.0, -1.0, 0.0, 1.0], method=Banded()).x.round(6)
    array([0.666667, 0.333333, 0.      , 0.333333, 0.666667])
    """

    maxiter: int = 100

    @property
    def treats(self) -> frozenset[str]:
        return frozenset({"nonsymmetric"})

    @property
    def label(self) -> str:
        return "policy iteration over band factors"

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        A, box = problem.A, problem.box
        band, g, x = _band(A), np.empty(A.n), start.x
        policy = start.active
        if policy is None:
            policy = box.split(x, problem.gradient(x, g), A.diagonal)
        work, y = np.empty_like(band), np.empty(A.n)
        slack, limit = rounding.DIGITS * problem.scale, min(self.maxiter, monitor.limit(self.maxiter))
        count = _iterate_banded(y, g, policy, work, band, problem.b, box.lower, box.upper, A.diagonal, slack, limit)
        monitor.iterations += min(abs(count), limit)
        monitor.outer_iterations += min(abs(count), limit)
        if count > 0 and np.isfinite(y).all():
            box.project(y, out=x)
        if not monitor.check(x) and monitor.stopping.maxiter is None:
            monitor.stop("stagnated")
