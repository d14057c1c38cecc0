"""Saddle points: the operator, the two Krylov methods on it, their kernels, and the pivots of the policies."""

import numpy as np
import pytest

from nonstick.compositions import CHEBYSHEV_MG, CYCLE
from nonstick.discretise import StokesProblem
from nonstick.inverse import GMRES, MINRES, BlockDiagonal, BlockTriangular
from nonstick.kernels._vector import BLOCK, _add_combination, _coefficients
from nonstick.operators.masked import Masked
from nonstick.solvers.saddle import BlockPivots

BLOCKS = (CHEBYSHEV_MG, CYCLE)


def step(mu=10.0, shape=(18, 15)):
    rng = np.random.default_rng(0)
    y = np.arange(shape[1]) + 0.5 + 0.2 * np.arange(shape[0])[:, None]
    velocity = (rng.normal(size=(shape[0] + 1, shape[1])), rng.normal(size=(shape[0], shape[1] + 1)))
    return StokesProblem(phi_liquid=y - 11.3, velocity=velocity, viscosity=mu, dt=1.0, dx=1.0, rho=1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_stored_vectors(dtype):
    rng = np.random.default_rng(1)
    V, w = rng.normal(size=(5, 2 * BLOCK + 7)).astype(dtype), rng.normal(size=2 * BLOCK + 7)
    partial = np.empty((3, 4))
    _coefficients(partial, V, w, 4)
    h = V[:4].astype(float) @ w
    np.testing.assert_allclose(partial.sum(axis=0), h, rtol=1e-10)
    expected = w + h @ V[:4].astype(float)
    _add_combination(w, V, h, 4)
    np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-10)


def test_the_operator_is_its_matrix():
    K = step().problem.A
    x = np.random.default_rng(2).normal(size=K.n)
    M = K.matrix()
    np.testing.assert_allclose(K @ x, M @ x, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(K.magnitude(x, np.empty(K.n)), abs(M) @ np.abs(x), rtol=1e-9)
    schur = K.B @ (K.Bt / K.mass[:, None])
    np.testing.assert_allclose(K.schur.matrix().toarray(), schur.toarray(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("recipe", [GMRES(BlockTriangular(*BLOCKS)), GMRES(BlockTriangular(*BLOCKS), single=True),
                                    MINRES(BlockDiagonal(*BLOCKS))], ids=["gmres", "single", "minres"])  # fmt: skip
@pytest.mark.parametrize("masked", [False, True])
def test_krylov_methods_solve_it(recipe, masked):
    problem = step()
    K, b = problem.problem.A, problem.problem.b.copy()
    A = Masked(K)
    if masked:
        free = np.ones(K.n, bool)
        free[-20::3] = False
        b[~free] = 0.0
        A.update(free)
    x = np.zeros(K.n)
    result = recipe.setup(A).solve(b, x, rtol=1e-9, maxiter=100)
    assert result.converged
    np.testing.assert_allclose(A.matrix() @ x, b, atol=2e-9 * np.abs(b).max())
    assert np.abs(b - A @ x).max() == pytest.approx(result.residual, rel=0.3)


def test_after_a_repetition_one_constraint_changes_at_a_time():
    pivots, one, two = BlockPivots(), np.array([0, -1, 0, -1], np.int8), np.array([-1, 0, 0, -1], np.int8)
    assert np.array_equal(pivots.following(one, two, exact=True), two)
    assert np.array_equal(pivots.following(two, one, exact=True), one)
    assert not pivots.single
    following = pivots.following(one, two, exact=True)
    assert pivots.single and np.flatnonzero(following != one).tolist() == [1]  # the last that wants to change
    pivots.following(following, following, exact=True)  # none wants to: fewer than ever
    assert not pivots.single


def test_rough_solves_do_not_count_as_repetitions():
    pivots, one, two = BlockPivots(), np.array([0, -1], np.int8), np.array([-1, -1], np.int8)
    for _ in range(3):
        assert np.array_equal(pivots.following(one, two, exact=False), two)
    assert not pivots.single
