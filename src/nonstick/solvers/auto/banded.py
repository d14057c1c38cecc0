"""Policy iteration with a band factor: for problems on a line, such as the time steps of an option.

Policy iteration on a band matrix, whole in one kernel.

`band[w + k, i]` is A[i, i + k]. The loops over a row are as long as the band is wide, `w`; a call with the number 1 is
compiled for three diagonals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import rounding
from ...kernels import merged, serial
from ...kernels._active_set import _natural, _row_error
from ...operators.base import Operator, once_for_an_operator
from ...operators.csr import CSROperator
from ...problem.box import Bounds, BoxProblem
from ...problem.monitor import Monitor, Start
from ..base import Answer, Method, QuickSolves


@serial
def _iterate_banded(x, g, policy, lu, factored, band, b, lower, upper, d, slack, limit):
    """Solve for a policy, decide again, until it stays; x and g = A x - b of the last one. The number of solves.

    `lu` holds the factor for the policy `factored`, whose first rows are used again; 2 in `factored` means that there
    is none. A row keeps its policy if it is nearer to a tie than `slack`. -1 if a pivot is not positive, `limit` + 1 if
    the policy still changes.
    """
    if band.shape[0] == 3:
        return _iterate(x, g, policy, lu, factored, band, b, lower, upper, d, slack, limit, 1)
    return _iterate(x, g, policy, lu, factored, band, b, lower, upper, d, slack, limit, band.shape[0] // 2)


@serial
def _solve_again(x, g, found, policy, lu, factored, band, b, lower, upper, d, digits, limit, atol):
    """A whole solve that begins with a policy: x in the box and g = A x - b; the number of policies.

    `found` gets max|b|, the KKT residual against it, and the row error. 0 if the input is not a problem with a solution
    that `limit` policies find: the caller looks for the reason.
    """
    scale = 0.0
    for i in range(x.size):
        scale = max(scale, abs(b[i])) if b[i] == b[i] else np.inf
        if not lower[i] <= upper[i] or lower[i] == np.inf or upper[i] == -np.inf:
            return 0
        if (policy[i] < 0 and lower[i] == -np.inf) or (policy[i] > 0 and upper[i] == np.inf):
            policy[i] = 0
    if not 0.0 < scale < np.inf:
        return 0
    count = _iterate_banded(x, g, policy, lu, factored, band, b, lower, upper, d, digits * scale, limit)
    if not 0 < count <= limit:
        return 0
    found[0] = scale
    found[1], found[2] = _judge(x, g, band, b, lower, upper, d, scale, atol)
    return count


@serial
def _judge(x, g, band, b, lower, upper, d, scale, atol):
    """x is put into the box and g is made for it: the KKT residual and the row error."""
    n, w = x.size, band.shape[0] // 2
    plain, scaled, peak, worst = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        x[i] = min(max(x[i], lower[i]), upper[i])
        plain = max(plain, abs(x[i]))
        scaled = max(scaled, np.sqrt(d[i]) * abs(x[i]))
    _gradient(g, x, band, b, w)
    for i in range(n):
        r = _natural(x[i], g[i], d[i], lower[i], upper[i])
        peak = max(peak, abs(r)) if r == r and x[i] == x[i] else np.inf
        terms = 0.0
        for k in range(max(w - i, 0), min(2 * w + 1, n - i + w)):
            terms += abs(band[k, i] * x[i + k - w])
        worst = max(worst, _row_error(r, x[i], g[i], b[i], d[i], terms, upper[i] - lower[i], plain, scaled, atol))
    return peak / scale, worst


@merged
def _iterate(x, g, policy, lu, factored, band, b, lower, upper, d, slack, limit, w):
    for count in range(1, limit + 1):
        if not _factor(lu, factored, policy, band, w):
            return -1
        _substitute(x, lu, policy, b, lower, upper, w)
        _gradient(g, x, band, b, w)
        changes = 0
        for i in range(x.size):
            below, above, s = d[i] * (x[i] - lower[i]), d[i] * (x[i] - upper[i]), g[i]
            low = below < s - slack or (policy[i] < 0 and below < s + slack)
            high = above > s + slack or (policy[i] > 0 and above > s - slack)
            new = -1 if low else (1 if high else 0)
            changes += new != policy[i]
            policy[i] = new
        if changes == 0:
            return count
    return limit + 1


@merged
def _factor(lu, factored, policy, band, w):
    """A = L U row by row, clamped rows being those of the identity; the inverse of a pivot is in its place.

    Rows before the first one whose policy has changed are left as they are. False if a pivot is not positive.
    """
    n, begin = policy.size, 0
    while begin < n and policy[begin] == factored[begin]:
        begin += 1
    inverse = lu[w, begin - 1] if begin > 0 else 1.0
    for i in range(begin, n):
        factored[i] = policy[i]
        if policy[i] != 0:
            for k in range(2 * w + 1):
                lu[k, i] = 1.0 if k == w else 0.0
            inverse = 1.0
            continue
        for k in range(2 * w + 1):
            lu[k, i] = band[k, i]
        for k in range(max(w - i, 0), w - 1):
            j = i - w + k
            lu[k, i] *= lu[w, j]
            for m in range(1, w + 1):
                lu[k + m, i] -= lu[k, i] * lu[w + m, j]
        if i > 0:
            lu[w - 1, i] *= inverse
            for m in range(1, w + 1):
                lu[w - 1 + m, i] -= lu[w - 1, i] * lu[w + m, i - 1]
        if not lu[w, i] > 0.0:
            factored[i] = 2
            return False
        inverse = lu[w, i] = 1.0 / lu[w, i]
    return True


@merged
def _substitute(x, lu, policy, b, lower, upper, w):
    """x = U⁻¹ L⁻¹ of b on the free rows and of the bounds on clamped ones."""
    n = x.size
    for i in range(n):
        x[i] = b[i] if policy[i] == 0 else (lower[i] if policy[i] < 0 else upper[i])
    last = 0.0
    for i in range(n):
        s = x[i]
        for k in range(max(w - i, 0), w - 1):
            s -= lu[k, i] * x[i - w + k]
        last = x[i] = s - lu[w - 1, i] * last
    last = 0.0
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(2, min(w, n - 1 - i) + 1):
            s -= lu[w + k, i] * x[i + k]
        last = x[i] = (s - lu[w + 1, i] * last) * lu[w, i]


@merged
def _gradient(g, x, band, b, w):
    """g = A x - b, one diagonal after the other."""
    n = x.size
    for i in range(n):
        g[i] = band[w, i] * x[i] - b[i]
    for k in range(1, w + 1):
        for i in range(k, n):
            g[i] += band[w - k, i] * x[i - k]
        for i in range(n - k):
            g[i] += band[w + k, i] * x[i + k]


@serial
def _halve(coarse, cb, band, b):
    """The problem on every second unknown, PᵀA P and Pᵀb, with linear interpolation P; both outputs come in as zero."""
    n, w, v = b.size, band.shape[0] // 2, coarse.shape[0] // 2
    for i in range(n):
        weight = 1.0 - 0.5 * (i % 2)
        for p in range(i // 2, min((i + 1) // 2, cb.size - 1) + 1):
            cb[p] += weight * b[i]
            for j in range(max(i - w, 0), min(i + w, n - 1) + 1):
                for q in range(j // 2, min((j + 1) // 2, cb.size - 1) + 1):
                    coarse[v + q - p, p] += weight * (1.0 - 0.5 * (j % 2)) * band[w + j - i, i]


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
