"""Matrices that no multigrid cycle suits: elasticity with contact, plates, dense normal equations."""

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import beam, block, blur, elasticity, grid, normal_equations, plate, random_couplings

import nonstick
from nonstick.inverse.krylov.direct import Factor, envelope, unlike_m_matrix
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
    assert solution.success and solution.iterations < 40, solution
    assert solution.path == "active-set CG over factor"


DENSE = {
    "random": lambda: random_couplings(2000, 12),
    "normal equations": lambda: normal_equations(600),
    "blur": lambda: blur(30),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_rows_pay_for_no_hierarchy(name):
    A, b, lower, upper, _ = DENSE[name]()
    solution = nonstick.solve(A, b, lower, upper)
    assert solution.success and solution.path == "MPRGP over jacobi", solution


def test_what_suits_a_cycle_is_left_to_it():
    for A in (grid(40), elasticity(8, 8)[0], sp.eye_array(400)):
        assert not DenseRows().holds(nonstick.BoxProblem(A, np.ones(A.shape[0])))
    assert not Factor(envelope=10**9).fits(CSROperator(grid(40)))
    assert not unlike_m_matrix(CSROperator(grid(40)))


def test_the_envelope_is_that_of_the_best_known_order():
    order = np.random.default_rng(0).permutation(400)
    A = sp.csr_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(400, 400)))
    assert envelope(CSROperator(A[order][:, order])) == 399
    assert Factor(envelope=100).fits(CSROperator(elasticity(8, 8)[0])) is False


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
