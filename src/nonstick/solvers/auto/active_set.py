"""`auto`: a complementarity solve for about the price of a linear solve.

An active-set method that never finishes its inner solve: the set is updated after every preconditioned CG step.

    x feasible and relaxed; r = b - A x; policy from (x, r), ties free
    repeat
        z = M r on the free rows              M: one float32 multigrid cycle truncated to the free set
        one CG step along p = z + β p         β = -zᵀA p / pᵀA p: p is kept when the set changes, without clamped rows
        policy from (x, r); stop on the true KKT residual
        if the policy changed: clip, two projected Gauss–Seidel sweeps nearby, a new r, refresh M

While the set does not change, this is plain MG-CG and costs the same. Inexact updates have no convergence proof, so
there are safeguards. If sets repeat or the changes do not stop, the set is held until the face problem is solved (exact
policy iteration, monotone for M-matrices); if sets repeat even then, a monotone descent takes over (`descent`),
which converges for every symmetric positive definite matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...inverse.base import Inverse, Recipe
from ...kernels import threads_for
from ...problem.box import BoxProblem
from ...problem.monitor import PATIENCE, Monitor, Start
from ..base import Method
from ..safeguards.refinement import rescaled, solve_substitute
from .loop import ActiveSetCG
from .nested import Prediction, coarser, without_grid


@dataclass(frozen=True)
class ActiveSet(Method):
    """An inexact active-set method over preconditioned CG, safeguarded.

    Parameters
    ----------
    M
        The preconditioner: a `Cascade` of a fast one, of a strong one for rough coefficients, which takes over after
        the number of iterations that its `Within` says, and of one that is safe in the monotone descent.
    bounded
        False ignores the bounds: the same loop is then multigrid CG for A x = b.
    sweeps
        Projected sweeps after a change of the set, near the rows that changed.
    slack
        Rows closer to a tie than this part of the tolerance keep their policy.
    large, many
        With more unknowns than `large` and more bounded ones than `many`, start from the solution of a coarser problem,
        because larger problems need more changes of the set from a cold start.
    bare_large
        The same without a grid: more unknowns than this, and more bounded ones than a twentieth of it.
    bare_sweeps
        Projected sweeps after a prediction without a grid: its interpolation is rougher.
    coarse_rtol, coarse_part
        Tolerance of the coarser solves, and the part of the first residual at which they may stop.
    trust
        Number of iterations in which a set given with the problem is kept, regardless of x.
    renewal
        After this many iterations an algebraic hierarchy may be set up anew for the free set.
    patience
        Changes after which the set is held until the face problem is solved.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import nonstick
    >>> from nonstick import cases
    >>> from nonstick.compositions import AUTO
    >>> careful = replace(AUTO, patience=0)  # policy iteration with exact solves
    >>> nonstick.solve_problem(cases.build("circle2d", 24).problem, careful).converged
    True
    """

    M: Recipe
    bounded: bool = True
    sweeps: int = 2
    slack: float = 0.1
    large: int = 10_000
    many: int = 500
    bare_large: int = 1_000
    bare_sweeps: int = 5
    coarse_rtol: float = 1e-4
    coarse_part: float = 0.03
    trust: int = 2
    renewal: int = 15
    patience: int = PATIENCE.changes

    @property
    def linear(self) -> bool:
        return not self.bounded

    @property
    def preconditioner(self):
        return self.M

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        if not self.bounded:  # also where the way back from other units would put x into the box
            problem = problem.without_bounds()
        with threads_for(problem.n):
            scaled = rescaled(problem)
            if scaled is None:
                self._solve(problem, start, monitor)
            else:
                solve_substitute(scaled, self._solve, start, monitor)

    def _solve(self, problem: BoxProblem, start: Start, monitor: Monitor, M: Inverse | None = None) -> None:
        loop = ActiveSetCG(self, problem, monitor, M, start.active)
        worth = start.cold and self._worth_predicting(problem, loop.M)
        predicted = worth and self.predict(problem, loop.M, start.x, monitor)
        loop.run(start.x, start.active if self.bounded else None, predicted)

    def _worth_predicting(self, problem: BoxProblem, M: Inverse) -> bool:
        large, many = (self.large, self.many) if not without_grid(M) else (self.bare_large, self.bare_large // 20)
        A = problem.A
        return (
            self.bounded and A.unknowns > large and A.comm.total(int(np.count_nonzero(problem.box.constrained))) > many
        )

    def predict(self, problem: BoxProblem, M: Inverse, x: np.ndarray, monitor: Monitor | None = None) -> bool:
        """Set x from the solution of a coarser problem; False if M has no coarser problem.

        If `monitor`, which watches the whole solve, is interrupted, the coarser solve ends too.
        """
        below = coarser(problem, M)
        if below is None:
            return False
        start = Start(below.problem.box.project(np.zeros(below.problem.n)), cold=True)
        coarse = Prediction(below.problem, self.coarse_rtol, self.coarse_part, monitor)
        with threads_for(below.problem.n):
            self._solve(below.problem, start, coarse, below.inverse())
        below.interpolate(start.x, x)
        return True
