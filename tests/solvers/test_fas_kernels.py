"""The pointwise kernels of FAS against NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.solvers.lai._fas import _clip_residual, _coarse_equation, _csr_solve, _hold, _spread_band


@pytest.fixture
def level():
    rng = np.random.default_rng(0)
    n = 30
    kind = rng.integers(0, 4, n)
    lower = np.where(kind % 2 == 1, rng.standard_normal(n), -np.inf)
    upper = np.where(kind >= 2, np.where(kind == 3, lower + 0.5, rng.standard_normal(n)), np.inf)
    F = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.1)
    A = sp.csr_array(F @ F.T + np.eye(n))
    return A, rng.standard_normal(n), lower, upper, rng


def natural(A, b, lower, upper, x):
    d = A.diagonal()
    return np.maximum(np.minimum(A @ x - b, d * (x - lower)), d * (x - upper))


def test_the_shifted_box_problem_is_the_equation_with_a_right_hand_side(level):
    A, b, lower, upper, rng = level
    n, d = b.size, A.diagonal()
    x, restricted = rng.standard_normal(n), rng.standard_normal(n)
    rhs, low, high = np.empty(n), np.empty(n), np.empty(n)
    _coarse_equation(rhs, low, high, b - A @ x, restricted, x, b, lower, upper, d)
    f = natural(A, b, lower, upper, x) + restricted
    np.testing.assert_allclose(rhs, b + f)
    # Any y: f - N(y) is the clipped residual of the box problem (rhs, low, high).
    y = rng.standard_normal(n)
    r = rhs - A @ y
    _clip_residual(r, y, low, high, d)
    np.testing.assert_allclose(r, f - natural(A, b, lower, upper, y), atol=1e-12)
    # Projected Gauss–Seidel on that problem solves N(y) = f.
    _csr_solve(y, rhs, low, high, d, A.data, A.indices, A.indptr, np.arange(n, dtype=np.int32), 100_000, 1e-14)
    np.testing.assert_allclose(natural(A, b, lower, upper, y), f, atol=1e-9)


def test_rows_without_equation_are_left_alone():
    rhs, low, high, zero = np.ones(1), np.ones(1), np.ones(1), np.zeros(1)
    _coarse_equation(rhs, low, high, zero, zero, zero, zero, zero, zero, zero)
    assert rhs[0] == low[0] == high[0] == 1


def test_rows_are_held_where_half_the_children_are_clamped():
    parent = np.array([0, 0, 1, 1, 1, -1, 2], np.int32)
    x = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 5.0])
    low, high = np.zeros(7), np.full(7, 5.0)
    coarse_low, coarse_high, coarse_x = np.full(3, -9.0), np.full(3, 9.0), np.array([0.5, 0.7, 5.0])
    total = np.array([2, 3, 1], np.int32)
    _hold(coarse_low, coarse_high, coarse_x, np.empty(3, np.int32), total, x, low, high, parent, 0.5)
    np.testing.assert_array_equal(coarse_low, [0.5, -9, 5])
    np.testing.assert_array_equal(coarse_high, [0.5, 9, 5])


def test_the_band_grows_one_coupling_at_a_time():
    A = sp.csr_array(sp.diags_array([np.ones(8), np.ones(9), np.ones(8)], offsets=[-1, 0, 1]))
    near = np.zeros(9, np.int8)
    near[4] = 1
    assert _spread_band(near, A.indices, A.indptr) == 2
    assert _spread_band(near, A.indices, A.indptr) == 2
    np.testing.assert_array_equal(near, [0, 0, 3, 2, 1, 2, 3, 0, 0])
