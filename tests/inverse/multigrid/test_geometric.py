"""Lai's transfers: weights by hand, exact coarse stencils, walls, air, odd sizes."""

import numpy as np
import pytest

from nonstick.errors import NonstickError
from nonstick.inverse.krylov.richardson import Richardson
from nonstick.inverse.multigrid.cycles import V
from nonstick.inverse.multigrid.grid.geometric import Assembled, CellFaces, Geometric, corner_table
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.inverse.multigrid.smoothers import RedBlack
from nonstick.operators.base import row_sums
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator


def laplacian(unknown, air=None, shut=()):
    """7-point Laplacian on the `unknown` cells; cells of `air` hold 0, everything else is wall.

    `shut` lists pairs (cell, axis): the face of that cell towards +axis is closed.
    """
    air = np.zeros_like(unknown) if air is None else air
    rows = Rows.from_mask(unknown)
    weights, d = [np.zeros(rows.n)] * (3 - unknown.ndim), np.zeros(unknown.shape)
    for a in range(unknown.ndim):
        w = np.zeros(unknown.shape)
        low = [slice(None)] * unknown.ndim
        high = list(low)
        low[a], high[a] = slice(0, -1), slice(1, None)
        low, high = tuple(low), tuple(high)
        open_face = np.ones(unknown[low].shape, bool)
        for cell, axis in shut:
            if axis == a:
                open_face[cell] = False
        w[low] = unknown[low] & unknown[high] & open_face
        d[low] += (w[low] > 0) | (unknown[low] & air[high] & open_face)
        d[high] += (w[low] > 0) | (unknown[high] & air[low] & open_face)
        weights.append(w[unknown])
    return StencilOperator(rows, tuple(weights), d[unknown])


def interior_row(shape, scheme):
    """The coarse stencil far from any boundary, as a dict offset → value."""
    A = laplacian(np.ones(shape, bool))
    coarse, _ = Geometric(scheme).coarsen(A, 0)
    middle = np.array(shape) // 4
    i = np.flatnonzero((coarse.cells == middle).all(axis=1))[0]
    row = coarse.matrix()[[i]].tocoo()
    cells = coarse.cells[row.col] - middle
    return {tuple(c): v for c, v in zip(cells.tolist(), row.data) if abs(v) > 1e-14}


def galerkin_symbol(scheme, d):
    """The same stencil from convolutions: P is the same in every coarse cell of an infinite grid."""
    table, out = corner_table(scheme, d), {}

    def row(cell):  # weights of a fine cell of the infinite grid, by coarse cell
        cell = np.array(cell)
        sign = np.where(cell & 1, 1, -1)
        for m in range(1 << d):
            axes = np.array([m >> a & 1 for a in range(d)])
            if table[m]:
                yield tuple((cell >> 1) + sign * axes), table[m]

    reach = range(-2, 4)
    for cell in np.ndindex(*(len(reach),) * d):
        cell = tuple(reach[c] for c in cell)
        own = dict(row(cell)).get((0,) * d, 0.0)
        if own:
            for other, value in [(cell, 2.0 * d)] + [
                (tuple(np.array(cell) + s * np.eye(d, dtype=int)[a]), -1.0) for a in range(d) for s in (-1, 1)
            ]:
                for coarse, weight in row(other):
                    out[coarse] = out.get(coarse, 0.0) + own * value * weight / 2**d
    return {c: v for c, v in out.items() if abs(v) > 1e-14}


@pytest.mark.parametrize("scheme", ["barycentric", "trilinear", "constant"])
@pytest.mark.parametrize("shape", [(24, 24), (20, 20, 20)])
def test_interior_coarse_stencils_are_exact(scheme, shape):
    got, expected = interior_row(shape, scheme), galerkin_symbol(scheme, len(shape))
    assert got.keys() == expected.keys()
    for offset, value in expected.items():
        assert got[offset] == pytest.approx(value, abs=1e-14)
    # The coarse operator annihilates constants; second order in P makes it consistent with ¼ of the fine one.
    assert sum(got.values()) == pytest.approx(0, abs=1e-13)
    if scheme != "constant":
        assert sum(v * c[0] ** 2 for c, v in got.items()) == pytest.approx(-0.5)


def test_the_centre_of_the_barycentric_stencil_by_hand():
    # The coarse hat in 2D is ½ on the four own cells and ¼ on the eight cells across a face. Its energy: 8 edges of
    # difference ¼ from own cells outwards, 8 from those outwards, 8 sideways; R adds the factor ¼.
    assert interior_row((24, 24), "barycentric")[0, 0] == pytest.approx(24 / 16 / 4)


