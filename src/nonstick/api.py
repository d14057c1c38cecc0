"""`nonstick.solve` and `nonstick.lcp`: any bound-constrained elliptic problem, any registered method."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from . import registry
from .errors import NonstickError
from .lcp.base import Method
from .lcp.problem import BoxProblem
from .operators.base import Operator
from .operators.csr import CSROperator
from .operators.stencil import StencilOperator
from .solution import Monitor, Solution, Start


def solve(
    A,
    b,
    lower=0.0,
    upper=np.inf,
    *,
    method: str | Method = "auto",
    x0=None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback=None,
    cells=None,
) -> Solution:
    """Solve `min 1/2 x'Ax - b'x` subject to `lower <= x <= upper`, A symmetric positive definite."""
    problem = BoxProblem(as_operator(A, cells), b, lower, upper)
    return solve_problem(problem, method, x0=x0, rtol=rtol, atol=atol, maxiter=maxiter, callback=callback)


def lcp(M, q, **kw) -> Solution:
    """Solve the linear complementarity problem `0 <= x ⟂ M x + q >= 0`."""
    return solve(M, -np.asarray(q, dtype=float), **kw)


def solve_problem(
    problem: BoxProblem,
    method: str | Method = "auto",
    *,
    x0=None,
    active=None,
    rtol: float = 1e-6,
    atol: float = 0.0,
    maxiter: int | None = None,
    callback=None,
) -> Solution:
    """Solve a problem that is already built; `active` is the policy of a previous solution."""
    recipe = registry.get(method)
    name = method if isinstance(method, str) else repr(method)
    if problem.edges is not None and not recipe.handles_edges:
        raise NonstickError(
            f"method {name!r} solves problems with bounds on the unknowns; constraints on the edges of a wall "
            "(walls='edge') need 'pgs', 'psor' or 'fmg'"
        )
    x = np.zeros(problem.n) if x0 is None else np.array(x0, dtype=float)
    problem.box.project(x, out=x)
    monitor = Monitor(problem, rtol, atol, maxiter, callback)
    if problem.n:
        recipe.solve(problem, Start(x, active), monitor)
    return Solution.of(problem, x, name, monitor)


def as_operator(A, cells=None) -> Operator:
    """Anything matrix-like as an operator; with `cells` a stencil operator where the matrix allows it."""
    if isinstance(A, Operator):
        return A
    if not sp.issparse(A) and not isinstance(A, np.ndarray):
        raise NonstickError(f"A must be a scipy.sparse matrix or a nonstick operator, not {type(A).__name__}")
    A = sp.csr_array(A, dtype=float)
    if cells is not None:
        cells = np.asarray(cells)
        stencil = StencilOperator.from_matrix(A, cells)
        if stencil is not None:
            return stencil
    return CSROperator(A, cells)
