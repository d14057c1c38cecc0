"""Constraints at the wall itself: the projection, the optimality residual, and who refuses them."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from nonstick import NonstickError, solve_problem
from nonstick.kernels._edges import _project_edges
from nonstick.operators.csr import CSROperator
from nonstick.problem.box import BoxProblem, WallEdges
from nonstick.solvers.base import Method


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


def nearest(x, C):
    """min |y - x|, C y >= 0 through its dual, a non-negative least-squares problem."""
    push, _ = nnls(C.T, -x)
    return x + C.T @ push


def solution(A, b, C):
    """A x = b + D C' push, 0 <= push ⟂ C x >= 0: an LCP for the pushes, solved row by row."""
    respond = np.linalg.solve(A, np.diag(A)[:, None] * C.T)
    M, q = C @ respond, C @ np.linalg.solve(A, b)
    push = np.zeros(len(q))
    for _ in range(3000):
        for e in range(len(q)):
            push[e] = max(0.0, push[e] - (M[e] @ push + q[e]) / M[e, e])
    x = np.linalg.solve(A, b) + respond @ push
    assert (C @ x).min() > -1e-10 and np.abs(push * (C @ x)).max() < 1e-10
    return x


@pytest.mark.parametrize("theta", [0.3, 0.5, 0.8, 0.0, 1.0])
def test_a_single_edge_moves_as_printed_in_the_paper(theta):
    """p_a -= (1-θ) p_Γ/s, p_b -= θ p_Γ/s, s = (1-θ)² + θ²."""
    edges, x = WallEdges([0], [1], [theta]), np.array([-3.0, -1.0])
    wall = (1 - theta) * x[0] + theta * x[1]
    s = (1 - theta) ** 2 + theta**2
    expected = x - np.array([1 - theta, theta]) * wall / s
    rhs, d = np.zeros(2), np.array([2.0, 5.0])
    moved = x.copy()
    _project_edges(moved, rhs, *edges.no_push(), *edges.grouped, d)
    np.testing.assert_allclose(moved, expected, atol=1e-9)
    np.testing.assert_allclose(rhs, d * (moved - x), atol=1e-12)


def test_a_push_is_let_go():
    edges, x, rhs, d = WallEdges([0], [1], [0.4]), np.array([-3.0, 1.0]), np.zeros(2), np.ones(2)
    push = edges.no_push()
    _project_edges(x, rhs, *push, *edges.grouped, d)
    assert push[0][0] > 0
    x += 10.0
    _project_edges(x, rhs, *push, *edges.grouped, d)
    np.testing.assert_allclose(x, [7.0, 11.0])
    np.testing.assert_allclose(rhs, 0.0, atol=1e-14)
    assert push[0][0] == push[1][0] == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_projection_is_the_nearest_point(seed):
    """A star (one hub, many leaves, some almost parallel) and a chain, in one."""
    rng = np.random.default_rng(seed)
    n = 12
    a = np.concatenate([np.arange(1, 6), np.arange(6, 11)])
    b = np.concatenate([np.zeros(5, int), np.arange(7, 12)])
    theta = np.concatenate([1 - rng.choice([0.0, 1e-3, 0.02, 0.3], 5), rng.random(5)])
    edges = WallEdges(a, b, theta)
    for _ in range(3):  # each starts from the pushes of the one before
        x = rng.standard_normal(n)
        expected = nearest(x, constraint_matrix(edges, n))
        np.testing.assert_allclose(edges.project(x), expected, atol=1e-8)
        assert edges.values(x).min() > -1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_residual_vanishes_at_the_solution_only(seed):
    op, b, edges = chain(seed=seed)
    problem = BoxProblem(op, b, -np.inf, np.inf, edges=edges)
    x = solution(op.matrix().toarray(), b, constraint_matrix(edges, op.n))
    assert problem.kkt(x) < 1e-9
    free = np.linalg.solve(op.matrix().toarray(), b)
    assert edges.values(free).min() < 0
    assert problem.kkt(free) > 1e-3
    assert problem.kkt(x + 1e-3) > 1e-4


@pytest.mark.parametrize("method", ["pgs", "psor"])
@pytest.mark.parametrize("seed", range(4))
def test_sweeps_reach_the_solution(make_stencil, method, seed):
    """Random edges between neighbours, some sharing cells, some with θ = 0 or 1."""
    rng = np.random.default_rng(seed)
    A = make_stencil((7, 6) if seed % 2 else (4, 3, 5), seed)
    M = A.matrix().tocoo()
    keep = (M.row < M.col) & (rng.random(M.nnz) < 0.3)
    theta = np.where(rng.random(keep.sum()) < 0.1, np.round(rng.random(keep.sum())), rng.random(keep.sum()))
    edges, b = WallEdges(M.row[keep], M.col[keep], theta), rng.standard_normal(A.n)
    s = solve_problem(BoxProblem(A, b, -np.inf, np.inf, edges=edges), method, rtol=1e-9)
    assert s.converged
    assert edges.values(s.x).min() > -1e-8 * np.abs(s.x).max()
    expected = solution(A.matrix().toarray(), b, constraint_matrix(edges, A.n))
    np.testing.assert_allclose(s.x, expected, atol=1e-7 * np.abs(expected).max())


def test_edges_that_make_no_sense():
    for a, b, theta in (([0], [1], [1.5]), ([0], [0], [0.5]), ([0, 1], [1], [0.5])):
        with pytest.raises(NonstickError, match="edge"):
            WallEdges(a, b, theta)


def test_edges_and_bounds_exclude_each_other():
    op, b, edges = chain()
    with pytest.raises(NonstickError, match="cannot have other bounds"):
        BoxProblem(op, b, 0.0, np.inf, edges=edges)


def test_methods_for_boxes_refuse_edges():
    @dataclass(frozen=True)
    class Boxy(Method):
        def solve(self, problem, start, monitor):
            raise AssertionError("must not run")

    op, b, edges = chain()
    with pytest.raises(NonstickError, match="walls='edge'"):
        solve_problem(BoxProblem(op, b, -np.inf, np.inf, edges=edges), Boxy())
