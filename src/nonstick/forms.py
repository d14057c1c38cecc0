"""Forms that people have: least squares with bounds (`nonstick.lsq`) and quadratic programs (`nonstick.qp`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .api import Run, solve
from .core import validate
from .core.door import read_bounds, read_options
from .core.options import STOPPING, suggesting
from .errors import NonstickError
from .operators.csr import CSROperator, Products
from .problem.box import BoxProblem
from .problem.monitor import ADVICE, History
from .problem.solution import Solution
from .solvers.base import Method
from .solvers.quadratic import Quadratic, interior_point


@dataclass(repr=False)
class LeastSquares(Solution):
    """The solution of a least-squares problem, with the names of `scipy.optimize.lsq_linear`.

    `fun` is the vector J x − y, `cost` is ½|J x − y|² (with `regularise`, plus ½λ|x|²).
    """

    residuals: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    cost: float = 0.0

    @property
    def fun(self) -> Any:
        """J x − y."""
        return self.residuals


@suggesting
def lsq(
    J: Any,
    y: Any,
    bounds: Any = (-np.inf, np.inf),
    *,
    regularise: float | np.ndarray = 0.0,
    x0: Any = None,
    method: str | Method = "jacobi-mprgp",
    options: Any = None,
    **stopping: Any,
) -> LeastSquares:
    """Least squares with bounds: `min ½|J x − y|² + ½λ|x|²`, `lower ≤ x ≤ upper`.

    JᵀJ is never formed: every iteration takes a product with J and one with Jᵀ, by conjugate gradients inside the
    bounds.

    Parameters
    ----------
    J : scipy.sparse matrix, 2-D array or scipy.sparse.linalg.LinearOperator
        m × n. A LinearOperator needs `rmatvec`; the lengths of its columns are estimated by 32 products.
    y : array_like
        m numbers.
    bounds : (lower, upper), scipy.optimize.Bounds or n pairs
        As for `scipy.optimize.lsq_linear`; none by default. `(0, np.inf)` is nonnegative least squares.
    regularise : float or array_like
        λ, one for all unknowns or one for each: makes a problem definite in which J does not determine x.
    x0 : array_like, optional
        Where to start.
    method : str or Method
        A method that needs products only.
    rtol, atol, maxiter, callback, time_limit, criterion, options
        As for `nonstick.solve`; residuals are measured against max|Jᵀy|.

    Returns
    -------
    LeastSquares
        As from `nonstick.solve`, with `fun` = J x − y and `cost`.

    Examples
    --------
    >>> import nonstick
    >>> solution = nonstick.lsq([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [1.0, 0.0, -1.0], (0.0, None))
    >>> solution.x.round(6), round(solution.cost, 6)
    (array([0.5, 0. ]), 0.75)
    """
    run = Run.by(method, read_options(options, stopping))
    right = validate.numbers(y, "y")
    with np.errstate(over="ignore", invalid="ignore"):
        product, transposed, squares, (m, n) = _products(J, len(right) if right.ndim else 1)
    right = validate.vector(right, m, "y")
    lower, upper = validate.bounds(*read_bounds(bounds, 0.0, np.inf, n, pairs=False), n)
    weight = validate.bound(regularise, n, "regularise")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise NonstickError("regularise must be zero or positive, one number for all unknowns or one for each")
    diagonal = squares + weight
    diagonal = np.where(diagonal > 0, diagonal, 1.0)  # a column of zeros: nothing depends on this unknown
    if not np.isfinite(diagonal).all():
        raise NonstickError("the squares of J and regularise are too large for a computer: give J and y in other units")
    A = Products(lambda x: transposed(product(x)) + weight * x, diagonal)
    problem = BoxProblem(A, transposed(right), lower, upper)
    problem.may_float = False  # JᵀJ x = Jᵀy always has a solution
    start = None if x0 is None else validate.vector(x0, n, "x0")
    solution = run.solve(problem, start)
    left = product(solution.x) - right
    with np.errstate(over="ignore"):
        cost = 0.5 * float(left @ left + weight @ solution.x**2)
    parts = {name: getattr(solution, name) for name in solution.__dataclass_fields__}
    parts["seconds"] = time.perf_counter() - run.began
    return LeastSquares(**parts, residuals=left, cost=cost)


Product = Callable[[np.ndarray], np.ndarray]


def _products(J: Any, m: int) -> tuple[Product, Product, np.ndarray, tuple[int, int]]:
    """x ↦ J x, v ↦ Jᵀv, the squared length of every column, and the shape."""
    if hasattr(J, "matvec") and hasattr(J, "rmatvec"):
        m, n = J.shape
        # E(Jᵀw)² is the squared length of each column for signs w at random; 32 of them give it within a quarter
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (32, m))
        squares = np.mean([np.square(np.ravel(J.rmatvec(w))) for w in signs], axis=0)
        return lambda x: np.ravel(J.matvec(x)), lambda v: np.ravel(J.rmatvec(v)), squares, (m, n)
    J = validate.rectangle(J, None, "J", m, "y")
    if sp.issparse(J):
        squares, T = np.asarray(J.multiply(J).sum(axis=0)).ravel(), sp.csr_array(J.T)
    else:
        squares, T = np.einsum("ij,ij->j", J, J), J.T
    return lambda x: J @ x, lambda v: T @ v, squares, J.shape


@dataclass(repr=False)
class QuadraticSolution(Solution):
    """The solution of a quadratic program, with the multipliers of its rows.

    `y` belongs to A x = b, `z` to G x ≤ h (not negative), `z_box` to the bounds (negative at a lower bound):
    P x + q + Aᵀy + Gᵀz + z_box = 0.
    """

    y: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    z: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    z_box: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    program: Quadratic | None = field(default=None, repr=False)

    @property
    def fun(self) -> float:
        """½xᵀP x + qᵀx."""
        assert self.program is not None
        return self.program.objective(self.x)

    def kkt(self) -> float:
        """The largest error of the constraints, the gradient and complementarity, each against its own terms."""
        assert self.program is not None
        return max(self.program.residuals(self.x, self.y, self.z, self.z_box))


@suggesting
def qp(
    P: Any,
    q: Any,
    G: Any = None,
    h: Any = None,
    A: Any = None,
    b: Any = None,
    lb: Any = None,
    ub: Any = None,
    *,
    x0: Any = None,
    options: Any = None,
    **stopping: Any,
) -> QuadraticSolution:
    """Solve the quadratic program `min ½xᵀP x + qᵀx`, `G x ≤ h`, `A x = b`, `lb ≤ x ≤ ub`.

    Without G and A, and where the diagonal of P is positive, this is `nonstick.solve`. With them a primal-dual
    interior-point method factors the sparse equations of all constraints in every step: for some ten thousand unknowns
    and a few thousand constraints, as long as the factors fit into memory. For a large elliptic P with one to ten
    constraints, `nonstick.solve(…, constraints=…)` is faster.

    Parameters
    ----------
    P : scipy.sparse matrix or 2-D array
        n × n, symmetric, positive semidefinite; zero for a linear program.
    q : array_like
        n numbers.
    G, h : matrix and array_like, optional
        G x ≤ h.
    A, b : matrix and array_like, optional
        A x = b.
    lb, ub : float or array_like, optional
        Bounds; None or ±inf where there is none. Unlike `nonstick.solve`, none by default.
    x0 : array_like, optional
        Where to start if there are bounds only; an interior-point method cannot use it.
    rtol, maxiter, options
        As for `nonstick.solve`. rtol is compared with the largest error of the conditions, each against its own terms.

    Returns
    -------
    QuadraticSolution
        As from `nonstick.solve`, with the multipliers `y`, `z` and `z_box`.

    Examples
    --------
    >>> import nonstick
    >>> solution = nonstick.qp([[2.0, 0.0], [0.0, 2.0]], [-2.0, -5.0], G=[[1.0, 2.0]], h=[3.0], lb=0.0)
    >>> solution.x.round(5), solution.z.round(5), solution.status
    (array([0.4, 1.3]), array([1.2]), 'converged')
    """
    stop = read_options(options, stopping)
    began = time.perf_counter()
    program = _program(P, q, G, h, A, b, lb, ub)
    diagonal = program.P.diagonal()
    if not program.h.size and not program.b.size and (diagonal > 0).all():
        words = {name: getattr(stop, name) for name in STOPPING}
        solution = solve(program.P, -program.q, program.lower, program.upper, x0=x0, **words)
        empty = np.empty(0)
        return _as_quadratic(solution, program, empty, empty, np.where(solution.active != 0, -solution.dual, 0.0))
    result = interior_point(program, max(stop.rtol, stop.atol), stop.maxiter)
    operator = CSROperator(sp.csr_array(program.P))
    force = -program.q - program.A.T @ result.y - program.G.T @ result.z
    problem = BoxProblem(operator, force, program.lower, program.upper)
    error = max(program.residuals(result.x, result.y, result.z, result.w))
    done = result.status == "converged"
    advice = {"infeasible": "the constraints cannot be met together: no x satisfies every row; remove or relax one"}
    message = f"{advice.get(result.status, ADVICE[result.status])} (largest error {error:.2e}, asked {stop.rtol:.1e})"
    history = History()
    seconds = time.perf_counter() - began
    history.record(error, result.iterations, result.iterations, seconds)
    solution = Solution(
        problem,
        result.x,
        problem.gradient(result.x),
        "interior point",
        done,
        result.status,
        message,
        result.iterations,
        result.iterations,
        history,
        seconds,
        0.0,
        path="interior point over sparse factors",
    )
    return _as_quadratic(solution, program, result.y, result.z, result.w)


def _as_quadratic(
    solution: Solution, program: Quadratic, y: np.ndarray, z: np.ndarray, w: np.ndarray
) -> QuadraticSolution:
    parts = {name: getattr(solution, name) for name in solution.__dataclass_fields__}
    return replace(QuadraticSolution(**parts), y=y, z=z, z_box=w, program=program)


def _program(P: Any, q: Any, G: Any, h: Any, A: Any, b: Any, lb: Any, ub: Any) -> Quadratic:
    """The checked data."""
    q = validate.numbers(q, "q")
    n = q.size
    q = validate.vector(q.reshape(-1) if q.ndim != 1 else q, n, "q")
    P = sp.csc_array(validate.rectangle(P, n, "P", n, "q"))
    if P.nnz and abs(P - P.T).max() > 1e-8 * abs(P).max():
        raise NonstickError("P is not symmetric: give (P + Pᵀ)/2, which has the same objective")
    if (P.diagonal() < 0).any():
        raise NonstickError("P is not positive semidefinite: its diagonal has negative entries")
    rows: list[Any] = []
    for matrix, right, names in ((G, h, ("G", "h")), (A, b, ("A", "b"))):
        if (matrix is None) != (right is None):
            raise NonstickError(f"{names[0]} and {names[1]} belong together: give both or none")
        v = np.empty(0) if right is None else validate.numbers(right, names[1]).astype(float).reshape(-1)
        M = sp.csc_array(
            np.empty((0, n)) if matrix is None else validate.rectangle(matrix, n, names[0], v.size, names[1])
        )
        if np.isnan(v).any() or (names[0] == "A" and not np.isfinite(v).all()) or (v == -np.inf).any():
            raise NonstickError(f"{names[1]} holds numbers that are not finite")
        rows.append((M, v))
    lower, upper = validate.bounds(lb, ub, n)
    (inequalities, h), (equations, b) = rows
    return Quadratic(P, q, inequalities, h, equations, b, lower, upper)
