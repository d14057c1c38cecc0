"""Looks for negative curvature after a solve has failed: without a positive definite A no method here can succeed.

If a method did succeed, small matrices are looked at all the same, because x may be one of several solutions.

The matrix is scaled to a unit diagonal. Small ones are factorised (Cholesky), and if that fails, their smallest
eigenvalue is computed. For large ones a few Lanczos steps look for a vector v with vᵀA v < 0: what they find is
certain, but they may miss a negative eigenvalue that is small.
"""

from __future__ import annotations

import numpy as np

from ..operators.base import Operator

#: more unknowns are not factorised
DENSE = 1500
#: so few unknowns are factorised after every solve
ALWAYS = 200
#: Lanczos steps for larger matrices
STEPS = 100
#: eigenvalues above this part of the diagonal below zero count as rounding errors of a zero
ZERO = -1e-9


def indefinite(A: Operator) -> bool:
    """True if A is symmetric and has an eigenvalue that is clearly negative; for small matrices.

    Operators on grids are not asked: nothing is assembled for them.
    """
    return bool(A.n) and A.symmetric and A.has_entries and A.stencil is None and smallest_curvature(A) < ZERO


def smallest_curvature(A: Operator) -> float:
    """A number near the smallest eigenvalue of A, scaled to a unit diagonal; below `ZERO` if A is indefinite."""
    d = A.diagonal
    root = np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)
    if A.n <= DENSE and A.has_entries:
        scaled = root[:, None] * A.matrix().toarray() * root[None, :]
        if not np.isfinite(scaled).all():
            return 0.0
        try:
            np.linalg.cholesky(scaled - ZERO * np.eye(A.n))
            return 0.0
        except np.linalg.LinAlgError:
            from scipy.linalg import eigvalsh  # slow to load, rarely needed

            return float(eigvalsh(scaled, subset_by_index=[0, 0], check_finite=False)[0])
    return _lanczos(A, root)


def _lanczos(A: Operator, root: np.ndarray) -> float:
    """The smallest Ritz value after some steps; vectors are kept orthogonal, so that rounding makes no false ones."""
    from scipy.linalg import eigh_tridiagonal  # slow to load, rarely needed

    v = np.random.default_rng(0).standard_normal(A.n)
    v /= np.linalg.norm(v)
    basis: list[np.ndarray] = [v]
    alpha: list[float] = []
    beta: list[float] = []
    w = np.empty(A.n)
    for _ in range(STEPS):
        A.apply(root * basis[-1], w)
        w *= root
        alpha.append(float(w @ basis[-1]))
        for u in basis:
            w -= (w @ u) * u
        length = float(np.linalg.norm(w))
        if not 1e-10 < length < np.inf:
            break
        smallest = float(eigh_tridiagonal(alpha, beta, eigvals_only=True)[0])
        if smallest < 1e3 * ZERO:
            return smallest
        beta.append(length)
        basis.append(w / length)
    return 0.0