def test_weights_of_the_paper():
    np.testing.assert_allclose(corner_table("barycentric", 2), [0.5, 0.25, 0.25, 0])
    np.testing.assert_allclose(corner_table("barycentric", 3)[[0, 1, 2, 4]], 0.25)
    np.testing.assert_allclose(np.sort(corner_table("trilinear", 2)), np.array([1, 3, 3, 9]) / 16)
    np.testing.assert_allclose(np.sort(corner_table("trilinear", 3)), np.array([1, 3, 3, 3, 9, 9, 9, 27]) / 64)
    for scheme in ("barycentric", "trilinear", "constant"):
        for d in (1, 2, 3):
            assert corner_table(scheme, d).sum() == pytest.approx(1)
    with pytest.raises(NonstickError, match="barycentric"):
        corner_table("cubic", 2)


@pytest.mark.parametrize("scheme", ["barycentric", "trilinear", "constant"])
@pytest.mark.parametrize("shape", [(5, 7), (9, 4), (3, 5, 7), (1, 6), (1, 1)])
def test_odd_sizes_and_pure_walls_keep_constants(scheme, shape):
    A = laplacian(np.random.default_rng(1).random(shape) < 0.8)
    if A.n:
        coarse, transfer = Geometric(scheme).coarsen(A, 0)
        np.testing.assert_allclose(transfer.matrix().sum(axis=1), 1.0)
        np.testing.assert_allclose(row_sums(coarse), 0.0, atol=1e-14)
        assert transfer.parent.min() >= 0 and transfer.parent.max() == coarse.n - 1
        np.testing.assert_array_equal(coarse.cells[transfer.parent], A.cells >> 1)


@pytest.mark.parametrize("scheme", ["barycentric", "trilinear"])
def test_linear_functions_are_interpolated_exactly_inside(scheme):
    A = laplacian(np.ones((12, 10, 8), bool))
    coarse, transfer = Geometric(scheme).coarsen(A, 0)
    slope = np.array([1.0, -2.0, 0.5])
    fine = transfer.prolong((2.0 * coarse.cells + 0.5) @ slope, np.empty(A.n))
    inside = ((A.cells >= 1) & (A.cells < np.array([12, 10, 8]) - 1)).all(axis=1)
    np.testing.assert_allclose(fine[inside], (A.cells @ slope)[inside])


@pytest.mark.parametrize("scheme", ["barycentric", "trilinear"])
def test_air_takes_its_weight_along_and_walls_give_it_back(scheme):
    unknown = np.zeros((8, 8), bool)
    unknown[:, :4] = True
    table = corner_table(scheme, 2)
    # Row y = 3 looks at the missing coarse row y = 2: air above it takes the weights of that row to 0 …
    A = laplacian(unknown, air=~unknown)
    P = Geometric(scheme).coarsen(A, 0)[1].matrix()
    i = np.flatnonzero((A.cells == (3, 3)).all(axis=1))[0]
    assert P[[i]].sum() == pytest.approx(table[0] + table[1])
    # … a wall hands them to the others.
    A = laplacian(unknown)
    P = Geometric(scheme).coarsen(A, 0)[1].matrix()
    assert P[[i]].sum() == pytest.approx(1)
    # Lai's linear multigrid drops them in both cases.
    P = Geometric(scheme, normalise=False).coarsen(A, 0)[1].matrix()
    assert P[[i]].sum() == pytest.approx(table[0] + table[1])


@pytest.mark.parametrize("scheme", ["barycentric", "trilinear"])
def test_nothing_is_interpolated_across_a_wall_without_thickness(scheme):
    unknown = np.ones((8, 8), bool)
    wall = [((3, j), 0) for j in range(8)]  # between columns 3 and 4: a boundary of coarse cells
    A = laplacian(unknown, shut=wall)
    left = A.cells[:, 0] < 4
    coarse, transfer = Geometric(scheme).coarsen(A, 0)
    coarse_left = coarse.cells[:, 0] < 2
    P = transfer.matrix().toarray()
    assert not P[np.ix_(left, ~coarse_left)].any() and not P[np.ix_(~left, coarse_left)].any()
    assert coarse.components()[0] == A.components()[0] == 2
    # Without boundary handling the wall leaks.
    P = Geometric(scheme, one_sided=False, normalise=False).coarsen(A, 0)[1].matrix().toarray()
    assert P[np.ix_(left, ~coarse_left)].any()


def test_faces_are_carried_to_coarser_levels():
    wall = [((3, j), 0) for j in range(8)]
    A = laplacian(np.ones((8, 8), bool), shut=wall)
    coarse, _ = Geometric().coarsen(A, 0)
    again = CellFaces.of(CSROperator(coarse.matrix(), coarse.cells))
    np.testing.assert_array_equal(coarse.faces.neighbour, again.neighbour)


