"""The viscosity operator on padded vectors: every verb against the same on compact ones."""

from __future__ import annotations

import numpy as np
import pytest

from nonstick import ViscosityProblem


def drop(cells, viscosity=0.3):
    rng = np.random.default_rng(1)
    h = 1 / cells[0]
    centres = np.meshgrid(*[(np.arange(n) + 0.5) * h for n in cells], indexing="ij")
    phi = np.sqrt(sum((x - 0.5 * n * h) ** 2 for x, n in zip(centres, cells))) - 0.37
    velocity = [rng.standard_normal([n + (i == a) for i, n in enumerate(cells)]) for a in range(len(cells))]
    return ViscosityProblem(velocity=velocity, viscosity=viscosity, dt=1.0, dx=h, rho=1.0, phi_liquid=phi)


@pytest.mark.parametrize("cells", [(19, 17), (8, 9, 7)])
def test_the_verbs_of_padded_vectors(cells):
    A = drop(cells).operator
    S, dense = A.native, A.matrix().toarray()
    x, y, p, q = np.random.default_rng(2).standard_normal((4, A.n))
    X, Y, P, Q = (S.enter(v) for v in (x, y, p, q))

    def leave(v):
        return S.leave(v, np.empty(A.n))

    np.testing.assert_array_equal(leave(X), x)
    np.testing.assert_array_equal(X[S.positions()], x)
    assert S.dot(X, Y) == pytest.approx(x @ y, rel=1e-12)
    assert S.peak(X) == np.abs(x).max()
    out = S.zeros()
    assert S.energy(X, out) == pytest.approx(x @ dense @ x, rel=1e-10)
    np.testing.assert_allclose(leave(out), dense @ x, atol=1e-12 * np.abs(dense).max())
    np.testing.assert_allclose(leave(S.residual(Y, X, out)), y - dense @ x, atol=1e-12 * np.abs(dense).max())
    padded = leave(S.residual(Y, X, out))
    np.testing.assert_array_equal(leave(S.residual(S.right_hand_side(y), X, out)), padded)  # b may be compact
    assert S.peak(y) == S.peak(Y)
    np.testing.assert_array_equal(leave(y), y)
    np.testing.assert_allclose(leave(S.diagonal), np.diag(dense), rtol=1e-13)
    np.testing.assert_allclose(leave(S.scaled(0.5, X, out)), 0.5 * x / np.diag(dense), rtol=1e-12)
    peak = S.step(X, Y, P, Q, 0.3)
    np.testing.assert_allclose(leave(X), x + 0.3 * p, atol=1e-14)
    np.testing.assert_allclose(leave(Y), y - 0.3 * q, atol=1e-14)
    assert peak == np.abs(leave(Y)).max()
    S.combine(P, Q, 0.25)
    np.testing.assert_allclose(leave(P), q + 0.25 * p, atol=1e-14)
    P[:] = np.nan
    S.combine(P, Q, 0.0)  # what p was does not count
    np.testing.assert_array_equal(leave(P), q)
    assert S.combine(P, Q, 0.0) is None and not S.zeros(np.float32).any()
    single = S.zeros(np.float32) + np.float32(7.0)
    S.copy(Q, single, 0.5)
    np.testing.assert_array_equal(leave(single), (0.5 * q).astype(np.float32))
    assert (np.delete(single, S.positions()) == 7.0).all()  # what lies between the unknowns is not written


def test_a_nan_is_seen_by_the_peak():
    S = drop((9, 8)).system
    r = S.enter(np.ones(S.n))
    r[S.positions()[3]] = np.nan
    assert not np.isfinite(S.peak(r))
    assert not np.isfinite(S.step(S.zeros(), r, S.zeros(), S.zeros(), 0.0))


def test_other_precision_shares_the_coefficients():
    S = drop((9, 8)).system
    single = S.astype(np.float32)
    assert single.dtype == np.float32 and S.dtype == np.float64
    assert single.k is S.k and single.n == S.n
