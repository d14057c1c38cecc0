"""Dense fields against slow twins: the product, blocks, the coarse operator, the cycle, Krylov methods."""

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick import cases
from nonstick.arrays import krylov
from nonstick.arrays import multigrid as mg
from nonstick.arrays.grid import product
from nonstick.arrays.library import to_library, to_numpy
from nonstick.arrays.methods import OnGrid
from nonstick.arrays.problem import SETTINGS
from nonstick.arrays.stencil import Layout, Stencil


def on_grid(name, n, library="numpy", dtype="float64"):
    """A static case as a stencil on dense fields, and its sparse matrix over all cells."""
    A = cases.build(name, n).problem.A.stencil
    place, d = OnGrid(A), A.rows.dimension
    enter = lambda values, elsewhere=0.0: to_library(place.field(values, elsewhere), library, None, dtype)  # noqa: E731
    weights = tuple(enter(w) for w in A.weights[3 - d :])
    return Stencil.of(place.layout, weights, enter(A.diagonal, 1.0)), enter(1.0), place, A


def matrix(A: Stencil):
    """The matrix, one coupling after the other."""
    n, rows, cols, data = A.layout.size, [], [], []
    for axis, stride in enumerate(A.layout.strides):
        w = to_numpy(A.upper(axis))
        for t in np.flatnonzero(w):
            rows, cols, data = [*rows, t, t + stride], [*cols, t + stride, t], [*data, -w[t], -w[t]]
    return sp.csr_array(sp.coo_array((data, (rows, cols)), shape=(n, n)) + sp.diags_array(to_numpy(A.diagonal)))


@pytest.mark.parametrize("name, n", [("circle2d", 12), ("sphere3d", 8)])
def test_the_product_is_that_of_the_matrix(library, name, n):
    A, _, place, compiled = on_grid(name, n, "numpy")
    x = np.random.default_rng(0).standard_normal((3, A.layout.size))
    slow = matrix(A)
    there = Stencil.of(
        A.layout,
        tuple(to_library(A.upper(a), "strict" if library == "jax" else library) for a in range(len(A.weights))),
        to_library(A.diagonal, "strict" if library == "jax" else library),
    )
    given = to_library(x, "strict" if library == "jax" else library)
    np.testing.assert_allclose(to_numpy(there @ given), (slow @ x.T).T, atol=1e-12)
    np.testing.assert_allclose(to_numpy(there.residual(given, given)), x - (slow @ x.T).T, atol=1e-12)
    faces = (there.upper(a) for a in range(len(A.weights)))
    over_grid = [there.layout.grid(v) for v in (*faces, there.diagonal, given)]
    differentiable = product(tuple(over_grid[:-2]), *over_grid[-2:])
    np.testing.assert_allclose(to_numpy(there.layout.flat(differentiable)), (slow @ x.T).T, atol=1e-12)
    inside = np.random.default_rng(1).standard_normal(compiled.n)
    np.testing.assert_allclose(place.vector(A @ place.field(inside)), compiled @ inside, atol=1e-12)


