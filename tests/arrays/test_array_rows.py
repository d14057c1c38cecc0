"""Sparse matrices in arrays against SciPy, their cycle, and bare matrices where their arrays are."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numba import get_num_threads
from scipy.spatial import Delaunay
from test_array_door import sparse

import nonstick
from nonstick import cases
from nonstick.arrays import ArrayActiveSet, active_set, door
from nonstick.arrays.library import to_library, to_numpy
from nonstick.arrays.problem import SETTINGS, Fields
from nonstick.arrays.rows import InRows, SparseProduct, SparseRows
from nonstick.operators.csr import CSROperator
from nonstick.problem.monitor import PATIENCE


def triangles(n, seed=0):
    """Linear elements for -Δu + u/100 on shaken points: a matrix without a grid, and a load."""
    rng, side = np.random.default_rng(seed), round(np.sqrt(n))
    points = np.argwhere(np.ones((side, side)))
    inside = ((points > 0) & (points < side - 1)).all(axis=1)
    points = (points + rng.uniform(-0.35, 0.35, points.shape) * inside[:, None]) / side
    n = len(points)
    mesh = Delaunay(points).simplices
    p = points[mesh]
    edges = np.roll(p, -1, axis=1) - np.roll(p, -2, axis=1)
    area = 0.5 * np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0])
    stiff = np.einsum("eia,eja->eij", edges, edges) / (4 * area)[:, None, None]
    i, j = np.repeat(mesh, 3, axis=1).ravel(), np.tile(mesh, (1, 3)).ravel()
    A = sp.csr_array(sp.coo_array((stiff.ravel(), (i, j)), shape=(n, n)).tocsr())
    mass = np.bincount(mesh.ravel(), np.repeat(area / 3, 3), n)
    return sp.csr_array(A + sp.diags_array(mass / 100)), mass * (np.sin(9 * points[:, 0]) - 0.3)


def entering(library, dtype="float64"):
    return lambda values: to_library(values, library, None, dtype)


@pytest.mark.parametrize("batch", [(), (3,)])
def test_products_are_those_of_scipy(library, batch):
    rng = np.random.default_rng(1)
    M = sp.random_array((40, 30), density=0.2, random_state=rng, format="csr")
    M[7] = 0.0  # an empty row, and a full one
    M[8] = rng.random(30)
    M = sp.csr_array(M)
    M.eliminate_zeros()
    x = rng.standard_normal((*batch, 30))
    kind = "strict" if library == "jax" else library  # JAX in double precision: test_jax
    found = to_numpy(SparseProduct.of(M, entering(kind)) @ to_library(x, kind))
    np.testing.assert_allclose(found, (M @ x.T).T, atol=1e-13)


@pytest.fixture(scope="module")
def hierarchy():
    A, _ = triangles(900)
    place = InRows(CSROperator(A))
    return A, place, place.cycle(entering("numpy"))


def test_coarse_unknowns_are_rows(hierarchy):
    """What interpolates a coarse unknown to its own row is 1, and a free set restricts itself to these rows."""
    _, place, cycle = hierarchy
    free = (np.random.default_rng(2).random(900) < 0.7).astype(float)
    for level, fine in zip(cycle.levels(free), place.hierarchy.levels[:-1]):
        P = np.stack([level.up @ e for e in np.eye(fine.P.n_coarse)], axis=1)
        np.testing.assert_array_equal(P[level.coarse], np.eye(fine.P.n_coarse))
        down = np.stack([level.down @ e for e in np.eye(fine.n)], axis=1)
        np.testing.assert_allclose(down, P.T, atol=1e-7)
        np.testing.assert_array_equal(level.inverse > 0, free > 0)
        free = free[level.coarse]


def test_the_cycle_is_symmetric_positive_and_strong(hierarchy):
    A, place, cycle = hierarchy
    rng = np.random.default_rng(3)
    free = (rng.random(900) < 0.6).astype(float)
    levels = cycle.levels(free)
    r, s = (free * rng.standard_normal(900) for _ in range(2))
    z, y = cycle.apply(levels, free, r), cycle.apply(levels, free, s)
    assert z @ s == pytest.approx(y @ r, rel=1e-9) and r @ z > 0 and (z[free == 0] == 0).all()
    M = A[place.index][:, place.index].toarray() * np.outer(free, free)
    x = np.zeros(900)
    for _ in range(12):  # Richardson: CG would hide a weak cycle
        x = x + cycle.apply(levels, free, r - M @ x)
    assert np.abs(r - M @ x).max() < 1e-4 * np.abs(r).max()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_bare_matrices(library, dtype):
    A, b = triangles(729)
    lower, upper = -0.3 - 0.1 * np.cos(np.arange(729)), np.where(np.arange(729) % 3, np.inf, -0.19)
    expected = nonstick.solve(A, b, lower, upper, rtol=1e-11)
    method = ArrayActiveSet(library, dtype=dtype, rows=True)
    found = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-9)
    assert found.converged and set(expected.active) == {-1, 0, 1}
    assert np.abs(found.x - expected.x).max() <= 1e-8 * np.abs(expected.x).max()
    again = nonstick.solve(A, b, lower, upper, method=method, x0=found.x, active=found.active, rtol=1e-8)
    assert again.iterations == 0


def thin_maze(n, seed):
    """A maze whose corridors are one cell wide, as a mask: blocks of cells stand for too little there."""
    rng = np.random.default_rng(seed)
    open_ = np.zeros((2 * n + 1, 2 * n + 1), bool)
    open_[1::2, 1::2] = True
    part = np.arange(n * n).reshape(n, n)
    walls = [(i, j, a) for i in range(n) for j in range(n) for a in (0, 1) if (i, j)[a] + 1 < n]
    for k in rng.permutation(len(walls)):
        i, j, a = walls[k]
        other = part[i + (a == 0), j + (a == 1)]
        if part[i, j] != other:
            part[part == other] = part[i, j]
            open_[2 * i + 1 + (a == 0), 2 * j + 1 + (a == 1)] = True
    return open_


def on_cells(mask, scales=(1.0, 1.0)):
    cells, number = np.argwhere(mask), np.full(mask.shape, -1)
    number[mask] = np.arange(len(cells))
    A = sp.lil_array((len(cells), len(cells)))
    for axis, w in enumerate(scales):
        lower, upper = (np.take(number, range(s, mask.shape[axis] - 1 + s), axis) for s in (0, 1))
        both = (lower >= 0) & (upper >= 0)
        A[lower[both], upper[both]] = A[upper[both], lower[both]] = -w
    A = sp.csr_array(A)
    sums = -np.asarray(A.sum(axis=1)).ravel()
    sums[:: len(cells) // 9] += 1.0
    return sp.csr_array(A + sp.diags_array(sums)), cells


@pytest.mark.parametrize(
    "mask, scales, least, most",
    [
        (thin_maze(18, 0), (1.0, 1.0), 30, 50),
        (thin_maze(25, 1), (1.0, 1.0), 30, 55),
        (np.ones((60, 50), bool), (1.0, 0.005), 1, 20),
        (np.ones((37, 53), bool), (0.001, 1.0), 1, 20),
    ],
)
def test_rows_are_for_blocks_that_stand_for_too_little(mask, scales, least, most):
    """They take over after 30 iterations; at once where one axis has the larger couplings."""
    A, cells = on_cells(mask, scales)
    b = np.sin(cells @ np.array([0.3, 0.2]))
    expected = nonstick.solve(A, b, cells=cells, rtol=1e-10).x
    found = nonstick.solve(A, b, cells=cells, method="auto-array", rtol=1e-8)
    assert found.converged and least <= found.iterations <= most, found.iterations
    assert np.abs(found.x - expected).max() <= 1e-6 * np.abs(expected).max()


def test_a_waiting_set_ends():
    """Sets that change often wait for their linear problem, whose solution may leave the box meanwhile."""
    A, b = triangles(484, 5)
    problem = nonstick.BoxProblem(A, b, -0.2, 0.2)
    expected = nonstick.solve_problem(problem, rtol=1e-11).x
    place, unit = InRows(problem.A), problem.A.diagonal.max()
    enter = lambda v: place.field(v)  # noqa: E731
    bounds = enter(-0.2 * unit), enter(0.2 * unit)
    fields = Fields(place.matrix(unit, lambda v: v), enter(b), *bounds, enter(1.0), np.array([abs(b).max()]))
    s = active_set.begin(fields, enter(0.0))
    M, tolerance = place.cycle(entering("numpy", "float32")), 1e-9 + 0 * s.kkt
    s = replace(s, changes=s.changes + PATIENCE.changes)
    for _ in range(300):
        s = active_set.step(fields, M, M.levels(s.free), s, tolerance, True)
    assert s.kkt[0] <= 1e-9
    assert np.abs(place.vector(s.x) / unit - expected).max() <= 1e-7 * np.abs(expected).max()


def test_a_device_is_asked_once_in_ten_steps(monkeypatch):
    A, b = triangles(784, 1)
    asked, plain = [], active_set._summary
    monkeypatch.setattr(active_set, "_summary", lambda s, tolerance: asked.append(0) or plain(s, tolerance))
    monkeypatch.setattr(active_set, "is_host", lambda x: False)
    found = nonstick.solve(A, b, -0.3, method=ArrayActiveSet(rows=True), rtol=1e-8, criterion="papers")
    assert found.converged and len(asked) <= 2 + found.iterations / SETTINGS.stride


def test_nothing_leaves_its_device(torch_here):
    """On `meta`, which knows shapes alone, reading a number or mixing in an array of the processor is an error."""
    A, b = triangles(400)
    place = InRows(CSROperator(A))
    bring = lambda v, dtype="float64": to_library(v, "torch", None, dtype).to("meta")  # noqa: E731
    one = bring(place.field(1.0))
    fields = Fields(place.matrix(1.0, bring), bring(place.field(b)), -one, one, one, one[:1])
    M = place.cycle(lambda v: bring(v, "float32"))
    s = active_set.begin(fields, active_set.predict(fields, M))
    for settle in (True, False):
        s = active_set.step(fields, M, M.levels(s.free), s, 0 * s.kkt, settle)
    assert s.x.device.type == "meta"


@pytest.fixture
def torch_here():
    import os

    if not os.environ.get("NONSTICK_ARRAYS"):  # make test-arrays sets it: then PyTorch must be there
        pytest.importorskip("torch", reason="PyTorch's CPU build is not on the package index: make test-arrays")


def test_auto_is_where_the_arrays_are(torch_here, monkeypatch):
    """As on a GPU: a bare matrix is solved there; by the processor what arrays refuse, and what they do not solve."""
    monkeypatch.setattr(door, "is_far", lambda library, device: True)
    A, b = triangles(625, 2)
    there = lambda v: to_library(np.asarray(v, float), "torch", None, "float64")  # noqa: E731
    expected = nonstick.solve(A, b, -0.3, rtol=1e-10).x
    found = nonstick.solve(sparse(A, "torch"), there(b), -0.3, rtol=1e-9)
    assert "in arrays of torch" in found.path and found.converged and type(found.x) is type(there(b))
    np.testing.assert_allclose(to_numpy(found.x), expected, atol=1e-7 * abs(expected).max())

    downwind = sp.csr_array(A + sp.diags_array(-0.3 * np.ones(624), offsets=-1) + sp.diags_array(np.full(625, 0.3)))
    found = nonstick.solve(sparse(downwind, "torch"), there(b), -0.3, rtol=1e-9)
    assert "arrays" not in found.path and found.converged

    second = sp.diags_array([-np.ones(59), 2 * np.ones(60), -np.ones(59)], offsets=[-1, 0, 1])
    units = sp.diags_array(10.0 ** np.linspace(-4, 4, 60))
    plate = sp.csr_array(units @ (second @ second) @ units)
    found = nonstick.solve(sparse(plate, "torch"), there(plate @ np.ones(60)), -np.inf, rtol=1e-8)
    assert "arrays" in found.path and found.converged


def test_one_hierarchy_a_thread_for_many_right_hand_sides(monkeypatch):
    made, plain = [], InRows.__init__
    monkeypatch.setattr(InRows, "__init__", lambda self, A: made.append(0) or plain(self, A))
    A, b = triangles(484, 3)
    many = nonstick.solve(A, np.stack([b, 2 * b, -b], axis=1), -0.2, method=ArrayActiveSet(rows=True))
    assert many.converged.all() and 1 <= len(made) <= min(get_num_threads(), 3)


def test_a_grid_as_rows():
    """Static cases on the rows of their matrices."""
    for name, n in (("circle2d", 24), ("maze2d", 32), ("sphere3d", 12)):
        problem = cases.build(name, n).problem
        expected = nonstick.solve_problem(problem, rtol=1e-11).x
        found = nonstick.solve_problem(problem, ArrayActiveSet(rows=True), rtol=1e-10)
        assert found.converged and np.abs(found.x - expected).max() <= 1e-8 * np.abs(expected).max()


def test_a_matrix_on_the_device_is_the_matrix():
    A, _ = triangles(324)
    place = InRows(CSROperator(A))
    found = place.matrix(2.0, entering("numpy"))
    assert isinstance(found, SparseRows)
    x = np.random.default_rng(0).standard_normal(324)
    np.testing.assert_allclose(place.vector(found @ x[place.index]), A @ x / 2.0, atol=1e-12)
    np.testing.assert_allclose(found.residual(x, x), x - found @ x, atol=1e-12)
