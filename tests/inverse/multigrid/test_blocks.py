"""The levels of the cycle on blocks against plain NumPy: half-sweeps, Galerkin matrices, toggled cells, torn blocks."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import cases
from nonstick.compositions import TAGIAAMG
from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.krylov.richardson import Richardson
from nonstick.inverse.multigrid.aggregation import levels as sparse_levels
from nonstick.inverse.multigrid.aggregation.coarsening import TopologyAware
from nonstick.inverse.multigrid.cycles import F, Resmoothed, V, W
from nonstick.inverse.multigrid.grid import blocks as block_levels
from nonstick.inverse.multigrid.grid.blocks import BlockHierarchy, Blocks
from nonstick.inverse.multigrid.grid.level import GridLevel, coarse_rows
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.kernels import _blocks as blocks
from nonstick.operators.masked import Masked
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator
from nonstick.solvers.takahashi_batty.interior_point import InteriorPoint

#: the cycle of `auto`, and the same with coarse matrices that follow every cell
CYCLE = Multigrid(Blocks(), cycle=W(1, 1))
EXACT = Multigrid(Blocks(lag=0.0), cycle=W(1, 1))
SHAPES = [(13, 6), (5, 7, 4), (9, 8, 7), (1, 17)]


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def structured(monkeypatch):
    """Structured levels down to the last, on grids of test size."""
    monkeypatch.setattr(block_levels, "PACKED_SIZE", 3)


def split(level: GridLevel, x: np.ndarray) -> np.ndarray:
    out = np.zeros(2 * level.black0, np.float32)
    out[level.places()] = x
    return out


@pytest.mark.parametrize("shape", SHAPES)
def test_half_sweeps_are_gauss_seidel_on_one_colour(make_stencil, rng, shape):
    A = make_stencil(shape, 3)
    level = GridLevel(A.rows, 2)
    level.set_weights(A.weights, 1.0)
    level.set_diagonal(A.diagonal, np.zeros(A.n, np.int8), 1.0)
    x, b = rng.standard_normal((2, A.n))
    level.x[:], level.b[:] = split(level, x), split(level, b)
    places = level.places()
    black = places >= level.black0
    level.relax_black()
    x[black] += ((b - A @ x) / A.diagonal)[black]
    assert np.allclose(level.x[places], x, atol=1e-5)
    level.relax_red()
    x[~black] += ((b - A @ x) / A.diagonal)[~black]
    assert np.allclose(level.x[places], x, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_carry_the_galerkin_matrix(make_stencil, rng, shape):
    """Weights and excess of PᵀFAFP, with P piecewise constant on blocks."""
    A = make_stencil(shape, 5)
    groups = GridLevel(A.rows, 2).groups
    coarse, parent = coarse_rows(A.rows, groups)
    active = (rng.random(A.n) < 0.3).astype(np.int8)
    c0, c1, c2, e = galerkin(A, coarse, parent, active, groups)
    P = sp.csr_array((np.ones(A.n), (np.arange(A.n), parent)), shape=(A.n, coarse.n))
    F = sp.diags_array((active == 0).astype(float))
    expected = (P.T @ F @ A.matrix() @ F @ P).toarray()
    off = StencilOperator(coarse, (c0, c1, c2), np.zeros(coarse.n)).matrix().toarray()
    assert np.allclose(off + np.diag(e - off.sum(axis=1)), expected, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_toggled_cells_correct_the_coarse_matrix(make_stencil, rng, shape):
    A = make_stencil(shape, 7)
    groups = GridLevel(A.rows, 2).groups
    coarse, parent = coarse_rows(A.rows, groups)
    before, after = (rng.random((2, A.n)) < 0.4).astype(np.int8)
    c = galerkin(A, coarse, parent, before, groups)
    excess = row_excess(A, groups)
    toggled = np.flatnonzero(before != after)
    blocks._toggle_blocks(*c, before, toggled, *A.weights, excess, parent, A.rows.start, A.rows.offset, 1.0)
    assert np.array_equal(before, after)
    for value, expected in zip(c, galerkin(A, coarse, parent, after, groups)):
        assert np.allclose(value, expected, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", ["structured", "sparse"])
def test_a_refreshed_cycle_is_a_new_cycle(make_stencil, rng, shape, levels, monkeypatch):
    if levels == "structured":
        monkeypatch.setattr(block_levels, "PACKED_SIZE", 3)
    A = make_stencil(shape, 11)
    masked = Masked(A, rng.random(A.n) < 0.9)
    cycle = EXACT.setup(masked)
    r = rng.standard_normal(A.n)
    for share in (0.88, 0.3, 0.95, 1.0):  # few changes are corrected one by one, many are not
        masked.update(masked.free ^ (rng.random(A.n) < 0.04) if share != 0.3 else rng.random(A.n) < share)
        cycle = EXACT.setup(masked, cycle)
        new = EXACT.setup(masked)
        z, expected = cycle.apply(r, np.empty(A.n)), new.apply(r, np.empty(A.n))
        assert np.allclose(z, expected, atol=1e-5 * np.abs(expected).max())
        assert np.array_equal(z[~masked.free], r[~masked.free])  # the masked operator is the identity there


@pytest.mark.parametrize("shape", [(13, 12), (9, 8, 7)])
def test_a_cycle_on_borrowed_levels_is_a_new_cycle_and_gives_them_back(make_stencil, rng, structured, shape):
    A = make_stencil(shape, 4)
    lender = EXACT.setup(A)
    r = rng.standard_normal(A.n)
    before = lender.apply(r, np.empty(A.n)).copy()
    rows = lender.grids[1].rows
    weights = tuple(0.5 * w for w in lender.matrices[1][:3])
    off = StencilOperator(rows, weights, np.zeros(rows.n)).matrix()
    coarse = StencilOperator(rows, weights, 0.1 + rng.random(rows.n) - off.sum(axis=1))
    borrower = lender.below(coarse)
    free = rng.random(rows.n) < 0.8
    borrower.refresh(free)
    new = EXACT.setup(Masked(coarse, free))
    c = rng.standard_normal(rows.n)
    z, expected = borrower.apply(c, np.empty(rows.n)), new.apply(c, np.empty(rows.n))
    assert np.allclose(z, expected, atol=1e-5 * np.abs(expected).max())
    lender.refresh(None)
    after = lender.apply(r, np.empty(A.n))
    assert np.allclose(after, before, atol=1e-5 * np.abs(before).max())


@pytest.mark.parametrize("shape", SHAPES)
def test_structured_levels_are_symmetric_too(make_stencil, structured, shape):
    A = make_stencil(shape, 2)
    M = CYCLE.setup(A)
    B = np.stack([M.apply(column, np.empty(A.n)) for column in np.eye(A.n)])
    assert np.abs(B - B.T).max() <= 1e-4 * np.abs(B).max()
    assert np.linalg.eigvalsh(B + B.T).min() > 0


def two_tanks(n: int, wall: int) -> StencilOperator:
    """A box of liquid under air (open towards +x), cut in two by a wall of no thickness before cell `wall` in y."""
    rows = Rows.from_mask(np.ones((n, n, n), bool))
    inside = rows.neighbours() >= 0
    w = [np.where(inside[:, a], 1.0, 0.0) for a in range(3)]
    ijk = rows.coordinates()
    w[1][ijk[:, 1] == wall - 1] = 0.0
    A = StencilOperator(rows, tuple(w), np.zeros(rows.n))
    return StencilOperator(rows, A.weights, -(A @ np.ones(rows.n)) + (ijk[:, 0] == n - 1))


def test_walls_inside_blocks_tear_them(structured):
    torn, whole = BlockHierarchy(CYCLE, two_tanks(12, 5)), BlockHierarchy(CYCLE, two_tanks(12, 6))
    assert len(torn.grids) == 1 and len(whole.grids) > 1  # a wall between blocks harms nothing
    first = torn.tail.levels[0]
    assert first.n == 6 * 7 * 6  # blocks along the wall count twice


def test_iterations_do_not_grow_behind_a_thin_wall(structured):
    counts = []
    for n, wall in ((8, 3), (16, 7), (32, 15)):
        A = two_tanks(n, wall)
        b = np.where(A.cells[:, 1] < wall, 1.0, -2.0)
        counts.append(CG(CYCLE).setup(A).solve(b, np.zeros(A.n), rtol=1e-8).iterations)
    assert max(counts) <= 16


def parts(cycle):
    """The number of unknowns that merge with no other one: a part stays on the levels until it is one unknown."""
    assert not cycle.tail.levels[-1].weights.any()
    return sum(np.count_nonzero(level.parent < 0) for level in cycle.tail.levels)


def test_every_part_ends_as_one_unknown(rng):
    mask = rng.random((12, 11, 10)) < 0.25
    rows = Rows.from_mask(mask)
    inside = rows.neighbours() >= 0
    A = StencilOperator(rows, tuple(inside[:, a] * 1.0 for a in range(3)), np.full(rows.n, 6.0))
    assert parts(BlockHierarchy(CYCLE, A)) == A.components()[0]


def test_aggregates_are_strongly_connected_parts_of_blocks(make_stencil):
    A = make_stencil((6, 7, 5), 1)
    groups = GridLevel(A.rows, 1).groups
    root, parts, peak = sparse_levels.strong_parts(A.rows, groups, A.weights, 0.05)
    assert np.array_equal(peak, -(A.matrix().toarray() - np.diag(A.diagonal)).min(axis=1, initial=0.0))
    graph = sp.coo_array(A.matrix())
    ijk = np.stack(np.unravel_index(A.rows.cells, A.rows.shape), axis=1) // 2
    same = (ijk[graph.row] == ijk[graph.col]).all(axis=1) & (graph.row != graph.col)
    same &= -graph.data >= 0.05 * np.minimum(peak[graph.row], peak[graph.col])
    inside = sp.csr_array((np.ones(same.sum()), (graph.row[same], graph.col[same])), shape=A.shape)
    _, label = sp.csgraph.connected_components(inside, directed=False)
    assert len(set(zip(root, label))) == len(set(root)) == len(set(label)) == parts


@pytest.mark.parametrize("shape", SHAPES)
def test_inner_products_of_a_cycle(make_stencil, rng, shape):
    A = make_stencil(shape, 3)
    cycle = CYCLE.setup(A)
    r, q = rng.standard_normal((2, A.n))
    z = cycle.apply(r, np.empty(A.n))
    assert np.allclose(cycle.inner(q), (r @ z, q @ z), rtol=1e-5) and np.isclose(cycle.inner()[0], r @ z, rtol=1e-5)


def test_sparse_levels_run_alike_with_and_without_packing(make_stencil, rng, monkeypatch):
    A = make_stencil((9, 8, 7), 4)
    r = rng.standard_normal(A.n)
    packed = CYCLE.setup(A).apply(r, np.empty(A.n))
    monkeypatch.setattr(sparse_levels, "PACKED_SIZE", 2)
    unpacked = CYCLE.setup(A).apply(r, np.empty(A.n))
    assert np.allclose(packed, unpacked, atol=1e-5 * np.abs(packed).max())


def row_excess(A, groups):
    e = np.empty(A.n)
    blocks._excess(e, A.diagonal, *A.weights, A.rows.start, A.rows.offset, groups)
    return e


def galerkin(A, coarse, parent, active, groups):
    c = tuple(np.zeros(coarse.n) for _ in range(4))
    shape = np.array(A.rows.shape)
    e = row_excess(A, groups)
    table = (A.rows.cells, shape, A.rows.start, A.rows.offset)
    blocks._galerkin_blocks(*c, *A.weights, e, active, parent, *table, 1.0, groups)
    return c


@pytest.mark.parametrize("levels", ["structured", "sparse"])
@pytest.mark.parametrize("shape", [(13, 12), (9, 8, 7)])
def test_a_shift_belongs_to_the_matrix(make_stencil, rng, shape, levels, monkeypatch):
    """With a free set and a shift of very different sizes the cycle is that of the shifted matrix, also refreshed."""
    if levels == "structured":
        monkeypatch.setattr(block_levels, "PACKED_SIZE", 3)
    A = make_stencil(shape, 8)
    masked = Masked(A)
    cycle = EXACT.setup(masked)
    for free, shift in (
        (None, 10.0 ** rng.uniform(-3, 6, A.n)),
        (rng.random(A.n) < 0.8, 10.0 ** rng.uniform(-3, 3, A.n)),
        (rng.random(A.n) < 0.8, None),
    ):
        cycle = EXACT.setup(masked.update(free, shift), cycle)
        d = A.diagonal if shift is None else A.diagonal + shift
        same = StencilOperator(A.rows, A.weights, d)  # the shift in the matrix itself
        expected = EXACT.setup(Masked(same, free))
        B, C = (np.stack([M.apply(e, np.empty(A.n)) for e in np.eye(A.n)]) for M in (cycle, expected))
        rows = np.ones(A.n, bool) if free is None else free
        assert np.abs(B - B.T).max() <= 1e-4 * np.abs(B).max()
        B, C, K = (X[np.ix_(rows, rows)] for X in (B, C, masked.matrix().toarray()))
        assert np.abs(B - C).max() <= 1e-3 * np.abs(C).max()
        eigenvalues = np.linalg.eigvals(B @ K).real  # a good preconditioner of the shifted matrix
        assert eigenvalues.min() > 0.2 and eigenvalues.max() < 3.0


@pytest.mark.parametrize("name", ["circle2d", "sphere3d"])
def test_interior_point_takes_the_cycle(name):
    """Its matrices are shifted by up to many times their diagonal; few inner iterations show that the cycle knows."""
    problem = cases.build(name, 24).problem
    method = InteriorPoint(CG(CYCLE), inner_maxiter=50)
    solution = nonstick.solve_problem(problem, method, rtol=1e-6)
    paper = nonstick.solve_problem(problem, InteriorPoint(CG(TAGIAAMG), inner_maxiter=50), rtol=1e-6)
    assert solution.converged and solution.iterations <= 2 * paper.iterations


@pytest.mark.parametrize("cycle", [V(1, 1), V(2, 2), W(1, 1), W(2, 2), F(1, 1), Resmoothed(1, 1)], ids=repr)
def test_other_cycles_run_on_blocks(make_stencil, rng, structured, cycle):
    A = make_stencil((13, 12), 8)
    b = rng.standard_normal(A.n)
    outer = Richardson if isinstance(cycle, F) else CG  # an F-cycle is not symmetric
    solver = outer(Multigrid(Blocks(), cycle=cycle)).setup(A)
    assert solver.solve(b, np.zeros(A.n), rtol=1e-6, maxiter=40).converged


@pytest.mark.parametrize("rule", [TopologyAware(theta=0.0, cut=0.0), TopologyAware(0.6, theta=0.35, cut=0.25)], ids=str)
def test_other_rules_may_follow_the_blocks(make_stencil, rng, rule):
    A = make_stencil((9, 8, 7), 4)
    cycle = Multigrid(Blocks(then=rule), cycle=W(1, 1)).setup(A)
    u, v = rng.standard_normal((2, A.n))
    Mu, Mv = (cycle.apply(w, np.empty(A.n)) for w in (u, v))
    assert np.isclose(v @ Mu, u @ Mv, rtol=1e-4) and u @ Mu > 0.0
    assert parts(cycle) == A.components()[0]


def test_couplings_that_vanish_in_single_precision_end_the_coarsening():
    """Faces that are rounding next to the diagonal: nothing merges, and nothing is coarsened for ever."""
    rows = Rows.from_mask(np.ones((12, 12), bool))
    inside = rows.neighbours() >= 0
    A = StencilOperator(rows, tuple(inside[:, a] * 1e-14 for a in range(3)), np.ones(rows.n))
    cycle = CYCLE.setup(A)
    r = np.random.default_rng(0).standard_normal(A.n)
    assert len(cycle.tail.levels) <= 2 and np.allclose(cycle.apply(r, np.empty(A.n)), r, rtol=1e-5)
