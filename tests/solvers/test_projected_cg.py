"""Conjugate gradients in the box, and when something else is set up."""

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import beam, normal_equations, random_couplings, triangles, waves

import nonstick
from nonstick.solvers import ProjectedCG
from nonstick.solvers.auto._projected_cg import _steps
from nonstick.solvers.proximal import falls_for_ever

IN_THE_BOX = "conjugate gradients in the box"


def spd(n, rng, density):
    M = sp.random_array((n, n), density=density, random_state=rng, data_sampler=rng.standard_normal)
    return sp.csr_array(M @ M.T + 0.5 * sp.eye_array(n))


def steps_of_numpy(A, b, lower, upper, count):
    """The loop of the docstring."""
    x, d = np.clip(np.zeros(b.size), lower, upper), A.diagonal()
    g, p, Ap, curvature = A @ x - b, np.zeros(b.size), np.zeros(b.size), 0.0
    for _ in range(count):
        free = ~(((x <= lower) & (g > 0)) | ((x >= upper) & (g < 0)) | (lower == upper))
        z = np.where(free, g / d, 0.0)
        beta = -(z @ Ap) / curvature if curvature > 0 else 0.0
        p = np.where(free, z + beta * p, 0.0)
        p = p if g @ p > 0 else z
        Ap = A @ p
        curvature = p @ Ap
        alpha = (g @ p) / curvature
        y = np.clip(x - alpha * p, lower, upper)
        if ((y != x) & ((y == lower) | (y == upper))).any():
            p = x - y
            Ap = A @ p
            curvature = p @ Ap
            alpha = min((g @ p) / curvature, 1.0)
            y = y if alpha == 1.0 else x - alpha * p
        x, g = y, g - alpha * Ap
    return x, g


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_the_loop_is_that_of_numpy(full, count):
    rng = np.random.default_rng(count)
    n = 37
    A, b = spd(n, rng, 0.1), rng.standard_normal(n)
    lower, upper = np.where(rng.random(n) < 0.7, -0.1, -np.inf), np.where(rng.random(n) < 0.6, 0.2, np.inf)
    lower[5] = upper[5] = 0.05
    x = np.clip(np.zeros(n), lower, upper)
    g, free, found = A @ x - b, np.empty(n, np.bool_), np.zeros(5)
    matrix = A.toarray() if full else np.empty((0, 0)), A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)
    vectors = *np.zeros((4, n)), free, found, matrix, A.diagonal(), lower, upper
    assert _steps(x, g, *vectors, 0.0, 1e-12, count) == count
    expected, gradient = steps_of_numpy(A, b, lower, upper, count)
    np.testing.assert_allclose(x, expected, atol=1e-12)
    np.testing.assert_allclose(g, gradient, atol=1e-11)
    box = nonstick.BoxProblem(A, b, lower, upper)
    assert found[1] == pytest.approx(np.abs(box.natural_residual(x, g)).max())


def test_every_step_lowers_the_objective():
    A, b, lower, upper, _ = waves(triangles(12))
    problem = nonstick.BoxProblem(A, b, lower, upper)
    values = [nonstick.solve_problem(problem, ProjectedCG(), maxiter=k).fun for k in range(1, 40)]
    assert (np.diff(values) < 1e-15).all()


@pytest.mark.parametrize("seed", range(8))
def test_the_solution_is_that_of_exact_policies(seed):
    rng = np.random.default_rng(seed)
    A, b = spd(300, rng, 0.02), rng.standard_normal(300)
    lower, upper = np.where(rng.random(300) < 0.7, -rng.random(300), -np.inf), rng.random(300)
    ours = nonstick.solve(A, b, lower, upper, method=ProjectedCG(), rtol=1e-10)
    exact = nonstick.solve(A, b, lower, upper, method="pi-direct", rtol=1e-10)
    assert ours.success
    np.testing.assert_allclose(ours.x, exact.x, atol=1e-8)


def test_no_curvature_ends_it():
    flat = np.array([[1.0, -1.0], [-1.0, 1.0]])
    x = nonstick.solve(flat, [1.0, 0.0], -np.inf, np.inf, method=ProjectedCG())
    assert not x.success and np.isfinite(x.x).all()
    assert nonstick.solve(flat, [1.0, -1.0], None, None, method=ProjectedCG()).success


def test_well_conditioned_matrices_set_nothing_up():
    for A, b, lower, upper, _ in (random_couplings(2000, 12), normal_equations(600)):
        solution = nonstick.solve(A, b, lower, upper)
        assert solution.success and solution.path == IN_THE_BOX and solution.iterations < 60


def test_it_is_left_in_time():
    A, b, lower, upper, _ = beam(60, 15)
    solution = nonstick.solve(A, b, lower, upper)
    assert solution.success and "left for policy iteration over direct" in solution.path
    assert "finished" not in solution.message  # this is no difficulty


def test_a_limit_of_iterations_holds_for_both():
    A, b, lower, upper, _ = beam(60, 15)
    assert nonstick.solve(A, b, lower, upper, maxiter=5).iterations <= 5


def test_flat_directions_end_at_bounds_or_never():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 400))
    A, b = X.T @ X, rng.standard_normal(400)
    held = nonstick.solve(A, b, -1.0, 1.0, method=ProjectedCG())
    assert held.success and np.abs(held.x).max() == 1.0
    assert nonstick.solve(A, b, -1.0, 1.0).path.startswith(IN_THE_BOX) and "proximal" not in held.path
    flat = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert nonstick.solve(flat, [1.0, 1.0], method=ProjectedCG()).status == "unbounded"
    assert nonstick.solve(A, A @ b, None, None).path == IN_THE_BOX


def half_open(n, rank, seed):
    """A matrix of which much is null, and bounds on one side, on both or on none."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((rank, n))
    lower = np.where(rng.random(n) < 0.3, -rng.random(n), -np.inf)
    upper = np.where(rng.random(n) < 0.4, rng.random(n), np.inf)
    return J.T @ J, rng.standard_normal(n), lower, upper


@pytest.mark.parametrize("n, rank, seed", [(20, 13, 7), (80, 40, 1), (80, 60, 11)])
def test_a_solve_that_fails_looks_for_a_direction_without_end(n, rank, seed):
    A, b, lower, upper = half_open(n, rank, seed)
    found = nonstick.solve(A, b, lower, upper)
    assert found.status == "unbounded" and "falls without end" in found.message
    assert falls_for_ever(nonstick.BoxProblem(sp.csr_array(A), b, lower, upper))
    closed = np.where(np.isfinite(lower), lower, -10.0), np.where(np.isfinite(upper), upper, 10.0)
    assert nonstick.solve(A, b, *closed).success
    assert not falls_for_ever(nonstick.BoxProblem(sp.csr_array(A), b, *closed))
    assert not falls_for_ever(nonstick.BoxProblem(sp.csr_array(A), A @ b, lower, upper))
