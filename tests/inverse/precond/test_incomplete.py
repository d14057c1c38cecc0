"""MIC(0), IC(0) and ILU(0) against dense twins, on stencil, CSR and masked operators."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.precond.incomplete import ILU, MIC
from nonstick.inverse.precond.jacobi import Jacobi
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked


def dense_incomplete(A: np.ndarray, tuning: float, safety: float) -> np.ndarray:
    """The preconditioning matrix (E + U)ᵀ E⁻¹ (E + U), by textbook elimination on the pattern of A."""
    n = len(A)
    work, kept = A.copy(), A != 0
    U, E = np.zeros_like(A), np.zeros(n)
    for k in range(n):
        E[k] = work[k, k] if work[k, k] >= safety * A[k, k] and work[k, k] > 0 else A[k, k]
        later = [j for j in range(k + 1, n) if kept[k, j]]
        U[k, later] = work[k, later]
        for i in later:
            for j in later:
                update = work[k, i] * work[k, j] / E[k]
                if kept[i, j]:
                    work[i, j] -= update
                else:  # the row sum keeps what the pattern drops
                    work[i, i] -= tuning * update
    return (np.diag(E) + U).T @ np.diag(1 / E) @ (np.diag(E) + U)


def as_dense(inverse, n):
    """The matrix of an inverse, column by column."""
    return np.column_stack([inverse.apply(e, np.full(n, np.nan)) for e in np.eye(n)])


@pytest.mark.parametrize("recipe", [MIC(), MIC(tuning=0.0), MIC(tuning=1.0, safety=0.5), ILU()], ids=repr)
def test_factor_is_the_twin(operator, recipe):
    tuning, safety = (recipe.tuning, recipe.safety) if isinstance(recipe, MIC) else (0.0, 0.0)
    twin = dense_incomplete(operator.matrix().toarray(), tuning, safety)
    found = as_dense(recipe.setup(operator), operator.n)
    np.testing.assert_allclose(found @ twin, np.eye(operator.n), atol=1e-10)
    np.testing.assert_allclose(found, found.T, atol=1e-12)


def test_general_pattern():
    """A graph with triangles, where off-diagonals change during elimination."""
    rng = np.random.default_rng(3)
    B = sp.random_array((40, 40), density=0.1, random_state=rng).toarray()
    A = B @ B.T + np.diag(rng.uniform(2, 3, 40))
    for recipe, tuning in ((MIC(0.97, 0.0), 0.97), (ILU(), 0.0)):
        found = as_dense(recipe.setup(CSROperator(sp.csr_array(A))), 40)
        np.testing.assert_allclose(found @ dense_incomplete(A, tuning, 0.0), np.eye(40), atol=1e-9)


def test_ilu_reproduces_entries_on_the_pattern(make_stencil):
    """The defining property of ILU(0): LU = A wherever A is not zero."""
    A = CSROperator(make_stencil((5, 6, 4)).matrix())
    dense = A.matrix().toarray()
    product = np.linalg.inv(as_dense(ILU().setup(A), A.n))
    np.testing.assert_allclose(product[dense != 0], dense[dense != 0], atol=1e-10)


def test_refreshed_factor_equals_a_new_one(make_stencil):
    A = make_stencil((7, 6, 5))
    rng = np.random.default_rng(1)
    for base in (A, CSROperator(A.matrix())):
        masked = Masked(base, rng.random(A.n) < 0.5)
        for recipe in (MIC(), ILU(), Jacobi()):
            old = recipe.setup(masked)
            masked.update(rng.random(A.n) < 0.8, rng.random(A.n))
            r = rng.standard_normal(A.n)
            refreshed = recipe.setup(masked, reuse=old).apply(r, np.empty(A.n))
            np.testing.assert_array_equal(refreshed, recipe.setup(masked).apply(r, np.empty(A.n)))


@pytest.mark.parametrize("recipe", [MIC(), ILU(), Jacobi()], ids=repr)
def test_shapes_and_rows_without_equation(grid_shape, recipe, make_stencil):
    A = make_stencil(grid_shape, fill=1.0, neumann=grid_shape == (1, 1))
    z = recipe.setup(A).apply(np.ones(A.n), np.full(A.n, np.nan))
    assert np.isfinite(z).all()
    if grid_shape == (1, 1):  # one isolated cell, 0·x = r: nothing to do
        assert z[0] == 0.0


@pytest.mark.parametrize("recipe", [MIC(), ILU()], ids=repr)
def test_pure_neumann_converges(recipe, make_stencil):
    A = make_stencil((12, 13), fill=1.0, neumann=True)
    b = np.random.default_rng(0).standard_normal(A.n)
    b -= b.mean()
    x = np.zeros(A.n)
    assert CG(recipe, rtol=1e-9).setup(A).solve(b, x).converged
    assert abs(A @ x - b).max() < 1e-8 * abs(b).max()


def test_modified_factor_saves_iterations():
    """MIC(0) turns the condition number from O(h⁻²) into O(h⁻¹): the reason it exists."""
    from nonstick.operators.stencil import StencilOperator

    n = 48
    line = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = StencilOperator.from_matrix(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line), _cells(n))
    b = np.random.default_rng(0).standard_normal(n * n)
    counts = {}
    for name, recipe in (("mic", MIC()), ("ic", ILU()), ("jacobi", Jacobi())):
        counts[name] = CG(recipe).setup(A).solve(b, np.zeros(n * n)).iterations
    assert counts["mic"] < 0.75 * counts["ic"] < 0.5 * counts["jacobi"]


def _cells(n):
    return np.stack(np.meshgrid(range(n), range(n), indexing="ij"), -1).reshape(-1, 2)
