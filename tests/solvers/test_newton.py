"""Minimum-map Newton: against enumeration, on other array libraries, with every sub-solver, and as the paper has it."""

import importlib
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick.arrays.krylov import conjugate_gradients, on_rows
from nonstick.inverse.krylov.bicgstab import BiCGStab
from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.krylov.direct import Direct
from nonstick.inverse.krylov.gmres import GMRES
from nonstick.inverse.krylov.minres import CR
from nonstick.inverse.precond.adapters import Reused
from nonstick.inverse.precond.ainv import AINV
from nonstick.inverse.precond.incomplete import ILU, MIC
from nonstick.inverse.precond.jacobi import SPAI0, Jacobi
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked
from nonstick.problem.box import BoxProblem
from nonstick.solvers.andersen import MinimumMap, MinMapNewton, merit_descent, minimum_map_newton


def enumerate_box(A, b, lower, upper):
    """The solution by trying every combination of lower, free and upper; obviously correct, 3ⁿ solves."""
    best, error = None, np.inf
    choices = [[0] + [-1] * int(np.isfinite(lo)) + [1] * int(np.isfinite(up)) for lo, up in zip(lower, upper)]
    for policy in product(*choices):
        policy = np.array(policy)
        x = np.where(policy < 0, lower, np.where(policy > 0, upper, 0.0))
        free = policy == 0
        if free.any():
            x[free] = np.linalg.solve(A[np.ix_(free, free)], b[free] - A[np.ix_(free, ~free)] @ x[~free])
        g = A @ x - b
        wrong = np.maximum.reduce([lower - x, x - upper, -g * (policy < 0), g * (policy > 0), np.zeros(len(b))]).max()
        if wrong < error:
            best, error = x, wrong
    assert error < 1e-9
    return best


