"""ILU(0) of matrices that are not symmetric, against a dense twin, masked and shifted too; the safeguarded solver."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.inverse import CG, GMRES, ILU, BiCGStab, Cascade, Direct, Within
from nonstick.operators import CSROperator, Masked


def dense_lu(A: np.ndarray) -> np.ndarray:
    """The product of the incomplete factors, by textbook elimination on the pattern of A (Saad, algorithm 10.3)."""
    n, lu, kept = len(A), A.copy(), A != 0
    for i in range(n):
        for k in range(i):
            if kept[i, k]:
                lu[i, k] /= lu[k, k]
                for j in range(k + 1, n):
                    if kept[i, j]:
                        lu[i, j] -= lu[i, k] * lu[k, j]
    return (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)


def matrix(n=40, seed=3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    B = sp.random_array((n, n), density=0.15, random_state=rng).toarray()
    np.fill_diagonal(B, 0.0)
    return np.diag(B.sum(axis=1) + rng.uniform(0.1, 1.0, n)) - B


def as_dense(inverse, n):
    return np.column_stack([inverse.apply(e, np.full(n, np.nan)) for e in np.eye(n)])


def test_factor_is_the_twin():
    A = matrix()
    found = as_dense(ILU().setup(CSROperator(A, symmetric=False)), len(A))
    np.testing.assert_allclose(found @ dense_lu(A), np.eye(len(A)), atol=1e-10)


def test_masks_shifts_and_refreshed_factors():
    A, rng = matrix(), np.random.default_rng(0)
    operator = CSROperator(A, symmetric=False)
    inverse = ILU().setup(operator)
    for _ in range(3):
        free, shift = rng.random(len(A)) < 0.7, rng.uniform(0.0, 2.0, len(A))
        masked = Masked(operator, free, shift)
        inverse = ILU().setup(masked, inverse)
        # Entries of clamped rows are no part of the pattern.
        np.testing.assert_allclose(
            as_dense(inverse, len(A)) @ dense_lu(masked.matrix().toarray()), np.eye(len(A)), atol=1e-10
        )


def test_a_pivot_that_vanishes_is_replaced():
    A = np.array([[1.0, 1.0], [1.0 + 1e-13, 1.0]])  # the second pivot is rounding
    z = ILU().setup(CSROperator(A, symmetric=False)).apply(np.ones(2), np.empty(2))
    assert np.isfinite(z).all() and np.abs(z).max() < 10.0


@pytest.mark.parametrize("krylov", [BiCGStab, GMRES])
def test_krylov_methods_solve_with_it(krylov):
    A = matrix(200, 1)
    b, x = np.ones(200), np.zeros(200)
    result = krylov(ILU()).setup(CSROperator(A, symmetric=False)).solve(b, x, rtol=1e-10)
    assert result.converged and np.abs(A @ x - b).max() <= 2e-10


def test_only_some_recipes_are_general():
    assert BiCGStab().general and GMRES().general and Direct().general and Cascade((BiCGStab(), Direct())).general
    assert not CG().general


#: a rotation of coordinates: BiCGStab breaks down on it, and GMRES(m) stalls until m is the size
STALL = np.roll(np.eye(60), 1, axis=1) + 1e-3 * np.eye(60)


def test_what_stalls_is_solved_by_the_safeguard():
    A = CSROperator(STALL, symmetric=False)
    recipe = Cascade(((Within(20), GMRES(restart=5)), Direct()))
    b, x = np.eye(60)[0], np.zeros(60)
    assert not GMRES(restart=5).setup(A).solve(b, x.copy(), rtol=1e-8, maxiter=20).converged
    inverse = recipe.setup(A)
    assert inverse.inverse.step == 0
    left = []
    inverse.report = lambda *words: left.append(words)
    result = inverse.solve(b, x, rtol=1e-8)
    assert left == [("direct", "no convergence in 20 iterations")]
    assert result.converged and inverse.inverse.step == 1 and np.abs(STALL @ x - b).max() <= 1e-8
    assert recipe.setup(A, inverse).step == 1  # the first is not tried again


def test_the_callers_limit_is_not_a_failure():
    inverse = Cascade(((Within(20), GMRES(restart=5)), Direct())).setup(CSROperator(STALL, symmetric=False))
    result = inverse.solve(np.eye(60)[0], np.zeros(60), rtol=1e-8, maxiter=10)
    assert result.iterations == 10 and not result.converged and inverse.inverse.step == 0
    stopped = inverse.solve(np.eye(60)[0], np.zeros(60), rtol=1e-8, watch=lambda residual: True)
    assert not stopped.converged and inverse.inverse.step == 0
