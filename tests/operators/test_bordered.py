"""An operator with a border against its dense matrix, in both layouts, and its preconditioner."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from nonstick import ViscosityProblem
from nonstick.inverse.base import Identity
from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.krylov.direct import Factor
from nonstick.inverse.precond.adapters import AsMatrix, WithBorder
from nonstick.inverse.precond.jacobi import Jacobi
from nonstick.operators.csr import CSROperator
from nonstick.operators.saddle import Bordered


def bordered(m=3, seed=0):
    """A drop with a border of m unknowns that touch a few faces; positive definite."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(12) + 0.5, np.arange(11) + 0.5, indexing="ij")
    velocity = [np.zeros((13, 11)), np.zeros((12, 12))]
    drop = ViscosityProblem(
        velocity=velocity, viscosity=0.3, dt=1.0, dx=1.0, rho=1.0, phi_liquid=np.hypot(x - 6, y - 5.5) - 4.5
    )
    A = drop.operator
    touched = np.sort(rng.choice(A.n, 20, replace=False))
    C = sp.csr_array(rng.standard_normal((20, m)) * (rng.random((20, m)) < 0.5))
    own = np.diag(0.1 + rng.random(m))
    W = np.linalg.solve(A.matrix().toarray(), sp.csr_array(np.eye(A.n)[:, touched] @ C.toarray()).toarray())
    D = own + C.toarray().T @ W[touched] + 0.01 * np.eye(m)
    return Bordered(A, touched, C, 0.5 * (D + D.T), own)


@pytest.mark.parametrize("layout", ["compact", "native"])
@pytest.mark.parametrize("m", [0, 1, 3])
def test_the_verbs(layout, m):
    compact = bordered(m)
    dense = compact.matrix().toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert np.linalg.eigvalsh(dense)[0] > 0
    A = compact.native if layout == "native" else compact
    assert A.native is A or layout == "compact"
    x, y, p, q = np.random.default_rng(2).standard_normal((4, A.n))
    X, Y, P, Q = (A.enter(v) for v in (x.copy(), y.copy(), p.copy(), q.copy()))

    def leave(v):
        return A.leave(v, np.empty(A.n))

    out, scale = A.zeros(), np.abs(dense).max()
    np.testing.assert_array_equal(leave(X), x)
    np.testing.assert_allclose(leave(A.apply(X, out)), dense @ x, atol=1e-11 * scale)
    np.testing.assert_allclose(leave(A.residual(Y, X, out)), y - dense @ x, atol=1e-11 * scale)
    assert A.energy(X, out) == pytest.approx(x @ dense @ x, rel=1e-10)
    np.testing.assert_allclose(leave(out), dense @ x, atol=1e-11 * scale)
    np.testing.assert_allclose(leave(A.diagonal), np.diag(dense), rtol=1e-12)
    assert A.dot(X, Y) == pytest.approx(x @ y, rel=1e-11)
    assert A.peak(X) == np.abs(x).max()
    assert A.step(X, Y, P, Q, 0.3) == pytest.approx(np.abs(y - 0.3 * q).max(), rel=1e-13)
    np.testing.assert_allclose(leave(X), x + 0.3 * p, atol=1e-14)
    A.combine(P, Q, -0.5)
    np.testing.assert_allclose(leave(P), q - 0.5 * p, atol=1e-14)


def test_exact_factors_make_an_exact_inverse():
    A = bordered().native
    inverse = WithBorder(AsMatrix(Factor(1e-14))).setup(A)
    x = np.random.default_rng(3).standard_normal(A.n)
    z = inverse.apply(A.apply(A.enter(x), A.zeros()), A.zeros())
    np.testing.assert_allclose(A.leave(z, np.empty(A.n)), x, atol=1e-7 * np.abs(x).max())


def test_the_preconditioner_is_symmetric_and_positive_and_its_directions_agree():
    A = bordered().native
    inverse = WithBorder(Jacobi()).setup(A)
    columns = [A.leave(inverse.apply(A.enter(e), A.zeros()), np.empty(A.n)) for e in np.eye(A.n)]
    B = np.array(columns)
    np.testing.assert_allclose(B, B.T, atol=1e-12 * np.abs(B).max())
    assert np.linalg.eigvalsh(0.5 * (B + B.T))[0] > 0
    r, p = np.random.default_rng(4).standard_normal((2, A.n))
    directions = inverse.directions(A)
    R, P = A.enter(r), A.enter(p)
    assert directions.begin(R, 1.0) == np.abs(r).max()
    assert directions.find(R, 1.0) == pytest.approx(r @ B @ r, rel=1e-10)
    assert directions.along(P) == pytest.approx(p @ B @ r, rel=1e-8)
    directions.add_to(P, 0.5)
    np.testing.assert_allclose(A.leave(P, np.empty(A.n)), B @ r + 0.5 * p, atol=1e-10)


def test_operators_without_a_border_pass_through():
    A = CSROperator(sp.eye_array(4))
    assert isinstance(WithBorder().setup(A), Identity)
    x = np.zeros(4)
    CG(WithBorder(Jacobi())).setup(A).solve(np.arange(4.0), x)
    np.testing.assert_allclose(x, np.arange(4.0))
