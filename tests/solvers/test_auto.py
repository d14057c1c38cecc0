"""`auto` against exact answers: bounds of every kind, matrices that are no M-matrices, hard coefficients."""

import tracemalloc
from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy.optimize import lsq_linear

import nonstick
from nonstick import cases
from nonstick.compositions import AUTO
from nonstick.inverse.multigrid.cycles import W
from nonstick.inverse.multigrid.grid.blocks import BlockHierarchy, Blocks
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.kernels import _active_set as kernels
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator
from nonstick.problem.box import BoxProblem
from nonstick.problem.monitor import Monitor
from nonstick.solvers.auto.loop import ActiveSetCG, Guard
from nonstick.solvers.auto.nearby import Nearby
from nonstick.solvers.auto.nested import Coarser


def exact(A: np.ndarray, b, lower, upper) -> np.ndarray:
    """min 1/2 x'Ax - b'x as bounded least squares, by SciPy's active-set method."""
    L = np.linalg.cholesky(A)
    return lsq_linear(L.T, np.linalg.solve(L, b), (lower, upper), method="bvls", tol=1e-14, max_iter=10_000).x


def random_bounds(rng, n):
    lower = np.where(rng.random(n) < 0.7, rng.uniform(-1, 0.2, n), -np.inf)
    upper = np.where(rng.random(n) < 0.5, rng.uniform(0.3, 1, n), np.inf)
    return lower, upper


