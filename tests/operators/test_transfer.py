"""Transfers: adjointness, truncation, bounds."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.operators.transfer import AggregateTransfer, MatrixTransfer


def make(kind, rng):
    parent = rng.integers(-1, 5, 40).astype(np.int32)
    if kind == "aggregate":
        return AggregateTransfer(parent, 5)
    P = sp.random_array((40, 5), density=0.4, random_state=rng, format="csr")
    return MatrixTransfer(P, 0.25, parent)


@pytest.mark.parametrize("kind", ["aggregate", "matrix"])
@pytest.mark.parametrize("truncated", [False, True])
def test_the_three_verbs_against_the_matrix(kind, truncated):
    rng = np.random.default_rng(3)
    T = make(kind, rng)
    free = rng.random(40) < 0.6 if truncated else None
    T.truncate(free)
    P = T.matrix().toarray()
    if truncated:
        assert not P[~free].any()
    fine, coarse, x = rng.standard_normal(40), rng.standard_normal(5), rng.standard_normal(40)
    np.testing.assert_allclose(T.restrict(fine, np.full(5, np.nan)), T.scale * P.T @ fine, atol=1e-14)
    np.testing.assert_allclose(T.prolong(coarse, np.full(40, np.nan)), P @ coarse, atol=1e-14)
    np.testing.assert_allclose(T.prolong_add(coarse, x.copy()), x + P @ coarse, atol=1e-14)
    # <R f, c> = scale <f, P c>
    left = T.restrict(fine, np.empty(5)) @ coarse
    assert left == pytest.approx(T.scale * fine @ T.prolong(coarse, np.empty(40)))


def test_undoing_a_truncation():
    rng = np.random.default_rng(0)
    T = make("matrix", rng)
    P = T.matrix().toarray()
    T.truncate(np.zeros(40, bool))
    assert T.matrix().nnz == 0
    np.testing.assert_array_equal(T.truncate(None).matrix().toarray(), P)


def test_bounds_are_the_tightest_of_the_children():
    parent = np.array([0, 0, 1, -1, 1, 2], np.int32)
    T = AggregateTransfer(parent, 4)
    lower = np.array([0.0, 0.0, -np.inf, 5.0, -np.inf, -np.inf])
    upper = np.array([np.inf, 3.0, 1.0, 6.0, 2.0, np.inf])
    x = np.array([1.0, 0.5, 0.0, 0.0, 1.5, 7.0])
    low, up = np.empty(4), np.empty(4)
    T.restrict_bounds(lower, upper, x, low, up)
    np.testing.assert_array_equal(low, [-0.5, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(up, [2.5, 0.5, np.inf, np.inf])


def test_an_aggregate_without_children_gets_zero():
    T = AggregateTransfer(np.array([2, 2, 0], np.int32), 4)
    np.testing.assert_array_equal(T.restrict(np.array([1.0, 2.0, 4.0]), np.empty(4)), [4, 0, 3, 0])
