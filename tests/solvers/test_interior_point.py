"""Interior point methods against a dense active-set oracle, in any units, and their stopping rules."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import nonstick
from nonstick import cases, registry
from nonstick.bench.problems import snapshots
from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.precond.incomplete import MIC
from nonstick.operators.stencil import as_operator
from nonstick.solvers.takahashi_batty.barrier import Barrier
from nonstick.solvers.takahashi_batty.interior_point import InteriorPoint
from nonstick.solvers.takahashi_batty.mehrotra import Mehrotra

ALL = [
    "ipm-pd", "ipm-pd+mic-cg", "ipm-pd+saamg-cg", "ipm-pd+hs", "ipm-pd+cab+ss", "mehrotra", "plb", "ipm-p",
]  # fmt: skip
SAFE = ["ipm-pd", "mehrotra", "mic-mprgp", "tagiaamg-mprgp", "saamg-mprgp"]


def oracle(A, b, lower, upper):
    """Dense active-set method with exact solves; the optimality conditions certify what it returns."""
    d = np.diag(A)
    x = np.clip(np.linalg.solve(A, b), lower, upper)
    for _ in range(3 * len(b) + 10):
        g = A @ x - b
        low, high = d * (x - lower) < g, d * (x - upper) > g
        free = ~(low | high)
        new = np.where(low, lower, np.where(high, upper, 0.0))
        new[free] = np.linalg.solve(A[np.ix_(free, free)], b[free] - A[np.ix_(free, ~free)] @ new[~free])
        if np.array_equal(new, x):
            break
        x = new
    g, noise = A @ x - b, 1e-11 * max(np.abs(b).max(), (d * np.abs(x)).max())
    assert np.all(x >= lower) and np.all(x <= upper)
    assert np.all(g[x > lower] <= noise) and np.all(g[x < upper] >= -noise)
    return x


@st.composite
def problems(draw, largest=300):
    """Random symmetric M-matrices and boxes: one-sided, two-sided, partial, empty, in random units."""
    n = draw(st.one_of(st.integers(1, 40), st.integers(40, largest)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    degree = draw(st.floats(0.5, 6.0))
    i, j = rng.integers(0, n, (2, int(degree * n) + 1))
    spread = draw(st.floats(0.0, 2.0))
    W = sp.coo_array((10.0 ** rng.uniform(-spread, 0.0, i.size), (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    W.setdiag(0.0)
    W.eliminate_zeros()
    A = sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + rng.uniform(0.01, 1.0, n)) - W)
    unit_A, unit_b = 10.0 ** draw(st.integers(-8, 8)), 10.0 ** draw(st.integers(-8, 8))
    size = unit_b / unit_A
    b = rng.standard_normal(n)
    lower, upper = random_box(draw, rng, n)
    return A * unit_A, b * unit_b, lower * size, upper * size


def random_box(draw, rng, n):
    """Bounds of every kind; "mixed" has rows without, with one, with two, and with two equal bounds."""
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    kind = draw(st.sampled_from(["zero", "lower", "upper", "both", "some", "mixed"]))
    if kind == "zero":
        lower[:] = 0.0
    if kind in ("lower", "both"):
        lower[:] = rng.standard_normal(n) - 0.5
    if kind == "upper":
        upper[:] = rng.standard_normal(n) * 0.3 + 0.2
    if kind == "both":
        upper[:] = lower + rng.uniform(0.0, 1.0, n)
    if kind == "some":
        lower[rng.random(n) < 0.5] = 0.0
        upper[rng.random(n) < 0.3] = 0.1
    if kind == "mixed":
        below, above, pinned = rng.random((3, n)) < 0.4
        lower[below] = rng.standard_normal(n)[below] - 0.3
        upper[above] = np.where(below, lower + rng.uniform(0.0, 0.5, n), 0.3 * rng.standard_normal(n))[above]
        lower[pinned & above] = upper[pinned & above]
    return lower, upper


@st.composite
def grid_problems(draw):
    """The same on the cells of a random part of a small grid, with random face weights and some Dirichlet rows."""
    shape = draw(st.sampled_from([(17,), (5, 9), (16, 11), (7, 6, 5), (4, 3, 9)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = np.argwhere(rng.random(shape) < draw(st.sampled_from([0.5, 0.8, 1.0])))
    if len(cells) == 0:
        cells = np.zeros((1, len(shape)), np.int64)
    number = {tuple(c): k for k, c in enumerate(cells)}
    W = sp.lil_array((len(cells), len(cells)))
    for c, k in number.items():
        for axis in range(len(shape)):
            other = number.get((*c[:axis], c[axis] + 1, *c[axis + 1 :]))
            if other is not None and rng.random() < 0.9:
                W[k, other] = W[other, k] = rng.uniform(0.2, 1.0)
    n = len(cells)
    A = sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + rng.uniform(0.01, 1.0, n)) - W.tocsr())
    if len(shape) == 1:
        cells = np.column_stack((cells, np.zeros(n, np.int64)))
    lower, upper = random_box(draw, rng, n)
    unit_A, unit_b = 10.0 ** draw(st.integers(-8, 8)), 10.0 ** draw(st.integers(-8, 8))
    return A * unit_A, rng.standard_normal(n) * unit_b, lower * unit_b / unit_A, upper * unit_b / unit_A, cells


@settings(max_examples=25, deadline=None)
@given(problems(), st.sampled_from(SAFE))
def test_random_m_matrices(problem, method):
    A, b, lower, upper = problem
    x = oracle(A.toarray(), b, lower, upper)
    s = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-9)
    assert s.converged, (s.status, s.message)
    assert s.kkt() <= 1e-9
    assert np.abs(s.x - x).max() <= 1e-6 * max(np.abs(x).max(), np.abs(b).max() / np.median(A.diagonal()))


#: every method that promises the solution, by what it needs: fmg wants a PressureProblem
GRIDS = {"fmg", "newton-array", "fmg-array"}  # they need a grid
COMPLETE = [name for name, entry in registry.entries().items() if entry.complete and name not in GRIDS]
GEOMETRIC = [name for name in COMPLETE if name.startswith(("pi-mg", "pe-mg", "fas-mg"))]


@settings(max_examples=40, deadline=None)
@given(problems(120), st.sampled_from([name for name in COMPLETE if name not in GEOMETRIC]))
def test_every_complete_method_on_matrices(problem, method):
    A, b, lower, upper = problem
    agrees(nonstick.solve(A, b, lower, upper, method=method, rtol=1e-9), A, b, lower, upper)


@settings(max_examples=40, deadline=None)
@given(grid_problems(), st.sampled_from(COMPLETE))
def test_every_complete_method_on_grids(problem, method):
    A, b, lower, upper, cells = problem
    agrees(nonstick.solve(A, b, lower, upper, method=method, rtol=1e-9, cells=cells), A, b, lower, upper)


def test_mehrotra_solves_slivers_as_well_as_the_rest():
    """A cell of which a sliver is open: its residual is tiny whatever its pressure is."""
    n, w = 30, 1e-6
    A = sp.lil_array(sp.diags_array([2.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1]))
    A[n - 1, n - 1], A[n - 1, n - 2], A[n - 2, n - 1] = w, -w, -w
    A[n - 2, n - 2] = 1.0 + w
    b = np.sin(np.arange(n) / 3.0)
    b[n - 1] = 1e-3 * w
    x = oracle(A.toarray(), b, np.zeros(n), np.full(n, np.inf))
    assert x[n - 1] > 0.0
    s = nonstick.solve(sp.csr_array(A), b, 0.0, method="mehrotra", rtol=1e-8)
    np.testing.assert_allclose(s.x, x, atol=1e-6 * x.max())


@pytest.mark.parametrize("method", ["ipm-pd", "ipm-pd+mic-cg", "mehrotra"])
def test_clamped_rows_sit_on_their_bounds(make_stencil, method):
    A = make_stencil((9, 8))
    b = np.random.default_rng(5).standard_normal(A.n)
    s = nonstick.solve(A, b, 0.0, 0.3, method=method, rtol=1e-8)
    assert {-1, 0, 1} == set(s.active)
    assert not s.x[s.active < 0].any() and (s.x[s.active > 0] == 0.3).all()


def agrees(s, A, b, lower, upper):
    x = oracle(A.toarray(), b, lower, upper)
    assert s.converged and s.kkt() <= 1e-9, (s.status, s.message)
    assert np.abs(s.x - x).max() <= 1e-6 * max(np.abs(x).max(), np.abs(b).max() / np.median(A.diagonal()))


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("shape", [(14, 15), (7, 6, 8)], ids=str)
def test_grids_with_two_sided_bounds(make_stencil, method, shape):
    A = make_stencil(shape)
    b = np.random.default_rng(0).standard_normal(A.n)
    lower, upper = np.full(A.n, -0.2), np.full(A.n, 0.3)
    lower[::5] = -np.inf
    upper[::3] = np.inf
    x = nonstick.solve(A, b, lower, upper, method="psor", rtol=1e-12, maxiter=20_000).x
    s = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-8)
    assert s.converged, (s.status, s.message)
    np.testing.assert_allclose(s.x, x, atol=1e-6)
    assert np.all(s.x >= lower) and np.all(s.x <= upper)


@pytest.mark.parametrize("method", ["ipm-pd", "mehrotra"])
def test_units_change_nothing(make_stencil, method):
    A = make_stencil((12, 13))
    b = np.random.default_rng(1).standard_normal(A.n)
    counts = []
    for unit_A, unit_b in ((1.0, 1.0), (1e8, 1e-6), (1e-7, 1e5)):
        M, q = A.matrix() * unit_A, b * unit_b
        s = nonstick.solve(M, q, 0.0, 0.3 * unit_b / unit_A, method=method, rtol=1e-9, cells=A.cells)
        assert s.converged
        counts.append(s.outer_iterations)
    assert max(counts) - min(counts) <= 1, counts


def test_the_papers_stopping_rule(make_stencil):
    A = make_stencil((12, 12))
    b = np.random.default_rng(2).standard_normal(A.n)
    for method in (InteriorPoint(CG(MIC()), 50, step_norm=1e-7), Mehrotra(CG(MIC()), step_norm=1e-7)):
        s = nonstick.solve(A, b, 0.0, method=method, rtol=1e-3)
        assert s.converged and s.notes["newton_step_norm"] <= 1e-7
        loose = nonstick.solve(A, b, 0.0, method=type(method)(CG(MIC()), 50), rtol=1e-3)
        assert loose.outer_iterations < s.outer_iterations, "the step norm asks for more"


def test_too_few_steps_is_no_success(make_stencil):
    A = make_stencil((12, 12))
    b = np.random.default_rng(3).standard_normal(A.n)
    for method in ("ipm-pd", "mehrotra"):
        s = nonstick.solve(A, b, 0.0, method=method, rtol=1e-10, maxiter=2)
        assert not s.converged and s.status == "maxiter" and s.outer_iterations == 2


@pytest.mark.parametrize("method", ["ipm-pd", "mehrotra", "plb", "tagiaamg-mprgp"])
def test_without_bounds_it_is_a_linear_solve(make_stencil, method):
    A = make_stencil((9, 9))
    b = np.random.default_rng(4).standard_normal(A.n)
    s = nonstick.solve(A, b, -np.inf, np.inf, method=method, rtol=1e-9)
    assert s.converged
    np.testing.assert_allclose(s.x, np.linalg.solve(A.matrix().toarray(), b), atol=1e-7)


@pytest.mark.parametrize("method", SAFE)
@pytest.mark.parametrize("small, push", [(1e-7, 2e-8), (1e-6, 1e-7), (1e-8, 1e-8)])
def test_rows_with_a_tiny_diagonal_go_to_their_bound(method, small, push):
    """Slivers of open space: the KKT residual hardly sees them, the solution must have them right all the same."""
    n = 30
    chain = sp.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = sp.block_diag([chain, sp.diags_array(np.full(5, small))]).tocsr()
    b = np.concatenate([np.sin(np.arange(n)), np.full(5, -push)])
    x = nonstick.solve(A, b, lower=0.0, method=method, rtol=1e-8).x
    expected = oracle(A.toarray(), b, np.zeros(n + 5), np.full(n + 5, np.inf))
    np.testing.assert_allclose(x, expected, atol=1e-6 * expected.max())


def test_as_printed_it_depends_on_units_and_ours_does_not():
    problem = nonstick.cases.build("circle2d", 32).problem
    A, box = problem.A.matrix(), problem.box
    steps = {
        name: {
            nonstick.solve(
                A, k * problem.b, k * box.lower, k * box.upper, cells=problem.A.cells, method=name, criterion="papers"
            ).outer_iterations
            for k in (1.0, 1e9)
        }
        for name in ("ipm-pd", "ipm-pd+literal")
    }
    assert len(steps["ipm-pd"]) == 1 and len(steps["ipm-pd+literal"]) == 2


def test_the_stop_of_the_paper_counts_newton_steps_in_the_units_of_the_problem():
    problem = nonstick.cases.build("circle2d", 32).problem
    A, box = problem.A.matrix(), problem.box

    def solved(k, name, rtol=1e-6):
        return nonstick.solve(
            A, k * problem.b, k * box.lower, k * box.upper, cells=problem.A.cells, method=name, criterion="papers",
            rtol=rtol,
        )  # fmt: skip

    large = solved(1e6, "ipm-pd+literal+stop")
    assert large.converged and large.notes["newton_step_norm"] <= 100.0
    assert large.iterations <= 2 * large.outer_iterations
    # rtol plays no part, and a problem in smaller units ends after its first steps
    assert solved(1e6, "ipm-pd+literal+stop", 1e-12).iterations == large.iterations
    small = solved(1e-3, "ipm-pd+literal+stop")
    assert small.outer_iterations < large.outer_iterations


@pytest.mark.parametrize("name, n", [("circle2d", 96), ("maze2d", 128), ("obstcla2d", 64), ("sphere3d", 24)])
def test_the_start_from_a_coarser_problem_saves_half_of_the_steps(name, n):
    problem = cases.build(name, n).problem
    ours, printed = (nonstick.solve_problem(problem, of, criterion="papers") for of in ("ipm-pd", "ipm-pd+literal"))
    assert ours.converged and printed.converged
    assert 2 * ours.outer_iterations <= printed.outer_iterations and 2 * ours.iterations <= printed.iterations


def test_it_saves_them_in_splashing_liquid_too():
    """Every pressure bounded: drops, whose pressures are far below those of the tank, do not cost extra steps."""
    problems = snapshots("double-dam-break", 32, 8, **{"walls.pressure": "all", "time.cfl": 3.0})
    problem = next(snapshot for snapshot in problems if snapshot.frame == 8).build()
    ours, printed = (nonstick.solve_problem(problem, name) for name in ("ipm-pd", "ipm-pd+literal"))
    assert ours.converged and printed.converged
    assert 2 * ours.outer_iterations <= printed.outer_iterations and ours.iterations < printed.iterations


def test_wide_contact_takes_as_many_steps_on_every_grid():
    for n in (65, 129, 257):
        assert nonstick.solve_problem(cases.build("obstacle2d", n).problem, "ipm-pd").outer_iterations <= 5


def test_a_start_near_the_solution_is_used():
    problem = cases.build("circle2d", 64).problem
    cold = nonstick.solve_problem(problem, "ipm-pd")
    warm = nonstick.solve_problem(problem, "ipm-pd", x0=1.001 * cold.x)
    assert warm.converged and warm.outer_iterations < cold.outer_iterations


def test_slacks_and_multipliers_start_where_x_and_g_are():
    A = np.diag([2.0, 2.0, 2.0, 4.0])
    box = np.array([0.0, 0.0, -np.inf, 0.0]), np.array([np.inf, 3.0, np.inf, np.inf])
    problem = nonstick.BoxProblem(as_operator(sp.csr_array(A)), np.array([4.0, 8.0, 2.0, -1.0]), *box)
    x = np.array([2.0, 3.0, 1.0, 0.0])
    g = problem.gradient(x)
    barrier = Barrier(problem, np.ones(4), 1.0, 1.0)
    barrier.begin_at(x, g, problem.A.diagonal)
    below, above = barrier.sides
    np.testing.assert_allclose(below.s, [2.0, 3.01, 0.0025], rtol=1e-9)  # rows 0, 1 and 3
    np.testing.assert_allclose(below.z, [0.0, 0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(above.s, [0.01], rtol=1e-9)
    np.testing.assert_allclose(above.z, [2.0])
