"""Projected Gauss–Seidel and SOR: one sweep against a slow twin, any bounds, both matrix forms, edges."""

import numpy as np
import pytest

from nonstick import methods, solve
from nonstick.operators.csr import CSROperator
from nonstick.solvers.chentanez_muller.projected_gs import ProjectedSOR, ProjectedSweeps, best_omega


def random_bounds(n, rng):
    """Lower, upper, both, equal and no bounds, mixed."""
    lower = np.where(rng.random(n) < 0.6, rng.normal(-0.2, 0.3, n), -np.inf)
    upper = np.where(rng.random(n) < 0.5, np.where(np.isfinite(lower), lower, 0.0) + rng.exponential(0.4, n), np.inf)
    same = rng.random(n) < 0.05
    return np.where(same, 0.1, lower), np.where(same, 0.1, upper)


def reference(A, b, lower, upper):
    """The minimiser by policy iteration with dense solves, which does not cycle on these matrices."""
    M, x = A.matrix().toarray(), np.clip(np.zeros(len(b)), lower, upper)
    clamped = np.zeros(len(b), int)
    for _ in range(100):
        g = M @ x - b
        old, step = clamped, x - g / np.diag(M)
        clamped = np.where(step < lower, -1, np.where(step > upper, 1, 0))
        if _ and np.all(clamped == old):
            return x
        x = np.where(clamped < 0, lower, np.where(clamped > 0, upper, 0.0))
        free = clamped == 0
        x[free] = np.linalg.solve(M[np.ix_(free, free)], (b - M @ x)[free])
    raise AssertionError("the reference did not settle")


def sweep_slowly(x, b, lower, upper, M, order, omega):
    for i in order:
        if M[i, i] > 0:
            x[i] = np.clip(x[i] + omega * (b[i] - M[i] @ x) / M[i, i], lower[i], upper[i])


@pytest.mark.parametrize("shape", [(9, 11), (5, 4, 6), (1, 7), (1, 1)], ids=str)
@pytest.mark.parametrize("form", ["stencil", "csr"])
def test_two_sweeps_match_the_slow_twin(make_stencil, shape, form):
    rng = np.random.default_rng(3)
    A = make_stencil(shape, 1, fill=1.0 if shape == (1, 1) else 0.8)
    lower, upper = random_bounds(A.n, rng)
    b, x = rng.standard_normal(A.n), rng.standard_normal(A.n)
    colour = A.cells.sum(axis=1) & 1
    order = np.arange(A.n) if form == "csr" else np.argsort(colour, kind="stable")
    expected = x.copy()
    for _ in range(2):
        sweep_slowly(expected, b, lower, upper, A.matrix().toarray(), order, 1.3)
    sweeps = ProjectedSweeps(A if form == "stencil" else CSROperator(A.matrix()))
    again = x.copy()
    sweeps.run(x, b, lower, upper, 1.3, 2)
    np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-14)
    if form == "stencil":  # the threaded path, taken by large problems
        sweeps._coloured(again, b, lower, upper, 1.3, 2)
        np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("method", ["pgs", "psor"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("form", ["stencil", "csr"])
def test_any_bounds(make_stencil, method, seed, form):
    rng = np.random.default_rng(seed)
    A = make_stencil((4, 5, 6) if seed else (9, 8), seed)
    lower, upper = random_bounds(A.n, rng)
    b = rng.standard_normal(A.n)
    s = solve(A if form == "stencil" else A.matrix(), b, lower, upper, method=method, rtol=1e-10)
    assert s.converged and s.kkt() <= 1e-10
    np.testing.assert_allclose(s.x, reference(A, b, lower, upper), atol=1e-7)
    assert np.all((s.x >= lower) & (s.x <= upper))


def test_a_matrix_that_is_no_stencil():
    """Dense rows, positive off-diagonals: any positive definite matrix will do."""
    rng = np.random.default_rng(5)
    G = rng.standard_normal((25, 20))
    A, b = CSROperator(G.T @ G + 0.5 * np.eye(20)), rng.standard_normal(20)
    s = solve(A, b, 0.0, 0.3, method="psor", rtol=1e-10)
    assert s.converged
    for y in rng.uniform(0.0, 0.3, (200, 20)):  # the variational inequality, for feasible points at random
        assert s.dual @ (y - s.x) > -1e-9
    clamped = s.active != 0
    assert clamped.any() and not clamped.all()


def path(n):
    """A Dirichlet path: Jacobi's spectral radius is cos(π/(n+1))."""
    M = np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    return CSROperator(M)


def test_the_relaxation_factor_is_youngs():
    n = 60
    expected = 2 / (1 + np.sin(np.pi / (n + 1)))
    found = best_omega(path(n), np.ones(n, bool), np.random.default_rng(0).standard_normal(n), rtol=1e-6)
    assert found == pytest.approx(expected, abs=2e-3)


def test_the_factor_ignores_the_null_space_of_a_pocket(make_stencil):
    """Pure Neumann with a compatible right-hand side: the constant vector must not push ω to 2."""
    A = make_stencil((10, 10), 2, fill=1.0, neumann=True)
    r = np.random.default_rng(1).standard_normal(A.n)
    omega = best_omega(A, np.ones(A.n, bool), r - r.mean(), rtol=1e-6)
    d = 1 / np.sqrt(A.diagonal)
    second = np.linalg.eigvalsh(d[:, None] * A.matrix().toarray() * d)[1]
    assert omega == pytest.approx(2 / (1 + np.sqrt(second * (2 - second))), rel=1e-2)


def test_over_relaxation_saves_most_sweeps():
    n = 100
    b = np.random.default_rng(0).standard_normal(n)
    slow = solve(path(n), b, -5.0, method="pgs", rtol=1e-8)
    fast = solve(path(n), b, -5.0, method="psor", rtol=1e-8)
    assert slow.converged and fast.converged
    assert 10 * fast.iterations < slow.iterations


def test_the_iteration_limit_is_kept_and_said():
    s = solve(path(200), np.ones(200), method="pgs", rtol=1e-12, maxiter=37)
    assert s.iterations == 37 and not s.converged and s.status == "maxiter"


def test_the_rounding_floor_is_said():
    s = solve(path(30), np.ones(30), method="pgs", rtol=1e-17)
    assert s.converged and s.kkt() < 1e-12 and "rounding allows no smaller KKT residual" in s.message


def test_registered():
    assert {"pgs", "psor"} <= set(methods())
    assert ProjectedSOR(1.0) != ProjectedSOR(None)
