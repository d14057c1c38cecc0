"""Derivatives of solutions against finite differences, for every class of problem."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick import cases

STEP, TIGHT = 1e-6, {"rtol": 1e-12, "criterion": "papers"}


def obstacle(n, seed=0, symmetric=True):
    """A membrane of n × n cells with bounds on both sides and a random load, rows at both bounds and free ones."""
    rng = np.random.default_rng(seed)
    one = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    wind = sp.diags_array([-np.ones(n - 1), np.ones(n)], offsets=[-1, 0])
    eye = sp.eye_array(n)
    A = sp.csr_array(sp.kron(one, eye) + sp.kron(eye, one))
    if not symmetric:
        A = sp.csr_array(A + 0.7 * sp.kron(wind, eye))
    b = rng.standard_normal(n * n)
    cells = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), -1).reshape(-1, 2)
    return A, b, np.full(n * n, -0.3), np.full(n * n, 0.4), cells


def difference(solve, step=STEP):
    return (solve(step) - solve(-step)) / (2 * step)


def close(a, b, rtol=1e-6):
    assert np.abs(a - b).max() <= rtol * np.abs(b).max(), (np.abs(a - b).max(), np.abs(b).max())


@pytest.mark.parametrize("kind", ["bare", "grid", "permuted", "nonsymmetric"])
def test_tangents_and_gradients_are_those_of_finite_differences(kind):
    A, b, low, high, cells = obstacle(12, symmetric=kind != "nonsymmetric")
    rng = np.random.default_rng(1)
    if kind == "permuted":
        order = rng.permutation(len(b))
        A, b, cells = sp.csr_array(A[order][:, order]), b[order], cells[order]
    grid = {} if kind in ("bare", "nonsymmetric") else {"cells": cells}
    db, dl, du = (rng.standard_normal(len(b)) for _ in range(3))
    dA = A.copy()
    dA.data = rng.standard_normal(dA.nnz)
    if kind != "nonsymmetric":
        dA = sp.csr_array(0.5 * (dA + dA.T))

    def solve(t):
        return nonstick.solve(A + t * dA, b + t * db, low + t * dl, high + t * du, **grid, **TIGHT)

    solution = solve(0.0)
    assert {-1, 0, 1} == set(solution.active)
    expected = difference(lambda t: solve(t).x)
    close(solution.jvp(db, dl, du, dA), expected)

    x_bar = rng.standard_normal(len(b))
    gradient = solution.vjp(x_bar)
    along = gradient.b @ db + gradient.lower @ dl + gradient.upper @ du + (gradient.matrix(A) * dA).sum()
    assert along == pytest.approx(x_bar @ expected, rel=1e-6)


@pytest.mark.parametrize("equation", [True, False])
def test_with_linear_constraints(equation):
    A, b, low, high, _ = obstacle(8, seed=3)
    rng = np.random.default_rng(2)
    C = sp.csr_array(rng.uniform(0.0, 1.0, (2, len(b))) * (rng.uniform(size=(2, len(b))) < 0.3))
    x = nonstick.solve(A, b, low, high, **TIGHT).x
    e = C @ x + 0.3  # both hold x up
    top = e if equation else np.full(2, np.inf)
    db, de, dC = rng.standard_normal(len(b)), rng.standard_normal(2), C.copy()
    dC.data = rng.standard_normal(C.nnz)

    def solve(t):
        limits = C + t * dC, e + t * de, top + t * de
        return nonstick.solve(A, b + t * db, low, high, constraints=limits, rtol=1e-12)

    solution = solve(0.0)
    assert solution.converged and (solution.multipliers > 0).all()
    expected = difference(lambda t: solve(t).x)
    close(solution.jvp(db, C=(dC, de)), expected)
    x_bar = rng.standard_normal(len(b))
    gradient = solution.vjp(x_bar)
    along = gradient.b @ db + (gradient.constraint_matrix(C) * dC).sum()
    along += (gradient.constraint_lower + gradient.constraint_upper) @ de
    assert along == pytest.approx(x_bar @ expected, rel=1e-6)


@pytest.mark.parametrize("case, n", [("circle2d", 32), ("sphere3d", 16), ("obstacle2d", 33)])
def test_of_problems_from_geometry(case, n):
    problem = cases.build(case, n).problem
    rng = np.random.default_rng(4)
    db, x_bar = rng.standard_normal(problem.n) * problem.scale, rng.standard_normal(problem.n)
    solution = nonstick.solve_problem(problem, **TIGHT)

    def solve(t):
        other = nonstick.BoxProblem(problem.A, problem.b + t * db, problem.box.lower, problem.box.upper)
        return nonstick.solve_problem(other, x0=solution.x, active=solution.active, **TIGHT).x

    expected = difference(solve, 1e-7)
    assert solution.vjp(x_bar).b @ db == pytest.approx(x_bar @ expected, rel=2e-6)
    assert (solution.active != 0).any()


def test_a_gradient_takes_one_linear_solve():
    problem = cases.build("circle2d", 64).problem
    solution = nonstick.solve_problem(problem)
    derivative = solution._derivative(1e-6)
    derivative.cotangent(np.random.default_rng(0).standard_normal(problem.n))
    linear = nonstick.solve_problem(problem, "mg-cg")
    assert derivative.iterations <= 1.5 * linear.iterations


def test_ties_count_as_free():
    solution = nonstick.solve([[2.0, 0.0], [0.0, 2.0]], [0.0, -1.0])  # the first is on its bound without a push
    assert solution.active.tolist() == [0, -1]
    assert solution.vjp([1.0, 1.0]).b.tolist() == [0.5, 0.0]
    assert solution.vjp([1.0, 1.0]).lower.tolist() == [0.0, 1.0]


def test_what_has_no_derivative_says_so():
    A, b, low, high, _ = obstacle(8)
    failed = nonstick.solve(A, b, low, high, maxiter=1, method="pgs")
    with pytest.raises(nonstick.NonstickError, match="only a converged solution"):
        failed.vjp(b)
    with pytest.raises(nonstick.NonstickError, match="x has shape"):
        nonstick.solve(A, b, low, high).vjp(b[:3])
