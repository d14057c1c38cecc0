"""Chentanez–Müller's full multigrid: kernels, transfers, the fixed point, cycle counts, walls of all kinds."""

import numpy as np
import pytest

from nonstick import BoxProblem, NonstickError, cases, registry, solve, solve_problem
from nonstick.discretise.pressure import PressureProblem
from nonstick.kernels._edges import _edge_bounds
from nonstick.solvers.chentanez_muller.cycles import ChentanezMuller, ProjectedLevel
from nonstick.solvers.lai._fas import _clip, _feasible_step, _free_rows

TINY = [("circle2d", 20), ("square2d", 21), ("maze2d", 33), ("sphere3d", 12), ("rotated-box3d", 13)]


def direct_transfer(fine, coarse, one_sided=True):
    level = ProjectedLevel(fine)
    level.connect(coarse, one_sided)
    return level.transfer


def hierarchy(method, problem):
    levels = method.discretise(problem)
    levels[0].x = np.zeros(problem.n)
    return levels


# -- pieces ---------------------------------------------------------------------------------------------


def test_kernels_match_their_twins():
    rng = np.random.default_rng(0)
    n = 200
    lower, upper = np.where(rng.random(n) < 0.5, -0.5, -np.inf), np.where(rng.random(n) < 0.5, 0.4, np.inf)
    x, r, step = np.clip(rng.standard_normal(n), lower, upper), rng.standard_normal(n), rng.standard_normal(n)
    free = np.empty(n, bool)
    _free_rows(free, x, r, lower, upper)
    assert np.array_equal(free, ~(((x <= lower) & (r < 0)) | ((x >= upper) & (r > 0))))
    assert 0 < free.sum() < n
    cut = step.copy()
    _feasible_step(cut, x, lower, upper)
    np.testing.assert_array_equal(cut, np.clip(x + step, lower, upper) - x)
    y = x + step
    _clip(y, lower, upper)
    np.testing.assert_array_equal(y, np.clip(x + step, lower, upper))


def test_cell_bounds_keep_edges_feasible():
    rng = np.random.default_rng(1)
    a, b, theta, x = np.arange(8), np.arange(1, 9), rng.random(8), rng.random(12)
    lower = np.empty(12)
    _edge_bounds(lower, x, a, b, theta)
    wall = (1 - theta) * x[a] + theta * x[b]
    expected = np.full(12, -np.inf)
    np.maximum.at(expected, a, x[a] - wall)
    np.maximum.at(expected, b, x[b] - wall)
    np.testing.assert_allclose(lower, expected)
    lowest = np.where(np.isfinite(lower), lower, x)
    assert np.all((1 - theta) * lowest[a] + theta * lowest[b] >= -1e-14)


