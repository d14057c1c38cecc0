"""`auto` on matrices without a grid: counts that stay flat, predictions, scalings, anisotropic grids."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick.compositions import AMG, CYCLE
from nonstick.operators.convert import as_operator


def bearing(n, width):
    """The journal bearing of MINPACK-2, ε = 0.5, on (0, 2π) × (0, width)."""
    hx, hy = 2 * np.pi / (n + 1), width / (n + 1)
    x = hx * np.arange(1, n + 1)
    film = [(1 + 0.5 * np.cos(x + s)) ** 3 for s in (-hx / 2, 0.0, hx / 2)]
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    off = -film[2][:-1] * hy / hx
    along = sp.diags_array([off, (film[0] + film[2]) * hy / hx, off], offsets=[-1, 0, 1])
    A = sp.kron(along, sp.eye_array(n)) + sp.kron(sp.diags_array(film[1] * hx / hy), T)
    cells = np.stack(np.divmod(np.arange(n * n), n), axis=1)
    return sp.csr_array(A), np.repeat(0.5 * np.sin(x) * hx * hy, n), cells


@pytest.mark.parametrize("with_cells", [False, True], ids=["bare", "cells"])
@pytest.mark.parametrize("width", [1.0, 4.0, 20.0])
def test_bearing_counts_stay_flat(width, with_cells):
    counts = []
    for n in (40, 120):
        A, b, cells = bearing(n, width)
        s = nonstick.solve(A, b, cells=cells if with_cells else None)
        assert s.converged
        assert 0.3 < np.mean(s.x == 0.0) < 0.6
        counts.append(s.iterations)
    assert counts[1] <= min(2 * counts[0], 30)


def test_units_of_the_unknowns_do_not_matter():
    A, b, _ = bearing(40, 4.0)
    D = 10.0 ** np.random.default_rng(0).uniform(-6, 6, b.size)
    S = sp.diags_array(D)
    plain, scaled = nonstick.solve(A, b, rtol=1e-9), nonstick.solve(S @ A @ S, D * b, rtol=1e-9)
    assert scaled.converged
    assert scaled.iterations < 2 * plain.iterations
    large = D > 1.0  # the criterion is relative to max|b|: rows in large units decide
    np.testing.assert_allclose((D * scaled.x)[large], plain.x[large], atol=1e-4 * plain.x.max())


def test_two_sided_bounds_agree_with_a_sweep_method():
    A, b, _ = bearing(24, 2.0)
    upper = np.full(b.size, 0.4 * nonstick.solve(A, b).x.max())
    one = nonstick.solve(A, b, -0.01, upper, rtol=1e-9)
    other = nonstick.solve(A, b, -0.01, upper, rtol=1e-9, method="psor", maxiter=20_000)
    assert one.converged
    assert other.converged
    np.testing.assert_allclose(one.x, other.x, atol=1e-6 * upper[0])


def test_only_anisotropic_grids_leave_the_blocks():
    for width, algebraic in ((1.0, True), (6.0, False), (20.0, True)):
        A, _, cells = bearing(30, width)
        assert (CYCLE.chosen(as_operator(A, cells)) == AMG) is algebraic


def jumping(n, ratio):
    """Coefficients from 1 to `ratio`, different on every face of a grid."""
    rng = np.random.default_rng(0)
    at = np.arange(n * n).reshape(n, n)
    A = sp.csr_array((n * n, n * n))
    for i, j in ((at[:-1], at[1:]), (at[:, :-1], at[:, 1:])):
        w = sp.coo_array((ratio ** rng.random(i.size), (i.ravel(), j.ravel())), shape=A.shape)
        A = A - w - w.T
    A = A + sp.diags_array(3.0 - np.asarray(A.sum(axis=1)).ravel())
    return sp.csr_array(A), np.stack(np.divmod(np.arange(n * n), n), axis=1)


def test_grids_whose_coefficients_jump_in_every_cell_leave_the_blocks():
    A, cells = jumping(100, 1e6)
    b = np.sin(np.arange(100 * 100) / 700.0)
    s = nonstick.solve(A, b, cells=cells)
    assert s.converged
    assert 0.05 < np.mean(s.x == 0.0) < 0.9
    assert s.iterations < 100  # with blocks: hundreds
    mild, cells = jumping(100, 3.0)
    assert CYCLE.chosen(as_operator(mild, cells)) != AMG


def test_cut_cells_of_a_liquid_do_not_leave_the_blocks():
    for name in ("sphere3d", "double-sphere3d", "rotated-box3d"):
        assert CYCLE.chosen(nonstick.cases.build(name, 12).problem.A) != AMG


def test_a_prediction_with_kinks_is_kept():
    """An elastic-plastic bar, |u| at most the distance to the boundary: the ridges of the prediction have residuals
    far above b, but its energy is much lower than that of zero."""
    n = 150
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    near = np.minimum(np.arange(1, n + 1), np.arange(n, 0, -1)) / (n + 1)
    distance = np.minimum.outer(near, near).ravel()
    A = sp.csr_array(sp.kron(T, sp.eye_array(n)) + sp.kron(sp.eye_array(n), T))
    for cells in (None, np.stack(np.divmod(np.arange(n * n), n), axis=1)):
        s = nonstick.solve(A, np.full(n * n, 20.0 / n**2), -distance, distance, cells=cells)
        assert s.converged
        assert s.outer_iterations <= 6  # many more without the prediction
        assert np.mean(s.x == distance) > 0.7


def test_random_positive_definite_matrices_are_solved():
    rng = np.random.default_rng(1)
    for n in (301, 500):
        B = sp.random_array((n, n), density=5 / n, rng=rng)
        A = sp.csr_array(B @ B.T + 0.1 * sp.eye_array(n))
        assert nonstick.solve(A, rng.standard_normal(n), -0.1, 0.5, rtol=1e-8).converged


@pytest.mark.parametrize("n", [32, 36, 45])
def test_coarse_problems_may_be_small(n):
    """A prediction whose problem is small enough for a factor, after one that is not."""
    A, b, _ = bearing(n, 6.0)
    assert nonstick.solve(sp.kron(sp.eye_array(2), A), np.tile(b, 2)).converged


def test_small_rows_at_a_tie_do_not_wait_for_large_ones():
    """D·A·D with jumps: rows with b ≈ 0 hardly feel any x > 0, so their residuals are far below the slack of others."""
    n = 200
    k = 1e4 ** np.random.default_rng(0).random((n + 1, n + 1))
    at = np.arange(n * n).reshape(n, n)
    A = sp.csr_array((n * n, n * n))
    for i, j, w in (
        (at[:-1], at[1:], 2 / (1 / k[: n - 1, :n] + 1 / k[1:n, :n])),
        (at[:, :-1], at[:, 1:], 2 / (1 / k[:n, : n - 1] + 1 / k[:n, 1:n])),
    ):
        W = sp.coo_array((w.ravel(), (i.ravel(), j.ravel())), shape=A.shape)
        A = A - W - W.T
    A = A + sp.diags_array(k[:n, :n].ravel() * 0.01 / n - np.asarray(A.sum(axis=1)).ravel())
    i, j = np.divmod(np.arange(n * n), n)
    b = A.diagonal().mean() * 50 / n**2 * np.sin(2 * np.pi * i / n) * np.sin(3 * np.pi * j / n)
    D = 10.0 ** np.random.default_rng(0).uniform(-6, 6, b.size)
    S = sp.diags_array(D)
    s = nonstick.solve(S @ A @ S, D * b, maxiter=500)
    assert s.converged
    assert s.iterations < 60  # 500 if policies keep their slack


def checkerboard(n, block, jump):
    """Five points, coefficients 1 and `jump` in blocks, and a load that pushes up and down."""
    k = np.arange(n) // block
    c = np.pad(np.where((k[:, None] + k) % 2, jump, 1.0), 1, mode="edge")
    at = np.arange(n * n).reshape(n, n)
    A = sp.csr_array((n * n, n * n))
    total = np.zeros((n, n))
    for axis in (0, 1):
        one, other = (c[1:, 1:-1], c[:-1, 1:-1]) if axis == 0 else (c[1:-1, 1:], c[1:-1, :-1])
        w = 2.0 * one * other / (one + other)
        total += w[1:] + w[:-1] if axis == 0 else w[:, 1:] + w[:, :-1]
        i, j, w = (at[:-1], at[1:], w[1:-1]) if axis == 0 else (at[:, :-1], at[:, 1:], w[:, 1:-1])
        W = sp.coo_array((w.ravel(), (i.ravel(), j.ravel())), shape=A.shape)
        A = A - W - W.T
    A = sp.csr_array(A + sp.diags_array(total.ravel()))
    i, j = np.divmod(np.arange(n * n), n)
    return A, A.diagonal().mean() * 50 / n**2 * np.sin(2 * np.pi * i / n) * np.sin(3 * np.pi * j / n)


@pytest.mark.parametrize("block", [6, 20])
@pytest.mark.parametrize("scaled", [False, True], ids=["units", "scaled"])
def test_jumps_in_blocks_do_not_raise_counts(block, scaled):
    """Up to 74 without coarse rows for the set; hundreds, scaled, without a scaling found on all levels."""
    A, b = checkerboard(120, block, 1e6)
    D = 10.0 ** np.random.default_rng(0).uniform(-6, 6, b.size) if scaled else np.ones(b.size)
    S = sp.diags_array(D)
    s = nonstick.solve(S @ A @ S, D * b)
    assert s.converged
    assert 0.05 < np.mean(s.x == 0.0) < 0.9
    assert s.iterations < 50
