"""The penalty method (Lai 2020, Algorithm 2): a stiff spring pulls x back to violated bounds.

`(A + ρ Π) x = b + ρ Π·bound` (eq. 4.5), where Π selects the rows that violated a bound in the last iterate. At the end
x exceeds its bound by g/ρ, so the optimality residual is about d/ρ. So the spring is ρ_i = 10³·d_i/rtol in every row,
which works in all units (the paper's 10⁹ is 10³/tolerance for d of order one).

In penalised rows the unknown is the deviation from the bound. Otherwise the large term ρ·bound would remove digits of
the other terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...inverse.base import Recipe
from ...operators.masked import Masked
from ..base import Method
from ..cascade import accelerated, solve_inner
from ..safeguards.descent import RepeatedSets, descend


@dataclass(frozen=True)
class Penalty(Method):
    """The penalty method: a stiff spring pulls x back to violated bounds.

    Parameters
    ----------
    inner : Recipe
        Solves the linear systems.
    strength : float
        The spring of a row is strength · diagonal / rtol.
    spring : float, optional
        One spring for all rows, in the units of the problem, in place of `strength`; the paper has 10⁹.
    inner_factor : float
        Tolerance of the linear systems, as a part of the tolerance of the whole.
    maxiter : int
        Limit of inner iterations in all.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, ILU
    >>> from nonstick.solvers import Penalty
    >>> problem = nonstick.cases.build("circle2d", 16).problem
    >>> nonstick.solve_problem(problem, Penalty(CG(ILU()))).converged
    True
    """

    inner: Recipe
    strength: float = 1e3
    spring: float | None = None
    inner_factor: float = 0.5
    maxiter: int = 20_000

    def solve(self, problem, start, monitor):
        A, b, box, x = problem.A, problem.b, problem.box, start.x
        limit = monitor.limit(self.maxiter)
        sets = RepeatedSets()
        rhs, y, feasible = np.empty(problem.n), np.empty(problem.n), np.empty(problem.n)
        masked, inner, inverse = Masked(A), accelerated(self.inner), None
        if monitor.check(x):
            return
        violated = violations(x, box) if start.active is None else start.active
        while not monitor.status and monitor.iterations < limit:
            if sets.give_up(violated):
                descend(problem, feasible, self.inner, monitor, limit, "penalised sets repeated")
                break
            bound = box.at(violated)
            own = self.strength / min(max(monitor.tolerance, 1e-12), 1.0) * A.diagonal
            spring = own if self.spring is None else self.spring
            with monitor.setup():
                inverse = inner.setup(masked.update(None, np.where(violated != 0, spring, 0.0)), inverse)
            A.residual(b, bound, rhs)
            np.subtract(x, bound, out=y)
            goal = sets.sharper * self.inner_factor * monitor.tolerance * problem.scale
            solve_inner(inverse, masked, rhs, y, goal, limit - monitor.iterations, monitor)
            np.add(y, bound, out=x)
            monitor.outer_iterations += 1
            # y shows on which side of its bound a penalised row lies; x = bound + y does not have enough digits for
            # this.
            violated = np.where(violated * y > 0, violated, np.where(violated == 0, violations(x, box), 0)).astype(
                np.int8
            )
            box.project(x, out=feasible)
            sets.check(feasible, None, monitor)
        box.project(feasible if monitor.outer_iterations else x, out=x)


def violations(x: np.ndarray, box) -> np.ndarray:
    """Π as int8: -1 below lower, +1 above upper, 0 within."""
    return (x > box.upper).astype(np.int8) - (x < box.lower).astype(np.int8)
