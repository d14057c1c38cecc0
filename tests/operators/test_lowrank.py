"""The low-rank operator against its assembled matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.operators.base import row_sums
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import LowRank, Masked
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator


def random_bodies(base, bodies=2, dofs=3, seed=0):
    """Every body touches its own share of the rows, and one row touches two."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(base.n, min(base.n, 9), replace=False))
    U = np.zeros((rows.size, bodies * dofs))
    S = np.zeros((bodies * dofs,) * 2)
    for k in range(bodies):
        mine = slice(k * dofs, (k + 1) * dofs)
        part = slice(k * rows.size // bodies, (k + 1) * rows.size // bodies + (k == 0))
        U[part, mine] = rng.normal(size=U[part, mine].shape)
        root = rng.normal(size=(dofs, dofs))
        S[mine, mine] = root @ root.T + 0.1 * np.eye(dofs)
    return LowRank(base, rows, U, S), U, S


@pytest.mark.parametrize("kind", ["stencil", "csr"])
def test_agrees_with_the_dense_matrix(make_stencil, kind):
    base = make_stencil((4, 5, 3))
    base = base if kind == "stencil" else CSROperator(base.matrix())
    A, U, S = random_bodies(base)
    wide = np.zeros((A.n, U.shape[1]))
    wide[A.touched] = U
    dense = base.matrix().toarray() + wide @ S @ wide.T
    rng = np.random.default_rng(1)
    x, b = rng.normal(size=(2, A.n))
    assert np.allclose(A.matrix().toarray(), dense, atol=1e-12)
    assert np.allclose(A.diagonal, np.diag(dense))
    assert np.allclose(A @ x, dense @ x)
    assert np.allclose(A.residual(b, x, np.empty(A.n)), b - dense @ x)
    assert np.allclose(row_sums(A), dense.sum(axis=1))
    free, shift = rng.random(A.n) < 0.6, rng.random(A.n)
    masked = Masked(A, free, shift)
    assert np.allclose(masked @ x, masked.matrix() @ x)
    assert np.allclose(masked.diagonal, masked.matrix().diagonal())
    assert masked.bodies is A and Masked(base).bodies is None
    rows = np.flatnonzero(free)
    part = A.part(rows)
    assert np.allclose(part.matrix().toarray(), dense[np.ix_(rows, rows)])


def test_bodies_join_parts():
    """Five cells in a row, cut in the middle: a body on both sides joins them, another one does not."""
    rows = Rows.from_mask(np.array([[1, 1, 0, 1, 1, 0, 1]], bool))
    none = np.zeros(rows.n)
    links = np.array([1.0, 0.0, 1.0, 0.0, 0.0])
    base = StencilOperator(rows, (none, none, links), np.ones(rows.n))
    assert base.components()[0] == 3
    across = LowRank(base, [1, 2], np.array([[1.0], [-1.0]]), np.eye(1))
    count, label = across.components()
    assert count == 2 and label[0] == label[3] != label[4]
    apart = LowRank(base, [1, 2], np.eye(2), np.eye(2))
    assert apart.components()[0] == 3
    together = LowRank(base, [1, 2], np.eye(2), np.ones((2, 2)))
    assert together.components()[0] == 2


def test_no_bodies_and_no_rows(make_stencil):
    base = make_stencil((3, 3))
    A = LowRank(base, np.empty(0, int), sp.csr_array((0, 3)), np.eye(3))
    x = np.arange(A.n, dtype=float)
    assert np.array_equal(A @ x, base @ x) and A.components()[0] == base.components()[0]
