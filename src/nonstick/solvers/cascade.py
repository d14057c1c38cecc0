"""Methods and linear solves that take over from each other, with one report: the path of the solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from ..errors import NonstickError
from ..inverse.base import Inverse, IterativeInverse, Recipe
from ..inverse.cascade import Cascade, InTurn, Steps, Within
from ..inverse.cholesky.factor import fronts
from ..inverse.krylov.cg import CG
from ..inverse.krylov.direct import Factor
from ..inverse.krylov.richardson import Richardson
from ..operators.base import Operator
from ..operators.csr import CSROperator
from ..problem.box import BoxProblem
from ..problem.monitor import FAILED, Monitor, Start
from .base import Method, attempt
from .bodies_apart import solve_apart


class Condition(Protocol):
    """What decides whether a method is for a problem."""

    def holds(self, problem: BoxProblem) -> bool: ...


@dataclass(frozen=True)
class DenseRows:
    """A condition: a bare matrix whose rows are so long that a hierarchy costs more than it saves.

    Normal equations JᵀJ and random couplings have such matrices. Coarse rows would be as dense as fine ones, and the
    spectrum is rarely that of an elliptic operator. A blur has positive couplings only.

    Parameters
    ----------
    unknowns : int
        Matrices with so many unknowns are small for every method.
    part : float
        The least part of all n² places that has an entry; meshes of many unknowns have far fewer.
    few, reach : int, float
        Matrices with fewer entries than `few` may be small meshes: dense are those where two couplings lead from one
        unknown to this part of all.
    positive : float
        Or: the least part of the couplings that is positive.
    operations : float
        The most that a factor may cost, which is that of a full matrix.
    """

    unknowns: int = 400
    part: float = 0.02
    few: int = 50_000
    reach: float = 0.3
    positive: float = 0.9
    operations: float = np.inf

    def holds(self, problem: BoxProblem) -> bool:
        """True if the matrix of the problem is like that."""
        A = problem.A
        if not (A.has_entries and A.symmetric) or A.stencil is not None or A.bodies is not None or A.comm.size > 1:
            return False
        M = A.matrix()
        if A.n**3 / 3.0 > self.operations:
            return False
        if A.n <= self.unknowns or getattr(A, "near_null", None) is not None:  # what is smooth is known: not dense
            return False
        if M.nnz > self.part * A.n**2:
            return M.nnz >= self.few or _reach(M) > self.reach * A.n
        if M.nnz < self.few:
            return False
        inside = float(A.diagonal.sum())
        total, signed = float(np.abs(M.data).sum()) - inside, float(M.data.sum()) - inside
        return 0.5 * (total + signed) > self.positive * total > 0.0


def _reach(M: sp.csr_array) -> int:
    """How many unknowns are coupled with one, or with one of those."""
    middle = M.shape[0] // 2
    near = M.indices[M.indptr[middle] : M.indptr[middle + 1]]
    return int(np.unique(M[near].indices).size)


@dataclass(frozen=True)
class Factored:
    """A condition: a bare symmetric matrix whose factors cost less than anything else that could be set up for it.

    Parameters
    ----------
    factor : Factor
        It fits: the matrix is unlike an M-matrix.
    most, operations : int, float
        Or: so few unknowns, and so few operations for a factor, that a hierarchy or a few sweeps cost as much.
    """

    factor: Factor
    most: int = 400
    operations: float = 1e7

    def holds(self, problem: BoxProblem) -> bool:
        """True if the matrix of the problem is like that."""
        A = problem.A
        if not isinstance(A, CSROperator) or not A.symmetric or A.comm.size > 1 or problem.edges is not None:
            return False
        if 0 < A.n <= self.most and fronts(A).operations <= self.operations:
            return True
        return self.factor.fits(A)


@dataclass(frozen=True)
class MethodCascade(Steps[Method], Method):
    """The first method that treats the problem, until it is left; then the next one.

    Parameters
    ----------
    steps : tuple
        Methods in the order of preference, each alone or as a pair `(when, method)`. `when` is a condition on the
        problem, or `Within`: the next one then goes on from the x of a method that has failed. `Within` does not excuse
        a method from a problem: one that it does not treat is refused.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, GMRES
    >>> from nonstick.solvers import MethodCascade, PolicyIteration
    >>> method = MethodCascade((PolicyIteration(CG()), PolicyIteration(GMRES())))
    >>> problem = nonstick.BoxProblem([[2.0, -1.5], [-0.5, 2.0]], [1.0, 1.0])
    >>> method.chosen(problem).inner
    GMRES(M=NoPreconditioner(), restart=50, rtol=1e-08, maxiter=10000, single=False)
    """

    steps: tuple[Method | tuple[Condition | Within, Method], ...]

    @property
    def plain(self) -> tuple[Method, ...]:
        """The methods that are for every matrix, up to one from which others only take over."""
        found = []
        for when, method in self.pairs:
            if when is None or isinstance(when, Within):
                found.append(method)
            if isinstance(when, Within):
                break
        return tuple(found)

    @property
    def treats(self) -> frozenset[str]:
        return frozenset().union(*(method.treats for method in self.plain))

    @property
    def linear(self) -> bool:
        return self.plain[0].linear

    @property
    def label(self):
        return self.plain[0].label

    @property
    def as_printed(self) -> bool:
        return self.plain[0].as_printed

    def check(self, problem):
        self.chosen(problem)

    def chosen(self, problem):
        refusals = []
        for k, (when, method) in self._open_to(problem):
            try:
                able = method.chosen(problem)
            except NonstickError as error:
                refusals.append(error)
                if isinstance(when, Within):
                    break
                continue
            return self.with_steps([(when, able), *self.pairs[k + 1 :]]) if isinstance(when, Within) else able
        raise refusals[0]

    def _open_to(self, problem: BoxProblem) -> list[tuple[int, tuple]]:
        """The steps whose conditions hold for a problem, with their places."""
        return [
            (k, (when, method))
            for k, (when, method) in enumerate(self.pairs)
            if when is None or isinstance(when, Within) or when.holds(problem)
        ]

    def quick_solves(self, A):
        return self.plain[0].quick_solves(A)

    def solve(self, problem, start, monitor):
        when, method = self.pairs[0]
        if method.needs_stencil and problem.A.bodies is not None:
            solve_apart(self, problem, start, monitor)
            return
        before, limited = start.x.copy(), isinstance(when, Within) and when.iterations < np.inf
        part = monitor.within(limit=int(when.iterations)) if limited else monitor
        attempt(method, problem, start, part)
        monitor.stop(part.status, part.message)
        ended = not part.status and not limited and monitor.stopping.maxiter is not None  # by the user's own limit
        if when is None or ended or part.status not in (*FAILED, *["maxiter"] * limited):
            return
        rest = self.with_steps(self.pairs[1:])
        if not rest._open_to(problem):
            return
        following = rest.chosen(problem)
        monitor.hand_over(following.label, "progress was too slow")
        if not monitor.measure(start.x) < monitor.measure(before):  # also if it is NaN
            start.x[:] = before
        following.solve(problem, Start(start.x), monitor)


def in_turn(*methods: Method, limit: int | None = None) -> MethodCascade:
    """Methods of which each takes over where the one before it fails; `limit` is that of the first one's iterations."""
    first, *others = methods
    limited = Within() if limit is None else Within(limit)
    return MethodCascade(((limited, first), *((Within(), method) for method in others)))


def accelerated(inner: Recipe) -> Recipe:
    """A linear solver for a matrix that may be far from a discretised Laplacian.

    There a multigrid iteration may diverge. As the preconditioner of CG it cannot.
    """
    if not isinstance(inner, Richardson):
        return inner
    return Cascade(((Within(inner.maxiter), inner), CG(inner.M, maxiter=20_000)))


def solve_inner(
    inverse: Inverse, A: Operator, b: np.ndarray, x: np.ndarray, atol: float, maxiter: int, monitor: Monitor
) -> bool:
    """Improve x until max|b - A x| <= atol; counts the iterations in the monitor. True if it converged."""
    if not isinstance(inverse, IterativeInverse):  # a direct solver: one correction of the residual
        x += inverse.apply(A.residual(b, x, np.empty_like(b)), np.empty_like(x))
        monitor.iterations += 1
        return True
    if isinstance(inverse, InTurn):
        inverse.report = monitor.hand_over
    result = inverse.solve(b, x, rtol=0.0, atol=atol, maxiter=min(maxiter, inverse.maxiter), watch=monitor.interrupted)
    monitor.iterations += result.iterations
    monitor.record_curvature(result.negative)
    return result.converged
