"""The row test: its numbers, what it is blind to, and what it does not let pass."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import registry
from nonstick.problem import Box
from nonstick.problem.rows import exhausted, row_error

EPS = 2.0**-52
COMPLETE = [name for name, entry in registry.entries().items() if entry.complete]


def slow_row_error(A, b, lower, upper, x, atol=0.0):
    """The definition, row by row."""
    A = A.toarray()
    d, g, terms = A.diagonal(), A @ x - b, abs(A) @ abs(x)
    plain, scaled = abs(x).max(), (np.sqrt(d) * abs(x)).max()
    worst = 0.0
    for i in range(b.size):
        v = d[i] * (x[i] - min(max(x[i] - g[i] / d[i], lower[i]), upper[i]))
        floor = 8 * EPS * min(d[i] * plain, np.sqrt(d[i]) * scaled)
        solved = abs(g[i]) <= 8 * EPS * (terms[i] + abs(b[i])) + floor
        if solved or abs(v) <= max(atol, 8 * EPS * d[i] * abs(x[i]) + floor):
            continue
        worst = max(worst, abs(v) / min(terms[i], d[i] * (upper[i] - lower[i])))
    return worst


def random_problem(seed, n=40):
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=0.1, random_state=rng)
    A = sp.csr_array(A @ A.T + sp.diags_array(rng.uniform(0.1, 2.0, n)))
    lower = np.where(rng.random(n) < 0.5, rng.uniform(-1.0, 0.0, n), -np.inf)
    upper = np.where(np.isfinite(lower) & (rng.random(n) < 0.5), lower + rng.uniform(0.0, 1e-3, n), np.inf)
    return rng, A, rng.standard_normal(n), lower, upper


@pytest.mark.parametrize("seed", range(10))
def test_the_kernel_is_the_definition(seed):
    rng, A, b, lower, upper = random_problem(seed)
    problem = nonstick.BoxProblem(A, b, lower, upper)
    x = problem.box.project(rng.standard_normal(b.size))
    assert problem.row_error(x).value == pytest.approx(slow_row_error(A, b, lower, upper, x), rel=1e-10)
    solved = nonstick.solve_problem(problem, rtol=1e-3)
    assert problem.row_error(solved.x).value == pytest.approx(slow_row_error(A, b, lower, upper, solved.x), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_quick_number_is_never_too_small(seed):
    rng, A, b, lower, upper = random_problem(seed)
    problem = nonstick.BoxProblem(A, b, lower, upper)
    x = problem.box.project(rng.standard_normal(b.size))
    g = problem.gradient(x)
    assert row_error(problem, x, g, enough=np.inf).value >= row_error(problem, x, g).value * (1 - 1e-12)


def test_magnitude_of_operators():
    """|A||x| of every operator against its entries."""
    case = nonstick.cases.build("circle2d", 16).problem
    viscous = nonstick.ViscosityProblem(
        velocity=[np.ones((7, 6)), np.ones((6, 7))], viscosity=2.0, dt=1.0, dx=1.0, phi_liquid=-np.ones((6, 6))
    ).problem
    bare = nonstick.BoxProblem(random_problem(1)[1], np.ones(40))
    for A in (case.A, viscous.A, bare.A):
        x = np.random.default_rng(0).standard_normal(A.n)
        np.testing.assert_allclose(A.magnitude(x, np.empty(A.n)), abs(A.matrix()) @ abs(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_units_do_not_matter(seed):
    rng, A, b, lower, upper = random_problem(seed)
    x = np.clip(rng.standard_normal(b.size), lower, upper)
    own = nonstick.BoxProblem(A, b, lower, upper).row_error(x).value
    scale = 10.0 ** rng.uniform(-4, 4, b.size)
    other = sp.csr_array(sp.diags_array(scale) @ A @ sp.diags_array(scale)) * 1e7
    problem = nonstick.BoxProblem(other, 1e7 * scale * b, lower / scale, upper / scale)
    assert problem.row_error(x / scale).value == pytest.approx(own, rel=1e-6)


def penalty_string(n=100, stiff=1e10):
    """A string held at 0.5 by a stiff spring."""
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    A[0, 0] = stiff
    b = np.zeros(n)
    b[0] = 0.5 * stiff
    return sp.csr_array(A), b


@pytest.mark.parametrize("method", [name for name in COMPLETE if name != "fmg"])
def test_no_method_is_fooled_by_a_narrow_box_or_a_penalty(method):
    """Both were accepted where the residual is compared with the largest b: x = 0, and an error of 0.46."""
    cells = np.stack([np.arange(100), 0 * np.arange(100)], axis=1)
    narrow = nonstick.solve(np.eye(3), np.full(3, 1e7), 0, 1, method=method, cells=cells[:3])
    assert narrow.converged and abs(narrow.x - 1.0).max() < 1e-6, narrow
    A, b = penalty_string()
    held = nonstick.solve(A, b, method=method, cells=cells)
    assert held.converged and held.row_error() <= 1e-6, held
    assert abs(held.x - np.linalg.solve(A.toarray(), b)).max() < 2e-3  # 1e-6 times the condition of a string


def test_full_multigrid_is_not_fooled_either():
    problem = nonstick.cases.build("circle2d", 16).problem
    problem.b[np.argmin(problem.b)] *= 1e7  # a row that stays clamped
    problem.scale = abs(problem.b).max()
    solution = nonstick.solve_problem(problem, "fmg")
    exact = nonstick.solve_problem(problem, "pi-pcg", rtol=1e-13)
    assert solution.converged and abs(solution.x - exact.x).max() < 1e-4 * abs(exact.x).max()
    loose = nonstick.solve_problem(problem, "fmg", criterion="papers")
    assert loose.converged and loose.row_error() > 1e-3


def test_the_papers_stop_is_there_on_request():
    solution = nonstick.solve(np.eye(3), np.full(3, 1e7), 0, 1, method="pgs", criterion="papers")
    assert solution.converged and not solution.x.any() and solution.iterations == 0
    assert solution.kkt() <= 1e-6 and solution.row_error() == np.inf and solution.worst_row == 0
    with pytest.raises(nonstick.NonstickError, match="criterion"):
        nonstick.solve(np.eye(3), np.ones(3), criterion="rwos")


def test_rounding_errors_ask_for_no_work():
    """A part at rest, where b is rounding errors, beside a part that moves; and rows that are fixed."""
    n = 60
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    both = sp.block_diag([A, A], format="csr")
    rng = np.random.default_rng(0)
    b = np.concatenate([rng.standard_normal(n), 1e-17 * rng.standard_normal(n)])
    alone = nonstick.solve(A, b[:n])
    beside = nonstick.solve(both, b)
    assert beside.converged and beside.iterations <= alone.iterations + 1
    fixed = np.where(np.arange(2 * n) % 3 == 0, 0.25, np.inf)
    assert nonstick.solve(both, b, np.where(np.isfinite(fixed), fixed, 0.0), fixed).converged


def test_a_method_that_cannot_reach_it_says_so():
    A, b = penalty_string()
    solution = nonstick.solve(A, b, method="pgs", maxiter=50)
    assert solution.kkt() <= 1e-6 and not solution.converged and solution.status == "maxiter"
    assert "row test" in solution.message
    assert "row error " in repr(solution) and "KKT " in repr(solution)


def test_linear_baselines_are_judged_by_rows_too():
    A, b = penalty_string()
    complete = [name for name, entry in registry.entries().items() if entry.kind == "linear" and entry.converges]
    for method in complete:
        solution = nonstick.solve(A, b, -np.inf, method=method)
        assert solution.converged and solution.row_error() <= 1e-5, solution


def test_corrections_reach_what_one_solve_cannot():
    """Rounding errors of the stiff row are larger than the residuals of all others."""
    A, b = penalty_string(stiff=1e16)
    solution = nonstick.solve(A, b, method="mic-mprgp")
    assert solution.converged and abs(solution.x - np.linspace(0.5, 0.005, 100)).max() < 1e-3


def far_beyond_b(seed, n=30):
    """A problem whose terms are so large against max|b| that rounding alone exceeds rtol max|b|, and its solution."""
    rng = np.random.default_rng(seed)
    D = 10.0 ** rng.uniform(-8.0, 8.0, n)
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).toarray()
    x = rng.uniform(0.5, 1.0, n) / D
    A = D[:, None] * T * D
    big = A.diagonal() > np.quantile(A.diagonal(), 0.8)
    x[big] *= 1e6  # neighbours cancel: b stays small there
    return sp.csr_array(A), A @ x, x


@pytest.mark.parametrize("seed", range(5))
def test_a_solve_ends_where_rounding_allows_no_more(seed):
    A, b, x = far_beyond_b(seed)
    s = nonstick.solve(A, b, -np.inf, np.inf, rtol=1e-15)
    assert s.converged
    assert s.row_error() == 0.0
    assert s.iterations < 2000
    np.testing.assert_allclose(s.x, x, rtol=1e-6)  # b is rounded itself


def test_rounding_is_counted_by_the_terms_of_each_row_alone():
    """A wrong row beside a huge x of another, which the ordinary floor forgives, is not exhausted."""
    problem = nonstick.BoxProblem(np.eye(2), [1.0, 1e17])
    for x, wanted in (([1.0, 1e17], True), ([0.5, 1e17], False), ([1.0 + 4 * EPS, 1e17], True), ([0.0, 1e17], False)):
        x = np.array(x)
        assert exhausted(problem, x, problem.gradient(x)) is wanted


def test_a_huge_x_of_a_singular_matrix_is_not_exhausted():
    """A x = b has no solution; b is lost in the rounding errors of a huge constant."""
    n = 20
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tolil()
    T[0, 0] = T[-1, -1] = 1.0
    problem = nonstick.BoxProblem(sp.csr_array(T), np.ones(n), -np.inf, np.inf)
    x = np.full(n, 1e17)
    assert row_error(problem, x, problem.gradient(x), strict=True).value == 0.0
    assert not exhausted(problem, x, problem.gradient(x))
    assert not nonstick.solve_problem(problem).converged
    assert not nonstick.solve_problem(problem, x0=x).converged


def test_the_set_of_a_solution_far_from_its_bounds_warns_of_nothing():
    box = Box(np.array([-1e300, 0.0]), np.array([1e300, 1.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = box.split(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([1e300, 1.0]))
    assert policy.tolist() == [0, -1]


def test_a_huge_matrix_at_a_huge_x_is_judged_without_a_warning():
    A = sp.csr_array(np.array([[2e300, -1e300], [-1e300, 2e300]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = nonstick.solve(A, np.ones(2), x0=np.full(2, 1e300), method="no-lcp")
    assert solution.status
