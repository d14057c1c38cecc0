"""Conjugate gradients in the box, over the diagonal: the cheapest steps there are, in one compiled loop.

    F = rows that no bound holds, ties among them;   z = D⁻¹g on F, 0 elsewhere
    p = z + β p on F,   β = -zᵀA p / pᵀA p           p is kept when F changes, without the rows that left it
    y = P(x - α p),     α = gᵀp / pᵀA p
    if y = x - α p: x = y
    else: p = x - y, x = x - min(1, gᵀp / pᵀA p) p   from x to y inside the box, no further than to the minimum

The objective falls in every step. A direction without curvature is followed as far as the box allows; if that is for
ever, the objective is not bounded below. While F stays, these are conjugate gradients; a step that meets a bound costs
the columns of the rows that meet it beside its product. On well-conditioned matrices they take fewer products than any
quasi-Newton method, and nothing is set up. The residuals so far say how many steps there will be, so that
`WhileCheaper` can leave in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core import rounding
from ...inverse.base import Recipe
from ...inverse.cholesky.factor import fronts
from ...inverse.krylov.direct import unlike_m_matrix
from ...operators.base import Operator
from ...operators.csr import CSROperator
from ...problem.box import BoxProblem
from ...problem.monitor import FAILED, Monitor, Start
from ..base import Method
from ..cascade import DenseRows
from ..proximal import ENDLESS, endless
from ..safeguards.definite import ZERO
from ._projected_cg import _steps


@dataclass(frozen=True)
class ProjectedCGSettings:
    """How long conjugate gradients in the box go on before something is set up."""

    #: steps between two looks at how many there will be
    every: int = 20
    #: what it costs to set anything up, in entries multiplied, a hierarchy beside it, in products with A, and a factor
    #: beside its operations, for an unknown
    any: float = 2e6
    hierarchy: float = 800.0
    factor: float = 4000.0
    #: factorisations of a solve, an operation of which takes a tenth of the time of a product with one entry
    factors: float = 0.6


SETTINGS = ProjectedCGSettings()


@dataclass(frozen=True)
class Bare:
    """A condition: a symmetric sparse matrix without a grid, on one rank."""

    def holds(self, problem: BoxProblem) -> bool:
        """True if the matrix of the problem is like that."""
        A = problem.A
        return (
            isinstance(A, CSROperator)
            and A.symmetric
            and A.comm.size == 1
            and problem.edges is None
            and bool((A.diagonal > 0.0).all())
        )


@dataclass(frozen=True)
class ProjectedCG(Method):
    """Conjugate gradients in the box, preconditioned by the diagonal, for bare symmetric matrices.

    Parameters
    ----------
    maxiter : int
        Its own limit of steps.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.solvers import ProjectedCG
    >>> nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method=ProjectedCG()).x.round(6)
    array([0.5, 0. ])
    """

    maxiter: int = 20_000

    @property
    def treats(self) -> frozenset[str]:
        return frozenset()

    @property
    def label(self) -> str:
        return "conjugate gradients in the box"

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        self.improve(problem, start.x, monitor, lambda made, left: True)

    def improve(
        self, problem: BoxProblem, x: np.ndarray, monitor: Monitor, worth: Callable[[int, float], bool]
    ) -> None:
        """Improve x in place until the monitor stops it, or `worth` says that the steps still to come are not."""
        A, box, n = problem.A, problem.box, problem.n
        M, d, limit = A.matrix(), A.diagonal, monitor.limit(self.maxiter)
        full = A.full if isinstance(A, CSROperator) and A.full is not None else np.empty((0, 0))
        p, Ap, y, z = np.zeros((4, n))
        free, found, g = np.empty(n, np.bool_), np.zeros(5), problem.gradient(x)
        steps = 0
        if monitor.check(x, g):
            return
        while monitor.iterations < limit:
            aim, count = monitor.tolerance * problem.scale, min(SETTINGS.every, limit - monitor.iterations)
            vectors = x, g, p, Ap, y, z, free, found, (full, M.data, M.indices, M.indptr), d, box.lower, box.upper
            done = _steps(*vectors, aim, rounding.SUM, count)
            steps, monitor.iterations = steps + done, monitor.iterations + done
            monitor.record_curvature(bool(found[4] < ZERO))
            if monitor.status or found[0] < 0.0:
                if not monitor.status and endless(problem, -p):
                    monitor.stop("unbounded", ENDLESS)
                return
            if found[1] <= aim:
                problem.gradient(x, g)
                found[0] = 0.0
            if monitor.check(x, g):
                return
            _, now, peak, since, _ = found
            left = since * np.log(now / aim) / np.log(peak / now) if now < peak else np.inf
            if not worth(steps, left):
                return


@dataclass(frozen=True)
class WhileCheaper(Method):
    """Conjugate gradients in the box where they promise to be cheaper than what another method sets up.

    Parameters
    ----------
    first : ProjectedCG
        It is left as soon as its residuals promise more work than the other method needs.
    then : Method
        Goes on from its x.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.compositions import AUTO
    >>> from nonstick.solvers import ProjectedCG, WhileCheaper
    >>> method = WhileCheaper(ProjectedCG(), AUTO)
    >>> nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], method=method).path
    'conjugate gradients in the box'
    """

    first: ProjectedCG
    then: Method

    @property
    def treats(self) -> frozenset[str]:
        return self.first.treats

    @property
    def label(self) -> str:
        return self.first.label

    @property
    def preconditioner(self) -> Recipe | None:
        return self.then.preconditioner

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        self.first.improve(problem, start.x, monitor, _Cheaper(problem))
        limited = monitor.stopping.maxiter is not None and monitor.iterations >= monitor.stopping.maxiter
        if monitor.status not in FAILED or limited:
            return
        then = self.then.chosen(problem)
        monitor.status = monitor.message = ""
        monitor.leave(then.label, "it is cheaper")
        then.solve(problem, Start(start.x, cold=start.cold), monitor)


class _Cheaper:
    """Whether steps still to come are cheaper than what else could be set up for a matrix."""

    def __init__(self, problem: BoxProblem):
        A = self._A = problem.A
        self._problem = problem
        #: entries multiplied in a step, and ten vectors that it reads
        self._work = A.matrix().nnz + 10 * A.n

    def __call__(self, made: int, left: float) -> bool:
        """They may cost as much as the set-up; the more steps were made, the less, because predictions may be wrong."""

        def within(cost: float) -> bool:
            return left * self._work <= cost / (1.0 + made * self._work / cost)

        return within(SETTINGS.any + SETTINGS.factor * self._A.n) or within(SETTINGS.any + self._set_up)

    @cached_property
    def _set_up(self) -> float:
        """What the next method sets up, in entries multiplied."""
        A = self._A
        if DenseRows().holds(self._problem):
            return _factors(A, A.n**3 / 3.0)
        if unlike_m_matrix(A):
            return min(_factors(A, fronts(A).operations), _modes(A))
        return SETTINGS.hierarchy * A.matrix().nnz


def _factors(A: Operator, operations: float) -> float:
    """What factors of so many operations cost in a solve, in entries multiplied."""
    return SETTINGS.factor * A.n + SETTINGS.factors * operations


def _modes(A: Operator) -> float:
    """What a hierarchy of near-null vectors costs; infinite if none are known."""
    return np.inf if getattr(A, "near_null", None) is None else SETTINGS.hierarchy * A.matrix().nnz
