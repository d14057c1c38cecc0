"""Least squares with bounds and quadratic programs, beside SciPy and beside plain conditions."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import Bounds, linprog, lsq_linear, minimize, nnls
from scipy.sparse.linalg import aslinearoperator

import nonstick
from nonstick import NonstickError

RNG = np.random.default_rng(0)
J, Y = RNG.standard_normal((40, 12)), RNG.standard_normal(40)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator], ids=["dense", "sparse", "products"])
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0, np.inf), (-0.05, 0.1)], ids=["free", "nonnegative", "box"])
def test_least_squares_as_scipy(form, bounds):
    ours, theirs = nonstick.lsq(form(J), Y, bounds, rtol=1e-10), lsq_linear(J, Y, bounds, tol=1e-14)
    assert ours.success
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-7)
    np.testing.assert_allclose(ours.fun, theirs.fun, atol=1e-7)
    assert ours.cost == pytest.approx(theirs.cost)


def test_least_squares_that_j_does_not_determine():
    wide = RNG.standard_normal((10, 30))
    y = RNG.standard_normal(10)
    assert nonstick.lsq(wide, y, (0, np.inf)).cost == pytest.approx(0.5 * nnls(wide, y)[1] ** 2, abs=1e-8)
    stacked, longer = np.vstack([wide, np.sqrt(0.3) * np.eye(30)]), np.concatenate([y, np.zeros(30)])
    regular = nonstick.lsq(wide, y, Bounds(0, np.inf), regularise=0.3, rtol=1e-10)
    np.testing.assert_allclose(regular.x, nnls(stacked, longer)[0], atol=1e-7)
    assert regular.cost == pytest.approx(0.5 * nnls(stacked, longer)[1] ** 2)


def test_a_column_of_zeros_stays_at_zero():
    flat = J.copy()
    flat[:, 3] = 0.0
    assert nonstick.lsq(flat, Y).x[3] == 0.0


@pytest.mark.parametrize(
    "arguments, options, words",
    [
        ((J, Y[:5]), {}, "J has shape 40 × 12; it must have 5 rows, because y has 5 numbers"),
        ((np.ones(3), Y), {}, "J must be a matrix"),
        ((J, Y), {"regularise": -1.0}, "regularise must be zero or positive"),
        ((J, Y), {"tol": 1e-3}, "did you mean 'rtol'"),
        ((np.full((2, 2), np.nan), [1, 2]), {}, "J holds numbers that are not finite"),
    ],
)
def test_mistakes_of_least_squares(arguments, options, words):
    with pytest.raises(NonstickError, match=words):
        nonstick.lsq(*arguments, **options)


def program(seed):
    """A strictly convex program that has a solution."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    m, k = int(rng.integers(0, n // 2 + 1)), int(rng.integers(0, 2 * n))
    M, x = rng.standard_normal((n, n)), rng.standard_normal(n)
    G, A = rng.standard_normal((k, n)), rng.standard_normal((m, n))
    lb = np.where(rng.random(n) < 0.6, x - rng.random(n), -np.inf)
    ub = np.where(rng.random(n) < 0.6, x + rng.random(n), np.inf)
    return M @ M.T + 0.01 * np.eye(n), rng.standard_normal(n), G, G @ x + rng.random(k), A, A @ x, lb, ub


@pytest.mark.parametrize("seed", range(20))
def test_quadratic_programs_meet_their_conditions(seed):
    P, q, G, h, A, b, lb, ub = program(seed)
    found = nonstick.qp(P, q, G, h, A, b, lb, ub, rtol=1e-9)
    x = found.x
    assert found.success and found.kkt() < 1e-8, found.message
    assert np.abs(P @ x + q + A.T @ found.y + G.T @ found.z + found.z_box).max() < 1e-6
    assert (G @ x <= h + 1e-7).all() and np.allclose(A @ x, b, atol=1e-7) and (lb <= x).all() and (x <= ub).all()
    assert (found.z >= -1e-9).all() and np.abs(found.z * (h - G @ x)).max(initial=0.0) < 1e-6
    assert found.fun == pytest.approx(0.5 * x @ P @ x + q @ x)


