"""`auto` on matrices that defeat its cycle: units that differ from row to row beside stiff springs, fourth order."""

import numpy as np
import pytest
import scipy.sparse as sp

import nonstick
from nonstick.compositions import AUTO
from nonstick.inverse.krylov.direct import Factor
from nonstick.inverse.multigrid.algebraic import near_null as scaling
from nonstick.operators.csr import CSROperator


def plate(n, decades):
    """The square of a grid's Laplacian whose coefficients jump in every cell."""
    rng = np.random.default_rng(0)
    number = np.arange(n * n).reshape(n, n)
    i = np.concatenate([number[:-1].ravel(), number[:, :-1].ravel()])
    j = np.concatenate([number[1:].ravel(), number[:, 1:].ravel()])
    W = sp.coo_array((10.0 ** (decades * rng.random(i.size)), (i, j)), shape=(n * n,) * 2).tocsr()
    W = W + W.T
    A = sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + 1.0) - W
    return sp.csr_array(A @ A)


def held_network(n, rng):
    """A network with a few stiff springs to the ground, in units of its own for every node."""
    i, j = rng.integers(0, n, (2, 3 * n))
    W = sp.coo_array((rng.random(3 * n) + 0.1, (i, j)), shape=(n, n)).tocsr()
    W = sp.csr_array(W + W.T)
    W.setdiag(0.0)
    spring = np.where(rng.random(n) < 0.05, 1e7, 1e-3)
    D = sp.diags_array(10.0 ** rng.uniform(-4, 4, n))
    return sp.csr_array(D @ (sp.diags_array(np.asarray(W.sum(axis=1)).ravel() + spring) - W) @ D)


def test_stiff_springs_do_not_hide_the_units():
    rng = np.random.default_rng(1)
    A = held_network(500, rng)
    x = rng.standard_normal(500) / np.sqrt(A.diagonal())
    s = nonstick.solve(A, A @ x, -np.inf, np.inf, method=AUTO)
    assert s.converged and s.iterations < 25  # it took a thousand
    root = np.sqrt(A.diagonal())
    np.testing.assert_allclose(root * s.x, root * x, atol=1e-3)


def test_held_rows_keep_their_scale():
    A = held_network(300, np.random.default_rng(2))
    s, d = scaling.near_null(CSROperator(A)), A.diagonal()
    assert np.ptp(np.log10(s)) > 6.0
    assert not np.any(A @ s < -0.01 * d * s)


@pytest.mark.parametrize("grid", [False, True])
def test_units_are_found_on_a_grid_too(grid):
    n = 24
    T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    A = sp.kron(T, sp.eye_array(n)) + sp.kron(sp.eye_array(n), T)
    rng = np.random.default_rng(3)
    D = 10.0 ** rng.uniform(-4, 4, n * n)
    i, j = np.divmod(np.arange(n * n), n)
    cells = np.stack([i, j], axis=1) if grid else None
    b = np.sin(2 * np.pi * i / n) * np.sin(3 * np.pi * j / n)
    exact = nonstick.solve(sp.csr_array(A), b, 0.0, np.inf, rtol=1e-10)
    M = sp.csr_array(sp.diags_array(D) @ A @ sp.diags_array(D))
    s = nonstick.solve(M, D * b, 0.0, np.inf, cells=cells, method=AUTO)
    assert s.converged and s.iterations < 30
    np.testing.assert_allclose(D * s.x, exact.x, atol=1e-3 * exact.x.max())


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.0, np.inf), (-0.01, 0.02)], ids=["none", "lower", "both"])
def test_a_plate_with_jumps_is_factored_in_the_end(bounds):
    A = plate(20, 3.0)
    b = A.diagonal() * np.random.default_rng(4).standard_normal(400) * 0.01
    s = nonstick.solve(A, b, *bounds)
    assert s.converged and s.iterations < 1100  # ten thousand were not enough
    g = A @ s.x - b
    step = s.x - np.clip(s.x - g / A.diagonal(), *bounds)
    assert np.abs(step).max() <= 1e-5 * np.abs(s.x).max()


def test_a_factor_is_for_few_unknowns():
    A = CSROperator(np.diag([1.0, 2.0, 3.0]))
    assert Factor().fits(A) and Factor(most=3).fits(A) and not Factor(most=2).fits(A)