@pytest.mark.parametrize("shape", [(8, 4), (6, 1, 4), (1, 10)])
def test_spreading_is_the_transpose_of_sums(shape):
    fine = Layout(shape)
    coarse = mg.coarser(fine)
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal(fine.size), rng.standard_normal(coarse.size)
    sums = mg.block_sums(fine, x)
    assert sums @ y == pytest.approx(x @ mg.spread(fine, y))
    slow = np.zeros(coarse.shape)
    for cell in np.ndindex(shape):
        slow[tuple(c // 2 if n > 1 else c for c, n in zip(cell, shape))] += fine.grid(x)[cell]
    np.testing.assert_allclose(coarse.grid(sums), slow)


def test_grids_can_be_halved_often():
    for n in range(1, 300):
        shape = mg.suited((n, n // 3 + 1))
        assert shape[0] >= n and shape[0] <= 1.25 * n + 2 and shape[1] >= n // 3 + 1
        last = Layout(shape)
        while mg.coarser(last) is not None:
            last = mg.coarser(last)
        assert max(last.shape) <= SETTINGS.largest


def test_coarse_stencil_of_a_square_with_a_surface():
    """Weights are halved sums; a surface at one cell width from the cell is at 3/2 from the middle of the block."""
    layout = Layout((8, 8))
    w = np.ones((8, 8))
    wx, wy = w.copy(), w.copy()
    wx[-1], wy[:, -1] = 0.0, 0.0
    d = np.full((8, 8), 4.0)
    d[0] -= 1.0  # a wall at low x, a surface on the other sides
    A = Stencil.of(layout, (wx.ravel(), wy.ravel()), d.ravel())
    one = np.ones(64)
    coarse = mg.hierarchy(A, one)[1].A
    grid = coarse.layout.grid
    np.testing.assert_allclose(grid(coarse.upper(0))[:-1], 1.0)
    np.testing.assert_allclose(grid(coarse.upper(1))[:, :-1], 1.0)
    excess = grid(coarse.diagonal - coarse.sums())
    assert excess[0, 1] == 0.0 and excess[1, 1] == 0.0
    assert excess[-1, 1] == pytest.approx(2 * (1.5 / 2.5))  # two cells: 1 in series with half their sum of weights, 3/2


def test_a_block_with_a_wall_stands_for_one_side():
    layout = Layout((4, 8))
    wx, wy = np.ones((4, 8)), np.ones((4, 8))
    wx[0], wx[3], wy[:, 7] = 0.0, 0.0, 0.0  # a wall between the first two columns of cells

    def part():
        A = Stencil.of(layout, (wx.ravel(), wy.ravel()), np.full(32, 4.0))
        return layout.grid(mg.connected_part(A, np.ones(32)))[:, 2:-2]

    assert (part()[1] == 0).all() and (part()[[0, 2, 3]] == 1).all()
    wy[0] = 0.1  # slivers stand for nothing
    assert (part()[0] == 0).all() and (part()[1:] == 1).all()


@pytest.mark.parametrize("name, n", [("maze2d", 24), ("sphere3d", 12)])
def test_the_cycle_is_symmetric_positive_and_strong(name, n):
    A, unknown, *_ = on_grid(name, n)
    rng = np.random.default_rng(3)
    free = unknown * (rng.random(unknown.shape) < 0.9)
    levels = mg.hierarchy(A, free)
    r, s = free * rng.standard_normal((2, free.size))
    z, y = mg.v_cycle(levels, r), mg.v_cycle(levels, s)
    assert z @ s == pytest.approx(y @ r, rel=1e-10) and z @ r > 0 and not z[free == 0].any()
    steps = krylov.conjugate_gradients(
        lambda v: free * (A @ v), lambda r: mg.v_cycle(levels, r), r, 1e-8 * abs(r).max(), 100, 1
    )[1]
    assert steps <= 17


def test_cells_held_by_their_surface_have_no_coarse_value():
    """A row of liquid as light as spray below a pool: coarse values would move cells that the surface holds."""
    layout, one = Layout((8, 16)), np.ones(128)
    wx, wy, surface = np.ones((8, 16)), np.ones((8, 16)), np.zeros((8, 16))
    wx[-1], wy[:, -1], surface[0], surface[-1] = 0.0, 0.0, 1.0, 1e4
    wx[-2, ::3], wy[-1, 5:9] = 0.0, 400.0  # drops apart from the pool; and as heavy on each other
    inner = Stencil.of(layout, (wx.ravel(), wy.ravel()), one)
    A = Stencil.of(layout, (wx.ravel(), wy.ravel()), inner.sums() + surface.ravel())
    carried = layout.grid(mg.connected_part(A, one))
    assert not carried[-1].any() and carried[:-1].all()
    M = np.stack([mg.v_cycle(mg.hierarchy(A, one), unit) for unit in np.eye(128)])
    found = np.linalg.eigvals(M @ matrix(A).toarray()).real
    assert found.max() < 2 * found.min()  # 45 times if such cells have coarse values


@pytest.mark.parametrize("solver", krylov.SOLVERS)
@pytest.mark.parametrize("precond", krylov.PRECONDITIONERS)
@pytest.mark.parametrize("every", [1, 10])
def test_krylov_methods(solver, precond, every):
    A, unknown, place, compiled = on_grid("circle2d", 16)
    b = np.random.default_rng(4).standard_normal(compiled.n)
    M = krylov.PRECONDITIONERS[precond](A)
    v, steps = krylov.SOLVERS[solver](A.__matmul__, M, place.field(b), 1e-9, 1000, every)
    assert np.abs(compiled @ place.vector(v) - b).max() < 1e-8 and 0 < steps < 300
    x, y = unknown * np.random.default_rng(5).standard_normal((2, unknown.size))
    assert M(x) @ y == pytest.approx(M(y) @ x)
