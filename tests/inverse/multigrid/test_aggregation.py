"""Aggregation: merging against a slow flood fill, Galerkin sums against SciPy, fused sweeps against plain ones."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.multigrid.aggregation.coarsening import GIA, Pairwise, TopologyAware
from nonstick.inverse.multigrid.aggregation.levels import Packed
from nonstick.inverse.multigrid.cycles import Resmoothed
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.inverse.multigrid.level import OperatorLevel
from nonstick.inverse.multigrid.smoothers import RBSSOR
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator


def laplacian(mask, dirichlet=0.0) -> StencilOperator:
    """Unit weights between the True cells of a mask."""
    rows = Rows.from_mask(mask)
    right = rows.neighbours()
    weights = tuple(np.where(right[:, a] >= 0, 1.0, 0.0) for a in range(3))
    diagonal = np.full(rows.n, float(dirichlet))
    for a in range(3):
        linked = np.flatnonzero(right[:, a] >= 0)
        diagonal[linked] += 1.0
        np.add.at(diagonal, right[linked, a], 1.0)
    return StencilOperator(rows, weights, diagonal)


def tagiaamg(visits=2, smallest=1, coarsening=None):
    c = coarsening or TopologyAware()
    return Multigrid(c, RBSSOR(), Resmoothed(visits=visits), coarsest=Packed(c, 1.2, visits), smallest=smallest)


def packed_levels(A, coarsening=None):
    """Matrix, colours, parents and cells of every level, in the order of the level."""
    made = Packed(coarsening or TopologyAware()).setup(A).levels
    for level in made:
        off = sp.csr_array((-level.weights, level.indices, level.indptr), shape=(level.n, level.n))
        colour = np.repeat(np.arange(level.ends.size - 1), np.diff(level.ends))
        yield CSROperator(off + sp.diags_array(level.excess - off.sum(axis=1)), level.cells), colour, level.parent


def dense(inverse, n):
    return np.column_stack([inverse.apply(e, np.empty(n)) for e in np.eye(n)])


def parts_within_blocks(A):
    """The slow twin of scan-and-merge: connected components of A without the couplings between blocks."""
    M = sp.coo_array(A.matrix())
    block = [tuple(c) for c in A.cells // 2]
    keep = np.array([i != j and block[i] == block[j] for i, j in zip(M.row, M.col)], bool)
    return connected_components(sp.coo_array((M.data[keep], (M.row[keep], M.col[keep])), shape=M.shape))[1]


@pytest.mark.parametrize("form", ["stencil", "csr"])
def test_merging_is_a_flood_fill_inside_blocks(make_stencil, grid_shape, form):
    A = make_stencil(grid_shape, fill=0.6)
    B = A if form == "stencil" else CSROperator(A.matrix(), A.cells)
    merged = TopologyAware(theta=0.0, cut=0.0).aggregate(B)
    linked = np.diff(A.matrix().indptr) > 1
    if merged is None:
        assert not linked.any()
        return
    parent, count, cells = merged
    assert np.array_equal(parent >= 0, linked)
    if count < linked.sum() and (A.cells[linked] // 2 == cells[parent[linked]]).all():
        label = parts_within_blocks(A)[linked]
        pairs = set(zip(label, parent[linked]))
        assert len(pairs) == len(set(label)) == count == len(set(parent[linked]))
    colour = cells.sum(axis=1) % 2
    assert np.array_equal(colour, np.sort(colour)), "red before black"


def test_a_wall_inside_a_block_is_not_bridged():
    """Faces closed between two rows of cells: each row gets unknowns of its own in the same coarse cells."""
    open_ = laplacian(np.ones((2, 8), bool))
    shut = StencilOperator(open_.rows, (open_.weights[0], np.zeros(open_.n), open_.weights[2]), open_.diagonal)
    assert TopologyAware().aggregate(open_)[1] == 4
    parent, count, cells = TopologyAware().aggregate(shut)
    assert count == 8 and len(np.unique(cells, axis=0)) == 4
    assert not set(parent[:8]) & set(parent[8:])
    assert GIA().aggregate(shut)[1] == 4, "the oblivious one merges across the wall"


def test_cells_connected_only_outside_their_block_stay_apart():
    """A hairpin: both ends in one block, joined through other blocks; they meet on a coarser level."""
    mask = np.ones((3, 6), bool)
    mask[1, :5] = False
    A = laplacian(np.pad(mask, ((1, 0), (0, 0))))
    levels = list(packed_levels(A))
    assert [level[0].n for level in levels][-1] == 1
    top = {tuple(c): p for c, p in zip(levels[0][0].cells, levels[0][2])}
    assert top[1, 0] != top[3, 0]


@pytest.mark.parametrize("coarsening", [TopologyAware(0.7), GIA(0.7), Pairwise(0.7)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("form", ["stencil", "csr"])
def test_coarse_operator_is_alpha_PtAP(make_stencil, grid_shape, coarsening, masked, form):
    A = make_stencil(grid_shape, fill=0.7)
    if form == "csr":
        A = CSROperator(A.matrix(), A.cells)
    rng = np.random.default_rng(0)
    if masked:
        A = Masked(A, rng.random(A.n) < 0.6, rng.uniform(0.0, 5.0, A.n))
    step = coarsening.coarsen(A, 0)
    if step is None:
        return
    coarse, transfer = step
    P = transfer.matrix()
    expected = 0.7 * (P.T @ A.matrix() @ P).toarray()
    np.testing.assert_allclose(coarse.matrix().toarray(), expected, rtol=1e-12, atol=1e-12)
    if isinstance(coarsening, GIA) and form == "stencil":
        base = coarse.A if isinstance(coarse, Masked) else coarse
        assert isinstance(base, StencilOperator), "GIA of a stencil stays a stencil"


@pytest.mark.parametrize("form", ["stencil", "csr", "masked"])
def test_fused_sweeps_equal_plain_relaxation(make_stencil, form):
    """Eq. 9–22 merged against the same formulas one at a time."""
    A = make_stencil((5, 6, 4))
    if form == "csr":
        A = CSROperator(A.matrix(), A.cells)
    if form == "masked":
        A = Masked(A, np.random.default_rng(1).random(A.n) < 0.7, np.full(A.n, 0.5))
    M, d, omega = A.matrix().toarray(), A.diagonal, 1.2
    alive = A.free if form == "masked" else np.ones(A.n, bool)
    red = A.cells.sum(axis=1) % 2 == 0
    rng = np.random.default_rng(2)
    b = rng.standard_normal(A.n) * alive

    def relax(x, *colours):
        for rows in colours:
            x = np.where(rows & alive, x + omega * (b - M @ x) / d, x)
        return x

    level = OperatorLevel(A, RBSSOR(omega).setup(A))
    level.b[:] = b
    x, r = level.x, level.r
    level.smooth(1, from_zero=True)
    assert level.fresh
    plain = relax(np.zeros(A.n), red, ~red)
    np.testing.assert_allclose(x, plain, atol=1e-13)
    np.testing.assert_allclose(r[alive], (b - M @ plain)[alive], atol=1e-13)
    level.resmooth(1)
    assert level.fresh
    plain = relax(plain, red, ~red, ~red, red)
    np.testing.assert_allclose(x, plain, atol=1e-13)
    np.testing.assert_allclose(r[alive], (b - M @ plain)[alive], atol=1e-13)
    level.smooth_back(1)
    np.testing.assert_allclose(x, relax(plain, ~red, red), atol=1e-13)


@pytest.mark.parametrize("visits", [1, 2])
@pytest.mark.parametrize("coarsening", [TopologyAware(), GIA(), Pairwise()], ids=str)
def test_cycles_are_symmetric_positive(make_stencil, coarsening, visits):
    A = make_stencil((6, 7, 5))
    for operator in (A, CSROperator(A.matrix())):
        M = dense(tagiaamg(visits, 1, coarsening).setup(operator), A.n)
        np.testing.assert_allclose(M, M.T, atol=1e-11 * np.abs(M).max())
        assert np.linalg.eigvalsh(M).min() > 0.0


@pytest.mark.parametrize("masked", [False, True])
def test_packed_levels_equal_levels_one_by_one(make_stencil, masked):
    A = make_stencil((8, 9, 7))
    if masked:
        rng = np.random.default_rng(3)
        A = Masked(A, None, rng.uniform(0.0, 2.0, A.n))
    one_by_one = tagiaamg().setup(A)
    packed = tagiaamg(smallest=10**6).setup(A)
    assert len(one_by_one.levels) > 3 and len(packed.levels) == 1
    r = np.random.default_rng(4).standard_normal(A.n)
    np.testing.assert_allclose(
        packed.apply(r, np.empty(A.n)), one_by_one.apply(r, np.empty(A.n)), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize("coarsening", [TopologyAware(), GIA(), Pairwise()], ids=str)
@pytest.mark.parametrize("smallest", [1, 40, 10**6])
def test_refresh_for_a_shift_equals_rebuild(make_stencil, coarsening, smallest):
    A = make_stencil((7, 6, 5))
    rng = np.random.default_rng(5)
    recipe = tagiaamg(2, smallest, coarsening)
    operator = Masked(A, None, rng.uniform(0.0, 2.0, A.n))
    inverse = recipe.setup(operator)
    matrices = [level.A.A for level in inverse.levels]
    operator.update(None, 10.0 ** rng.uniform(-6, 12, A.n))
    refreshed = recipe.setup(operator, inverse)
    assert [level.A.A for level in refreshed.levels] == matrices, "only diagonals change"
    r = rng.standard_normal(A.n)
    fresh = recipe.setup(Masked(A, None, operator.shift))
    np.testing.assert_allclose(refreshed.apply(r, np.empty(A.n)), fresh.apply(r, np.empty(A.n)), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("coarsening", [TopologyAware(), GIA(), Pairwise()], ids=str)
@pytest.mark.parametrize("start", [0.3, 1.1], ids=["few free", "all free"])
def test_refresh_for_a_free_set_keeps_the_aggregates(make_stencil, coarsening, start):
    A = make_stencil((7, 6, 5))
    rng = np.random.default_rng(5)
    recipe = tagiaamg(2, 4, coarsening)
    operator = Masked(A, rng.random(A.n) < start)
    inverse = recipe.setup(operator)
    for free, shift in ((rng.random(A.n) < 0.6, None), (rng.random(A.n) < 0.6, rng.uniform(0.0, 3.0, A.n))):
        operator.update(free, shift)
        inverse = recipe.setup(operator, inverse)
        for fine, coarse in zip(inverse.levels, inverse.levels[1:]):
            P = fine.transfer.matrix()
            expected = 0.65 * (P.T @ fine.A.matrix() @ P).toarray()
            np.testing.assert_allclose(coarse.A.matrix().toarray(), expected, atol=1e-12)
        M = dense(inverse, A.n)
        np.testing.assert_allclose(M, M.T, atol=1e-11 * np.abs(M).max())
        assert np.linalg.eigvalsh(M).min() > 0.0 and not M[np.ix_(free, ~free)].any()


def rooms(count: int, room: int, door: int, seed: int = 0):
    """Rooms in a row of three axes, walls one cell thick, a door of door² cells in every wall."""
    pitch = room + 1
    mask = np.zeros((count * pitch - 1,) * 3, bool)
    starts = range(0, count * pitch - 1, pitch)
    for corner in np.ndindex(count, count, count):
        mask[tuple(slice(starts[k], starts[k] + room) for k in corner)] = True
    rng = np.random.default_rng(seed)
    for corner in np.ndindex(count, count, count):
        for axis in range(3):
            if corner[axis] + 1 < count:
                low = [starts[k] + int(rng.integers(0, room - door + 1)) for k in corner]
                opening = [slice(a, a + door) for a in low]
                opening[axis] = slice(starts[corner[axis]] + room, starts[corner[axis]] + room + 1)
                mask[tuple(opening)] = True
    return mask


def test_weak_couplings_do_not_merge():
    """Against the definition: parts of the graph of couplings >= theta times the strongest of either row."""
    A = laplacian(rooms(2, 5, 1))
    levels = list(packed_levels(A, TopologyAware(0.55, 0.35, 0.0)))
    separated = 0
    for (operator, colour, parent), (coarse, _, _) in pairwise(levels):
        M = sp.coo_array(operator.matrix())
        off = M.row != M.col
        i, j, a = M.row[off], M.col[off], np.abs(M.data[off])
        strongest = np.zeros(operator.n)
        np.maximum.at(strongest, i, a)
        strong = a >= 0.35 * np.minimum(strongest[i], strongest[j])
        inside = (coarse.cells[parent[i]] == coarse.cells[parent[j]]).all(axis=1)
        keep = strong & inside
        graph = sp.coo_array((a[keep], (i[keep], j[keep])), shape=M.shape)
        number, label = connected_components(graph, directed=False)
        assert number == coarse.n and len(set(zip(label, parent))) == number
        assert not (colour[i] == colour[j])[a > 0].any(), "coupled rows have different colours"
        separated += int((inside & ~strong & (parent[i] != parent[j])).sum())
    assert separated > 0, "the case must hold doors that are weak on some level"
    assert levels[-1][0].n == 1


@pytest.mark.parametrize("form", ["stencil", "csr"])
@pytest.mark.parametrize("mask", [rooms(2, 5, 1), rooms(2, 4, 2)], ids=["doors 1", "doors 2"])
def test_no_part_has_a_weak_cut(mask, form):
    """Every subset of every part, by brute force; and nothing is cut that need not be."""
    A = laplacian(mask)
    B = A if form == "stencil" else CSROperator(A.matrix(), A.cells)
    M = A.matrix().toarray()
    np.fill_diagonal(M, 0.0)
    M = np.abs(M)

    def weakest(members):
        outside = np.delete(M[members], members, axis=1).sum(axis=1)
        ratios = [np.inf]
        for bits in range(1, 2 ** (members.size - 1)):
            S = (bits >> np.arange(members.size)) & 1 == 1
            smaller = min(outside[S].sum(), outside[~S].sum())
            if smaller > 0:
                ratios.append(M[np.ix_(members[S], members[~S])].sum() / smaller)
        return min(ratios)

    parent, count, _ = TopologyAware(0.55, 0.0, 0.25).aggregate(B)
    assert all(weakest(np.flatnonzero(parent == p)) >= 0.25 - 1e-12 for p in range(count))
    whole, fewer, _ = TopologyAware(0.55, 0.0, 0.0).aggregate(B)
    for p in range(fewer):
        members = np.flatnonzero(whole == p)
        pieces = len(set(parent[members]))
        assert (pieces == 1) == (weakest(members) >= 0.25 - 1e-12)


def test_cycles_with_more_than_two_colours_are_symmetric_and_alike_packed_or_not():
    A = laplacian(rooms(2, 5, 1), dirichlet=0.01)
    coarsening = TopologyAware(0.55)
    one_by_one = tagiaamg(2, 1, coarsening).setup(A)
    assert max(level.smoother.colours for level in one_by_one.levels[:-1]) > 2
    packed = tagiaamg(2, 10**6, coarsening).setup(A)
    rng = np.random.default_rng(11)
    u, v = rng.standard_normal((2, A.n))
    Mu, Mv = (packed.apply(w, np.empty(A.n)) for w in (u, v))
    np.testing.assert_allclose(one_by_one.apply(u, np.empty(A.n)), Mu, rtol=1e-10, atol=1e-11)
    assert v @ Mu == pytest.approx(u @ Mv, rel=1e-10) and u @ Mu > 0.0


def test_narrow_doors_cost_few_iterations():
    """Rooms behind doors of one cell: merging along every coupling takes twice as many iterations."""
    A = laplacian(rooms(3, 9, 1))
    b = np.random.default_rng(12).standard_normal(A.n)
    b -= b.mean()
    counts = [
        CG(tagiaamg(2, 1000, coarsening)).setup(A).solve(b, np.zeros(A.n), rtol=1e-8).iterations
        for coarsening in (TopologyAware(0.55), TopologyAware(0.55, theta=0.0, cut=0.0))
    ]
    assert counts[0] <= 11 and counts[0] <= 0.6 * counts[1], counts


def test_cells_may_be_negative():
    """Two coupled cells on both sides of zero: blocks of any size keep them apart unless they are moved."""
    A = CSROperator(sp.csr_array([[2.0, -1.0], [-1.0, 2.0]]), np.array([[-1, -1], [0, -1]]))
    parent, count, _ = TopologyAware().aggregate(A)
    assert count == 1 and list(parent) == [0, 0]


def test_one_unknown_per_connected_part():
    """Two Neumann rooms and a droplet: coarsening ends with uncoupled unknowns, and CG converges."""
    mask = np.zeros((20, 9, 7), bool)
    mask[:9], mask[11:18], mask[19, 4, 3] = True, True, True
    A = laplacian(mask)
    levels = list(packed_levels(A))
    ends = []
    for operator, _, parent in levels:
        ends += list(operator.diagonal if parent is None else operator.diagonal[parent < 0])
    assert ends == [0.0, 0.0, 0.0], "each part ends as a 1x1 zero matrix"
    rng = np.random.default_rng(6)
    b = rng.standard_normal(A.n)
    _, label = A.components()
    for part in np.unique(label):
        b[label == part] -= b[label == part].mean()
    x = np.zeros(A.n)
    result = CG(tagiaamg()).setup(A).solve(b, x, rtol=1e-8)
    assert result.converged and result.iterations <= 12
    assert np.abs(b - A @ x).max() < 1e-7


def maze(walls: int, n: int = 32):
    """A serpentine: plates with a gap at alternating ends."""
    mask = np.ones((n, n, n // 2), bool)
    for k, i in enumerate(range(6, n, 7)):
        mask[i : i + walls] = False
        mask[i : i + walls, : 5 if k % 2 else n] &= False
        gap = slice(0, 5) if k % 2 else slice(n - 5, n)
        mask[i : i + walls, gap] = True
    return mask


@pytest.mark.parametrize("walls", [1, 2])
def test_topology_pays_in_a_maze(walls):
    A = laplacian(maze(walls))
    b = np.random.default_rng(7).standard_normal(A.n)
    b -= b.mean()
    counts = {}
    for coarsening in (TopologyAware(0.55), GIA()):
        x = np.zeros(A.n)
        result = CG(tagiaamg(2, 2000, coarsening)).setup(A).solve(b, x, rtol=1e-8, maxiter=200)
        counts[type(coarsening).__name__] = result.iterations
    assert counts["TopologyAware"] <= 12 and 2 * counts["TopologyAware"] <= counts["GIA"], counts


def test_counts_stay_flat_with_size():
    counts = []
    for n in (12, 24, 40):
        A = laplacian(np.ones((n, n, n), bool), dirichlet=0.0)
        A.diagonal[:] = 6.0
        x, b = np.zeros(A.n), np.ones(A.n)
        counts.append(CG(tagiaamg(smallest=10_000)).setup(A).solve(b, x, rtol=1e-8).iterations)
    assert max(counts) <= 7 and max(counts) - min(counts) <= 2, counts


def test_matrices_without_a_grid():
    """A random graph Laplacian with weights over three decades."""
    rng = np.random.default_rng(8)
    n = 1500
    i, j = rng.integers(0, n, (2, 4 * n))
    W = sp.coo_array((10.0 ** rng.uniform(-3, 0, i.size), (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    W.setdiag(0.0)
    A = CSROperator(sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + 1e-3) - W)
    x, b = np.zeros(n), rng.standard_normal(n)
    assert CG(tagiaamg()).setup(A).solve(b, x, rtol=1e-8).iterations <= 25
    plain = CG().setup(A).solve(b, np.zeros(n), rtol=1e-8).iterations
    assert plain > 60
