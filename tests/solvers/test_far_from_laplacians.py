"""Matrices that no multigrid cycle suits: elasticity with contact, plates, dense normal equations."""

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import beam, block, blur, elasticity, grid, normal_equations, plate, random_couplings

import nonstick
from nonstick.inverse.krylov.direct import Factor, unlike_m_matrix
from nonstick.operators.csr import CSROperator
from nonstick.solvers.cascade import DenseRows

FACTORED = {
    "beam": lambda: beam(60, 15),
    "nearly incompressible": lambda: beam(60, 15, nu=0.45),
    "jumps": lambda: beam(60, 15, jump=1e4),
    "1:50": lambda: beam(200, 4, length=50.0),
    "held by contact alone": lambda: block(24),
    "plate": lambda: plate(30),
}


@pytest.mark.parametrize("name", FACTORED)
def test_matrices_unlike_m_matrices_are_factored(name):
    A, b, lower, upper, _ = FACTORED[name]()
    solution = nonstick.solve(A, b, lower, upper)
    assert solution.success and solution.outer_iterations < 40, solution
    assert "multigrid" not in solution.path, solution


DENSE = {
    "random": lambda: random_couplings(2000, 12),
    "normal equations": lambda: normal_equations(600),
    "blur": lambda: blur(30),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_rows_pay_for_no_hierarchy(name):
    A, b, lower, upper, _ = DENSE[name]()
    solution = nonstick.solve(A, b, lower, upper)
    assert solution.success and "multigrid" not in solution.path, solution


def test_what_suits_a_cycle_is_left_to_it():
    for A in (grid(40), elasticity(8, 8)[0], sp.eye_array(400)):
        assert not DenseRows().holds(nonstick.BoxProblem(A, np.ones(A.shape[0])))
    assert not Factor(operations=1e12).fits(CSROperator(grid(40)))
    assert not unlike_m_matrix(CSROperator(grid(40)))


def test_a_factor_that_costs_too_much_does_not_fit():
    A = CSROperator(elasticity(8, 8)[0])
    assert Factor(operations=1e6).fits(A) and not Factor(operations=1e3).fits(A)


def floating(m, side=0.0, **bounds):
    """A square on a floor, pressed from above and maybe to the side: A, b, lower, upper."""
    A, _, node = elasticity(m, m, length=1.0)
    b, lower, upper = np.zeros(A.shape[0]), np.full(A.shape[0], -np.inf), np.full(A.shape[0], np.inf)
    b[2 * node[:, -1] + 1], b[2 * node[:, -1]] = -1e-2 / m, side / m
    lower[2 * node[:, 0] + 1] = 0.0
    if bounds.get("stop"):
        upper[2 * node[-1]] = 0.05
    return A, b, lower, upper


def test_a_body_that_only_contact_holds():
    A, b, lower, upper = floating(12, 1e-3, stop=True)
    solution = nonstick.solve(A, b, lower, upper, rtol=1e-8)
    assert solution.success and solution.outer_iterations < 20, solution
    assert (solution.active == 1).any()  # pushed to the side as far as the stop
    assert solution.dual[lower == 0].sum() == pytest.approx(-b[1::2].sum(), rel=1e-6)  # the floor bears the load
    sideways = nonstick.solve(A, b, lower, np.inf)
    assert sideways.status == "unbounded" and "no bound stops" in sideways.message
    free = floating(12)
    still = nonstick.solve(*free)
    assert still.success  # any place along the floor is as good


def test_small_singular_matrices():
    ones = np.ones((3, 3))
    assert nonstick.solve(ones, [1.0, 1.0, 1.0], None, None).x.sum() == pytest.approx(1.0)
    assert nonstick.solve(ones, [1.0, 1.0, 2.0], None, None).status == "unbounded"
    np.testing.assert_allclose(nonstick.solve(ones, [1.0, 1.0, 2.0]).x, [0.0, 0.0, 2.0], atol=1e-6)


def test_loads_that_sum_to_zero_are_no_balance_of_a_body():
    A, b, lower, upper = floating(8, 1e-2, stop=True)
    assert b.sum() == pytest.approx(0.0)
    solution = nonstick.solve(A, b, lower, upper, rtol=1e-8)
    assert solution.success and (solution.x >= lower).all() and (solution.x <= upper).all()
    assert solution.dual[upper < 1].sum() == pytest.approx(-1e-2 * 9 / 8, rel=1e-6)  # the stop bears what pushes it


def test_a_solve_that_fails_is_better_than_its_start():
    A, b, lower, upper, _ = blur(24)
    start = np.clip(np.zeros(b.size), lower, upper)
    cut = nonstick.solve(A, b, lower, upper, rtol=1e-14, method=nonstick.solvers.MPRGP(maxiter=5))
    assert not cut.converged and cut.fun < nonstick.BoxProblem(A, b).objective(start)
    assert "x is the start" not in cut.message


def test_a_factorisation_by_name():
    A, b, lower, upper, _ = beam(40, 10)
    np.testing.assert_allclose(
        nonstick.solve(A, b, lower, upper, method="pi-direct", rtol=1e-10).x,
        nonstick.solve(A, b, lower, upper, rtol=1e-10).x,
        atol=1e-9,
    )
