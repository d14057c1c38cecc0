"""Policy iteration with a band factor: for problems on a line, such as the time steps of an option."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import rounding
from ...operators.base import Operator, once_for_an_operator
from ...operators.csr import CSROperator
from ...problem.box import Bounds, BoxProblem
from ...problem.monitor import Monitor, Start
from ..base import Answer, Method, QuickSolves
from ._banded import _gradient, _halve, _iterate_banded, _solve_again


@dataclass(frozen=True)
class NarrowBand:
    """A condition: a bare matrix whose entries lie within `width` of the diagonal."""

    width: int = 4

    def holds(self, problem: BoxProblem) -> bool:
        """True if the matrix of the problem is like that."""
        A = problem.A
        if not isinstance(A, CSROperator) or A.comm.size > 1 or A.n < 2:
            return False
        return A.matrix().nnz <= (2 * self.width + 1) * A.n and _width(A) <= self.width


@once_for_an_operator
def _width(A: Operator) -> int:
    M = A.matrix()
    rows = np.repeat(np.arange(A.n, dtype=M.indices.dtype), np.diff(M.indptr))
    return int(np.abs(M.indices - rows).max(initial=1))


@once_for_an_operator
def _band(A: Operator) -> np.ndarray:
    """band[w + k, i] = A[i, i + k]"""
    M, w = A.matrix(), _width(A)
    rows = np.repeat(np.arange(A.n), np.diff(M.indptr))
    out = np.zeros((2 * w + 1, A.n))
    out[w + M.indices - rows, rows] = M.data
    return out


def _no_factor(band: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Room for a factor, and the policy of no factor."""
    return np.empty_like(band), np.full(band.shape[1], 2, np.int8)


@dataclass(frozen=True)
class Banded(Method):
    """Policy iteration in one compiled loop; every policy is solved exactly by a band factor.

    On M-matrices, symmetric or not, no policy occurs twice. Where it does not end soon, another method goes on.

    Parameters
    ----------
    maxiter : int
        Policies at most.
    large : int
        With more unknowns, a solve from zero begins with the policy of half as many: a policy moves the end of a
        contact by one unknown, so from zero it would take as many as the contact is long.
    again : int
        Policies at most in a solve of a sequence that begins with the policy of the last one.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, nonstick
    >>> from nonstick.solvers import Banded
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(5, 5))
    >>> nonstick.solve(A, [1.0, 0.0, -1.0, 0.0, 1.0], method=Banded()).x.round(6)
    array([0.666667, 0.333333, 0.      , 0.333333, 0.666667])
    """

    maxiter: int = 100
    large: int = 100
    again: int = 10

    @property
    def treats(self) -> frozenset[str]:
        return frozenset({"nonsymmetric"})

    @property
    def label(self) -> str:
        return "policy iteration over band factors"

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        A, box = problem.A, problem.box
        band, g, x = _band(A), np.empty(A.n), start.x
        policy, limit = start.active, min(self.maxiter, monitor.limit(self.maxiter))
        if policy is None and start.cold and A.n > self.large and box.constrained.any():
            policy = self._predict(band, problem.b, box, limit)
        if policy is None:
            policy = box.split(x, problem.gradient(x, g), A.diagonal)
        y, slack, bounds = np.empty(A.n), rounding.DIGITS * problem.scale, (box.lower, box.upper)
        count = _iterate_banded(y, g, policy, *_no_factor(band), band, problem.b, *bounds, A.diagonal, slack, limit)
        monitor.iterations += min(abs(count), limit)
        monitor.outer_iterations += min(abs(count), limit)
        if count > 0 and np.isfinite(y).all():
            box.project(y, out=x)
        if not monitor.check(x) and monitor.stopping.maxiter is None:
            monitor.stop("stagnated")

    def quick_solves(self, A: Operator) -> QuickSolves | None:
        return BandSolves(A, self.again)

    def _predict(self, fine: np.ndarray, b: np.ndarray, box: Bounds, limit: int) -> np.ndarray:
        """The policy of the problem on every second unknown, which begins with its own prediction."""
        n, w = (b.size + 1) // 2, fine.shape[0] // 2
        band, bc = np.zeros((2 * (w // 2 + 1) + 1, n)), np.zeros(n)
        _halve(band, bc, fine, b)
        d, there = band[w // 2 + 1].copy(), Bounds(box.lower[::2].copy(), box.upper[::2].copy())
        if n > self.large:
            coarse = self._predict(band, bc, there, limit)
        else:
            x, g = there.project(np.zeros(n)), np.empty(n)
            _gradient(g, x, band, bc, w // 2 + 1)
            coarse = there.split(x, g, d)
        slack = rounding.DIGITS * float(np.abs(bc).max())
        vectors = np.empty(n), np.empty(n), coarse, *_no_factor(band), band, bc, there.lower, there.upper, d
        _iterate_banded(*vectors, slack, limit)
        policy = np.zeros(b.size, np.int8)
        policy[::2] = coarse
        between = coarse[:-1]
        policy[1 : 2 * between.size : 2] = np.where(between == coarse[1:], between, 0)
        return box.clampable(policy)


class BandSolves(QuickSolves):
    """Solves with one band matrix, each in one call that begins with the policy and the factor of the last one."""

    def __init__(self, A: Operator, limit: int):
        self._band, self._d, self._limit = _band(A), A.diagonal, limit
        self._factor = _no_factor(self._band)
        self._found = np.empty(3)

    def solve(self, policy, b, lower, upper, atol):
        x, g = np.empty(b.size), np.empty(b.size)
        data = self._band, b, lower, upper, self._d
        count = _solve_again(x, g, self._found, policy, *self._factor, *data, rounding.DIGITS, self._limit, atol)
        return Answer(x, g, count, *self._found.tolist()) if count else None
