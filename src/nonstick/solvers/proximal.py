"""Bodies that nothing but their bounds holds: A is singular, and a linear solve alone says nothing about some motions.

Proximal steps (Rockafellar 1976) make every solve definite:

    x_{k+1} = argmin ½xᵀA x - bᵀx + ½δ (x - x_k)ᵀD (x - x_k)   in the box,      D = diag(A)

They converge to a solution for every semidefinite A if there is one, and δ is so small that a few steps are enough: a
motion that costs no energy goes as far as its bounds at once. Where no bound stops it, the steps tend to a direction v
with A v = 0 and bᵀv > 0 that stays in the box for ever, which proves that the objective is not bounded below.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..core import rounding
from ..inverse.krylov.direct import Factor
from ..operators.csr import CSROperator
from ..problem.box import BoxProblem
from ..problem.monitor import FAILED, Monitor, Start
from .base import Method
from .safeguards.definite import SETTINGS, vanished_pivots

ENDLESS = (
    "the objective ½xᵀA x − bᵀx falls without end along a direction that A does not resist and no bound stops; add a "
    "bound there, or check b"
)


@dataclass(frozen=True)
class Singular:
    """A condition: a bare matrix for which `factor` fits, and which is singular or nearly so.

    With near-null vectors `cheap` must fit: a hierarchy that knows them leaves them alone.

    Parameters
    ----------
    factor, cheap : Factor
        See above.
    part : float
        More than this part of the unknowns has no pivot of its own: bodies have a few motions that cost no energy.
    """

    factor: Factor
    cheap: Factor
    part: float = 0.0

    def holds(self, problem: BoxProblem) -> bool:
        """True if the matrix of the problem is like that."""
        A = problem.A
        if not isinstance(A, CSROperator):
            return False
        fits = (self.factor if A.near_null is None else self.cheap).fits(A)
        return fits and vanished_pivots(A) > self.part * A.n


@dataclass(frozen=True)
class Proximal(Method):
    """Proximal steps, each solved by another method.

    Parameters
    ----------
    method : Method
        Solves the definite problems.
    weight : float
        δ, in units of the diagonal.
    maxiter : int
        Steps at most.

    Examples
    --------
    >>> import numpy as np, nonstick
    >>> from nonstick.compositions import AUTO
    >>> from nonstick.solvers import Proximal
    >>> A = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    >>> nonstick.solve(A, [-1.0, -2.0, 2.0], [-4.0, -3.0, 0.0], method=Proximal(AUTO)).x.round(6)
    array([ 2., -3.,  1.])
    """

    method: Method
    weight: float = 1e-9
    maxiter: int = 60

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        A, box, x = problem.A, problem.box, start.x
        shift = self.weight * A.diagonal
        definite = A.plus_diagonal(shift)
        active = start.active
        for _ in range(self.maxiter):
            part = BoxProblem(definite, problem.b + shift * x, box.lower, box.upper)
            part.scale = problem.scale
            inner, watch = Start(x.copy(), active), monitor.within(part, 0.1 * monitor.tolerance)
            self.method.chosen(part).solve(part, inner, watch)
            monitor.outer_iterations += 1
            if not np.isfinite(inner.x).all():
                monitor.stop("breakdown")
                return
            step, x[:] = inner.x - x, inner.x
            if endless(problem, step):
                monitor.stop("unbounded", ENDLESS)
                return
            if monitor.check(x):
                return
            if watch.status and watch.status not in (*FAILED, "converged"):
                monitor.stop(watch.status, watch.message)
                return
            active = box.split(x, problem.gradient(x), A.diagonal)
            if monitor.iterations >= monitor.limit(100_000):
                return
        monitor.stop("stagnated")


def falls_for_ever(problem: BoxProblem) -> bool:
    """True if a linear program finds such a direction: after a failed solve with few unknowns.

    max bᵀv,   A v = 0,   v in [-1, 1] and in the directions that the box allows for ever; D^-1/2 A D^-1/2 in place of A
    """
    A, box = problem.A, problem.box
    if not (isinstance(A, CSROperator) and A.symmetric and 0 < A.n <= SETTINGS.program and A.comm.size == 1):
        return False
    from scipy.optimize import linprog  # slow to load, rarely needed

    root = np.sqrt(A.diagonal)
    size = np.abs(problem.b / root).max() or 1.0
    sides = np.where(np.isfinite(box.lower), 0.0, -1.0), np.where(np.isfinite(box.upper), 0.0, 1.0)
    scaled = sp.csr_array(sp.diags_array(1.0 / root) @ A.matrix() @ sp.diags_array(1.0 / root))
    exact = {"primal_feasibility_tolerance": rounding.PIVOT}
    gain, flat = -problem.b / root / size, {"A_eq": scaled, "b_eq": np.zeros(A.n)}
    found = linprog(gain, **flat, bounds=np.stack(sides, axis=1), options=exact)
    return found.x is not None and endless(problem, found.x / root)


def endless(problem: BoxProblem, v: np.ndarray) -> bool:
    """True if the objective falls along v for ever, and v never leaves the box."""
    A, b, box = problem.A, problem.b, problem.box
    size = np.sqrt(A.diagonal) * np.abs(v)  # of the entries of v, whatever units x has
    if not size.any():
        return False
    v = np.where(size < rounding.HALF * size.max(), 0.0, v / np.abs(v).max())
    if (v[np.isfinite(box.lower)] < 0.0).any() or (v[np.isfinite(box.upper)] > 0.0).any():
        return False
    energy = float(v @ (A @ v))
    flat = energy <= rounding.SUM * float(v @ (A.diagonal * v))  # no more than the rounding of its own sum
    return flat and float(b @ v) > rounding.HALF * float(np.abs(b) @ np.abs(v))
