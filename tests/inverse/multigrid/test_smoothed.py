"""Smoothed aggregation: the prolongation against its formula, symmetric cycles, masks, iteration counts."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.multigrid.aggregation.smoothed import Smoothed
from nonstick.inverse.multigrid.cycles import V
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.inverse.multigrid.smoothers import SPAI0Sweeps
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked


def saamg(smallest=20, **options):
    return Multigrid(Smoothed(**options), SPAI0Sweeps(), V(1, 1), smallest=smallest)


def poisson(n, dimension=2, weak=1.0):
    line = sp.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n))
    one = sp.eye_array(n)
    A = sp.kron(line, one) + weak * sp.kron(one, line)
    return CSROperator(A if dimension == 2 else sp.kron(A, one) + sp.kron(sp.eye_array(n * n), line))


def test_prolongation_is_the_smoothed_aggregate(make_stencil):
    A = make_stencil((7, 6, 5))
    M = A.matrix().toarray()
    coarse, transfer = Smoothed().coarsen(A, 0)
    d = np.diag(M)
    strong = 0.08**2 * np.outer(d, d) < M**2
    np.fill_diagonal(strong, True)
    filtered = np.where(strong, M, 0.0)
    filtered[np.diag_indices_from(M)] += (M - filtered).sum(axis=1)
    T = np.zeros((A.n, coarse.n))
    live = transfer.parent >= 0
    T[live, transfer.parent[live]] = 1.0
    expected = T - 2 / 3 / np.diag(filtered)[:, None] * (filtered @ T)
    P = transfer.matrix().toarray()
    np.testing.assert_allclose(P, expected, atol=1e-13)
    np.testing.assert_allclose(coarse.matrix().toarray(), P.T @ M @ P, atol=1e-12)


def test_aggregates_are_connected_neighbourhoods(make_stencil):
    A = make_stencil((9, 8, 4))
    M = A.matrix()
    parent = Smoothed().coarsen(A, 0)[1].parent
    strong = M.multiply(M).toarray() > 0.08**2 * np.outer(A.diagonal, A.diagonal)
    np.fill_diagonal(strong, False)
    assert np.array_equal(parent < 0, ~strong.any(axis=1)), "only unknowns without strong couplings stay out"
    assert set(parent[parent >= 0]) == set(range(parent.max() + 1))
    for k in range(parent.max() + 1):
        members = np.flatnonzero(parent == k)
        count, _ = sp.csgraph.connected_components(strong[np.ix_(members, members)], directed=False)
        assert count == 1


@pytest.mark.parametrize("masked", [False, True])
def test_cycle_is_symmetric_positive(make_stencil, masked):
    A = make_stencil((6, 7, 5))
    operator = Masked(A, np.random.default_rng(0).random(A.n) < 0.7) if masked else A
    inverse = saamg().setup(operator)
    assert len(inverse.levels) > 1
    M = np.column_stack([inverse.apply(e, np.empty(A.n)) for e in np.eye(A.n)])
    np.testing.assert_allclose(M, M.T, atol=1e-11 * np.abs(M).max())
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_a_small_change_of_the_free_set_keeps_the_coarse_levels(make_stencil):
    A = make_stencil((8, 8, 8))
    free = np.ones(A.n, bool)
    operator = Masked(A, free)
    recipe = saamg()
    inverse = recipe.setup(operator)
    small, large = free.copy(), free.copy()
    small[:5], large[::2] = False, False
    operator.update(small)
    assert recipe.setup(operator, inverse) is inverse
    M = np.column_stack([inverse.apply(e, np.empty(A.n)) for e in np.eye(A.n)])
    np.testing.assert_allclose(M, M.T, atol=1e-11 * np.abs(M).max())
    assert np.linalg.eigvalsh(M).min() > 0.0 and not np.any(M[~small][:, small])
    operator.update(large)
    assert recipe.setup(operator, inverse) is not inverse


def test_iteration_counts():
    for A, ceiling in ((poisson(40), 16), (poisson(80), 18), (poisson(14, 3), 16), (poisson(60, weak=1e-3), 30)):
        x, b = np.zeros(A.n), np.random.default_rng(1).standard_normal(A.n)
        result = CG(saamg(50)).setup(A).solve(b, x, rtol=1e-8, maxiter=100)
        assert result.converged and result.iterations <= ceiling, (A.n, result.iterations)
