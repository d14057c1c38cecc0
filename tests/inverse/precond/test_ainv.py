"""The AINV family and SPAI-0."""

import numpy as np
import pytest

from nonstick.inverse.precond.ainv import AINV
from nonstick.inverse.precond.jacobi import SPAI0
from nonstick.operators.csr import CSROperator


def dense(inverse, n):
    return np.column_stack([inverse.apply(e, np.full(n, np.nan)) for e in np.eye(n)])


def dense_ainv(A, drop, root):
    """W and D by incomplete A-orthogonalisation, as the formulas say it."""
    n = len(A)
    W, D = np.eye(n), np.zeros(n)
    for j in range(n):
        u = A @ W[j]
        D[j] = W[j] @ u
        for i in range(j + 1, n):
            update = -u[i] / D[j] * W[j]
            W[i] += np.where(np.abs(update) * root >= drop * root[i], update, 0.0)
    return W.T @ np.diag(1 / D) @ W


@pytest.mark.parametrize("scaled", [False, True])
def test_without_dropping_it_is_the_inverse(operator, scaled):
    found = dense(AINV(drop=0.0, scaled=scaled).setup(operator), operator.n)
    np.testing.assert_allclose(found @ operator.matrix().toarray(), np.eye(operator.n), atol=1e-9)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("drop", [0.02, 0.1, 0.3])
def test_dropping_follows_the_twin(operator, scaled, drop):
    A = operator.matrix().toarray()
    root = np.sqrt(np.diag(A)) if scaled else np.ones(len(A))
    found = dense(AINV(drop=drop, scaled=scaled).setup(operator), operator.n)
    np.testing.assert_allclose(found, dense_ainv(A, drop, root), atol=1e-12)


def test_scaled_dropping_is_blind_to_scaling(make_stencil):
    """Ŵ of S A S is W of A, rescaled: the same entries survive."""
    A = make_stencil((6, 7)).matrix()
    s = np.exp(np.random.default_rng(0).uniform(-3, 3, A.shape[0]))
    plain = AINV(scaled=True).setup(CSROperator(A))
    other = AINV(scaled=True).setup(CSROperator(A * s[:, None] * s[None, :]))
    np.testing.assert_allclose(dense(other, len(s)) * np.outer(s, s), dense(plain, len(s)), rtol=1e-9, atol=1e-12)


def test_static_keeps_the_number_of_entries(operator):
    inverse = AINV(drop=0.0, nonzeros=4, scaled=True).setup(operator)
    assert np.diff(inverse.W.indptr).max() == 4
    M = dense(inverse, operator.n)
    np.testing.assert_allclose(M, M.T, atol=1e-14)
    assert np.linalg.eigvalsh(M).min() > 0


def test_more_entries_are_a_better_inverse(make_stencil):
    A = make_stencil((8, 8), fill=1.0)
    dense_A = A.matrix().toarray()

    def condition(recipe):
        values = np.sort(np.linalg.eigvals(dense(recipe.setup(A), A.n) @ dense_A).real)
        return values[-1] / values[0]

    few, ten, many = (condition(AINV(drop=0.0, nonzeros=k, scaled=True)) for k in (1, 10, 30))
    assert many < ten < few


def test_spai0_minimises_the_frobenius_norm(operator):
    A = operator.matrix().toarray()
    scale = SPAI0().setup(operator).scale

    def norm(m):
        return np.linalg.norm(np.eye(len(A)) - m[:, None] * A)

    np.testing.assert_allclose(scale, np.diag(A) / (A**2).sum(axis=1), rtol=1e-13)
    rng = np.random.default_rng(0)
    assert all(norm(scale) < norm(scale * rng.uniform(0.99, 1.01, len(A))) for _ in range(5))
