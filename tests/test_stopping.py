"""A stop, a time limit, x on request and the history: the same for every method."""

import time
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import registry
from nonstick.core import validate
from nonstick.core.options import Stopping
from nonstick.discretise import StokesProblem
from nonstick.inverse import CG, ILU
from nonstick.problem import Monitor
from nonstick.solvers import FAS, PolicyIteration, in_turn

ENTRIES = registry.entries()


def problem_for(method):
    """A small problem of the kind that the method solves, not solved at the start."""
    if ENTRIES[method].kind == "viscosity":
        rng = np.random.default_rng(1)
        centres = np.meshgrid(*[(np.arange(14) + 0.5) / 14] * 2, indexing="ij")
        return nonstick.ViscosityProblem(
            velocity=[rng.standard_normal((15, 14)), rng.standard_normal((14, 15))], viscosity=10.0, dt=1.0, dx=1 / 14,
            rho=1.0, phi_liquid=centres[0] + 0.31 * np.sin(3 * centres[1]) - 0.77,
        ).problem  # fmt: skip
    if ENTRIES[method].kind == "stokes":
        rng = np.random.default_rng(1)
        centres = np.meshgrid(*[(np.arange(14) + 0.5) / 14] * 2, indexing="ij")
        return StokesProblem(
            velocity=[rng.standard_normal((15, 14)), rng.standard_normal((14, 15))], viscosity=0.1, dt=1.0, dx=1 / 14,
            rho=1.0, phi_liquid=centres[0] + 0.31 * np.sin(3 * centres[1]) - 0.77,
        ).problem  # fmt: skip
    return nonstick.cases.build("circle2d", 24).problem


every_method = pytest.mark.parametrize("method", ENTRIES)


@every_method
def test_a_callback_ends_it(method):
    calls = []

    def enough(monitor):
        calls.append(monitor.kkt)
        monitor.stop("maxiter", "enough")

    solution = nonstick.solve_problem(problem_for(method), method, rtol=1e-9, callback=enough)
    assert solution.message.startswith("enough") and solution.status == "maxiter" and not solution.converged
    assert len(calls) <= 2 and solution.iterations <= 1


@every_method
def test_a_callback_ends_it_later(method):
    calls = []

    def third(monitor):
        calls.append(monitor.iterations)
        if len(calls) == 3:
            monitor.stop("maxiter", "enough")

    solution = nonstick.solve_problem(problem_for(method), method, rtol=1e-9, callback=third)
    assert len(calls) <= 4 and (solution.converged or solution.message.startswith("enough") or len(calls) < 3)


@every_method
def test_a_time_limit_ends_it(method):
    solution = nonstick.solve_problem(problem_for(method), method, rtol=1e-9, time_limit=0.0)
    assert solution.status == "time" and not solution.converged and "time limit of 0 s" in solution.message
    assert solution.iterations <= 1 and np.isfinite(solution.x).all()


@every_method
def test_history_knows_when(method):
    history = nonstick.solve_problem(problem_for(method), method).history
    assert len(history) == len(history.iterations) == len(history.outer_iterations) == len(history.seconds) >= 2
    for values in (history.iterations, history.outer_iterations, history.seconds):
        assert all(np.diff(values) >= 0) and values[0] >= 0
    assert history.iterations[-1] > 0 and history.entries()[-1].residual == history[-1]


@every_method
def test_x_on_request(method):
    seen = []
    problem = problem_for(method)
    solution = nonstick.solve_problem(problem, method, callback=lambda monitor: seen.append(monitor.x))
    assert all(x.shape == (problem.n,) for x in seen)
    if solution.converged:
        assert abs(seen[-1] - solution.x).max() <= 2e-3 * abs(solution.x).max()
    assert seen[0] is not seen[-1] and np.any(seen[0] != seen[-1])


def test_x_comes_in_the_order_of_the_caller():
    n = 12
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    A = sp.csr_array(sp.kron(line, sp.eye_array(n)) + sp.kron(sp.eye_array(n), line))
    order = np.random.default_rng(0).permutation(n * n)
    cells = np.argwhere(np.ones((n, n), bool))[order]
    seen = []
    b = np.arange(n * n) - 40.0
    solution = nonstick.solve(A[order][:, order], b[order], cells=cells, callback=lambda m: seen.append(m.x))
    np.testing.assert_allclose(seen[-1], solution.x, atol=1e-3 * abs(solution.x).max())


def test_inner_linear_solves_are_ended_too():
    """Policy iteration without a preconditioner: hundreds of inner iterations before its first outer one ends."""
    n = 2000
    A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    calls = []

    def second(monitor):
        calls.append(monitor.seconds)
        if len(calls) == 2:
            monitor.stop("maxiter", "enough")

    solution = nonstick.solve(A, np.ones(n), method=PolicyIteration(CG()), callback=second)
    assert solution.message.startswith("enough") and solution.iterations <= 60


@pytest.mark.parametrize("limit", [-1.0, np.nan, "1", [1]])
def test_a_wrong_time_limit(limit):
    with pytest.raises(nonstick.NonstickError, match="time_limit must be"):
        nonstick.solve([[1.0]], [1.0], time_limit=limit)


def test_seconds_include_checks(monkeypatch):
    check = validate.matrix

    def slow(*args):
        time.sleep(0.2)
        return check(*args)

    monkeypatch.setattr(validate, "matrix", slow)
    assert nonstick.solve([[2.0]], [1.0]).seconds >= 0.2
    assert nonstick.lcp([[2.0]], [-1.0], time_limit=0.1).status in ("time", "converged")


