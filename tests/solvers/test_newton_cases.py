"""Newton's method on the static cases, odd sizes included."""

import numpy as np
import pytest

import nonstick
from nonstick import cases
from nonstick.inverse.krylov.direct import Direct
from nonstick.solvers.andersen import MinMapNewton


@pytest.mark.parametrize("name", cases.names())
def test_reaches_a_tight_tolerance(name):
    n = 13 if name in cases.names(3) else 33
    problem = cases.build(name, n).problem
    solution = nonstick.solve_problem(problem, "newton", rtol=1e-8)
    assert solution.converged, solution.message
    exact = nonstick.solve_problem(problem, MinMapNewton(Direct()), rtol=1e-11)
    scale = abs(exact.x).max()
    np.testing.assert_allclose(solution.x, exact.x, atol=1e-5 * scale)
    assert solution.outer_iterations <= 20


def test_multigrid_as_sub_solver():
    """Multilevel Newton: the same steps, and a count that does not double with the resolution."""
    from nonstick.inverse.krylov.cg import CG
    from nonstick.inverse.multigrid.cycles import V
    from nonstick.inverse.multigrid.grid.geometric import Geometric
    from nonstick.inverse.multigrid.hierarchy import Multigrid
    from nonstick.inverse.multigrid.smoothers import RedBlack

    method = MinMapNewton(CG(Multigrid(Geometric(), RedBlack(), V(1, 1))))
    counts = []
    for n in (32, 64):
        solution = nonstick.solve_problem(cases.build("circle2d", n).problem, method, rtol=1e-8)
        assert solution.converged
        counts.append(solution.iterations)
    assert counts[1] < 1.6 * counts[0] < 50


def test_the_callback_ends_a_run_and_is_not_called_convergence():
    problem = cases.build("circle2d", 33).problem
    solution = nonstick.solve_problem(
        problem, "newton", rtol=1e-8, callback=lambda monitor: monitor.stop("maxiter", "enough")
    )
    assert not solution.converged and solution.notes["termination"] == "maxiter" and "enough" in solution.message
