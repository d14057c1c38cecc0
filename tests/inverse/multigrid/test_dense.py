"""The small dense factor."""

import numpy as np
import pytest

from nonstick.inverse.multigrid.bottom import _factor, _substitute


@pytest.mark.parametrize("n", [1, 2, 17])
def test_solves_like_numpy(n):
    rng = np.random.default_rng(n)
    F = rng.standard_normal((n, n))
    A = F @ F.T + np.eye(n)
    L, b, x = A.copy(), rng.standard_normal(n), np.empty(n)
    assert _factor(L, 1e-12) == 0
    _substitute(x, L, b)
    np.testing.assert_allclose(x, np.linalg.solve(A, b))


def test_lost_pivots_are_counted():
    L = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    assert _factor(L, 1e-12) == 1
    assert _factor(np.zeros((3, 3)), 1e-12) == 3
