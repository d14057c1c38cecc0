"""Constraints at the wall itself: the projection, the optimality residual, and who refuses them."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from nonstick import NonstickError, solve_problem
from nonstick.kernels._edges import _project_edges
from nonstick.lcp.base import Method
from nonstick.lcp.problem import BoxProblem, WallEdges
from nonstick.operators.csr import CSROperator


def chain(n=12, seed=0):
    """A path of unknowns with an edge of random theta between neighbours of the first half."""
    rng = np.random.default_rng(seed)
    A = sp.diags_array([-np.ones(n - 1), 2.5 + rng.random(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    a = np.arange(n // 2)
    return CSROperator(A), rng.standard_normal(n), WallEdges(a, a + 1, rng.random(a.size))


def constraint_matrix(edges, n):
    C = np.zeros((edges.count, n))
    C[np.arange(edges.count), edges.a] += 1 - edges.theta
    C[np.arange(edges.count), edges.b] += edges.theta
    return C


def minimiser(A, b, C):
    """min 1/2 x'Ax - b'x, Cx >= 0 through its dual, a non-negative least-squares problem."""
    L = np.linalg.cholesky(A)
    push, _ = nnls(np.linalg.solve(L, C.T), -np.linalg.solve(L, b))
    return np.linalg.solve(A, b + C.T @ push)


def test_a_single_edge_moves_as_printed_in_the_paper():
    """Equal diagonals: p_a -= (1-θ) p_Γ/s, p_b -= θ p_Γ/s, s = (1-θ)² + θ²."""
    x, force, push, d = np.array([-3.0, 1.0]), np.zeros(2), np.zeros(1), np.ones(2)
    theta = 0.3
    wall = 0.7 * -3.0 + 0.3 * 1.0
    s = 0.7**2 + 0.3**2
    expected = np.array([-3.0 - 0.7 * wall / s, 1.0 - 0.3 * wall / s])
    _project_edges(x, force, push, np.array([0]), np.array([1]), np.array([theta]), d)
    np.testing.assert_allclose(x, expected, rtol=1e-14)
    assert 0.7 * x[0] + 0.3 * x[1] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_projection_is_the_nearest_point(seed):
    op, x, edges = chain(seed=seed)
    d = op.diagonal
    expected = minimiser(np.diag(d), d * x, constraint_matrix(edges, op.n))
    given = x.copy()
    force = edges.project(x, d)
    np.testing.assert_allclose(x, expected, atol=1e-10)
    np.testing.assert_allclose(force, d * (x - given), atol=1e-12)
    assert edges.values(x).min() > -1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_residual_vanishes_at_the_minimiser_only(seed):
    op, b, edges = chain(seed=seed)
    problem = BoxProblem(op, b, -np.inf, np.inf, edges=edges)
    x = minimiser(op.matrix().toarray(), b, constraint_matrix(edges, op.n))
    assert problem.kkt(x) < 1e-12
    free = np.linalg.solve(op.matrix().toarray(), b)
    assert edges.values(free).min() < 0
    assert problem.kkt(free) > 1e-3
    assert problem.kkt(x + 1e-3) > 1e-4


def test_edges_and_bounds_exclude_each_other():
    op, b, edges = chain()
    with pytest.raises(NonstickError, match="no other bounds"):
        BoxProblem(op, b, 0.0, np.inf, edges=edges)


def test_methods_for_boxes_refuse_edges():
    @dataclass(frozen=True)
    class Boxy(Method):
        def solve(self, problem, start, monitor):
            raise AssertionError("must not run")

    op, b, edges = chain()
    with pytest.raises(NonstickError, match="walls='edge'"):
        solve_problem(BoxProblem(op, b, -np.inf, np.inf, edges=edges), Boxy())
