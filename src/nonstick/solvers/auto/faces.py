"""Few unknowns, however badly conditioned: minimise on one face of the box after another, by factors.

Exact policy iteration first, which rarely takes ten factors. If it does not end, as on matrices far from M-matrices,
one row is exchanged at a time (Stark and Parker 1995, after Lawson and Hanson's NNLS):

    p = -A_FF⁻¹ g_F                       the step to the minimum of the face
    the first bound on the way stops it, and its row is clamped
    at the minimum of a face, the clamped row that gains most is released

The objective falls in every step, so no face comes twice, and there are few: the work has a bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core import rounding
from ...inverse.base import Inverse, IterativeInverse, Recipe
from ...inverse.krylov.direct import Direct
from ...operators.csr import CSROperator
from ...operators.masked import Masked
from ...problem.box import BoxProblem
from ...problem.monitor import Monitor, Start
from ..base import Method
from ..safeguards.definite import factors_badly


@dataclass(frozen=True)
class FewDefinite:
    """A condition: a bare symmetric matrix of at most `most` unknowns, definite beyond rounding."""

    most: int = 100

    def holds(self, problem: BoxProblem) -> bool:
        """True if the matrix of the problem is like that."""
        A = problem.A
        few = isinstance(A, CSROperator) and A.symmetric and A.comm.size == 1 and 0 < A.n <= self.most
        return few and bool((A.diagonal > 0.0).all()) and not factors_badly(A)


@dataclass(frozen=True)
class Faces(Method):
    """Exact minima on faces of the box, by policies and then row by row.

    Parameters
    ----------
    policies : int
        Policies that are tried before rows are exchanged one by one.
    exchanges : int
        Exchanges of a row at most, for each unknown.

    Examples
    --------
    >>> import numpy as np, nonstick
    >>> from nonstick.solvers import Faces
    >>> t = np.linspace(0, 1, 12)
    >>> A = np.vander(t, 8).T @ np.vander(t, 8)  # its condition is 1e10
    >>> nonstick.solve(A, np.vander(t, 8).T @ np.cos(3 * t), -2.0, 2.0, method=Faces()).status
    'converged'
    """

    policies: int = 20
    exchanges: int = 10
    inner: Recipe = field(default_factory=lambda: Direct(shift=0.0))

    @property
    def treats(self) -> frozenset[str]:
        return frozenset()

    @property
    def label(self) -> str:
        return "minima on faces by factors"

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        face = _Face(self.inner, problem, start, monitor)
        if not face.iterate(min(self.policies, monitor.limit(self.policies))):
            face.exchange(monitor.limit(monitor.iterations + self.exchanges * problem.n))  # others may have come before


class _Face:
    """x on a face of the box, which its policy names, with g = A x - b."""

    def __init__(self, inner: Recipe, problem: BoxProblem, start: Start, monitor: Monitor):
        self.problem, self.monitor, self.inner = problem, monitor, inner
        self.x, self.g = start.x, problem.gradient(start.x)
        self.d = problem.A.diagonal
        self.policy = problem.box.split(self.x, self.g, self.d) if start.active is None else start.active.copy()
        self.masked = Masked(problem.A)
        self.inverse: Inverse | None = None
        #: rows that were released at this x and did not leave their bound
        self.vain = np.zeros(problem.n, bool)

    def step(self, g: np.ndarray) -> np.ndarray:
        """To the minimum of the face from a point of it with this gradient."""
        free, p = self.policy == 0, np.zeros(g.size)
        self.monitor.iterations += 1
        self.monitor.outer_iterations += 1
        if free.any():
            with self.monitor.setup():
                inverse = self.inverse = self.inner.setup(self.masked.update(free), self.inverse)
            assert isinstance(inverse, IterativeInverse)
            inverse.solve(np.where(free, -g, 0.0), p, watch=self.monitor.interrupted)
        return np.where(free, p, 0.0)

    def iterate(self, limit: int) -> bool:
        """Policy iteration until x is good enough (True), or a policy occurs twice; x is then the best point met."""
        problem, box = self.problem, self.problem.box
        seen: set[bytes] = set()
        x, best = self.x.copy(), problem.objective(self.x)
        while self.policy.tobytes() not in seen and len(seen) < limit and not self.monitor.status:
            seen.add(self.policy.tobytes())
            y = np.where(self.policy == 0, x, box.at(self.policy))
            y += self.step(problem.gradient(y))
            g = problem.gradient(y)
            self.policy = box.split(y, g, self.d)
            box.project(y, out=x)
            if self.monitor.check(x):
                self.x[:] = x
                return True
            value = problem.objective(x)
            if value < best:
                best, self.x[:] = value, x
        return bool(self.monitor.status)

    def exchange(self, limit: int) -> None:
        """Exchange one row after the other until x is good enough or nothing is gained."""
        problem, box, x, g = self.problem, self.problem.box, self.x, self.g
        problem.gradient(x, g)
        at_lower, at_upper = (x <= box.lower) & (g > 0), (x >= box.upper) & (g < 0)
        self.policy = at_upper.astype(np.int8) - at_lower.astype(np.int8)
        while self.monitor.iterations < limit and not self.monitor.status:
            whole = self._move(self.step(g))
            problem.gradient(x, g)
            if whole and (self.monitor.check(x, g) or not self._release()):
                break
        if not self.monitor.status and (self.monitor.stopping.maxiter is None or self.monitor.iterations < limit):
            self.monitor.give_up(x, g)
            worth = rounding.EPSILON * float(self._terms().max()) / problem.scale
            if self.monitor.status == "stagnated" and worth > self.monitor.asked:
                self.monitor.remark(f"A is nearly singular: the last digit of x is worth a residual of {worth:.0e}")

    def _move(self, p: np.ndarray) -> bool:
        """Go along p as far as the box allows; the row that stops it is clamped. True if nothing stopped it."""
        box, x = self.problem.box, self.x
        reach = box.max_step(x, -p)
        if reach > 0.0:
            self.vain[:] = False
        if not reach < 1.0:
            box.project(x + p, out=x)
            return True
        with np.errstate(invalid="ignore", divide="ignore"):
            row = int(np.argmin(np.where(p < 0, (box.lower - x) / p, np.where(p > 0, (box.upper - x) / p, np.inf))))
        self.vain[row] |= not reach > 0.0
        self.policy[row] = 1 if p[row] > 0 else -1
        box.project(x + max(reach, 0.0) * p, out=x)
        x[row] = box.at(self.policy)[row]
        return False

    def _release(self) -> bool:
        """Free the clamped row that gains most; False if none gains more than rounding."""
        gain = np.where(self.vain, 0.0, self.policy * self.g)
        gain[gain <= rounding.DIGITS * self._terms()] = 0.0
        row = int(np.argmax(gain / np.sqrt(self.d)))
        self.policy[row] = 0
        return bool(gain[row] > 0.0)

    def _terms(self) -> np.ndarray:
        """The size of what each row of g sums."""
        return self.problem.A.magnitude(self.x, np.empty(self.x.size)) + np.abs(self.problem.b)
