"""Matrices that are not symmetric: every method that treats them reaches the solution, all others say who does."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import registry
from nonstick.errors import NonstickError
from nonstick.inverse import GMRES, ILU
from nonstick.problem import Bounds
from nonstick.solvers import PolicyIteration
from nonstick.solvers.safeguards.descent import FischerBurmeister

METHODS = ("auto", "pi-bicgstab", "pi-gmres")


def convection(n: int, speed: float) -> sp.csr_array:
    """-Δu + speed·(u_x + u_y/2) on the unit square, upwind: an M-matrix."""
    h, one = 1.0 / (n + 1), np.ones(n)
    D = sp.diags_array([-one[1:], 2 * one, -one[1:]], offsets=[-1, 0, 1]) / h**2
    C = sp.diags_array([-one[1:], one], offsets=[-1, 0]) * (speed / h)
    return sp.csr_array(sp.kron(D + C, sp.eye_array(n)) + sp.kron(sp.eye_array(n), D + 0.5 * C))


def rotating(n: int, rng) -> np.ndarray:
    """Positive definite with a large skew part: a P-matrix, and no M-matrix; policies run in circles on it."""
    B, K = rng.normal(size=(2, n, n))
    return B @ B.T / n + 0.05 * np.eye(n) + 3.0 * (K - K.T)


def residual(A, b, low, high, x):
    g, d = A @ x - b, A.diagonal()
    return np.abs(d * (x - np.clip(x - g / d, low, high))).max() / np.abs(b).max()


@pytest.mark.parametrize("method", (*METHODS, "pgs"))
@pytest.mark.parametrize("speed", [1.0, 30.0, 1e4])
@pytest.mark.parametrize("high", [np.inf, 0.02])
def test_convection_with_bounds(method, speed, high):
    A = convection(12, speed)
    b = np.where(np.arange(144) % 12 < 6, 5.0, -5.0) * max(1.0, speed / 10)
    solution = nonstick.solve(A, b, 0.0, high, method=method, rtol=1e-8)
    assert solution.converged and residual(A, b, 0.0, high, solution.x) <= 1e-8
    assert solution.x.min() >= 0.0 and solution.x.max() <= high


@pytest.mark.parametrize("method", METHODS)
def test_p_matrices_on_which_policies_run_in_circles(method):
    rescued = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A, b = rotating(30, rng), rng.normal(size=30)
        low = np.where(rng.random(30) < 0.3, -np.inf, 0.0)
        high = np.where(rng.random(30) < 0.5, rng.uniform(0.05, 1.0, 30), np.inf)
        solution = nonstick.solve(A, b, low, high, method=method)
        assert solution.converged and residual(A, b, low, high, solution.x) <= 1.001e-6, solution
        rescued += solution.notes.get("finished_by") == "monotone descent"
    assert rescued  # or the test shows nothing


def test_a_triangular_matrix_by_back_substitution():
    """Murty's matrix: a row depends on later rows only, so the solution is found from the last row up."""
    n = 40
    A = np.triu(2.0 * np.ones((n, n)), 1) + np.eye(n)
    b = 1.0 + 0.01 * np.random.default_rng(0).normal(size=n)
    exact = np.zeros(n)
    for i in range(n - 1, -1, -1):
        exact[i] = max(0.0, b[i] - A[i, i + 1 :] @ exact[i + 1 :])
    np.testing.assert_allclose(nonstick.solve(A, b, rtol=1e-10).x, exact, atol=1e-8)


def test_lcp_and_cells_in_any_order():
    A = convection(8, 20.0)
    q = np.linspace(-1.0, 2.0, 64)
    plain = nonstick.lcp(A, q, rtol=1e-10)
    order = np.random.default_rng(1).permutation(64)
    cells = np.argwhere(np.ones((8, 8)))
    shuffled = nonstick.lcp(A[order][:, order], q[order], cells=cells[order], rtol=1e-10)
    assert plain.converged and shuffled.converged
    np.testing.assert_allclose(shuffled.x, plain.x[order], atol=1e-8)
    np.testing.assert_allclose(plain.dual, A @ plain.x + q, atol=1e-10)


def test_box_problem_takes_the_matrix():
    problem = nonstick.BoxProblem(convection(6, 5.0), np.ones(36), 0.0, 0.01)
    assert "nonsymmetric" in problem.traits
    assert nonstick.solve_problem(problem).converged


def test_rows_that_sum_to_zero_are_no_pocket():
    """A 1 = 0 says nothing about the sum of b here; the bounds make the solution unique."""
    A = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-0.5, -0.5, 1.0]])
    solution = nonstick.solve(A, [1.0, -2.0, 0.3], 0.0, 1.0)
    assert solution.converged and residual(A, np.array([1.0, -2.0, 0.3]), 0.0, 1.0, solution.x) <= 1e-6


@pytest.mark.parametrize("method", [m for m, e in registry.entries().items() if e.kind in ("box", "linear")])
def test_all_others_refuse_in_one_sentence(method):
    A = convection(4, 5.0)
    if "nonsymmetric" in registry.get(method).treats:
        assert nonstick.solve(A, np.ones(16), method=method).converged
        return
    with pytest.raises(NonstickError, match=r"needs a symmetric matrix.*'auto', 'pi-gmres'") as caught:
        nonstick.solve(A, np.ones(16), method=method)
    assert "\n" not in str(caught.value) and ".T" not in str(caught.value)


