"""The linear baseline is judged by the linear residual, and its KKT residual stays honest."""

import numpy as np
import pytest

import nonstick
from nonstick.inverse.krylov.direct import Direct
from nonstick.solvers.linear import LinearSolve


@pytest.fixture
def system(make_stencil):
    A = make_stencil((9, 8))
    return A, np.random.default_rng(0).standard_normal(A.n)


@pytest.mark.parametrize("method", ["no-lcp", LinearSolve(Direct())], ids=str)
def test_converges_by_the_linear_residual(system, method):
    A, b = system
    solution = nonstick.solve(A, b, method=method, rtol=1e-9)
    assert solution.converged and solution.status == "converged"
    np.testing.assert_allclose(solution.x, np.linalg.solve(A.matrix().toarray(), b), rtol=1e-6, atol=1e-7)
    assert solution.history[-1] <= 1e-9
    # x has negative entries, so as a box problem this is far from solved, and it says so.
    assert solution.kkt() > 0.1 and "bounds were ignored" in solution.message


def test_without_active_bounds_it_solves_the_box_problem(system):
    A, _ = system
    b = A @ np.full(A.n, 2.0)
    solution = nonstick.solve(A, b, method="no-lcp", rtol=1e-9)
    assert solution.converged and solution.kkt() <= 1e-9


def test_too_few_iterations_is_no_success(system):
    A, b = system
    solution = nonstick.solve(A, b, method="no-lcp", rtol=1e-12, maxiter=2)
    assert not solution.converged and solution.status == "maxiter" and solution.iterations == 2


def test_it_is_no_complete_method():
    from nonstick import registry

    assert not registry.entries()["no-lcp"].complete