def test_a_coarse_cell_cut_by_a_wall_holds_both_sides():
    wall = [((2, j), 0) for j in range(8)]  # between columns 2 and 3: through the coarse column 1
    A = laplacian(np.ones((8, 8), bool), shut=wall)
    left = A.cells[:, 0] < 3
    for split in (True, False):
        coarse, transfer = Geometric(split=split).coarsen(A, 0)
        assert coarse.n == (20 if split else 16)
        P = transfer.matrix().toarray()
        assert (P[left].any(axis=0) & P[~left].any(axis=0)).any() != split
        assert coarse.components()[0] == (2 if split else 1)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize("scheme", ["barycentric", "trilinear", "constant"])
def test_transfers_to_a_level_discretised_on_its_own(scheme):
    rng = np.random.default_rng(2)
    A = laplacian(rng.random((9, 10)) < 0.9)
    coarsening = Geometric(scheme, split=False)
    galerkin, own = coarsening.coarsen(A, 0)
    # The same coarse cells in another order, and without one of them.
    order = rng.permutation(galerkin.n)[1:]
    coarse = CSROperator(np.eye(order.size), galerkin.cells[order])
    transfer = coarsening.between(A, coarse)
    np.testing.assert_array_equal(transfer.matrix().toarray(), own.matrix().toarray()[:, order])
    back = np.full(galerkin.n, -1)
    back[order] = np.arange(order.size)
    np.testing.assert_array_equal(transfer.parent, back[own.parent])


@pytest.mark.parametrize("side", [2, 8])  # the small one would need no coarse level at all
def test_a_bare_matrix_is_refused_with_advice(side):
    A = laplacian(np.ones((side, side), bool), air=np.ones((side, side), bool))
    with pytest.raises(NonstickError, match=r"cells.*pi-pcg"):
        Multigrid(Geometric()).setup(CSROperator(A.matrix()))


@pytest.mark.parametrize("shape", [(15, 17), (7, 6, 9)])
@pytest.mark.parametrize("truncate", [True, False])
def test_the_cycle_is_symmetric(shape, truncate):
    rng = np.random.default_rng(4)
    unknown = rng.random(shape) < 0.85
    A = Masked(laplacian(unknown, air=~unknown & (rng.random(shape) < 0.5)), None)
    A.update(rng.random(A.n) < 0.8, rng.random(A.n) ** 8 * 1e6)
    recipe = Multigrid(Geometric(truncate=truncate, normalise=truncate), RedBlack(), V(2, 2), smallest=10)
    if not truncate:
        recipe = Assembled(recipe)
    inverse = recipe.setup(A)
    B = np.column_stack([inverse.apply(e, np.empty(A.n)) for e in np.eye(A.n)])
    np.testing.assert_allclose(B, B.T, atol=1e-12)
    assert np.linalg.eigvalsh(B).min() > 0


@pytest.mark.parametrize("scheme,ceiling", [("barycentric", 9), ("trilinear", 9)])
@pytest.mark.parametrize("n,d", [(33, 2), (64, 2), (128, 2), (17, 3), (32, 3)])
def test_cycle_counts_stay_flat(scheme, ceiling, n, d):
    shape = (n,) * d
    ball = np.linalg.norm((np.indices(shape) + 0.5) / n - 0.5, axis=0) < 0.46
    liquid = ball & (np.indices(shape)[0] < n // 2)
    A = laplacian(liquid, air=ball & ~liquid)
    b = np.random.default_rng(0).standard_normal(A.n)
    x = np.zeros(A.n)
    result = Richardson(Multigrid(Geometric(scheme), RedBlack(), V(2, 2))).setup(A).solve(b, x, rtol=1e-6)
    assert result.converged and result.iterations <= ceiling


@pytest.mark.parametrize("scheme", ["barycentric", "trilinear"])
def test_galerkin_values_against_the_product_of_matrices(scheme):
    rng = np.random.default_rng(8)
    A = laplacian(rng.random((6, 7, 8)) < 0.8)
    masked = Masked(A, rng.random(A.n) < 0.7, np.where(rng.random(A.n) < 0.2, 1e9, rng.random(A.n)))
    coarsening = Geometric(scheme)
    coarse, transfer = coarsening.coarsen(masked, 0)
    for _ in range(2):
        keep = masked.free & (masked.shift < 1e8)
        P = transfer.matrix()
        assert not P[~keep].nnz
        expected = P.T @ (A.matrix() + np.diag(masked.shift)) @ P / 8
        np.testing.assert_allclose(coarse.matrix().toarray(), expected, atol=1e-13)
        np.testing.assert_allclose(coarse.diagonal, np.diag(expected), atol=1e-13)
        masked.update(rng.random(A.n) < 0.5, np.zeros(A.n))
        coarse, transfer = coarsening.refresh(masked, 0, coarse, transfer)