def test_a_matrix_that_is_no_p_matrix_is_said_to_fail():
    """Every 2 × 2 minor is positive and the determinant is negative; no x satisfies these rows."""
    A = np.array([[1.0, -0.9, -0.9], [-0.95, 1.0, -0.9], [-0.9, -0.95, 1.0]])
    solution = nonstick.solve(A, np.array([1.0, 1.0, 1.0]), 0.0)
    assert not solution.converged and solution.status in ("stagnated", "diverged", "maxiter", "breakdown")
    assert np.isfinite(solution.x).all()


def test_derivatives_of_the_fischer_equations():
    rng = np.random.default_rng(5)
    n = 24
    low = np.where(np.arange(n) % 3 == 0, -np.inf, rng.normal(size=n))
    high = np.where(np.arange(n) % 4 == 0, np.inf, np.where(np.isfinite(low), low, 0.0) + rng.uniform(0.1, 2.0, n))
    d, x, g = rng.uniform(0.5, 2.0, n), rng.normal(size=n), rng.normal(size=n)
    equations = FischerBurmeister(Bounds(low, high), d)
    phi, alpha, beta = equations(x, g)
    e = 1e-7
    np.testing.assert_allclose((equations(x + e, g)[0] - phi) / e, alpha, atol=1e-5)
    np.testing.assert_allclose((equations(x, g + e)[0] - phi) / e, beta / d, atol=1e-5)
    assert (alpha >= 0).all() and (beta >= 0).all()


def test_the_fischer_equations_vanish_at_a_solution():
    box = Bounds(np.array([0.0, 0.0, -1.0, -np.inf]), np.array([np.inf, 1.0, 1.0, np.inf]))
    equations = FischerBurmeister(box, np.ones(4))
    x, g = np.array([0.0, 1.0, 0.3, 7.0]), np.array([2.0, -3.0, 0.0, 0.0])
    np.testing.assert_allclose(equations(x, g)[0], 0.0, atol=1e-15)
    assert np.abs(equations(x + np.array([0.1, -0.1, 0.0, 0.0]), g + np.array([0.0, 0.0, 0.1, 0.1]))[0]).min() > 0.01


def test_counts_do_not_explode():
    """Policies are few on an M-matrix, and ILU keeps the inner counts low where convection rules."""
    A, b = convection(60, 1e4), np.full(3600, 100.0)
    solution = nonstick.solve(A, b, 0.0, 0.002, method=PolicyIteration(GMRES(ILU())))
    assert solution.converged and solution.outer_iterations <= 10 and solution.iterations <= 60


def turning(n: int, speed: float) -> sp.csr_array:
    """Diffusion and a flow that turns in a circle, upwind."""
    h = 1.0 / (n + 1)
    t = h * np.arange(1, n + 1)
    X, Y = np.meshgrid(t, t, indexing="ij")
    u, v = (4 * speed * w.ravel() for w in (X * (1 - X) * (1 - 2 * Y), -Y * (1 - Y) * (1 - 2 * X)))
    back = sp.diags_array([-1.0, 1.0], offsets=[-1, 0], shape=(n, n)) / h
    one = sp.eye_array(n)
    D = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) / h**2
    A = sp.kron(D, one) + sp.kron(one, D)
    for w, left in ((u, sp.kron(back, one)), (v, sp.kron(one, back))):
        A = A + sp.diags_array(np.maximum(w, 0)) @ left - sp.diags_array(np.minimum(w, 0)) @ left.T
    return sp.csr_array(A)


@pytest.mark.parametrize(("make", "speed"), [(convection, 1.0), (turning, 100.0), (turning, 1e5)])
def test_counts_stay_flat(make, speed):
    """Coarse levels and a prediction from them; ILU(0) took 28 to 150 iterations here."""
    counts = []
    for n in (40, 80):
        t = np.arange(1, n + 1) / (n + 1)
        b = (20 * max(1.0, speed / 20) * np.outer(np.sin(3 * np.pi * t), np.sin(2 * np.pi * t))).ravel()
        A = make(n, speed)
        solution = nonstick.solve(A, b, 0.0, 0.1)
        assert solution.converged and residual(A, b, 0.0, 0.1, solution.x) < 1e-4 * abs(b).max()
        assert 0.1 < np.mean(solution.active != 0) < 0.9
        counts.append((solution.iterations, solution.outer_iterations))
    assert max(i for i, _ in counts) <= 15 and max(o for _, o in counts) <= 8


@pytest.mark.parametrize("method", METHODS)
def test_one_solver_for_many_right_hand_sides(method):
    A, b = convection(30, 5.0), np.sin(np.arange(900.0))
    solver = nonstick.Solver(A, method=method)
    for factor in (1.0, 1.1, -3.0):
        assert residual(A, factor * b, 0.0, 0.01, solver.solve(factor * b, 0.0, 0.01).x) <= 1e-6
    solver.update(2.0 * A)
    assert residual(2.0 * A, b, 0.0, 0.01, solver.solve(b, 0.0, 0.01).x) <= 1e-6


def test_a_solver_follows_a_matrix_that_is_no_longer_symmetric():
    A, b = convection(20, 0.0), np.ones(400)
    solver = nonstick.Solver(A)
    assert solver.solve(b).converged
    B = sp.csr_array(sp.diags_array(np.linspace(1.0, 2.0, 400)) @ A)
    solver.update(B)
    assert residual(B, b, 0.0, np.inf, solver.solve(b).x) <= 1e-6
