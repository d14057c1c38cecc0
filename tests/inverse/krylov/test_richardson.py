"""Stationary iteration."""

import numpy as np

from nonstick.inverse.krylov.richardson import Richardson
from nonstick.inverse.precond.incomplete import ILU
from nonstick.inverse.precond.jacobi import Jacobi


def test_converges_to_the_solution(operator):
    b = np.random.default_rng(0).standard_normal(operator.n)
    expected = np.linalg.solve(operator.matrix().toarray(), b)
    x = np.zeros(operator.n)
    result = Richardson(ILU(), rtol=1e-11).setup(operator).solve(b, x)
    assert result.converged and result.iterations == len(result.history) - 1
    np.testing.assert_allclose(x, expected, atol=1e-8 * abs(expected).max())


def test_damped_jacobi_error_recurrence(make_stencil):
    """k steps multiply the error by (I - damping D⁻¹A)ᵏ."""
    A = make_stencil((5, 6))
    x = np.random.default_rng(1).standard_normal(A.n)
    S = np.eye(A.n) - 0.7 * A.matrix().toarray() / A.diagonal[:, None]
    expected = np.linalg.matrix_power(S, 4) @ x
    Richardson(Jacobi(), damping=0.7).setup(A).solve(np.zeros(A.n), x, maxiter=4)
    np.testing.assert_allclose(x, expected, atol=1e-13)


def test_divergence_is_reported(make_stencil):
    A = make_stencil((5, 6))
    result = Richardson(Jacobi(), damping=50.0).setup(A).solve(np.ones(A.n), np.zeros(A.n))
    assert not result.converged and result.iterations < 10_000