@pytest.mark.parametrize("seed", range(40))
def test_the_default_tolerance_gives_six_digits(seed):
    parts = program(100 + seed)
    found = nonstick.qp(*parts)
    assert np.abs(found.x - nonstick.qp(*parts, rtol=1e-12).x).max() < 1e-6 and found.kkt() < 1e-10


def test_a_program_without_a_strict_face_goes_on_to_a_small_gap():
    """The bound touches the unbounded minimum: its multiplier and its slack vanish together."""
    P = np.array([[2.0, 1.0], [1.0, 2.0]])
    found = nonstick.qp(P, -P @ [1.0, 3.0], G=[[1.0, 0.0]], h=[1.0], ub=[5.0, 3.0])
    assert found.success and np.abs(found.x - [1.0, 3.0]).max() < 1e-5, found


def test_a_quadratic_program_beside_slsqp():
    P, q, G, h, A, b, lb, ub = program(3)
    peer = minimize(
        lambda x: 0.5 * x @ P @ x + q @ x,
        np.zeros(q.size),
        jac=lambda x: P @ x + q,
        bounds=Bounds(lb, ub),
        constraints=[{"type": "ineq", "fun": lambda x: h - G @ x}, {"type": "eq", "fun": lambda x: A @ x - b}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    np.testing.assert_allclose(nonstick.qp(P, q, G, h, A, b, lb, ub, rtol=1e-9).x, peer.x, atol=1e-5)


def test_bounds_alone_are_a_box_problem():
    P, q, *_, lb, ub = program(5)
    found = nonstick.qp(sp.csc_array(P), q, lb=lb, ub=ub, rtol=1e-9)
    np.testing.assert_allclose(found.x, nonstick.solve(P, -q, lb, ub, rtol=1e-9).x, atol=1e-8)
    assert found.kkt() < 1e-7 and found.y.size == found.z.size == 0


def test_a_linear_program():
    rng = np.random.default_rng(1)
    G, c = rng.random((8, 5)), -rng.random(5)
    found = nonstick.qp(np.zeros((5, 5)), c, G, np.ones(8), lb=0.0, rtol=1e-8)
    assert found.success and found.fun == pytest.approx(linprog(c, G, np.ones(8)).fun, abs=1e-6)


def test_programs_without_a_solution():
    eye = np.eye(2)
    assert nonstick.qp(eye, [0, 0], G=[[1, 0], [-1, 0]], h=[-1, -1]).status == "infeasible"
    away = nonstick.qp(np.diag([1.0, 0.0]), [0.0, -1.0], G=[[1.0, 0.0]], h=[1.0])
    assert away.status == "unbounded" and "falls without end" in away.message


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((np.eye(2), [1, 2], [[1, 1]]), "G and h belong together"),
        ((np.eye(3), [1, 2]), "P has shape"),
        ((np.eye(2), [1, 2], [[1, 1]], [1, 2]), "G has shape 1 × 2; it must have 2 rows, because h has 2 numbers"),
        (([[1, 1], [0, 1]], [1, 2]), "P is not symmetric"),
        ((-np.eye(2), [1, 2]), "not positive semidefinite"),
    ],
)
def test_mistakes_of_quadratic_programs(arguments, words):
    with pytest.raises(NonstickError, match=words):
        nonstick.qp(*arguments)


def test_least_squares_from_products_alone_with_many_columns():
    rng = np.random.default_rng(3)
    J = sp.random_array((4000, 3000), density=0.002, random_state=rng) + sp.eye_array(4000, 3000)
    y = rng.standard_normal(4000)
    expected = nonstick.lsq(J, y, (0.0, None), rtol=1e-8)
    found = nonstick.lsq(aslinearoperator(J), y, (0.0, None), rtol=1e-8)
    assert found.converged
    np.testing.assert_allclose(found.x, expected.x, atol=1e-6)