@pytest.mark.parametrize("name,n", TINY)
def test_downsample_subtract(name, n):
    """Eq. 19: the largest p_min - p of the children, and the smallest p_max - p."""
    rng = np.random.default_rng(2)
    problem = cases.build(name, n).problem
    coarse = problem.coarsen()
    transfer = direct_transfer(problem.A, coarse.A)
    p = rng.standard_normal(problem.n)
    upper = np.where(rng.random(problem.n) < 0.5, 3.0, np.inf)
    low, high = np.empty(coarse.n), np.empty(coarse.n)
    transfer.restrict_bounds(problem.box.lower, upper, p, low, high)
    for c, cell in enumerate(coarse.A.cells):
        inside = np.all(problem.A.cells // 2 == cell, axis=1)
        assert low[c] == (problem.box.lower - p)[inside].max(initial=-np.inf)
        assert high[c] == (upper - p)[inside].min(initial=np.inf)


@pytest.mark.parametrize("name,n,scale", [("circle2d", 32, 0.25), ("sphere3d", 16, 0.125)])
def test_transfer_is_trilinear_and_adjoint(name, n, scale):
    problem = cases.build(name, n).problem
    coarse = problem.coarsen()
    transfer = direct_transfer(problem.A, coarse.A)
    P = transfer.matrix()
    rng = np.random.default_rng(3)
    fine, rough = rng.standard_normal(problem.n), rng.standard_normal(coarse.n)
    down, up = transfer.restrict(fine, np.empty(coarse.n)), transfer.prolong(rough, np.empty(problem.n))
    assert down @ rough == pytest.approx(scale * (fine @ up))
    d = problem.A.cells.shape[1]
    full = np.diff(P.indptr) == 2**d
    weights = np.sort(P[np.flatnonzero(full)[:1]].data)
    expected = sorted(0.75 ** (d - k) * 0.25**k for k in (bin(m).count("1") for m in range(2**d)))
    np.testing.assert_allclose(weights, expected)
    centre = (coarse.A.cells + 0.5) * 2 - 0.5  # a linear function is reproduced where all neighbours exist
    np.testing.assert_allclose((P @ centre)[full], problem.A.cells[full], atol=1e-12)


def test_interpolation_does_not_reach_through_a_wall():
    """Two rooms with a wall between them in the middle of the coarse cells: each side sees itself only."""
    shape = (16, 16)
    weights = (np.ones((17, 16)), np.ones((16, 17)))
    weights[0][8] = weights[0][0] = weights[0][-1] = 0.0
    weights[1][:, 0] = weights[1][:, -1] = 0.0
    phi = np.where(np.arange(16) < 12, -1.0, 1.0)[None, :] * np.ones(shape)
    velocity = (np.zeros((17, 16)), np.full((16, 17), -1.0))
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.1, dx=0.1, weights=weights).problem
    coarse = problem.coarsen()
    P = direct_transfer(problem.A, coarse.A).matrix().tocoo()
    left_fine, left_coarse = problem.A.cells[:, 0] < 8, coarse.A.cells[:, 0] < 4
    assert np.all(left_fine[P.row] == left_coarse[P.col])
    plain = direct_transfer(problem.A, coarse.A, one_sided=False).matrix().tocoo()
    assert np.any(left_fine[plain.row] != left_coarse[plain.col])


# -- the cycle ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name,n", [("circle2d", 40), ("sphere3d", 16)])
def test_the_solution_is_a_fixed_point_of_the_repaired_cycle_only(name, n):
    problem = cases.build(name, n).problem
    exact = solve_problem(problem, "psor", rtol=1e-13).x
    moved = {}
    for literal in (False, True):
        method = ChentanezMuller(literal=literal, constrained_levels=3 if literal else None)
        levels = hierarchy(method, problem)
        levels[0].x[:] = exact
        method.full_cycle(levels)
        moved[literal] = np.abs(levels[0].x - exact).max() / np.abs(exact).max()
    assert moved[False] < 1e-10
    assert moved[True] > 1e-3


def test_no_cycle_raises_the_energy():
    problem = cases.build("double-sphere3d", 16).problem
    method = ChentanezMuller()
    levels = hierarchy(method, problem)
    energy = [0.0]
    for k in range(6):
        (method.full_cycle if k % 2 else lambda levels: method.v_cycle(levels, 0))(levels)
        energy.append(problem.objective(levels[0].x))
    assert np.all(np.diff(energy) <= 1e-12 * abs(energy[-1]))
    assert np.all(levels[0].x >= problem.box.lower)


def test_few_cycles_at_every_size():
    counts = {}
    for name, sizes in (("circle2d", (32, 64, 128)), ("sphere3d", (16, 32))):
        for n in sizes:
            s = solve_problem(cases.build(name, n).problem, "fmg", rtol=1e-6)
            assert s.converged
            counts[name, n] = s.iterations
    assert max(counts.values()) <= 12
    assert counts["circle2d", 128] <= 10


