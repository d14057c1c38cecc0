"""The hierarchies of `auto` on matrices without a grid: counts that stay flat, predictions, scalings, anisotropies."""

from functools import reduce

import numpy as np
import pytest
import scipy.sparse as sp
from gallery import bearing, chain, grid, jumps, rescaled, rotated, torsion, triangles, waves

import nonstick
from nonstick.compositions import AMG, AUTO, CYCLE
from nonstick.operators.stencil import as_operator, whole_box
from nonstick.problem.given import Given


def cells_of(A):
    """The coordinates of the unknowns of a square grid."""
    n = round(A.shape[0] ** 0.5)
    return np.stack(np.divmod(np.arange(n * n), n), axis=1)


@pytest.mark.parametrize("with_cells", [False, True], ids=["bare", "cells"])
@pytest.mark.parametrize("width", [1.0, 4.0, 20.0])
def test_bearing_counts_stay_flat(width, with_cells):
    counts = []
    for n in (40, 120):
        A, b, *_ = bearing(n, width)
        s = nonstick.solve(A, b, cells=cells_of(A) if with_cells else None, method=AUTO)
        assert s.converged
        assert 0.3 < np.mean(s.x == 0.0) < 0.6
        counts.append(s.iterations)
    assert counts[1] <= min(2 * counts[0], 30)


def test_units_of_the_unknowns_do_not_matter():
    A, b, *_ = bearing(40, 4.0)
    D = 10.0 ** np.random.default_rng(0).uniform(-6, 6, b.size)
    S = sp.diags_array(D)
    plain = nonstick.solve(A, b, rtol=1e-9, method=AUTO)
    scaled = nonstick.solve(S @ A @ S, D * b, rtol=1e-9, method=AUTO)
    assert scaled.converged
    assert scaled.iterations < 2 * plain.iterations
    large = D > 1.0  # the criterion is relative to max|b|: rows in large units decide
    np.testing.assert_allclose((D * scaled.x)[large], plain.x[large], atol=1e-4 * plain.x.max())


def test_two_sided_bounds_agree_with_a_sweep_method():
    A, b, *_ = bearing(24, 2.0)
    upper = np.full(b.size, 0.4 * nonstick.solve(A, b).x.max())
    one = nonstick.solve(A, b, -0.01, upper, rtol=1e-9)
    other = nonstick.solve(A, b, -0.01, upper, rtol=1e-9, method="psor", maxiter=20_000)
    assert one.converged
    assert other.converged
    np.testing.assert_allclose(one.x, other.x, atol=1e-6 * upper[0])


def test_only_anisotropic_grids_leave_the_blocks():
    for width, algebraic in ((1.0, True), (6.0, False), (20.0, True)):
        A = bearing(30, width)[0]
        assert (CYCLE.chosen(as_operator(A, cells_of(A))) == AMG) is algebraic


def jumping(n, ratio):
    """Coefficients from 1 to `ratio`, different on every face of a grid."""
    rng = np.random.default_rng(0)
    at = np.arange(n * n).reshape(n, n)
    A = sp.csr_array((n * n, n * n))
    for i, j in ((at[:-1], at[1:]), (at[:, :-1], at[:, 1:])):
        w = sp.coo_array((ratio ** rng.random(i.size), (i.ravel(), j.ravel())), shape=A.shape)
        A = A - w - w.T
    return sp.csr_array(A + sp.diags_array(3.0 - np.asarray(A.sum(axis=1)).ravel()))


def test_grids_whose_coefficients_jump_in_every_cell_leave_the_blocks():
    A = jumping(100, 1e6)
    b = np.sin(np.arange(100 * 100) / 700.0)
    s = nonstick.solve(A, b, cells=cells_of(A))
    assert s.converged
    assert 0.05 < np.mean(s.x == 0.0) < 0.9
    assert s.iterations < 100  # with blocks: hundreds
    mild = jumping(100, 3.0)
    assert CYCLE.chosen(as_operator(mild, cells_of(mild))) != AMG


def test_cut_cells_of_a_liquid_do_not_leave_the_blocks():
    for name in ("sphere3d", "double-sphere3d", "rotated-box3d"):
        assert CYCLE.chosen(nonstick.cases.build(name, 12).problem.A) != AMG


def test_a_prediction_with_kinks_is_kept():
    """An elastic-plastic bar, |u| at most the distance to the boundary: the ridges of the prediction have residuals
    far above b, but its energy is much lower than that of zero."""
    A, b, lower, upper, _ = torsion(150)
    for cells in (None, cells_of(A)):
        s = nonstick.solve(A, b, lower, upper, cells=cells, method=AUTO)
        assert s.converged
        assert s.outer_iterations <= 6  # many more without the prediction
        assert np.mean(s.x == upper) > 0.7


def test_random_positive_definite_matrices_are_solved():
    rng = np.random.default_rng(1)
    for n in (301, 500):
        B = sp.random_array((n, n), density=5 / n, random_state=rng)
        A = sp.csr_array(B @ B.T + 0.1 * sp.eye_array(n))
        assert nonstick.solve(A, rng.standard_normal(n), -0.1, 0.5, rtol=1e-8).converged


@pytest.mark.parametrize("n", [32, 36, 45])
def test_coarse_problems_may_be_small(n):
    """A prediction whose problem is small enough for a factor, after one that is not."""
    A, b, *_ = bearing(n, 6.0)
    assert nonstick.solve(sp.kron(sp.eye_array(2), A), np.tile(b, 2)).converged


def test_small_rows_at_a_tie_do_not_wait_for_large_ones():
    """D·A·D with jumps: rows with b ≈ 0 hardly feel any x > 0, so their residuals are far below the slack of others."""
    A, b, *_ = rescaled(waves(jumps(200, 1e4)))
    s = nonstick.solve(A, b, maxiter=500, method=AUTO)
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
    return waves(sp.csr_array(A + sp.diags_array(total.ravel())))


@pytest.mark.parametrize("block", [6, 20])
@pytest.mark.parametrize("scaled", [False, True], ids=["units", "scaled"])
def test_jumps_in_blocks_do_not_raise_counts(block, scaled):
    """Up to 74 without coarse rows for the set; hundreds, scaled, without a scaling found on all levels."""
    A, b, *_ = rescaled(checkerboard(120, block, 1e6), 6.0 if scaled else 0.0)
    s = nonstick.solve(A, b, method=AUTO)
    assert s.converged
    assert 0.05 < np.mean(s.x == 0.0) < 0.9
    assert s.iterations < 50


def test_a_whole_box_of_cells_is_recognised():
    for shape in ((7, 5), (3, 4, 5), (2, 2, 2)):
        parts = [chain(m) for m in shape]
        A = sp.csr_array(
            sum(
                reduce(sp.kron, [part if k == axis else sp.eye_array(m) for k, m in enumerate(shape)])
                for axis, part in enumerate(parts)
            )
        )
        assert np.array_equal(whole_box(A), np.argwhere(np.ones(shape, bool)))
    for other in (grid(9)[:80][:, :80], triangles(8), chain(50), rotated(9, 0.1, 0.5), grid(9, 1e-3), sp.eye_array(9)):
        assert whole_box(sp.csr_array(other)) is None
    assert Given(grid(40)).operator.stencil is not None
    wrapped = sp.lil_array(grid(40))
    wrapped[39, 40] = wrapped[40, 39] = -0.5  # from the end of a row to the beginning of the next one
    assert Given(sp.csr_array(wrapped)).operator.stencil is None
