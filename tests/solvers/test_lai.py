"""Policy iteration, the penalty method and FAS against enumeration and against each other."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import cases
from nonstick.api import solve_problem
from nonstick.compositions import LAI_MG
from nonstick.errors import NonstickError
from nonstick.operators.csr import CSROperator
from nonstick.operators.rows import Rows
from nonstick.operators.stencil import StencilOperator
from nonstick.problem.box import BoxProblem
from nonstick.solvers import PolicyIteration

BARE = ["pi-pcg", "pe-pcg"]
GRID = ["pi-mg", "pi-mg+literal", "pe-mg", "pe-mg+literal", "fas-mg", "fas-mg+literal"]


def enumerate_box(A, b, lower, upper):
    """The solution of a small box problem by trying every policy."""
    choices = [
        [0] + [-1] * bool(np.isfinite(lo)) + [1] * bool(np.isfinite(up)) for lo, up in zip(lower, upper)
    ]  # fmt: skip
    for policy in itertools.product(*choices):
        policy = np.array(policy)
        x = np.where(policy < 0, lower, np.where(policy > 0, upper, 0.0))
        free = policy == 0
        if free.any():
            x[free] = np.linalg.solve(A[np.ix_(free, free)], (b - A[:, ~free] @ x[~free])[free])
        g = A @ x - b
        inside = np.all(x >= lower - 1e-11) and np.all(x <= upper + 1e-11)
        if inside and np.all(g[policy < 0] >= -1e-11) and np.all(g[policy > 0] <= 1e-11):
            return x
    raise AssertionError("no policy fits")


def random_grid(shape, seed, fill=0.85, air=0.15, scale=1.0):
    """A random M-matrix on part of a grid: conductances, some rows coupled to air."""
    rng = np.random.default_rng(seed)
    rows = Rows.from_mask(rng.random(shape) < fill)
    near = rows.neighbours()
    w = [scale * np.where(near[:, a] >= 0, rng.random(rows.n) + 0.05, 0.0) for a in range(3)]
    d = scale * np.where(rng.random(rows.n) < air, rng.random(rows.n) + 0.1, 1e-3)
    for a in range(3):
        has = near[:, a] >= 0
        d += w[a]
        np.add.at(d, near[has, a], w[a][has])
    return StencilOperator(rows, tuple(w), d), rng


def random_bounds(n, rng):
    """Every kind of row: free, lower, upper, both, equal."""
    kind = rng.integers(0, 5, n)
    lower = np.where((kind == 1) | (kind >= 3), rng.normal(0, 0.3, n), -np.inf)
    upper = np.where(kind == 2, rng.normal(0, 0.3, n), np.inf)
    upper = np.where(kind == 3, lower + rng.random(n), np.where(kind == 4, lower, upper))
    return lower, upper


@pytest.mark.parametrize("method", BARE + GRID)
@pytest.mark.parametrize("shape", [(2, 4), (2, 2, 2), (1, 5), (7,)])
def test_against_enumeration(method, shape):
    shape = shape if len(shape) > 1 else (1, *shape)
    for seed in range(6):
        A, rng = random_grid(shape, seed, fill=1.0)
        lower, upper = random_bounds(A.n, rng)
        b = rng.standard_normal(A.n)
        x = enumerate_box(A.matrix().toarray(), b, lower, upper)
        s = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-10)
        assert s.converged, s.message
        np.testing.assert_allclose(s.x, x, atol=1e-7 * max(1, np.abs(x).max()))
        assert np.all(s.x >= lower) and np.all(s.x <= upper)


@pytest.mark.parametrize("method", BARE + GRID)
@pytest.mark.parametrize("shape", [(23, 17), (9, 7, 10)])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e5])
def test_random_grids_with_every_kind_of_bound(method, shape, scale):
    A, rng = random_grid(shape, seed=7, scale=scale)
    lower, upper = random_bounds(A.n, rng)
    b = rng.standard_normal(A.n) * scale
    reference = nonstick.solve(A, b, lower, upper, method="pi-pcg", rtol=1e-12)
    s = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-8)
    assert reference.converged and s.converged, s.message
    assert s.kkt() <= 1e-8
    np.testing.assert_allclose(s.x, reference.x, atol=1e-5 * np.abs(reference.x).max())


@pytest.mark.parametrize("method", BARE + GRID)
def test_many_random_lcps(method):
    for seed in range(20):
        A, rng = random_grid((6 + seed % 5, 11 - seed % 4), seed, fill=0.7, air=0.05)
        s = nonstick.solve(A, rng.standard_normal(A.n), method=method, rtol=1e-9)
        # Mazes whose coarse cells join both sides of a wall stop the plain FAS cycle, and it says so.
        assert s.converged or (method == "fas-mg+literal" and s.status in ("stagnated", "maxiter")), (seed, s.message)


@pytest.mark.parametrize("method", BARE + GRID)
def test_no_bounds_is_a_linear_solve(method):
    A, rng = random_grid((14, 13), seed=3)
    b = rng.standard_normal(A.n)
    s = nonstick.solve(A, b, -np.inf, np.inf, method=method, rtol=1e-10)
    assert s.converged
    np.testing.assert_allclose(s.x, sp.linalg.spsolve(A.matrix().tocsc(), b), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("method", BARE + GRID)
def test_everything_clamped_and_nothing_to_do(method):
    A, _ = random_grid((9, 9), seed=1)
    s = nonstick.solve(A, -np.ones(A.n), method=method)
    assert s.converged and not s.x.any()
    s = nonstick.solve(A, np.zeros(A.n), method=method)
    assert s.converged and not s.x.any() and s.iterations == 0


@pytest.mark.parametrize("method", ["pi-pcg", "pi-mg", "pe-pcg", "pe-mg"])
def test_the_policy_of_the_last_solve_saves_outer_iterations(method):
    A, rng = random_grid((30, 30), seed=2)
    b = rng.standard_normal(A.n)
    problem = BoxProblem(A, b)
    cold = solve_problem(problem, method, rtol=1e-8)
    warm = solve_problem(problem, method, active=cold.active, rtol=1e-8)
    assert cold.outer_iterations > 1
    assert warm.converged and warm.outer_iterations < cold.outer_iterations and warm.iterations <= cold.iterations
    assert method.startswith("pi") or warm.outer_iterations == 1  # inner solves of policies are inexact
    np.testing.assert_allclose(warm.x, cold.x, atol=1e-6)


@pytest.mark.parametrize("method", GRID)
def test_csr_on_a_grid_and_bare_matrices(method):
    A, rng = random_grid((12, 15), seed=5)
    b = rng.standard_normal(A.n)
    stencil = nonstick.solve(A, b, method=method, rtol=1e-9)
    csr = nonstick.solve(CSROperator(A.matrix(), A.cells), b, method=method, rtol=1e-9)
    np.testing.assert_allclose(csr.x, stencil.x, atol=1e-6)
    with pytest.raises(NonstickError, match="cells"):
        nonstick.solve(A.matrix(), b, method=method)


@pytest.mark.parametrize("method", BARE + GRID)
def test_negative_and_shifted_cells(method):
    A, rng = random_grid((8, 9), seed=6)
    b = rng.standard_normal(A.n)
    s = nonstick.solve(A.matrix(), b, method=method, cells=A.cells - np.array([5, 1000]), rtol=1e-8)
    assert s.converged


@pytest.mark.parametrize("method", ["pi-pcg", "pe-pcg"])
def test_repeating_policies_end_in_a_descent(method):
    # Dense SPD matrices with positive off-diagonals are no M-matrices: some make the active set cycle.
    fallbacks = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        F = rng.standard_normal((12, 4))
        M = F @ F.T + 0.02 * np.eye(12)
        b = rng.standard_normal(12)
        s = nonstick.solve(sp.csr_array(M), b, method=method, rtol=1e-8)
        assert s.converged, (seed, s.message)
        fallbacks += "finished_by" in s.notes
        if "finished_by" in s.notes:
            assert "descent" in s.message
    if method == "pi-pcg":
        assert fallbacks > 0


@pytest.mark.parametrize("method", BARE + GRID)
def test_two_components_one_a_single_cell(method):
    A, rng = random_grid((9, 9), seed=0, fill=0.45)  # many islands
    assert A.components()[0] > 3
    s = nonstick.solve(A, rng.standard_normal(A.n), method=method, rtol=1e-9)
    assert s.converged


def test_one_cycle_a_policy_is_the_users_choice_and_not_divergence():
    """`inner_maxiter` ends an inner solve without a word about another solver, and takes no more cycles than pi-mg."""
    problem = cases.build("sphere3d", 32).problem
    single = solve_problem(problem, PolicyIteration(LAI_MG, inner_maxiter=1))
    assert single.converged and single.iterations == single.outer_iterations
    assert "CG" not in single.path and "finished_by" not in single.notes
    exact = solve_problem(problem, PolicyIteration(LAI_MG))
    inexact = solve_problem(problem, "pi-mg")
    assert single.iterations <= inexact.iterations + 2 <= exact.iterations / 2


def test_an_iteration_limit_is_not_a_success():
    A, rng = random_grid((40, 40), seed=0, air=0.01)
    b = rng.standard_normal(A.n)
    for method in BARE + GRID:
        s = nonstick.solve(A, b, method=method, rtol=1e-9, maxiter=2)
        assert not s.converged and s.status == "maxiter" and s.iterations <= 2
        assert np.all(s.x >= 0)


@pytest.mark.parametrize("case,n", [("circle2d", 33), ("maze2d", 64), ("sphere3d", 21), ("sphere-cuboid3d", 24)])
def test_all_methods_agree_on_liquids(case, n):
    problem = cases.build(case, n).problem
    reference = solve_problem(problem, "pi-pcg", rtol=1e-11)
    scale = np.abs(reference.x).max()
    assert (reference.active != 0).any()
    for method in BARE + GRID:
        if (method, case) == ("fas-mg+literal", "maze2d"):
            continue  # see below
        s = solve_problem(problem, method, rtol=1e-8)
        assert s.converged, (method, s.message)
        assert np.abs(s.x - reference.x).max() < 1e-5 * scale, method
        if method == "fas-mg":
            assert "finished_by" not in s.notes and s.iterations <= 15


def test_chambers_under_a_ceiling_stop_the_plain_cycle_but_not_ours():
    problem = cases.build("maze2d", 64).problem
    assert solve_problem(problem, "fas-mg+literal").status == "stagnated"
    s = solve_problem(problem, "fas-mg")
    assert s.converged and s.iterations <= 10 and "finished_by" not in s.notes


@pytest.mark.parametrize("method", BARE + GRID)
def test_all_cells_constrained(method):
    problem = cases.build("sphere3d", 16, walls="all").problem
    s = solve_problem(problem, method, rtol=1e-7)
    assert s.converged
    assert s.outer_iterations <= 12


def test_cycle_counts_of_fas_stay_flat():
    counts = [solve_problem(cases.build("sphere3d", n).problem, "fas-mg").iterations for n in (16, 24, 32)]
    assert max(counts) <= 10 and max(counts) <= 1.5 * min(counts)


def test_ablations_run_and_piecewise_constants_are_worse():
    problem = cases.build("circle2d", 48).problem
    counts = {}
    for name in ("literal", "trilinear", "pwc", "simple-boundary", "direct"):
        s = solve_problem(problem, f"fas-mg+{name}", rtol=1e-6)
        assert s.converged, (name, s.message)
        counts[name] = s.iterations
    assert counts["pwc"] > 2 * counts["literal"]
    A, rng = random_grid((8, 8), 0)
    with pytest.raises(NonstickError, match="coarse"):
        nonstick.solve(A, rng.standard_normal(A.n), method="fas-mg+direct")


def test_a_diverging_variant_says_so():
    s = solve_problem(cases.build("sphere3d", 32).problem, "fas-mg+direct")
    assert not s.converged and s.status in ("diverged", "stagnated")


def test_counts_of_the_literal_multigrid_do_not_depend_on_units():
    problem = nonstick.cases.build("circle2d", 32).problem
    A, cells = problem.A.matrix(), problem.A.cells
    counts = {
        nonstick.solve(
            k * A, k * problem.b, problem.box.lower, problem.box.upper, cells=cells, method="pi-mg+literal"
        ).iterations
        for k in (1e-3, 1.0, 1e4)
    }
    assert len(counts) == 1
