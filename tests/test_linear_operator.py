"""Matrices of which only products are known: `scipy.sparse.linalg.LinearOperator` with a diagonal."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import nonstick
from nonstick import registry
from nonstick.errors import NonstickError
from nonstick.inverse import CG, Jacobi
from nonstick.operators import Masked, Products
from nonstick.operators.base import row_sums
from nonstick.operators.csr import scaled_norm
from nonstick.solvers import Penalty, PolicyIteration

N = 24
LINE = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(N, N))
A = sp.csr_array(sp.kron(LINE, sp.eye_array(N)) + sp.kron(sp.eye_array(N), LINE))
D = A.diagonal()
B = 0.1 * np.cos(np.arange(N * N) / 37.0) - 0.03
WORKS = ("auto", "jacobi-mprgp")


@pytest.fixture
def product():
    return aslinearoperator(A)


@pytest.mark.parametrize("method", [*WORKS, PolicyIteration(CG(Jacobi())), Penalty(CG(Jacobi()))], ids=str)
@pytest.mark.parametrize("bounds", [(0.0, None), (-0.5, 0.4), (None, None)], ids=str)
def test_the_solution_is_that_of_the_matrix(method, bounds, product):
    expected = nonstick.solve(A, B, *bounds, method="psor", rtol=1e-10)
    solution = nonstick.solve(product, B, *bounds, diagonal=A.diagonal(), method=method, rtol=1e-8)
    assert solution.converged, solution.message
    np.testing.assert_allclose(solution.x, expected.x, atol=1e-5)
    assert solution.kkt() <= 1e-8


def test_a_matrix_with_positive_couplings():
    """No M-matrix, and rows that are not dominant."""
    rng = np.random.default_rng(2)
    G = rng.standard_normal((60, 60))
    M = G @ G.T + 5.0 * np.eye(60)
    b, d = rng.standard_normal(60), np.diag(M)
    for method in WORKS:
        x = nonstick.solve(aslinearoperator(M), b, 0.0, 0.05, diagonal=d, method=method, rtol=1e-9).x
        g = M @ x - b
        assert np.abs(d * (x - np.clip(x - g / d, 0.0, 0.05))).max() <= 1e-9 * np.abs(b).max() * 1.01


def test_a_matrix_free_stencil_in_a_solver():
    def matvec(x):
        u = np.pad(x.reshape(N, N), 1)
        return (4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]).ravel()

    solver = nonstick.Solver(LinearOperator((N * N, N * N), matvec=matvec), diagonal=np.full(N * N, 4.0))
    for b in (B, 2 * B, -B):
        expected = nonstick.solve(A, b, method="psor", rtol=1e-9)
        np.testing.assert_allclose(solver.solve(b, rtol=1e-8).x, expected.x, atol=1e-5)
    with pytest.raises(NonstickError, match="made from a matrix can be updated"):
        solver.update(A.data)
    assert nonstick.lcp(solver.A, -B).converged


def test_a_part_without_a_free_surface():
    """Rows that sum to zero are found without entries."""
    ring = sp.csr_array(A - sp.diags_array(np.asarray(A.sum(axis=1)).ravel()))
    b = np.where(np.arange(N * N) < 40, -1.0, 0.05)
    solution = nonstick.solve(aslinearoperator(ring), b, np.where(np.arange(N * N) % 3, -np.inf, 0.0),
                              diagonal=ring.diagonal())  # fmt: skip
    assert solution.converged and solution.notes["pockets"]


@pytest.mark.parametrize("method", [name for name, e in registry.entries().items() if e.kind in ("box", "linear")])
def test_other_methods_refuse_and_name_those_that_work(method, product):
    bounds = (0.0, None)
    if method in (
        *WORKS,
        "mg-cg",
        "newton+paper",
        "newton+paper+ties",
    ):  # the last two need no entries, but are shown to fail
        assert nonstick.solve(product, B, *bounds, diagonal=A.diagonal(), method=method).x.shape == B.shape
        return
    with pytest.raises(NonstickError) as refused:
        nonstick.solve(product, B, *bounds, diagonal=A.diagonal(), method=method)
    assert f"method {method!r} needs the entries of A" in str(refused.value)
    assert all(repr(name) in str(refused.value) for name in WORKS)


MISTAKES = {
    "no diagonal": (lambda p: nonstick.solve(p, B), "give its diagonal as diagonal="),
    "a diagonal too many": (lambda p: nonstick.solve(A, B, diagonal=A.diagonal()), "belongs to a LinearOperator"),
    "cells": (lambda p: nonstick.solve(p, B, diagonal=D, cells=np.zeros((N * N, 2))), "a LinearOperator has"),
    "diagonal wrong": (lambda p: nonstick.solve(p, B, diagonal=D / 2), "diagonal[0] is 2, but A[0, 0] is 4"),
    "diagonal short": (lambda p: nonstick.solve(p, B, diagonal=[4.0]), "diagonal has shape (1)"),
    "diagonal negative": (lambda p: nonstick.solve(p, B, diagonal=-A.diagonal()), "diagonal[0] is -4"),
    "not symmetric": (
        lambda p: nonstick.solve(aslinearoperator(sp.csr_array(A + sp.eye_array(N * N, k=1))), B, diagonal=D),
        "A is not symmetric",
    ),
    "not square": (lambda p: nonstick.solve(aslinearoperator(np.ones((2, 3))), [1.0], diagonal=D), "must be square"),
    "complex": (
        lambda p: nonstick.solve(aslinearoperator(1j * np.eye(2)), np.ones(2), diagonal=np.ones(2)), "is complex",
    ),
    "not finite": (
        lambda p: nonstick.solve(aslinearoperator(np.full((2, 2), np.nan)), np.ones(2), diagonal=np.ones(2)),
        "is not finite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(mistake, product):
    call, piece = MISTAKES[mistake]
    with pytest.raises(NonstickError) as error:
        call(product)
    assert piece in str(error.value)


def test_the_operator():
    op = Products(lambda x: A @ x, A.diagonal())
    x, rows = np.random.default_rng(0).standard_normal(N * N), np.arange(5, 90, 3)
    np.testing.assert_allclose(op @ x, A @ x)
    np.testing.assert_allclose(op.part(rows) @ x[rows], A[rows][:, rows] @ x[rows])
    np.testing.assert_allclose(op.plus_diagonal(x * x) @ x, A @ x + x**3)
    np.testing.assert_allclose(row_sums(op), A @ np.ones(N * N))
    assert op.components()[0] == 1 and not Masked(op).has_entries
    largest = 1.0 + np.cos(np.pi / (N + 1))  # of the five-point matrix over its diagonal
    assert largest <= scaled_norm(op, 1.0 / A.diagonal()) <= 1.5 * largest


def test_a_product_that_changes_its_length_is_answered():
    calls = []

    def product(x):
        calls.append(x)
        return np.zeros(3) if len(calls) > 7 else 2.0 * x

    operator = LinearOperator((2, 2), matvec=product, dtype=float)
    with pytest.raises(NonstickError, match="a product with A does not have 2 entries"):
        nonstick.solve(operator, [1.0, -3.0], diagonal=[2.0, 2.0], method="jacobi-mprgp", rtol=1e-300)
