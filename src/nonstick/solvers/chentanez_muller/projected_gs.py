"""Projected Gauss–Seidel and SOR: relax one unknown after the other and clip it to its bounds.

    x_i ← clip(x_i + ω (b_i - Σ_j a_ij x_j) / a_ii, lower_i, upper_i)

Chentanez–Müller 2011 eq. 14; red-black on stencil operators, in the order of the rows on other matrices.
It converges for every symmetric positive definite A and 0 < ω < 2, but slowly: it needs O(1/h²) sweeps at ω = 1 and
O(1/h) at the best ω, where h is the mesh width. If A is not symmetric, it converges at ω = 1 for M-matrices and for
rows that are diagonally dominant.

Constraints on the edges of a wall (§3.1) are enforced by a projection after each sweep. The fixed point of plain
"sweep, then project" depends on the order of the sweep. Here each edge remembers its push. A push is part of the
right-hand side of the next sweep and is removed when it is no longer needed. The first projection is the paper's, and
the fixed point solves `A x = b + D C' push`, `0 <= push ⟂ C x >= 0`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from ...core import rounding
from ...kernels._csr import _csr_relax
from ...kernels._edges import _project_edges
from ...kernels._stencil import _stencil_relax, _stencil_sweeps
from ...kernels._vector import dot
from ...operators.base import Operator
from ...operators.stencil import ONE_THREAD_BELOW
from ...problem.box import WallEdges
from ...problem.monitor import PATIENCE
from ..base import Method


@dataclass(frozen=True)
class SweepSettings:
    """Sweeps with constraints on the edges of walls."""

    #: passes over the edges after each sweep: hubs share leaves, so one pass is not yet a projection; passes are cheap
    passes: int = 10


SETTINGS = SweepSettings()


class ProjectedSweeps:
    """Projected relaxation for one operator: `run(x, b, lower, upper, omega, count)` works on x in place."""

    def __init__(self, A: Operator):
        self.A = A
        self._stencil: tuple = ()
        if A.stencil is not None:
            rows = A.stencil.rows
            self._stencil = (*A.stencil.weights, A.diagonal, rows.start, rows.offset, rows.parity)
            self._piece = rows.piece
        else:
            M = A.matrix()
            self._csr = (A.diagonal, M.data, M.indices, M.indptr, np.arange(A.n, dtype=np.int32))

    # This is a method, not an attribute set to one of three methods: an object that refers to its own method is freed
    # late.
    def run(self, x, b, lower, upper, omega=1.0, count=1):
        if self._stencil and self.A.n < ONE_THREAD_BELOW and self.A.comm.size == 1:
            _stencil_sweeps(x, b, lower, upper, *self._stencil, omega, count)
        elif self._stencil:
            self._coloured(x, b, lower, upper, omega, count)
        else:
            for _ in range(count):
                _csr_relax(x, b, lower, upper, *self._csr, omega, True)

    def there_and_back(self, x, b, lower, upper):
        """One sweep in the order of the rows, or of the colours of a stencil, and one in the opposite order."""
        if self._stencil:
            for colour in (0, 1, 0):  # a second sweep over the same colour would change nothing
                _stencil_relax(x, b, lower, upper, *self._stencil, colour, 1.0, True)
            return
        *matrix, order = self._csr
        for rows in (order, order[::-1].copy()):
            _csr_relax(x, b, lower, upper, *matrix, rows, 1.0, True)

    def _coloured(self, x, b, lower, upper, omega=1.0, count=1):
        self._piece.exchange(x)
        for half in range(2 * count):
            _stencil_relax(x, b, lower, upper, *self._stencil, half & 1, omega, True)
            self._piece.exchange(x)


class EdgeSweeps:
    """Sweeps with the edge projection after each sweep; holds the pushes and the right-hand side that includes them."""

    def __init__(self, A: Operator, b: np.ndarray, edges: WallEdges):
        self.A, self.edges = A, edges
        self.b = b.copy()
        self.push = edges.no_push()
        self._sweeps = ProjectedSweeps(A)
        self._low, self._high = np.full(A.n, -np.inf), np.full(A.n, np.inf)

    def run(self, x, omega=1.0, count=1):
        for _ in range(count):
            self._sweeps.run(x, self.b, self._low, self._high, omega, 1)
            for _ in range(SETTINGS.passes):
                _project_edges(x, self.b, *self.push, *self.edges.grouped, self.A.diagonal)


@dataclass(frozen=True)
class ProjectedSOR(Method):
    """Projected SOR. `omega` 1 is projected Gauss–Seidel; None takes Young's best factor for the free set.

    That factor is 2/(1 + √(1 - μ²)), where μ is the spectral radius of Jacobi's method on the rows that are free now. A
    few Lanczos steps compute μ. It is computed again, less and less often, when the free set has changed. With
    constraints on edges ω > 1 may not converge, so None means 1 there.

    Parameters
    ----------
    omega : float, optional
        Relaxation factor, or None for the best one.
    maxiter : int
        Limit of sweeps.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.solvers import ProjectedSOR
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, ProjectedSOR(omega=None)).converged
    True
    """

    omega: float | None = 1.0
    maxiter: int = 1_000_000

    @property
    def treats(self) -> frozenset[str]:
        # The best factor is found by Lanczos' method, which needs a symmetric matrix.
        return frozenset({"edges"} if self.omega is None else {"edges", "nonsymmetric"})

    def solve(self, problem, start, monitor):
        x, box, g = start.x, problem.box, np.empty(problem.n)
        if problem.edges is None:
            sweeps = ProjectedSweeps(problem.A)

            def run(omega, count):
                sweeps.run(x, problem.b, box.lower, box.upper, omega, count)

        else:
            run = partial(EdgeSweeps(problem.A, problem.b, problem.edges).run, x)

        find = self.omega is None and problem.edges is None
        omega = self.omega or (1.5 if find else 1.0)
        active, renew = None, 10
        limit = monitor.limit(self.maxiter)
        while not monitor.check(x, problem.gradient(x, g)) and monitor.iterations < limit:
            if find and monitor.iterations >= renew:
                active, old = box.split(x, g, problem.A.diagonal), active
                if old is None or np.any(active != old):
                    omega = best_omega(problem.A, active == 0, g)
                renew = 3 * monitor.iterations
            if len(monitor.history) > PATIENCE.checks and _flat(monitor.history):
                monitor.stop("stagnated")
                break
            stride = min(max(10, monitor.iterations // 10), limit - monitor.iterations)
            run(omega, stride)
            monitor.iterations += stride
            monitor.outer_iterations += stride
        monitor.notes["omega"] = omega


def _flat(history: list[float]) -> bool:
    """True if only rounding errors are left: the last checks showed no progress."""
    return min(history[-PATIENCE.checks :]) > 0.99 * min(history[: -PATIENCE.checks])


def best_omega(A: Operator, free: np.ndarray, r: np.ndarray, steps: int = 2000, rtol: float = 0.05) -> float:
    """Young's 2/(1 + √(1 - μ²)) for A on the free rows; μ = 1 - the smallest eigenvalue of D^-½ A D^-½.

    Lanczos starts from the residual r, which contains the errors that are still to be removed. It does not contain the
    null space of a pocket without free surface. Lanczos stops when the smallest Ritz value changes by less than `rtol`.
    """
    scale = np.where(free & (A.diagonal > 0), 1.0, 0.0) / np.sqrt(np.where(A.diagonal > 0, A.diagonal, 1.0))
    v, w, old = scale * r, np.empty(A.n), np.zeros(A.n)
    length = sqrt(dot(v, v))
    alpha: list[float] = []
    beta: list[float] = []
    smallest, look = 1.0, 8
    while length > (rounding.HALF if alpha else 0.0) and len(alpha) < min(steps, A.n):
        v /= length
        A.apply(scale * v, w)
        w *= scale
        alpha.append(dot(w, v))
        w -= alpha[-1] * v
        if beta:
            w -= beta[-1] * old
        v, w, old = w, old, v
        length = sqrt(dot(v, v))
        if len(alpha) >= look:
            last, smallest = smallest, _smallest(alpha, beta)
            if smallest > (1.0 - rtol) * last:
                break
            look += max(4, look // 4)
        beta.append(length)
    else:
        smallest = _smallest(alpha, beta[: len(alpha) - 1])
    return 2.0 / (1.0 + sqrt(smallest * (2.0 - smallest)))


def _smallest(alpha: list[float], beta: list[float]) -> float:
    """The smallest eigenvalue that is not a zero with rounding errors."""
    from scipy.linalg import eigh_tridiagonal  # slow to load, rarely needed

    values = eigh_tridiagonal(alpha, beta, eigvals_only=True) if alpha else np.ones(1)
    return float(min(values[values > rounding.HALF].min(initial=1.0), 1.0))