@pytest.mark.parametrize("name,n", [*TINY, ("double-sphere3d", 17), ("sphere-cuboid3d", 16), ("box-dam3d", 12)])
@pytest.mark.parametrize("walls", ["cut", "solid", "all", "none"])
def test_every_case_to_a_tight_tolerance(name, n, walls):
    problem = cases.build(name, n, walls=walls).problem
    s = solve_problem(problem, "fmg", rtol=1e-9)
    assert s.converged
    reference = solve_problem(problem, "psor", rtol=1e-9).x
    np.testing.assert_allclose(s.x, reference, atol=1e-5 * np.abs(reference).max())


@pytest.mark.parametrize("shape", [(1, 9), (37, 5), (7, 3, 11), (1, 1), (2, 2, 2), (3, 1, 64)], ids=str)
def test_odd_and_thin_grids(shape):
    rng = np.random.default_rng(sum(shape))
    d = len(shape)
    phi = np.broadcast_to(np.arange(shape[-1]) - 0.4 * shape[-1], shape)
    velocity = tuple(rng.standard_normal(tuple(n + (a == b) for b, n in enumerate(shape))) for a in range(d))
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.1, dx=0.1, walls="all").problem
    s = solve_problem(problem, "fmg", rtol=1e-9)
    assert s.converged
    if problem.n:
        np.testing.assert_allclose(s.x, solve_problem(problem, "psor", rtol=1e-11).x, atol=1e-6 * np.abs(s.x).max())


def test_bounds_on_both_sides():
    given = cases.build("circle2d", 40).problem
    rng = np.random.default_rng(4)
    top = 0.5 * np.abs(solve_problem(given, "psor").x).max()
    lower = np.where(rng.random(given.n) < 0.5, -0.1 * top, -np.inf)
    upper = np.where(rng.random(given.n) < 0.5, top * rng.random(given.n), np.inf)
    problem = BoxProblem(given.A, given.b, lower, upper, coarser=given.coarsen)
    s = solve_problem(problem, "fmg", rtol=1e-9)
    assert s.converged and (s.active == 1).any() and (s.active == -1).any()
    reference = solve_problem(problem, "psor", rtol=1e-11).x
    np.testing.assert_allclose(s.x, reference, atol=1e-6 * np.abs(reference).max())


@pytest.mark.parametrize("name,n", [("obstacle2d", 33), ("obstacle2d", 40), ("obstacle3d", 13), ("obstcla2d", 32)])
def test_obstacle_problems(name, n):
    problem = cases.build(name, n).problem
    s = solve_problem(problem, "fmg", rtol=1e-9)
    assert s.converged and s.iterations <= 12
    np.testing.assert_allclose(s.x, solve_problem(problem, "psor", rtol=1e-10).x, atol=1e-7)


# -- presets and refusals -------------------------------------------------------------------------------


def test_the_literal_method_stagnates_and_says_so():
    s = solve_problem(cases.build("circle2d", 40).problem, "fmg+literal", rtol=1e-6)
    assert s.status == "stagnated" and s.kkt() > 1e-2
    assert not registry.entries()["fmg+literal"].complete


def test_the_papers_fixed_work():
    s = solve_problem(cases.build("sphere3d", 20).problem, "fmg+cm", rtol=1e-12)
    assert s.iterations == 7 and not s.converged
    assert s.kkt() < 1e-3
    method = registry.get("fmg+cm")
    assert (method.full_cycles, method.v_cycles, method.pre, method.post, method.constrained_levels) == (3, 4, 4, 4, 3)


def test_v_cycles_alone_converge_too():
    s = solve_problem(cases.build("circle2d", 40).problem, ChentanezMuller(full_cycles=0, v_cycles=None), rtol=1e-8)
    assert s.converged


def test_the_iteration_limit_is_kept():
    s = solve_problem(cases.build("circle2d", 40).problem, "fmg", rtol=1e-12, maxiter=2)
    assert s.iterations == 2 and s.status == "maxiter"


def test_a_bare_matrix_is_refused():
    problem = cases.build("circle2d", 40).problem
    with pytest.raises(NonstickError, match="PressureProblem"):
        solve(problem.A.matrix(), problem.b, method="fmg", cells=problem.A.cells)
    with pytest.raises(NonstickError, match="PressureProblem"):  # however small
        solve(np.eye(3), np.ones(3), method="fmg")


