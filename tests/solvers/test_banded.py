"""Band matrices: policy iteration in one loop."""

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import string

import nonstick
from nonstick.operators.csr import CSROperator
from nonstick.solvers import Banded
from nonstick.solvers.auto.banded import NarrowBand, _band, _halve, _iterate_banded, _no_factor


def band(n, w, rng, symmetric):
    """Diagonally dominant with couplings of either sign."""
    A = sp.diags_array([rng.uniform(-1, 0.2, n) for _ in range(2 * w + 1)], offsets=range(-w, w + 1), shape=(n, n))
    A = sp.csr_array((A + A.T) / 2 if symmetric else A)
    return sp.csr_array(A - sp.diags_array(A.diagonal()) + sp.diags_array(1.1 * np.asarray(abs(A).sum(axis=1)).ravel()))


@pytest.mark.parametrize("w", [1, 2, 4])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "general"])
def test_it_agrees_with_policy_iteration_over_dense_solves(w, symmetric):
    rng = np.random.default_rng(w)
    A, b = band(60, w, rng, symmetric), rng.standard_normal(60)
    lower, upper = np.where(rng.random(60) < 0.8, -0.2, -np.inf), np.where(rng.random(60) < 0.5, 0.3, np.inf)
    solution = nonstick.solve(A, b, lower, upper, rtol=1e-10)
    assert solution.success and "band" in solution.path
    policy, M, d = np.zeros(60), A.toarray(), A.diagonal()
    for _ in range(50):
        x, free = np.where(policy < 0, lower, np.where(policy > 0, upper, 0.0)), policy == 0
        x[free] = np.linalg.solve(M[np.ix_(free, free)], (b - M[:, ~free] @ x[~free])[free])
        g = M @ x - b
        policy = (d * (x - upper) > g).astype(int) - (d * (x - lower) < g)
    np.testing.assert_allclose(solution.x, x, atol=1e-12)


def test_a_pivot_that_is_not_positive_ends_the_loop_and_another_method_goes_on():
    A = sp.csr_array([[1.0, 2.0, 0.0], [-2.0, 1.0, 0.5], [0.0, 0.5, 1.0]])
    B = np.array([[0.0, 0.0], [-1.0, 1.0], [0.0, 0.0]])
    x, g, policy = np.zeros(2), np.zeros(2), np.zeros(2, np.int8)
    none = np.full(2, np.inf)
    bounds = -none, none
    assert _iterate_banded(x, g, policy, *_no_factor(B), B, np.ones(2), *bounds, np.ones(2), 0.0, 9) == -1
    assert nonstick.solve(A, [1.0, -1.0, 2.0]).success


def test_what_is_narrow():
    n = 30
    assert NarrowBand().holds(nonstick.BoxProblem(sp.eye_array(n), np.ones(n)))
    wide = sp.eye_array(n) * 3.0 + sp.eye_array(n, k=5) + sp.eye_array(n, k=-5)
    assert not NarrowBand().holds(nonstick.BoxProblem(wide, np.ones(n)))
    assert _band(CSROperator(sp.diags_array([1.0, 2.0], offsets=[-1, 0], shape=(3, 3)))).tolist() == [
        [0.0, 1.0, 1.0],
        [2.0, 2.0, 2.0],
        [0.0, 0.0, 0.0],
    ]


def test_many_steps_of_an_option_take_few_policies():
    n = 300
    A = sp.diags_array([-1.05, 2.1, -0.95], offsets=[-1, 0, 1], shape=(n, n)) * 50 + sp.eye_array(n)
    payoff = np.maximum(1.0 - np.linspace(0, 2, n), 0.0)
    solver, value, count = nonstick.Solver(A), payoff.copy(), 0
    for _ in range(20):
        solution = solver.solve(value, lower=payoff, x0=value)
        assert solution.success and solution.kkt() < 1e-9
        value, count = solution.x, count + solution.iterations
    assert count < 150 and (value >= payoff).all()
    limited = nonstick.solve(A, payoff, lower=payoff, method=Banded(), maxiter=1)
    assert limited.status in ("maxiter", "converged")


@pytest.mark.parametrize("n", [101, 500, 1000])
def test_a_long_contact_is_predicted_on_every_second_unknown(n):
    A, b, lower, upper, _ = string(n)
    solution = nonstick.solve(A, b, lower, upper)
    cold = nonstick.solve(A, b, lower, upper, method=Banded(large=10**9))
    assert solution.iterations < 6 < cold.iterations
    np.testing.assert_allclose(solution.x, cold.x, atol=1e-9)
    assert (cold.x >= lower).all()


@pytest.mark.parametrize("n", [7, 8])
@pytest.mark.parametrize("w", [1, 2, 3, 4])
def test_every_second_unknown_by_linear_interpolation(n, w):
    rng = np.random.default_rng(n)
    A, b = band(n, w, rng, symmetric=False), rng.standard_normal(n)
    P = np.zeros((n, (n + 1) // 2))
    for i in range(n):
        P[i, i // 2] = 1.0 - 0.5 * (i % 2)
        if i % 2 and i // 2 + 1 < P.shape[1]:
            P[i, i // 2 + 1] = 0.5
    v = w // 2 + 1
    coarse, cb = np.zeros((2 * v + 1, P.shape[1])), np.zeros(P.shape[1])
    _halve(coarse, cb, _band(CSROperator(A)), b)
    np.testing.assert_allclose(cb, P.T @ b, atol=1e-13)
    M = P.T @ A.toarray() @ P
    for p in range(M.shape[0]):
        for q in range(M.shape[0]):
            expected = coarse[v + q - p, p] if abs(q - p) <= v else 0.0
            assert M[p, q] == pytest.approx(expected, abs=1e-13)
