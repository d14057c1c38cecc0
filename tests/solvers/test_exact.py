"""Small problems, and others whose factor is cheap: every policy is solved exactly."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import elasticity, grid, random_couplings

import nonstick
from nonstick.compositions import AUTO, EXACT, SET_UP
from nonstick.inverse import Factor
from nonstick.inverse.cholesky.factor import fronts
from nonstick.operators.csr import CSROperator
from nonstick.solvers.cascade import DenseRows, Factored


def scaled_spectrum(seed, most=10.0):
    """A random basis with a spectrum of 1 to 10^-most in several shapes, half of them in bad units; random bounds."""
    rng = np.random.default_rng(seed)
    n, small = int(rng.integers(2, 61)), 10.0 ** -rng.uniform(0, most)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    shapes = np.geomspace(1, small, n), np.where(np.arange(n) < n // 2, 1.0, small), small ** rng.random(n)
    A = Q * shapes[seed % 3] @ Q.T
    D = 10 ** rng.uniform(-4, 4, n) if seed % 2 else np.ones(n)
    A = D[:, None] * (A + A.T) / 2 * D
    b = A @ rng.standard_normal(n) if seed % 5 else rng.standard_normal(n)
    lower = np.where(rng.random(n) < 0.7, 0.0, -np.inf)
    return A, b, lower, np.where(rng.random(n) < 0.3, rng.random(n) + 0.1, np.inf)


@pytest.mark.parametrize("seed", range(30))
def test_conditions_to_ten_digits(seed):
    solution = nonstick.solve(*scaled_spectrum(seed))
    assert solution.success and solution.iterations < 500, solution


def test_every_active_set_tried():
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = 4
        J = rng.standard_normal((n, n))
        A, b, upper = J.T @ J + 0.1 * np.eye(n), 3 * rng.standard_normal(n), rng.random(n)
        best, least = None, np.inf
        for state in product((-1, 0, 1), repeat=n):
            state = np.array(state)
            x = np.where(state > 0, upper, 0.0)
            free = state == 0
            if free.any():
                x[free] = np.linalg.solve(A[np.ix_(free, free)], (b - A @ x)[free])
            value = 0.5 * x @ A @ x - b @ x
            if (x >= 0).all() and (x <= upper).all() and value < least:
                best, least = x, value
        np.testing.assert_allclose(nonstick.solve(A, b, 0.0, upper, rtol=1e-12).x, best, atol=1e-9)


def test_what_is_small_is_factored_and_what_is_large_is_not():
    def small(A):
        return Factored(Factor(operations=0.0)).holds(nonstick.BoxProblem(sp.csr_array(A), np.ones(A.shape[0])))

    assert small(grid(10)) and small(np.eye(3))
    assert not small(grid(40))  # a cycle costs less
    assert not small(np.array([[2.0, 1.0], [0.0, 2.0]]))


def test_dense_rows_are_factored_as_a_full_matrix_or_not_at_all():
    problem = nonstick.BoxProblem(*random_couplings(600)[:4])
    assert DenseRows().holds(problem)
    assert not DenseRows(operations=1e7).holds(problem) and DenseRows(operations=1e8).holds(problem)
    assert SET_UP.chosen(problem) == EXACT.chosen(problem)
    large = nonstick.BoxProblem(*random_couplings(4000, 30)[:4])
    assert SET_UP.chosen(large) == AUTO  # no factor at all


def test_one_symbolic_factor_for_one_pattern():
    A = CSROperator(elasticity(6, 6)[0])
    shifted = A.plus_diagonal(np.ones(A.n))
    np.testing.assert_array_equal(shifted.matrix().toarray(), A.matrix().toarray() + np.eye(A.n))
    assert fronts(shifted) is fronts(A)
    hollow = CSROperator(sp.csr_array(np.array([[0.0, 1.0], [1.0, 2.0]])))
    assert hollow.plus_diagonal(np.ones(2)).matrix()[0, 0] == 1.0
    solver = nonstick.Solver(A.matrix())
    before = fronts(solver.A)
    solver.update(2.0 * A.matrix())
    assert fronts(solver.A) is before