# -- constraints at the wall itself ---------------------------------------------------------------------


@pytest.mark.parametrize("name,n", [("circle2d", 32), ("square2d", 24), ("sphere3d", 16), ("rotated-box3d", 16)])
def test_edge_walls(name, n):
    problem = cases.build(name, n, walls="edge").problem
    assert problem.edges is not None and problem.edges.count > 0
    s = solve_problem(problem, "fmg", rtol=1e-9)
    assert s.converged
    top = np.abs(s.x).max()
    assert problem.edges.values(s.x).min() >= -1e-9 * top
    reference = solve_problem(problem, "pgs", rtol=1e-9).x
    np.testing.assert_allclose(s.x, reference, atol=1e-6 * top)
    sticky = solve_problem(cases.build(name, n, walls="none").problem, "psor", rtol=1e-9).x
    assert problem.edges.values(sticky).min() < -1e-2 * top


def test_edge_walls_are_close_to_solid_cells():
    """Figure 2 of the paper: both ways to let go give much the same pressure."""
    edge = solve_problem(cases.build("circle2d", 48, walls="edge").problem, "fmg", rtol=1e-8).x
    cell = solve_problem(cases.build("circle2d", 48, walls="solid").problem, "fmg", rtol=1e-8).x
    sticky = solve_problem(cases.build("circle2d", 48, walls="none").problem, "fmg", rtol=1e-8).x
    assert np.linalg.norm(edge - cell) < 0.25 * np.linalg.norm(edge - sticky)


def test_where_coarse_grids_fail_sweeps_finish():
    """A winding passage one cell wide between walls without thickness: coarse cells know nothing of it."""
    n = 24
    wx, wy = np.ones((n + 1, n)), np.ones((n, n + 1))
    wx[[0, -1]] = wy[:, [0, -1]] = 0.0
    for i in range(1, n):  # every column is a corridor, open to the next at alternating ends
        wx[i] = 0.0
        wx[i, 0 if i % 2 else -1] = 1.0
    phi = np.full((n, n), -1.0)
    phi[-1, -1] = 1.0
    velocity = (np.zeros((n + 1, n)), np.random.default_rng(0).standard_normal((n, n + 1)))
    problem = PressureProblem(phi_liquid=phi, velocity=velocity, dt=0.1, dx=0.1, weights=(wx, wy), walls="all").problem
    s = solve_problem(problem, "fmg", rtol=1e-8)
    assert s.converged
    assert "projected SOR finished" in s.message


def test_the_paper_counts_levels_by_the_width_of_the_grid():
    """M = log₂ min(B): the last grid is two cells wide."""
    s = solve_problem(cases.build("circle2d", 64).problem, "fmg+cm+literal", criterion="papers")
    assert len(s.notes["levels"]) == 6


def test_as_printed_the_seven_cycles_leave_a_large_error_and_the_repaired_ones_do_not():
    problem = cases.build("circle2d", 64).problem
    exact = solve_problem(problem, rtol=1e-10).x
    error = {}
    for name in ("fmg+cm", "fmg+cm+literal"):
        s = solve_problem(cases.build("circle2d", 64).problem, name, criterion="papers")
        assert s.iterations == 7
        error[name] = np.abs(s.x - exact).max() / np.abs(exact).max()
    assert error["fmg+cm"] < 1e-5 < 0.02 < error["fmg+cm+literal"]


def test_without_projection_the_cycles_solve_the_linear_system():
    problem = cases.build("circle2d", 40).problem
    s = solve_problem(problem, ChentanezMuller(projected=False), rtol=1e-9)
    assert s.converged and np.abs(problem.gradient(s.x)).max() <= 1e-9 * problem.scale
    assert s.x.min() < 0.0  # a baseline: walls hold on to liquid
