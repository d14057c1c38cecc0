"""What callers may write in place of the exact names and types."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import cases
from nonstick.errors import NonstickError
from nonstick.operators.csr import CSROperator

N = 30
A = sp.csr_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(N, N)))
B = np.where(np.arange(N) < 12, -0.02, 0.03)
INF = np.full(N, np.inf)


@pytest.mark.parametrize(
    "given, plain",
    [
        ((None, None), (-np.inf, np.inf)),
        ((None, 0.1), (-np.inf, 0.1)),
        ((0.0, None), (0.0, np.inf)),
        (([None, 0.1] * 15, None), (np.where(np.arange(N) % 2, 0.1, -np.inf), np.inf)),
        ((-1.0, np.array([None, 0.2] * 15, object)), (-1.0, np.where(np.arange(N) % 2, 0.2, np.inf))),
    ],
    ids=["both", "lower", "upper", "in a list", "in an array"],
)
def test_none_is_no_bound(given, plain):
    expected = nonstick.solve(A, B, *plain, method="psor", rtol=1e-9).x
    assert np.array_equal(nonstick.solve(A, B, *given, method="psor", rtol=1e-9).x, expected)
    for matrix in (A, sp.csc_matrix(A), A.tocoo(), A.toarray(), CSROperator(A)):
        problem = nonstick.BoxProblem(matrix, B, *given)
        np.testing.assert_array_equal(problem.box.lower, np.broadcast_to(plain[0], N))
        np.testing.assert_array_equal(problem.box.upper, np.broadcast_to(plain[1], N))
        np.testing.assert_allclose(nonstick.solve_problem(problem, "psor", rtol=1e-9).x, expected, atol=1e-12)


def test_names_in_any_case():
    for name in ("PI-PCG", "Pi-Pcg", " pi-pcg"):
        assert nonstick.solve(A, B, method=name).method == "pi-pcg"
    with pytest.raises(NonstickError, match=r"unknown method 'PI-PCF', did you mean 'pi-pcg'"):
        nonstick.solve(A, B, method="PI-PCF")


MISSPELT = {
    "tol": "rtol", "tolerance": "rtol", "rto": "rtol", "maxit": "maxiter", "max_iter": "maxiter", "X0": "x0",
    "lb": "lower", "ub": "upper", "cell": "cells", "Method": "method", "solver": "method", "callbak": "callback",
}  # fmt: skip


@pytest.mark.parametrize("word", MISSPELT)
def test_a_misspelt_keyword_gets_a_suggestion(word):
    with pytest.raises(NonstickError, match=rf"^solve has no option '{word}'; did you mean '{MISSPELT[word]}'\?$"):
        nonstick.solve(A, B, **{word: 1})


def test_every_entry_suggests():
    problem = nonstick.BoxProblem(A, B)
    calls = (
        lambda **o: nonstick.lcp(A, B, **o),
        lambda **o: nonstick.solve_problem(problem, **o),
        lambda **o: cases.build("circle2d", 8).pressure_problem.solve(**o),
        lambda **o: nonstick.Solver(A).solve(B, **o),
    )
    for call in calls:
        with pytest.raises(NonstickError, match="did you mean 'rtol'"):
            call(tol=1e-3)
    with pytest.raises(NonstickError, match="it knows A, b, lower"):
        nonstick.solve(A, B, zzzz=1)


def test_active_is_where_a_solve_begins():
    first = nonstick.solve(A, B, method="pi-pcg")
    assert (first.active == -1).any() and first.outer_iterations > 1
    again = nonstick.solve(A, B, method="pi-pcg", active=first.active)
    assert again.outer_iterations == 1 and again.converged
    shuffled = np.random.default_rng(0).permutation(N)
    P, cells = A[shuffled][:, shuffled], shuffled[:, None]
    again = nonstick.solve(P, B[shuffled], method="pi-pcg", active=first.active[shuffled], cells=cells)
    assert again.outer_iterations == 1
    np.testing.assert_allclose(again.x, first.x[shuffled], atol=1e-6)


@pytest.mark.parametrize(
    "active, piece",
    [([1, 0], r"active has shape \(2\)"), (np.full(N, 3), "must hold -1"), (np.ones(N, bool), "must hold -1")],
    ids=["short", "other numbers", "booleans"],
)
def test_active_is_checked(active, piece):
    for call in (nonstick.solve, lambda M, b, **o: nonstick.solve_problem(nonstick.BoxProblem(M, b), **o)):
        with pytest.raises(NonstickError, match=piece):
            call(A, B, active=active)


def test_options_of_a_solve_are_not_options_of_a_solver():
    with pytest.raises(NonstickError, match=r"^Solver has no option 'tol'; 'rtol' belongs to its solve$"):
        nonstick.Solver(np.eye(2), tol=1.0)
