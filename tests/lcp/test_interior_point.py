"""Interior point methods against a dense active-set oracle, in any units, and their stopping rules."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import nonstick
from nonstick.lcp.interior_point import InteriorPoint
from nonstick.lcp.mehrotra import Mehrotra
from nonstick.linear.cg import CG
from nonstick.precond.mic import MIC

ALL = [
    "ipm-pd", "ipm-pd+mic-cg", "ipm-pd+saamg-cg", "ipm-pd+hs", "ipm-pd+cab+ss", "mehrotra", "plb", "ipm-p",
]  # fmt: skip
SAFE = ["ipm-pd", "mehrotra", "mic-mprgp", "tagiaamg-mprgp", "saamg-mprgp"]


def oracle(A, b, lower, upper):
    """Dense active-set method with exact solves; the optimality conditions certify what it returns."""
    d = np.diag(A)
    x = np.clip(np.linalg.solve(A, b), lower, upper)
    for _ in range(3 * len(b) + 10):
        g = A @ x - b
        low, high = d * (x - lower) < g, d * (x - upper) > g
        free = ~(low | high)
        new = np.where(low, lower, np.where(high, upper, 0.0))
        new[free] = np.linalg.solve(A[np.ix_(free, free)], b[free] - A[np.ix_(free, ~free)] @ new[~free])
        if np.array_equal(new, x):
            break
        x = new
    g, noise = A @ x - b, 1e-11 * max(np.abs(b).max(), (d * np.abs(x)).max())
    assert np.all(x >= lower) and np.all(x <= upper)
    assert np.all(g[x > lower] <= noise) and np.all(g[x < upper] >= -noise)
    return x


@st.composite
def problems(draw, largest=300):
    """Random symmetric M-matrices and boxes: one-sided, two-sided, partial, empty, in random units."""
    n = draw(st.one_of(st.integers(1, 40), st.integers(40, largest)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    degree = draw(st.floats(0.5, 6.0))
    i, j = rng.integers(0, n, (2, int(degree * n) + 1))
    spread = draw(st.floats(0.0, 2.0))
    W = sp.coo_array((10.0 ** rng.uniform(-spread, 0.0, i.size), (i, j)), shape=(n, n)).tocsr()
    W = W + W.T
    W.setdiag(0.0)
    W.eliminate_zeros()
    A = sp.csr_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + rng.uniform(0.01, 1.0, n)) - W)
    unit_A, unit_b = 10.0 ** draw(st.integers(-6, 6)), 10.0 ** draw(st.integers(-6, 6))
    size = unit_b / unit_A
    b = rng.standard_normal(n)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    kind = draw(st.sampled_from(["zero", "lower", "upper", "both", "some"]))
    if kind == "zero":
        lower[:] = 0.0
    if kind in ("lower", "both"):
        lower[:] = rng.standard_normal(n) - 0.5
    if kind == "upper":
        upper[:] = rng.standard_normal(n) * 0.3 + 0.2
    if kind == "both":
        upper[:] = lower + rng.uniform(0.0, 1.0, n)
    if kind == "some":
        lower[rng.random(n) < 0.5] = 0.0
        upper[rng.random(n) < 0.3] = 0.1
    return A * unit_A, b * unit_b, lower * size, upper * size


@settings(max_examples=25, deadline=None)
@given(problems(), st.sampled_from(SAFE))
def test_random_m_matrices(problem, method):
    A, b, lower, upper = problem
    x = oracle(A.toarray(), b, lower, upper)
    s = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-9)
    assert s.converged, (s.status, s.message)
    assert s.kkt() <= 1e-9
    assert np.abs(s.x - x).max() <= 1e-6 * max(np.abs(x).max(), np.abs(b).max() / np.median(A.diagonal()))


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("shape", [(14, 15), (7, 6, 8)], ids=str)
def test_grids_with_two_sided_bounds(make_stencil, method, shape):
    A = make_stencil(shape)
    b = np.random.default_rng(0).standard_normal(A.n)
    lower, upper = np.full(A.n, -0.2), np.full(A.n, 0.3)
    lower[::5] = -np.inf
    upper[::3] = np.inf
    x = nonstick.solve(A, b, lower, upper, method="psor", rtol=1e-12, maxiter=20_000).x
    s = nonstick.solve(A, b, lower, upper, method=method, rtol=1e-8)
    assert s.converged, (s.status, s.message)
    np.testing.assert_allclose(s.x, x, atol=1e-6)
    assert np.all(s.x >= lower) and np.all(s.x <= upper)


@pytest.mark.parametrize("method", ["ipm-pd", "mehrotra"])
def test_units_change_nothing(make_stencil, method):
    A = make_stencil((12, 13))
    b = np.random.default_rng(1).standard_normal(A.n)
    counts = []
    for unit_A, unit_b in ((1.0, 1.0), (1e8, 1e-6), (1e-7, 1e5)):
        M, q = A.matrix() * unit_A, b * unit_b
        s = nonstick.solve(M, q, 0.0, 0.3 * unit_b / unit_A, method=method, rtol=1e-9, cells=A.cells)
        assert s.converged
        counts.append(s.outer_iterations)
    assert max(counts) - min(counts) <= 1, counts


def test_the_papers_stopping_rule(make_stencil):
    A = make_stencil((12, 12))
    b = np.random.default_rng(2).standard_normal(A.n)
    for method in (InteriorPoint(CG(MIC()), 50, step_norm=1e-7), Mehrotra(CG(MIC()), step_norm=1e-7)):
        s = nonstick.solve(A, b, 0.0, method=method, rtol=1e-3)
        assert s.converged and s.notes["newton_step_norm"] <= 1e-7
        loose = nonstick.solve(A, b, 0.0, method=type(method)(CG(MIC()), 50), rtol=1e-3)
        assert loose.outer_iterations < s.outer_iterations, "the step norm asks for more"


def test_too_few_steps_is_no_success(make_stencil):
    A = make_stencil((12, 12))
    b = np.random.default_rng(3).standard_normal(A.n)
    for method in ("ipm-pd", "mehrotra"):
        s = nonstick.solve(A, b, 0.0, method=method, rtol=1e-10, maxiter=2)
        assert not s.converged and s.status == "maxiter" and s.outer_iterations == 2


@pytest.mark.parametrize("method", ["ipm-pd", "mehrotra", "plb", "tagiaamg-mprgp"])
def test_without_bounds_it_is_a_linear_solve(make_stencil, method):
    A = make_stencil((9, 9))
    b = np.random.default_rng(4).standard_normal(A.n)
    s = nonstick.solve(A, b, -np.inf, np.inf, method=method, rtol=1e-9)
    assert s.converged
    np.testing.assert_allclose(s.x, np.linalg.solve(A.matrix().toarray(), b), atol=1e-7)


@pytest.mark.parametrize("method", SAFE)
@pytest.mark.parametrize("small, push", [(1e-7, 2e-8), (1e-6, 1e-7), (1e-8, 1e-8)])
def test_rows_with_a_tiny_diagonal_go_to_their_bound(method, small, push):
    """Slivers of open space: the KKT residual hardly sees them, the solution must have them right all the same."""
    n = 30
    chain = sp.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = sp.block_diag([chain, sp.diags_array(np.full(5, small))]).tocsr()
    b = np.concatenate([np.sin(np.arange(n)), np.full(5, -push)])
    x = nonstick.solve(A, b, lower=0.0, method=method, rtol=1e-8).x
    expected = oracle(A.toarray(), b, np.zeros(n + 5), np.full(n + 5, np.inf))
    np.testing.assert_allclose(x, expected, atol=1e-6 * expected.max())
