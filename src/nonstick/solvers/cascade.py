"""Methods and linear solves that take over from each other, with one report: the path of the solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import scipy.sparse as sp

from ..errors import NonstickError
from ..inverse.base import Inverse, IterativeInverse, Recipe
from ..inverse.cascade import Cascade, InTurn, Within
from ..inverse.cholesky.factor import fronts
from ..inverse.krylov.cg import CG
from ..inverse.krylov.direct import Factor
from ..inverse.krylov.richardson import Richardson
from ..operators.base import Operator
from ..operators.csr import CSROperator
from ..problem.box import BoxProblem
from ..problem.monitor import FAILED, Monitor, Start
from .base import Method
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
class MethodCascade(Method):
    """Several methods, of which the next one takes over where the first is of no use.

    Parameters
    ----------
    methods : tuple of Method
        In the order of preference, each alone or as a pair `(condition, method)`: it is then for such problems.
    when : str
        "failed": the next one goes on from the x of a method that has failed. "refused": it solves the problems that
        the first does not treat.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, GMRES
    >>> from nonstick.solvers import MethodCascade, PolicyIteration
    >>> method = MethodCascade((PolicyIteration(CG()), PolicyIteration(GMRES())), when="refused")
    >>> problem = nonstick.BoxProblem([[2.0, -1.5], [-0.5, 2.0]], [1.0, 1.0])
    >>> method.chosen(problem).inner
    GMRES(M=NoPreconditioner(), restart=50, rtol=1e-08, maxiter=10000, single=False)
    """

    methods: tuple[Method | tuple[Condition, Method], ...]
    when: Literal["failed", "refused"] = "failed"

    @property
    def plain(self) -> tuple[Method, ...]:
        """The methods that are for every matrix."""
        return tuple(method for method in self.methods if isinstance(method, Method))

    @property
    def treats(self) -> frozenset[str]:
        able = self.plain[:1] if self.when == "failed" else self.plain
        return frozenset().union(*(method.treats for method in able))

    @property
    def label(self):
        return self.plain[0].label

    @property
    def as_printed(self) -> bool:
        return self.plain[0].as_printed

    def check(self, problem):
        self.chosen(problem)

    def chosen(self, problem):
        able, refusals = [], []
        for entry in self.methods:
            method = entry if isinstance(entry, Method) else entry[1]
            if isinstance(entry, tuple) and not entry[0].holds(problem):
                continue
            try:
                able.append(method.chosen(problem))
                if self.when == "refused":
                    break  # conditions of the others may cost time
            except NonstickError as error:
                refusals.append(error)
                if self.when == "failed" and not able:
                    raise
        if not able:
            raise refusals[0]
        return able[0] if self.when == "refused" else MethodCascade(tuple(able))

    def quick_solves(self, A):
        return self.plain[0].quick_solves(A)

    def solve(self, problem, start, monitor):
        methods = self.plain
        if methods[0].needs_stencil and problem.A.bodies is not None:
            solve_apart(self, problem, start, monitor)
            return
        for method, following in zip(methods, (*methods[1:], None)):
            method.solve(problem, start, monitor)
            limited = monitor.stopping.maxiter is not None and not monitor.status
            if following is None or limited or monitor.status not in FAILED:
                return
            monitor.hand_over(following.label, "progress was too slow")
            start = Start(start.x)


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
