"""The quick way of a sequence of solves: the answers, the residuals and the mistakes of the long way."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import NonstickError
from nonstick.solvers.sequence import Again


def line(n, w, rng, symmetric=True):
    """Diagonally dominant, couplings of either sign within w of the diagonal."""
    A = sp.diags_array([rng.uniform(-1, 0.2, n) for _ in range(2 * w + 1)], offsets=range(-w, w + 1), shape=(n, n))
    A = sp.csr_array((A + A.T) / 2 if symmetric else A)
    return sp.csr_array(A - sp.diags_array(A.diagonal()) + sp.diags_array(1.1 * np.asarray(abs(A).sum(axis=1)).ravel()))


@pytest.fixture
def quick(monkeypatch):
    """The solutions that the quick way has given."""
    given, solve = [], Again.solve
    monkeypatch.setattr(Again, "solve", lambda self, *words: given.append(solve(self, *words)) or given[-1])
    return given


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "general"])
@pytest.mark.parametrize("w", [0, 1, 2, 3, 4])
def test_the_answers_are_those_of_the_long_way(quick, w, symmetric):
    rng = np.random.default_rng(w)
    A = line(70, w, rng, symmetric)
    solver, b = nonstick.Solver(A), rng.standard_normal(70)
    for step in range(12):
        b = b + 0.3 * rng.standard_normal(70)
        lower = np.where(rng.random(70) < 0.7, rng.uniform(-0.5, 0.0, 70), -np.inf)
        upper = 0.2 if step % 2 else np.where(rng.random(70) < 0.5, 0.3, np.inf)
        found = solver.solve(b, lower, upper, rtol=1e-10)
        right = nonstick.solve(A, b, lower, upper, rtol=1e-10)
        np.testing.assert_allclose(found.x, right.x, atol=1e-9)
        np.testing.assert_array_equal(found.active, right.active)
        assert found.converged and found.history[-1] == pytest.approx(found.kkt(), rel=1e-6, abs=1e-14)
        np.testing.assert_allclose(found.dual, A @ found.x - b, atol=1e-13)
        assert found.method == right.method and found.keys() == right.keys()
    assert len(quick) == 11 and all(solution is not None for solution in quick)


def test_a_solution_keeps_its_problem(quick):
    solver, b, lower = nonstick.Solver(line(30, 1, np.random.default_rng(1))), np.ones(30), np.zeros(30)
    solver.solve(b, lower)
    solution = solver.solve(b, lower)
    b[:], lower[:] = np.nan, 5.0
    assert solution.kkt() < 1e-12 and (solution.problem.box.lower == 0.0).all()
    assert quick == [solution]
    assert np.isfinite(solution.vjp(np.ones(30)).b).all()


def test_what_is_not_as_it_was_goes_the_long_way(quick):
    rng = np.random.default_rng(2)
    solver, b = nonstick.Solver(line(40, 1, rng)), rng.standard_normal(40)
    right = solver.solve(b, -1.0, 1.0)
    calls = []
    for words in ({"callback": calls.append}, {"maxiter": 50}, {"time_limit": 9.0}):
        np.testing.assert_allclose(solver.solve(b, -1.0, 1.0, **words).x, right.x, atol=1e-9)
    np.testing.assert_allclose(solver.solve(list(b), -1.0, 1.0).x, right.x, atol=1e-9)
    np.testing.assert_allclose(solver.solve(b, -1.0, [1.0] * 40).x, right.x, atol=1e-9)
    assert calls and quick == [None] * 5
    assert solver.solve(np.zeros(40), -1.0, 1.0).x.tolist() == [0.0] * 40  # no scale
    assert solver.solve(b, -1, 1).converged and quick[-1] is not None
    assert solver.solve(b, bounds=(-1.0, 1.0), x0=np.zeros(40)).converged
    assert len(quick) == 7


@pytest.mark.parametrize(
    ("b", "lower", "upper", "words"),
    [
        (np.full(20, np.nan), 0.0, np.inf, "finite"),
        (np.full(20, np.inf), 0.0, np.inf, "finite"),
        (np.ones(19), 0.0, np.inf, "unknowns"),
        (np.ones(20), 1.0, 0.0, "above"),
        (np.ones(20), np.full(20, np.nan), 1.0, "NaN"),
        (np.ones(20), np.inf, np.inf, "no number"),
        (np.ones(20), 10**400, np.inf, "lower"),
    ],
)
def test_mistakes_are_those_of_the_long_way(b, lower, upper, words):
    solver = nonstick.Solver(line(20, 1, np.random.default_rng(3)))
    solver.solve(np.ones(20))
    solver.solve(np.ones(20))
    with pytest.raises(NonstickError, match=words):
        solver.solve(b, lower, upper)


def test_a_contact_that_jumps_is_found_too(quick):
    n = 2000
    A, t = sp.csr_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))), np.linspace(0, 1, n)
    solver = nonstick.Solver(A)
    for where in (0.2, 0.8):
        b = np.where(abs(t - where) < 0.15, -8.0, 0.1) / n**2
        solution = solver.solve(b, -1e-3)
        assert solution.converged and solution.kkt() < 1e-6
    assert quick == [None]  # it would take a policy for every unknown on the way


def test_new_numbers_and_no_memory(quick):
    rng = np.random.default_rng(4)
    A, b = line(50, 1, rng), rng.standard_normal(50)
    solver = nonstick.Solver(A)
    first = solver.solve(b, -0.1)
    solver.update(2.0 * A)
    np.testing.assert_allclose(solver.solve(2.0 * b, -0.1).x, first.x, atol=1e-9)
    solver.forget()
    solver.solve(b)
    alike = nonstick.Solver(A, warm=False)
    np.testing.assert_array_equal(alike.solve(b, -0.1).x, alike.solve(b, -0.1).x)
    assert not quick
