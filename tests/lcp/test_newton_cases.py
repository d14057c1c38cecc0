"""Newton's method on the static cases, odd sizes included."""

import numpy as np
import pytest

import nonstick
from nonstick import cases
from nonstick.lcp.newton import MinMapNewton
from nonstick.linear.direct import Direct


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