def random_problem(kind, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    if kind == "m-matrix":
        A = -np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.6), 1)
        A = A + A.T
        A += np.diag(-A.sum(axis=1) + rng.uniform(0.01, 1.0, n))
    else:  # dominated by a low rank: policies cycle on some of these
        B = rng.standard_normal((n, max(1, n // 2)))
        A = B @ B.T + 10.0 ** rng.uniform(-3, 0) * np.eye(n)
    lower = np.where(rng.random(n) < 0.7, rng.uniform(-1.0, 0.5, n), -np.inf)
    upper = np.where(rng.random(n) < 0.4, np.where(np.isfinite(lower), lower, -0.3) + rng.uniform(0.0, 1.0, n), np.inf)
    return A, rng.standard_normal(n), lower, upper


@pytest.mark.parametrize("kind", ["m-matrix", "spd"])
@pytest.mark.parametrize("seed", range(40))
def test_against_enumeration(kind, seed):
    A, b, lower, upper = random_problem(kind, seed)
    solution = nonstick.solve(sp.csr_array(A), b, lower, upper, method="newton", rtol=1e-10)
    assert solution.converged, solution.message
    np.testing.assert_allclose(solution.x, enumerate_box(A, b, lower, upper), atol=1e-6)
    assert np.all(solution.x >= lower) and np.all(solution.x <= upper)


def test_policies_that_cycle_are_solved():
    """Rank-dominated matrices on which undamped Newton steps can cycle: all are solved."""
    rng = np.random.default_rng(0)
    energy_steps = 0
    for _ in range(60):
        n = int(rng.integers(10, 25))
        B = rng.standard_normal((n, n // 2))
        A = B @ B.T + 10.0 ** rng.uniform(-4, 0) * np.eye(n)
        solution = nonstick.solve(sp.csr_array(A), rng.standard_normal(n), method=MinMapNewton(Direct()), rtol=1e-8)
        assert solution.converged, solution.message
        energy_steps += solution.notes["energy_steps"]
    assert energy_steps > 0  # the safeguard was needed


@pytest.fixture
def half_full(make_stencil):
    """An M-matrix problem with a contact set of about half its constrained rows."""
    A = make_stencil((14, 15), seed=5)
    rng = np.random.default_rng(5)
    lower = np.where(rng.random(A.n) < 0.6, 0.0, -np.inf)
    problem = BoxProblem(A, rng.standard_normal(A.n), lower, np.inf)
    solution = nonstick.solve_problem(problem, MinMapNewton(Direct()), rtol=1e-11)
    assert solution.converged and 10 < (solution.active != 0).sum() < 0.9 * np.isfinite(lower).sum()
    return problem, solution.x


@pytest.mark.parametrize("solver", [CG, CR, GMRES, BiCGStab], ids=lambda s: s.__name__)
@pytest.mark.parametrize(
    "M", [Jacobi(), SPAI0(), MIC(), ILU(), AINV(scaled=True), Reused(ILU()), Reused(MIC()), Reused(AINV())], ids=repr
)
@pytest.mark.parametrize("form", ["stencil", "csr"])
def test_sub_solvers_and_preconditioners(half_full, solver, M, form):
    problem, expected = half_full
    if form == "csr":
        problem = BoxProblem(CSROperator(problem.A.matrix()), problem.b, problem.box.lower)
    solution = nonstick.solve_problem(problem, MinMapNewton(solver(M)), rtol=1e-9)
    assert solution.converged, solution.message
    np.testing.assert_allclose(solution.x, expected, atol=1e-6 * abs(expected).max())


@pytest.mark.parametrize("start", ["zero", "psor", "gradient"])
def test_starts(half_full, start):
    problem, expected = half_full
    solution = nonstick.solve_problem(problem, MinMapNewton(start=start), rtol=1e-9)
    assert solution.converged
    np.testing.assert_allclose(solution.x, expected, atol=1e-6 * abs(expected).max())


def test_counts(half_full):
    """Lai's count: CG iterations plus search steps; Newton steps are the outer ones."""
    problem, _ = half_full
    solution = nonstick.solve_problem(problem, "newton", rtol=1e-8)
    notes = solution.notes
    assert solution.iterations == notes["inner_iterations"] + notes["line_search_steps"]
    assert solution.outer_iterations == notes["newton_steps"] == len(solution.history) - 1
    assert 1 < solution.outer_iterations < 12
    limited = nonstick.solve_problem(problem, "newton", rtol=1e-8, maxiter=5)
    assert not limited.converged and limited.status == "maxiter" and limited.iterations <= 6


def test_nothing_is_assembled(half_full, monkeypatch):
    problem, _ = half_full

    def forbidden(self):
        raise AssertionError("assembled a matrix")

    monkeypatch.setattr(type(problem.A), "matrix", forbidden)
    monkeypatch.setattr(Masked, "matrix", forbidden)
    for inner in (CG(ILU()), CG(MIC()), CG(Reused(MIC())), GMRES(Jacobi()), CR(SPAI0()), BiCGStab()):
        assert nonstick.solve_problem(problem, MinMapNewton(inner), rtol=1e-8).converged


def test_the_paper_preset_ends_by_its_own_tests(half_full):
    problem, expected = half_full
    solution = nonstick.solve_problem(problem, "newton+paper", rtol=1e-12)
    assert solution.notes["termination"] in ("absolute", "relative", "stagnation", "maxiter")
    assert not solution.converged and solution.status in ("stagnated", "maxiter")
    assert solution.outer_iterations <= 10
    np.testing.assert_allclose(solution.x, expected, atol=2e-2 * abs(expected).max())


@pytest.mark.parametrize("test", ["absolute", "relative", "stagnation"])
def test_termination_tests(half_full, test):
    problem, _ = half_full
    method = MinMapNewton(**{test: 1e30})
    solution = nonstick.solve_problem(problem, method, rtol=1e-12)
    assert solution.notes["termination"] == test
    assert solution.outer_iterations == (0 if test == "absolute" else 1)


def test_merit_descends_and_its_derivative_is_right(half_full):
    """θ and Bθ(x, Δx) of eq. 19 against a difference quotient, and the gradient start lowers θ."""
    problem, _ = half_full
    rng = np.random.default_rng(0)
    H_of = MinimumMap(lambda v: problem.A @ v, problem.b, problem.box.lower, problem.box.upper, problem.A.diagonal)
    x, dx = problem.box.project(rng.standard_normal(problem.n)), rng.standard_normal(problem.n)
    theta, g, H = H_of.merit(x)
    np.testing.assert_allclose(H, problem.natural_residual(x, g))
    a, _ = H_of.split(x, g)
    slope = H_of.dot(H, H_of.derivative(a, dx, problem.A @ dx))
    h = 1e-7
    assert slope == pytest.approx((H_of.merit(x + h * dx)[0] - theta) / h, rel=1e-4)
    thetas = [H_of.merit(merit_descent(H_of, x, k))[0] for k in range(6)]
    assert np.all(np.diff(thetas) < 0)


def test_units_do_not_matter(half_full):
    problem, expected = half_full
    for unit in (1e-9, 1e9):
        scaled = CSROperator(problem.A.matrix() * unit)
        solution = nonstick.solve_problem(BoxProblem(scaled, problem.b, problem.box.lower), "newton", rtol=1e-9)
        assert solution.converged
        np.testing.assert_allclose(solution.x * unit, expected, atol=1e-6 * abs(expected).max())


@pytest.mark.parametrize("total", [0.0, -5.0])
def test_pocket_without_free_surface(make_stencil, total):
    """A closed box: compatible, or expanding, where cells must let go; both have solutions."""
    A = make_stencil((8, 9), fill=1.0, neumann=True)
    b = np.random.default_rng(1).standard_normal(A.n)
    b += (total - b.sum()) / A.n
    solution = nonstick.solve(A, b, 0.0, method="newton", rtol=1e-8)
    assert solution.converged, solution.message
    assert solution.dual.sum() == pytest.approx(-total, abs=1e-5)


def test_degenerate_problems(make_stencil):
    A = make_stencil((5, 5))
    assert not nonstick.solve(A, np.zeros(A.n), method="newton").x.any()
    pinned = nonstick.solve(A, np.ones(A.n), 0.25, 0.25, method="newton")
    assert pinned.converged and np.all(pinned.x == 0.25)
    free = nonstick.solve(A, np.ones(A.n), -np.inf, method="newton", rtol=1e-9)
    np.testing.assert_allclose(A @ free.x, 1.0, atol=1e-8)
    one = nonstick.solve(sp.csr_array([[2.0]]), [-1.0], method="newton")
    assert one.converged and one.x[0] == 0.0


def obstacle(m):
    """-Δu = -20 over the obstacle 0.3 - r² on m² nodes, dense."""
    line = 2 * np.eye(m) - np.eye(m, k=1) - np.eye(m, k=-1)
    A = np.kron(line, np.eye(m)) + np.kron(np.eye(m), line)
    y = np.arange(1, m + 1) / (m + 1) - 0.5
    return A, np.full(m * m, -20.0 / (m + 1) ** 2), 0.3 - np.add.outer(y**2, y**2).ravel()


@pytest.mark.parametrize("library", ["array_api_strict", "torch", "jax"])
def test_same_code_on_other_array_libraries(library):
    """The point of Andersen's paper: products, sums and masks are all the method needs."""
    if library == "torch":  # the others come with the group `test`
        pytest.importorskip("torch", reason="the CPU build of torch is not on the package index; .ci/run looks for it")
    xp = importlib.import_module(library)
    if library == "jax":
        xp.config.update("jax_enable_x64", True)
        xp = xp.numpy
    data = obstacle(16)

    def run(xp):
        A, b, lower = (xp.asarray(part) for part in data)
        factor = xp.asarray(np.linalg.inv(data[0]))  # a preconditioner made once for A, masked by eq. 42
        subsolve = on_rows(conjugate_gradients, lambda v: A @ v, lambda r: factor @ r, lambda: 5000, 1)
        H_of = MinimumMap(lambda v: A @ v, b, lower, b + xp.inf, 0.0 * b + 4.0)
        out = minimum_map_newton(H_of, subsolve=subsolve, rtol=1e-9)
        assert isinstance(out.x, type(b))
        return out, np.array(out.x.tolist() if hasattr(out.x, "tolist") else [float(v) for v in out.x])

    (here, expected), (there, x) = run(np), run(xp)
    assert here.status == there.status == "converged"
    assert (here.newton_steps, here.line_search_steps) == (there.newton_steps, there.line_search_steps)
    np.testing.assert_allclose(x, expected, atol=1e-10)
    assert 0 < (x == data[2]).sum() < x.size
    compiled = nonstick.solve(sp.csr_array(data[0]), *data[1:], method="newton", rtol=1e-10)
    np.testing.assert_allclose(x, compiled.x, atol=1e-8)


def test_clamped_ties_peel_a_layer_of_cells_per_step():
    """Eq. 26 as printed: with all cells constrained the set loses one layer a step, and ten steps are not enough."""
    problem = nonstick.cases.build("circle2d", 48).problem
    everywhere = BoxProblem(problem.A, problem.b, np.zeros(problem.n))
    steps = {
        ties: nonstick.solve_problem(everywhere, MinMapNewton(CG(ILU()), clamp_ties=ties)).outer_iterations
        for ties in (False, True)
    }
    assert steps[True] > 2 * steps[False]
    printed = nonstick.solve_problem(everywhere, "newton+paper+ties", criterion="papers")
    assert printed.kkt() > 0.1 and printed.outer_iterations == 10
    assert nonstick.solve_problem(everywhere, "newton+paper", criterion="papers").kkt() < 1e-5


def test_the_contact_set_of_the_last_step_is_used(half_full):
    problem = half_full if isinstance(half_full, BoxProblem) else nonstick.cases.build("circle2d", 32).problem
    first = nonstick.solve_problem(problem, "newton", rtol=1e-9)
    cold = nonstick.solve_problem(problem, "newton")
    told = nonstick.solve_problem(problem, "newton", active=first.active)
    assert told.converged and told.outer_iterations < cold.outer_iterations
    np.testing.assert_allclose(told.x, first.x, atol=1e-5 * np.abs(first.x).max())


def test_a_wrong_contact_set_only_costs_steps():
    problem = nonstick.cases.build("circle2d", 32).problem
    exact = nonstick.solve_problem(problem, "newton", rtol=1e-9)
    wrong = np.where(np.isfinite(problem.box.lower), 1 - np.abs(exact.active), 0)
    told = nonstick.solve_problem(problem, "newton", active=-wrong.astype(np.int8))
    assert told.converged
    np.testing.assert_allclose(told.x, exact.x, atol=1e-5 * np.abs(exact.x).max())
