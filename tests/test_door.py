"""A SciPy user's door: bounds=, options=, the names of results and of solvers, and problems without a minimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import Bounds, OptimizeResult, minimize

import nonstick
from nonstick import NonstickError

A = np.array([[4.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 4.0]])
b = np.array([1.0, -3.0, 6.0])
LOW, HIGH = np.array([0.0, -0.5, -1.0]), np.array([np.inf, 1.0, 1.0])
FORMS = {
    "Bounds": Bounds(LOW, HIGH),
    "pairs": list(zip(LOW, HIGH)),
    "pairs with None": [(0, None), (-0.5, 1), (-1, 1)],
    "two arrays": (LOW, HIGH),
    "an array of pairs": np.stack([LOW, HIGH], axis=1),
}


@pytest.mark.parametrize("form", FORMS)
def test_bounds_in_every_form_of_scipy(form):
    expected = nonstick.solve(A, b, LOW, HIGH, rtol=1e-10).x
    np.testing.assert_array_equal(nonstick.solve(A, b, bounds=FORMS[form], rtol=1e-10).x, expected)
    np.testing.assert_array_equal(nonstick.Solver(A).solve(b, bounds=FORMS[form], rtol=1e-10).x, expected)
    peer = minimize(lambda x: 0.5 * x @ A @ x - b @ x, np.zeros(3), jac=lambda x: A @ x - b, bounds=Bounds(LOW, HIGH))
    np.testing.assert_allclose(expected, peer.x, atol=1e-5)


def test_two_numbers_are_the_bounds_of_all_and_pairs_win_for_two_unknowns():
    np.testing.assert_array_equal(nonstick.solve(A, b, bounds=(-1, 0.5)).x, nonstick.solve(A, b, -1, 0.5).x)
    x = nonstick.solve(A[:2, :2], b[:2], bounds=[(0, 0.1), (-0.2, 2)]).x
    np.testing.assert_allclose(x, [0.1, -0.2])


RAGGED = [([0.0, 0.0, 0.0], [1.0, 1.0]), 2.0]


@pytest.mark.parametrize("bounds", [3, [(0, 1)], "all", [(0, 1, 2)] * 3, RAGGED, [[[0, 1]]] * 3])
def test_other_bounds_are_refused(bounds):
    with pytest.raises(NonstickError, match=r"bounds must be a scipy\.optimize\.Bounds, 3 pairs"):
        nonstick.solve(A, b, bounds=bounds)


@pytest.mark.parametrize("lower", [Bounds(LOW, HIGH), [(0, None), (0, 1), (-1, 1)]])
def test_forms_of_scipy_in_place_of_lower_are_pointed_to_bounds(lower):
    with pytest.raises(NonstickError, match=r"give (it|them) as bounds="):
        nonstick.solve(A, b, lower)


def test_columns_of_bounds_as_lists():
    batch = nonstick.solve(A, b, [[0, -1], [0, -1], [0, -1]])
    np.testing.assert_allclose(batch[1].x, nonstick.solve(A, b, -1.0).x, atol=1e-12)


def test_bounds_are_said_once():
    with pytest.raises(NonstickError, match="two ways to say the same"):
        nonstick.solve(A, b, -1.0, bounds=(0, 1))
    with pytest.raises(NonstickError, match="an LCP has the bounds"):
        nonstick.lcp(A, b, bounds=(0, 1))


def test_names_of_a_result():
    solution = nonstick.solve(A, b, bounds=Bounds(LOW, HIGH))
    assert solution.success is solution.converged and solution.nit == solution.iterations
    assert solution.fun == pytest.approx(0.5 * solution.x @ A @ solution.x - b @ solution.x)
    np.testing.assert_allclose(solution.jac, A @ solution.x - b)
    np.testing.assert_array_equal(solution.active_mask, solution.active)
    result = OptimizeResult(**solution)
    assert result.success and result["fun"] == solution["fun"] and result.optimality < 1e-5
    with pytest.raises(KeyError):
        solution["hess_inv"]


def test_the_objective_of_a_constrained_problem_has_no_multipliers():
    solution = nonstick.solve(A, b, LOW, HIGH, constraints=(np.ones((1, 3)), 0.2, 0.2), rtol=1e-10)
    assert solution.success
    assert solution.fun == pytest.approx(0.5 * solution.x @ A @ solution.x - b @ solution.x)


def test_there_is_no_objective_without_symmetry():
    assert np.isnan(nonstick.solve(A + np.diag([0.5, 0.0], 1), b).fun)


def test_options():
    loose = nonstick.solve(A, b, options={"gtol": 1e-1, "disp": False, "maxcor": 10})
    assert loose.problem.kkt(loose.x) * 6 <= 1e-1
    assert nonstick.lcp(A, -b, options={"rtol": 1e-9}).kkt() <= 1e-9
    with pytest.raises(NonstickError, match="stops on the residual"):
        nonstick.solve(A, b, options={"ftol": 1e-9})
    with pytest.raises(NonstickError, match="options has no option 'maxitr'; did you mean 'maxiter'"):
        nonstick.Solver(A).solve(b, options={"maxitr": 3})


@pytest.mark.parametrize(
    "name, words",
    {"L-BFGS-B": "'auto'", "osqp": "nonstick.qp", "trf": "nonstick.lsq", "pyamg": "'mg-cg'", "gpcg": "'auto'"}.items(),
)
def test_solvers_of_other_packages_are_known(name, words):
    with pytest.raises(NonstickError, match=f"solver of another package.*{words}"):
        nonstick.solve(A, b, method=name)


def test_a_problem_without_a_minimum_is_unbounded():
    ring = np.roll(np.eye(9), 1, 0)
    T = sp.csr_array(2 * np.eye(9) - ring - ring.T)
    for solution in (nonstick.solve(T, np.ones(9), None), nonstick.Solver(T).solve(np.ones(9))):
        assert solution.status == "unbounded" and not solution.success
        assert "falls without end" in solution.message and "liquid" not in solution.message
    assert nonstick.lcp(T, -np.ones(9)).status == "infeasible"


# -- many problems with one matrix ---------------------------------------------------------------------------------


def test_columns_are_solved_like_single_problems():
    rng = np.random.default_rng(0)
    n, k = 60, 7
    T = sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    B, L = rng.standard_normal((n, k)), -rng.random((n, k))
    for batch in (nonstick.solve(T, B, L, 0.5), nonstick.Solver(T).solve(B, L, 0.5)):
        assert batch.x.shape == batch.dual.shape == batch.active.shape == (n, k)
        assert batch.success.all() and batch.status == ["converged"] * k and len(batch) == k
        for j, one in enumerate(batch):
            np.testing.assert_array_equal(one.x, nonstick.solve(T, B[:, j], L[:, j], 0.5).x)
    assert nonstick.solve(T, B[:, 0], L, 0.5).x.shape == (n, k)
    assert nonstick.solve(T, B[:, [0]], 0.0).x.shape == (n,)


def test_columns_have_a_status_each():
    ring = np.roll(np.eye(4), 1, 0)
    T = 2 * np.eye(4) - ring - ring.T
    batch = nonstick.solve(T, np.stack([-np.ones(4), np.ones(4)], axis=1))
    assert batch.status == ["converged", "unbounded"]
    assert "problems 2, converged 1" in repr(batch)


def test_columns_on_a_grid_come_back_in_the_order_of_the_caller():
    n = 6
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    G = sp.csr_array(sp.kron(T, sp.eye_array(n)) + sp.kron(sp.eye_array(n), T))
    cells = np.stack(np.divmod(np.arange(n * n), n), axis=1)
    order = np.random.default_rng(1).permutation(n * n)
    B = np.random.default_rng(2).standard_normal((n * n, 3))
    plain = nonstick.solve(G, B, cells=cells)
    shuffled = nonstick.solve(G[order][:, order], B[order], cells=cells[order])
    np.testing.assert_allclose(shuffled.x, plain.x[order], atol=1e-12)


def test_numbers_of_columns_must_agree():
    with pytest.raises(NonstickError, match="b has 2, lower has 3"):
        nonstick.solve(A, np.ones((3, 2)), np.zeros((3, 3)))
    with pytest.raises(NonstickError, match="constraints belong to one right-hand side"):
        nonstick.solve(A, np.ones((3, 2)), constraints=(np.ones((1, 3)), 0.2, 0.2))
