"""Few unknowns of any condition: minima on faces, with bounded work, against all faces tried in turn."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import grid

import nonstick
from nonstick.operators import Products
from nonstick.solvers import Faces
from nonstick.solvers.safeguards import definite


def best_of_all_faces(A, b, lower, upper):
    """The twin: every face of the box in turn, the first whose minimum is a solution."""
    n = len(b)
    for face in product((0, -1, 1), repeat=n):
        policy = np.array(face)
        x = np.where(policy < 0, lower, np.where(policy > 0, upper, 0.0))
        free = policy == 0
        if not np.isfinite(x).all():
            continue
        x[free] = np.linalg.solve(A[np.ix_(free, free)], b[free] - A[np.ix_(free, ~free)] @ x[~free])
        g = A @ x - b
        if (
            (x >= lower).all()
            and (x <= upper).all()
            and not (g[policy < 0] < 0).any()
            and not (g[policy > 0] > 0).any()
        ):
            return x
    raise AssertionError("no face holds a solution")


def spectrum(rng, n, condition):
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * condition ** -np.linspace(0, 1, n)) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("policies", [20, 0], ids=["policies", "row by row"])
def test_it_finds_the_face(seed, policies):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    A, b = spectrum(rng, n, 1e3), rng.standard_normal(n)
    lower, upper = -rng.random(n), np.where(rng.random(n) < 0.5, rng.random(n), np.inf)
    s = nonstick.solve(A, b, lower, upper, method=Faces(policies=policies), rtol=1e-10)
    assert s.converged and s.iterations <= 10 * n + 20
    np.testing.assert_allclose(s.x, best_of_all_faces(A, b, lower, upper), atol=1e-6)


def ill_conditioned(seed):
    """A matrix of one of four kinds with a condition of up to 1e14, and a right-hand side and bounds for it."""
    rng = np.random.default_rng(seed)
    n, condition = int(rng.integers(2, 61)), 10.0 ** rng.uniform(4, 14)
    kind = seed % 4
    if kind == 0:
        A = spectrum(rng, n, condition)
    elif kind == 1:  # least squares with few data
        J = rng.standard_normal((int(rng.integers(1, n + 5)), n))
        A = J.T @ J + n / condition * np.eye(n)
    elif kind == 2:  # monomials
        J = np.vander(np.linspace(0, 1, n + 3), n)
        A = J.T @ J + np.eye(n) / condition
    else:  # a smooth kernel, in units of any size
        t = np.sort(rng.random(n))
        A = np.exp(-(((t[:, None] - t) / 0.2) ** 2)) + np.eye(n) / condition
        unit = 10.0 ** rng.uniform(-4, 4, n)
        A = unit[:, None] * A * unit
    d = np.sqrt(A.diagonal())
    b = d * rng.standard_normal(n) if seed % 3 else A @ (rng.standard_normal(n) / d)
    bounds = [(-np.inf, np.inf), (0.0, np.inf), (-rng.random(n) / d, rng.random(n) / d)][seed % 5 % 3]
    return A, b, *bounds


def test_ill_conditioned_problems_end_at_the_limit_of_rounding():
    """They converge, unless the last digit of x is worth more than the tolerance; the work is bounded in any case.

    It was 8 s and `maxiter` for some.
    """
    failed = 0
    for seed in range(240):
        A, b, lower, upper = ill_conditioned(seed)
        s = nonstick.solve(A, b, lower, upper)
        assert s.iterations <= 60 * (10 * b.size + 20), seed
        if s.status == "unbounded":  # A is singular to rounding, and nothing holds x
            assert np.linalg.cond(A / np.sqrt(np.outer(A.diagonal(), A.diagonal()))) > 1e12, seed
        elif not s.converged:
            worth = 2.0**-52 * (np.abs(A) @ np.abs(s.x) + np.abs(b)).max() / np.abs(b).max()
            assert s.status == "stagnated" and s.kkt() <= 4 * worth > 1e-6, seed
            assert "the last digit of x is worth" in s.message or s.path.startswith("proximal"), (seed, s.message)
        failed += not s.converged
    assert failed < 24


@pytest.mark.parametrize("seed", range(4))
def test_what_a_matrix_resists_a_little_does_not_fall_for_ever(seed):
    """An eigenvalue that is 10⁴ times the spacing of numbers can be told from zero, though no solve is that exact."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 60))
    Q, d = np.linalg.qr(rng.standard_normal((n, n)))[0], np.ones(n)
    b = rng.standard_normal(n)
    for least, ends in ((3e-12, ("converged", "stagnated")), (0.0, ("unbounded",))):
        d[-1] = least
        A = (Q * d) @ Q.T
        s = nonstick.solve((A + A.T) / 2, b, None)
        assert s.status in ends, (s.status, s.message)
        assert s.status != "stagnated" or "the last digit of x is worth" in s.message