INDEFINITE = np.array([[1.0, -0.9, -0.9], [-0.9, 1.0, -0.9], [-0.9, -0.9, 1.0]])


@pytest.mark.parametrize("method", [name for name, entry in ENTRIES.items() if entry.kind != "viscosity"])
def test_an_indefinite_matrix_is_named(method):
    try:
        solution = nonstick.solve(INDEFINITE, np.ones(3), -np.inf, method=method, cells=[[0, 0], [1, 0], [2, 0]])
    except nonstick.NonstickError as error:
        assert any(word in str(error) for word in ("PressureProblem", "StokesProblem", "fields over a grid"))
        return
    if solution.converged:  # A x = b can still be solved, by Krylov methods that do not minimise
        assert solution.kkt() <= 1e-6 and method in ("pi-bicgstab", "pi-gmres")
        return
    assert "not positive definite" in solution.message
    assert "take '" not in solution.message and "raise maxiter" not in solution.message


def test_a_solution_of_a_small_indefinite_matrix_is_not_called_the_only_one():
    A = [[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]]  # no two rows show it
    solution = nonstick.solve(A, [1.0, -2.0, 3.0])
    assert solution.converged
    assert "A is not positive definite" in solution.message
    assert "definite" not in nonstick.solve(np.eye(3), [1.0, -2.0, 3.0]).message


def test_a_solution_of_a_larger_indefinite_matrix_is_not_called_the_only_one():
    """The box stops every method before it meets negative curvature; a look afterwards finds it."""
    for n in (20, 60):
        T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
        A = sp.csr_array(sp.kron(T, sp.eye_array(n)) + sp.kron(sp.eye_array(n), T))
        lowest = 8 * np.sin(np.pi / (2 * (n + 1))) ** 2
        b = np.random.default_rng(0).normal(size=n * n) + 0.01
        for part in (0.9, 1.2):
            B = A - part * lowest * sp.eye_array(n * n)
            solution = nonstick.solve(B, b, -1e-3, 1e-3, method="pgs")
            assert solution.converged
            assert ("not positive definite" in solution.message) == (part > 1)


def test_a_large_indefinite_matrix_is_named():
    n = 3000
    A = sp.csr_array(sp.diags_array([-1.0, 1.95, -1.0], offsets=[-1, 0, 1], shape=(n, n)))
    for method in ("auto", "ipm-pd", "mic-mprgp", "pgs"):
        solution = nonstick.solve(A, np.cos(np.arange(n)), method=method, time_limit=60.0)
        assert not solution.converged and "not positive definite" in solution.message, (method, solution.message)


def test_the_path_of_a_solve_says_what_was_tried():
    problem = nonstick.cases.build("circle2d", 16).problem
    assert nonstick.solve_problem(problem).path == "active-set CG over blocks multigrid"
    assert nonstick.solve_problem(problem, "mg-cg").path == "CG over blocks multigrid"
    assert nonstick.solve_problem(problem, "pi-pcg").path == "policy iteration over CG over ILU"
    hard = in_turn(FAS(patience=1, progress=1e-9), PolicyIteration(CG(ILU())))
    solution = nonstick.solve_problem(problem, hard, rtol=1e-9)
    taken_over = "left for policy iteration over CG over ILU after 1 iterations: progress was too slow"
    assert solution.converged and solution.path == f"FAS; {taken_over}"
    assert solution.notes["finished_by"] == "policy iteration over CG over ILU"
    assert "finished the solve: progress was too slow" in solution.message and taken_over in repr(solution)


def test_a_part_of_a_solve_leaves_the_whole_as_it_is():
    problem = nonstick.cases.build("circle2d", 8).problem
    whole = Monitor(problem, Stopping(1e-8))
    part = whole.within(tolerance=1e-3, lift=lambda x: 2.0 * x)
    part.iterations += 3
    assert part.check(np.zeros(problem.n)) is False and whole.iterations == 3 and len(whole.history) == 1
    part.stop("stagnated")
    assert (whole.status, whole.asked, whole.tolerance) == ("", 1e-8, 1e-8) and part.asked == 1e-3
    assert part.within().status == "" and part.x.shape == (problem.n,)


NUMBERS = {
    "float16": np.float16(1e-3),
    "longdouble": np.longdouble(1e-3),
    "float32": np.float32(1e-3),
    "Fraction": Fraction(1, 1000),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_any_kind_are_tolerances(name):
    value = NUMBERS[name]
    for options in ({"rtol": value}, {"rtol": 0.0, "atol": value}, {"time_limit": value * 10_000}):
        assert nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], **options).converged
    stopping = Stopping(rtol=value, maxiter=np.int8(3), time_limit=10**400)
    assert [type(v) for v in (stopping.rtol, stopping.maxiter, stopping.time_limit)] == [float, int, float]


@pytest.mark.parametrize(
    "value", [np.complex64(1), 10**400, -(10**400), np.float16("nan"), "1e-3", [1e-3], None], ids=str
)
def test_what_is_no_tolerance_is_refused_in_one_sentence(value):
    for name in ("rtol", "atol"):
        with pytest.raises(nonstick.NonstickError, match=f"^{name} must be zero or a positive number, not") as error:
            nonstick.solve([[2.0]], [1.0], **{name: value})
        assert len(str(error.value)) < 200