@pytest.mark.parametrize("shape", [(9, 7), (4, 5, 4), (1, 13), (1, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_two_sided_bounds_on_grids(make_stencil, shape, seed):
    A = make_stencil(shape, seed)
    rng = np.random.default_rng(seed)
    b = rng.standard_normal(A.n)
    lower, upper = random_bounds(rng, A.n)
    s = nonstick.solve_problem(BoxProblem(A, b, lower, upper), rtol=1e-10)
    assert s.converged
    assert np.allclose(s.x, exact(A.matrix().toarray(), b, lower, upper), atol=1e-7)


@pytest.mark.parametrize("seed", range(60))
def test_matrices_with_positive_off_diagonals(seed):
    """No M-matrix, no convergence proof for the plain loop: the safeguards decide."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14))
    B = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    A = B @ B.T + np.eye(n) * 10 ** rng.uniform(-3, 0)
    b = rng.standard_normal(n)
    lower, upper = random_bounds(rng, n)
    s = nonstick.solve(A, b, lower, upper, rtol=1e-9)
    assert s.converged, s.message
    x = exact(A, b, lower, upper)
    assert s.problem.objective(s.x) <= s.problem.objective(x) + 1e-8


def box(n: int, weight) -> tuple[StencilOperator, np.ndarray]:
    """A cube of liquid under air in +x, with face weights weight(axis, ijk)."""
    rows = Rows.from_mask(np.ones((n, n, n), bool))
    inside, ijk = rows.neighbours() >= 0, rows.coordinates()
    w = tuple(np.where(inside[:, a], weight(a, ijk), 0.0) for a in range(3))
    d = -(StencilOperator(rows, w, np.zeros(rows.n)) @ np.ones(rows.n))
    return StencilOperator(rows, w, d + 2.0 * (ijk[:, 0] == n - 1)), ijk


@pytest.mark.parametrize(
    ("weight", "ceiling"),
    [
        (lambda a, ijk: 1.0, 14),
        (lambda a, ijk: 1.0 if a != 2 else 1e-6, 14),  # anisotropy
        (lambda a, ijk: np.where(ijk[:, 2] // 3 % 2, 1.0, 1e-6), 40),  # layers
        (lambda a, ijk: np.where(ijk.sum(axis=1) // 4 % 2, 1.0, 1e-6), 45),  # oblique layers
        (lambda a, ijk: 10.0 ** -np.random.default_rng(a).uniform(0, 6, len(ijk)), 120),  # every face its own
    ],
)
def test_rough_coefficients(weight, ceiling):
    A, ijk = box(16, weight)
    b = np.where(ijk[:, 1] == 0, 1.0, np.where(ijk[:, 1] == 15, -1.0, 0.0)) * np.median(A.diagonal)
    lower = np.where(((ijk == 0) | (ijk == 15)).any(axis=1), 0.0, -np.inf)
    s = nonstick.solve_problem(BoxProblem(A, b, lower, np.inf))
    assert s.converged and s.iterations <= ceiling


def test_everything_active_and_nothing_constrained():
    A, ijk = box(12, lambda a, ijk: 1.0)
    s = nonstick.solve_problem(BoxProblem(A, -np.ones(A.n), 0.0))
    assert s.converged and not s.x.any()
    free = nonstick.solve_problem(BoxProblem(A, np.ones(A.n), -np.inf), rtol=1e-10)
    assert free.converged and np.allclose(A @ free.x, 1.0, atol=1e-8)


def test_cycles_stay_flat_and_sets_change_seldom():
    counts = [nonstick.solve_problem(cases.build("sphere3d", n).problem) for n in (16, 32, 48)]
    assert all(s.converged for s in counts)
    assert max(s.iterations for s in counts) <= 11 and max(s.outer_iterations for s in counts) <= 6


def test_a_warm_start_needs_no_change_of_the_set():
    problem = cases.build("sphere3d", 24).problem
    first = nonstick.solve_problem(problem, rtol=1e-8)
    again = nonstick.solve_problem(problem, rtol=1e-8, active=first.active)
    assert again.outer_iterations == 0 and np.allclose(again.x, first.x, atol=1e-4 * np.abs(first.x).max())


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_the_same_bits_for_any_number_of_threads():
    problem = cases.build("sphere3d", 32).problem
    two = nonstick.solve_problem(problem).x
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        one = nonstick.solve_problem(problem).x
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(one, two)


def test_the_guard_holds_then_gives_up():
    guard, a, b = Guard(patience=100), np.zeros(3, np.int8), np.ones(3, np.int8)
    assert not any(guard.gives_up(v) for v in (a, b, a, b)) and not guard.hold
    assert not guard.gives_up(a) and guard.hold
    assert not guard.gives_up(a) and not guard.gives_up(b) and guard.gives_up(a)
    impatient = Guard(patience=2)
    for k in range(3):
        impatient.gives_up(np.full(3, k, np.int8))
    assert impatient.hold


def test_exact_inner_solves_reach_the_same_answer():
    """Patience 0 is policy iteration."""
    problem = cases.build("circle2d", 32).problem
    s = nonstick.solve_problem(problem, replace(AUTO, patience=0), rtol=1e-9)
    assert s.converged
    assert np.allclose(s.x, nonstick.solve_problem(problem, rtol=1e-9).x, atol=1e-6 * np.abs(s.x).max())


@pytest.mark.parametrize("shape", [(37, 21), (13, 9, 14)])
def test_sweeps_nearby_are_sweeps_restricted_to_a_ball(make_stencil, shape):
    A = make_stencil(shape, 6)
    rng = np.random.default_rng(6)
    around = np.sort(rng.choice(A.n, A.n // 40, replace=False))
    nearby = Nearby(A)
    G = abs(A.matrix()) > 0
    ball = G @ np.isin(np.arange(A.n), around).astype(float) > 0
    cells, segment = nearby._near(around)
    assert cells.size == np.unique(cells).size and set(cells) == set(np.flatnonzero(ball))
    assert (A.rows.start[segment] <= cells).all() and (cells < A.rows.start[segment + 1]).all()
    assert not nearby._marked.any()
    x, b = rng.standard_normal((2, A.n))
    lower, upper = np.where(rng.random(A.n) < 0.3, 0.0, -np.inf), np.full(A.n, np.inf)
    twin, M = x.copy(), A.matrix().toarray()
    for half in range(4):
        rows = ball & (A.rows.coordinates().sum(axis=1) % 2 == half % 2)
        step = (b - M @ twin)[rows] / A.diagonal[rows]
        twin[rows] = np.clip(twin[rows] + step, lower[rows], upper[rows])
    r = b - M @ x
    nearby.relax(x, b, lower, upper, r, 2, around)
    assert np.allclose(x, twin) and np.allclose(r, b - M @ x)
    x[around] += 1.0
    nearby.residual(b, x, r, around)
    assert np.allclose(r, b - M @ x)


@pytest.mark.parametrize("size", [9, 9000])
def test_a_look_judges_as_the_problem_does(size):
    """The fused step, its policy and its residual against the definitions in `Bounds` and `BoxProblem`."""
    rng = np.random.default_rng(size)
    rows = Rows.from_mask(np.ones((1, size), bool))
    w = (np.zeros(size), np.zeros(size), np.append(rng.random(size - 1), 0.0))
    A = StencilOperator(rows, w, 2.0 + rng.random(size))
    lower, upper = random_bounds(rng, size)
    problem = BoxProblem(A, rng.standard_normal(size), lower, upper)
    loop = ActiveSetCG(AUTO, problem, Monitor(problem))
    x, loop.p[:] = rng.standard_normal((2, size))
    A.residual(problem.b, x, loop.r)
    assert np.isclose(A.energy(loop.p, loop.q), loop.p @ (A @ loop.p))
    kernels._advance(x, loop.r, loop.p, loop.q, 0.3, *loop._judge, 0.0, loop._flips)
    loop._sum_up()
    g = problem.gradient(x)
    assert np.allclose(loop.r, -g)
    assert np.array_equal(loop.policy, problem.box.split(x, -loop.r, A.diagonal)[loop.rows])
    assert np.isclose(loop._kkt(), problem.kkt(x, g)) and loop._flips.sum() == np.count_nonzero(loop.policy)
    before = loop.policy.copy()
    loop._test_bounds(x + 1.0, np.inf)
    assert np.array_equal(loop.policy, before) and not loop.flipped


@pytest.mark.parametrize("shape", [(12, 16), (8, 12, 10)])
def test_coarser_problems_by_hand(shape):
    """Half the summed weights, summed excess and right-hand sides, mean bounds; linear fields are interpolated."""
    rows = Rows.from_mask(np.ones(shape, bool))
    inside = rows.neighbours() >= 0
    w = tuple(inside[:, a] * 1.0 for a in range(3))
    rng = np.random.default_rng(2)
    e = rng.random(rows.n) * (rng.random(rows.n) < 0.2)
    d = e - (StencilOperator(rows, w, np.zeros(rows.n)) @ np.ones(rows.n))
    lower = np.where(rng.random(rows.n) < 0.3, rng.random(rows.n), -np.inf)
    problem = BoxProblem(StencilOperator(rows, w, d), rng.standard_normal(rows.n), lower, np.inf)
    coarser = Coarser(problem, BlockHierarchy(Multigrid(Blocks(), cycle=W(1, 1)), problem.A))
    P = np.zeros((rows.n, coarser.problem.n))
    P[np.arange(rows.n), coarser.parent] = 1.0
    off = problem.A.matrix().toarray() - np.diag(d)
    L = 0.5 * P.T @ off @ P
    np.fill_diagonal(L, 0.0)
    expected = L + np.diag(P.T @ e - L.sum(axis=1))
    assert np.allclose(coarser.problem.A.matrix().toarray(), expected)
    assert np.allclose(coarser.problem.b, P.T @ problem.b)
    finite = np.isfinite(lower)
    count = P.T @ finite
    mean = np.divide(P.T @ np.where(finite, lower, 0.0), count, out=np.full(count.size, -np.inf), where=count > 0)
    assert np.allclose(coarser.problem.box.lower, mean)
    ijk, cells = rows.coordinates(), coarser.problem.A.cells
    slope = np.arange(1, len(shape) + 1)
    x = np.empty(rows.n)
    coarser.interpolate((2 * cells + 0.5) @ slope, x)
    interior = ((ijk > 0) & (ijk < np.array(shape) - 1)).all(axis=1)
    assert np.allclose(x[interior], (ijk @ slope)[interior]) and (x >= lower).all()


@pytest.mark.parametrize("method", ["auto", "mg-cg"])
def test_the_stencil_path_assembles_nothing(method, monkeypatch):
    monkeypatch.setattr(StencilOperator, "matrix", None)
    assert nonstick.solve_problem(cases.build("sphere3d", 24).problem, method).converged


def test_iterations_allocate_no_vectors():
    """Between two looks at the residual, memory in use never rises by as much as one float64 vector."""
    problem = cases.build("sphere3d", 32).problem
    nonstick.solve_problem(problem, "mg-cg")  # compiled
    rises = []

    def watch(monitor):
        now, peak = tracemalloc.get_traced_memory()
        rises.append(peak - watch.before)
        watch.before = now
        tracemalloc.reset_peak()

    tracemalloc.start()
    watch.before = tracemalloc.get_traced_memory()[0]
    try:
        nonstick.solve_problem(problem, "mg-cg", callback=watch)
    finally:
        tracemalloc.stop()
    # the first look ends the set-up, the last one is the final check
    assert len(rises) > 5 and max(rises[2:-1]) < problem.n