@pytest.mark.parametrize(
    "A, b, upper",
    [
        ([[22, -7, -6, 18], [-7, 17, -16, -28], [-6, -16, 24, 22], [18, -28, 22, 49]], [-3, -3, -3, -1],
         [1, np.inf, np.inf, 1]),
        ([[26, -5, 16, 25], [-5, 26, 18, -9], [16, 18, 29, 12], [25, -9, 12, 25]], [4, -5, 3, 1], [1, 1, np.inf, 1]),
    ],
)  # fmt: skip
def test_iterations_of_the_method_before_do_not_count_against_its_own(A, b, upper):
    """Policies over band factors go round in a circle on these, a hundred times."""
    A, b, lower, upper = np.array(A, float), np.array(b, float), np.full(4, -1.0), np.array(upper, float)
    s = nonstick.solve(A, b, lower, upper)
    assert s.converged and s.iterations > 100 and "faces" in s.path
    np.testing.assert_allclose(s.x, best_of_all_faces(A, b, lower, upper), atol=1e-10)


def test_a_small_singular_problem_is_bounded_too():
    J = np.random.default_rng(1).standard_normal((20, 50))
    A = J.T @ J
    b = A @ np.random.default_rng(2).standard_normal(50)
    s = nonstick.solve(A, b, 0.0, np.inf)
    assert s.converged and s.iterations < 300 and (s.x >= 0).all()
    assert nonstick.solve(A, b + 1.0, -np.inf, 1.0).status in ("unbounded", "converged")


def test_limits_are_kept():
    A = sp.csr_array(spectrum(np.random.default_rng(0), 40, 1e8))
    b = np.random.default_rng(1).standard_normal(40)
    s = nonstick.solve(A, b, -1.0, 1.0, maxiter=2)
    assert s.status == "maxiter" and s.iterations == 2
    assert nonstick.solve(A, b, -1.0, 1.0, time_limit=1e-9).status == "time"


def test_larger_and_other_matrices_go_their_own_way():
    assert "faces" not in nonstick.solve(sp.csr_array(sp.eye_array(101)), np.ones(101)).path
    assert "faces" in nonstick.solve(spectrum(np.random.default_rng(0), 30, 10.0), np.ones(30)).path
    indefinite = np.eye(30) - 1.3 * np.full((30, 30), 1 / 30)
    assert "faces" not in nonstick.solve(indefinite, np.ones(30), -1.0, 1.0).path


@pytest.mark.parametrize("shift, negative", [(0.0, False), (0.02, True)])
def test_lanczos_finds_negative_curvature_in_a_bounded_number_of_products(shift, negative):
    A, count = grid(50) - shift * sp.eye_array(2500), []
    operator = Products(lambda x: count.append(1) or A @ x, A.diagonal())
    found = definite._lanczos(operator, 1.0 / np.sqrt(A.diagonal()))
    assert (found < definite.ZERO) == negative and len(count) <= definite.PATIENCE.steps
    assert found >= -1.01 * shift / A.diagonal().min()  # no value outside the spectrum
