"""The linear hierarchy: cycles are symmetric, masks and shifts are honoured, a refresh equals a rebuild."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick.errors import NonstickError
from nonstick.inverse import CG, GIA, RBSSOR, Algebraic, Blocks, Chebyshev, Geometric, Pairwise, Smoothed, TopologyAware
from nonstick.inverse.multigrid.bottom import Bottom
from nonstick.inverse.multigrid.cycles import F, Full, K, Resmoothed, V, W
from nonstick.inverse.multigrid.hierarchy import Multigrid, Stepwise, descend
from nonstick.inverse.multigrid.smoothers import DampedJacobi, Lexicographic, RedBlack
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator
from nonstick.operators.transfer import AggregateTransfer

COARSENINGS = [Blocks(), TopologyAware(), GIA(), Pairwise(), Smoothed(), Geometric()]


class Pairs(Stepwise):
    """Piecewise-constant Galerkin on 2ᵈ blocks, written as plainly as possible."""

    def coarsen(self, A, depth):
        cells = A.cells // 2
        unique, parent = np.unique(cells, axis=0, return_inverse=True)
        return self.refresh(A, depth, unique, AggregateTransfer(parent.ravel().astype(np.int32), len(unique)))

    def refresh(self, A, depth, coarse, transfer):
        cells = coarse if isinstance(coarse, np.ndarray) else coarse.cells
        transfer.truncate(A.free if isinstance(A, Masked) else None)
        P = transfer.matrix()
        return CSROperator(P.T @ A.matrix() @ P, cells), transfer


def grid_operator(shape, seed=0, csr=False):
    """Random conductances, some cells missing, a Dirichlet term on part of the boundary."""
    rng = np.random.default_rng(seed)
    rows = Rows.from_mask(rng.random(shape) < 0.9)
    near = rows.neighbours()
    w = [np.where(near[:, a] >= 0, rng.random(rows.n) + 0.1, 0.0) for a in range(3)]
    d = rng.random(rows.n) * 0.3
    for a in range(3):
        has = near[:, a] >= 0
        d += w[a]
        np.add.at(d, near[has, a], w[a][has])
    A = StencilOperator(rows, tuple(w), d)
    return CSROperator(A.matrix(), A.cells) if csr else A


def dense(inverse, n):
    return np.column_stack([inverse.apply(e, np.empty(n)) for e in np.eye(n)])


SMOOTHERS = [RedBlack(), RedBlack(1.2, symmetric=True), Lexicographic(1.1), DampedJacobi(0.7)]


@pytest.mark.parametrize("smoother", SMOOTHERS, ids=repr)
@pytest.mark.parametrize("csr", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_cycle_is_symmetric_and_positive(smoother, csr, masked):
    A = grid_operator((7, 9), csr=csr)
    if masked:
        rng = np.random.default_rng(1)
        A = Masked(A, rng.random(A.n) < 0.7, rng.random(A.n))
    for cycle in (V(1, 1), W(2, 2)):
        B = dense(Multigrid(Pairs(), smoother, cycle, smallest=5).setup(A), A.n)
        np.testing.assert_allclose(B, B.T, atol=1e-13)
        assert np.linalg.eigvalsh(B).min() > 0


@pytest.mark.parametrize("cycle", [V(1, 1), W(1, 1), F(1, 1), Full(1, 1), V(0, 2)], ids=repr)
@pytest.mark.parametrize("shape", [(9, 12), (5, 6, 7)])
def test_every_cycle_contracts(cycle, shape):
    A = grid_operator(shape)
    inverse = Multigrid(Pairs(), RedBlack(), cycle, smallest=8).setup(A)
    E = np.eye(A.n) - dense(inverse, A.n) @ A.matrix().toarray()
    assert np.abs(np.linalg.eigvals(E)).max() < 0.8


@pytest.mark.parametrize("csr", [False, True])
def test_a_refresh_equals_a_rebuild(csr):
    A = grid_operator((6, 5, 4), csr=csr)
    rng = np.random.default_rng(5)
    masked = Masked(A, rng.random(A.n) < 0.8)
    recipe = Multigrid(Pairs(), smallest=5)
    inverse = recipe.setup(masked)
    masked.update(rng.random(A.n) < 0.5, rng.random(A.n))
    again = recipe.setup(masked, inverse)
    assert again is inverse
    r = rng.standard_normal(A.n)
    fresh = recipe.setup(Masked(A, masked.free, masked.shift)).apply(r, np.empty(A.n))
    np.testing.assert_allclose(again.apply(r, np.empty(A.n)), fresh, atol=1e-13)


def test_clamped_rows_are_divided_by_their_diagonal():
    A = grid_operator((6, 6))
    free = np.arange(A.n) % 3 > 0
    masked = Masked(A, free, np.full(A.n, 3.0))
    r = np.random.default_rng(0).standard_normal(A.n)
    z = Multigrid(Pairs()).setup(masked).apply(r, np.empty(A.n))
    np.testing.assert_allclose(z[~free], r[~free] / 4)
    # nothing free at all
    masked = Masked(A, np.zeros(A.n, bool))
    np.testing.assert_array_equal(Multigrid(Pairs()).setup(masked).apply(r, np.empty(A.n)), r)


def test_a_singular_coarsest_level_stays_finite():
    n = 16
    L = sp.diags_array([np.full(n, 2.0), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1]).tolil()
    L[0, 0] = L[n - 1, n - 1] = 1.0
    A = CSROperator(L.tocsr(), np.arange(n)[:, None])
    r = np.sin(np.arange(n))
    r -= r.mean()
    x = np.zeros(n)
    inverse = Multigrid(Pairs(), Lexicographic(), smallest=4).setup(A)
    for _ in range(60):
        x += inverse.apply(A.residual(r, x, np.empty(n)), np.empty(n))
    assert np.abs(A.residual(r, x, np.empty(n))).max() < 1e-8


@pytest.mark.parametrize("smoother", [RedBlack(1.2, symmetric=True), DampedJacobi()], ids=repr)
def test_float32_operators_work_in_float32(smoother):
    A = grid_operator((8, 8, 8))
    r = np.random.default_rng(2).standard_normal(A.n)
    recipe = Multigrid(Pairs(), smoother, max_levels=1, coarsest=Bottom(smoother, dense=0, sweeps=3))
    z = recipe.setup(A.astype(np.float32)).apply(r.astype(np.float32), np.empty(A.n, np.float32))
    np.testing.assert_allclose(z, recipe.setup(A).apply(r, np.empty(A.n)), rtol=2e-3, atol=2e-5)


def test_coarsening_ends_where_a_level_does_not_shrink():
    def sizes(n, step, **limits):
        return [level.n for level in descend(SimpleNamespace(n=n), lambda level: step(level.n), **limits)]

    def half(n):
        return SimpleNamespace(n=(n + 1) // 2)

    assert sizes(64, half) == [32, 16, 8, 4, 2, 1]
    assert sizes(64, half, smallest=20) == [32, 16]
    assert sizes(64, half, most=2) == [32, 16]
    assert sizes(64, lambda n: SimpleNamespace(n=n)) == [] and sizes(64, lambda n: None) == []


@pytest.mark.parametrize("cycle", [V(1, 1), W(1, 1), K(1, 1), Resmoothed(1, 1)], ids=repr)
@pytest.mark.parametrize("smoother", [RedBlack(), DampedJacobi(), Lexicographic(), RBSSOR(1.2)], ids=repr)
@pytest.mark.parametrize(
    "coarsening", [Blocks(), TopologyAware(), GIA(), Pairwise(), Smoothed(), Geometric()], ids=repr
)
def test_every_smoother_coarsening_and_cycle_compose(make_stencil, coarsening, smoother, cycle):
    A = make_stencil((13, 12), 8)
    b = np.random.default_rng(0).standard_normal(A.n)
    solver = CG(Multigrid(coarsening, smoother, cycle, smallest=10)).setup(A)
    assert solver.solve(b, np.zeros(A.n), rtol=1e-6, maxiter=60).converged


@pytest.mark.parametrize("recipe", [Multigrid(Algebraic(), DampedJacobi()), Multigrid(Blocks(), Chebyshev())], ids=repr)
def test_what_does_not_compose_says_why(make_stencil, recipe):
    with pytest.raises(NonstickError):
        recipe.setup(make_stencil((13, 12), 8))
