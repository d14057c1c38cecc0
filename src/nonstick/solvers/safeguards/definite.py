"""Looks for negative curvature: without a positive definite A no method here can succeed, or x is one of several.

After a solve that succeeded, few products are spent on it. Rows whose diagonal outweighs their couplings settle it;
otherwise some steps of conjugate gradients from a smooth vector look for negative curvature.

After a solve that failed, the matrix is scaled to a unit diagonal. Small ones are factorised (Cholesky), and if that
fails, their smallest eigenvalue is computed. For large ones a few Lanczos steps look for a vector v with vᵀA v < 0:
what they find is certain, but they may miss a negative eigenvalue that is small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import rounding
from ...inverse.cholesky.factor import CholeskyFactor
from ...operators.base import Operator, once_for_an_operator, row_sums
from ...operators.csr import CSROperator
from ...problem.monitor import PATIENCE
from ..auto._projected_cg import _steps


@dataclass(frozen=True)
class DefiniteSettings:
    """How much work a look at the curvature may be; `docs/explanation/settings.md` says what each is worth."""

    #: products with A after a solve that succeeded: at most this part of its iterations, or about a millisecond (this
    #: many unknowns in all)
    part: float = 0.05
    free: int = 300_000
    #: so many unknowns are factorised after a solve that failed; there are Lanczos steps for larger matrices
    dense: int = 1500
    #: so many get a linear program that looks for a direction along which the objective falls for ever
    program: int = 800


SETTINGS = DefiniteSettings()
#: eigenvalues above this part of the diagonal below zero count as rounding errors of a zero
ZERO = -rounding.VANISHED


@once_for_an_operator
def vanished_pivots(A: Operator) -> int:
    """How many pivots of a sparse factor of A vanish or are negative; 0 proves that A is positive definite."""
    return CholeskyFactor(A, 0.0, least=rounding.SUM).replaced


def factors_badly(A: Operator) -> bool:
    """True if a pivot of a sparse factor of A vanishes or is negative."""
    return vanished_pivots(A) > 0


@once_for_an_operator
def indefinite(A: Operator, iterations: int) -> bool:
    """True if A is symmetric and a cheap look finds that it has an eigenvalue that is clearly negative.

    The look is cheap compared with a solve that took so many iterations. Nothing is assembled for operators on grids.
    """
    if not (A.n and A.symmetric and A.has_entries) or A.bodies is not None:
        return False
    if vanished_pivots.known(A) == 0:
        return False
    # of a product, in rows of a five-point stencil
    work = A.n if A.stencil is not None else max(A.n, A.matrix().nnz // 5)
    looks = int(max(SETTINGS.part * iterations, SETTINGS.free / work))
    return looks > 0 and not _dominant(A) and _seen_from_smooth(A, looks)


def _dominant(A: Operator) -> bool:
    """True if every diagonal outweighs the couplings of its row: A is then at least semidefinite."""
    if A.stencil is A:  # couplings are negative, so the sum of a row tells
        return bool(np.all(row_sums(A) >= -rounding.SUM * A.diagonal))
    total = A.magnitude(np.ones(A.n), np.empty(A.n))
    return bool(np.all(total <= (2.0 + rounding.SUM) * A.diagonal))


def _seen_from_smooth(A: Operator, looks: int) -> bool:
    """Conjugate gradients for A y = diag(A), scaled to a unit diagonal: True if they meet negative curvature."""
    d = A.diagonal
    if not (d > 0).all():
        return False
    if isinstance(A, CSROperator):  # without bounds, all in one call
        M, none, found = A.matrix(), np.full(A.n, np.inf), np.zeros(5)
        full = np.empty((0, 0)) if A.full is None else A.full
        vectors = np.zeros(A.n), -d, *np.zeros((4, A.n)), np.empty(A.n, np.bool_), found
        _steps(*vectors, (full, M.data, M.indices, M.indptr), d, -none, none, 0.0, 0.0, looks)
        return bool(found[4] < ZERO)
    r, q = d.copy(), np.empty(A.n)
    z = r / d
    p = z.copy()
    rho = first = float(r @ z)
    for _ in range(looks):
        curvature = A.energy(p, q)
        if curvature < ZERO * float(p @ (d * p)):
            return True
        if not curvature > 0.0 or not np.isfinite(curvature):
            return False
        r -= rho / curvature * q
        np.divide(r, d, out=z)
        rho, old = float(r @ z), rho
        if not rho > 1e-20 * first:
            return False
        p *= rho / old
        p += z
    return False


def smallest_curvature(A: Operator) -> float:
    """A number near the smallest eigenvalue of A, scaled to a unit diagonal; below `ZERO` if A is indefinite."""
    d = A.diagonal
    root = np.where(d > 0, 1.0 / np.sqrt(np.where(d > 0, d, 1.0)), 0.0)
    if A.n <= SETTINGS.dense and A.has_entries:
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
    """The smallest Ritz value after some steps of the three-term recurrence, in as many products and four vectors.

    Rounding makes copies of Ritz values, but none outside the spectrum (Paige 1980), so no vector is kept for
    orthogonality.
    """
    from scipy.linalg import eigh_tridiagonal  # slow to load, rarely needed

    v = np.random.default_rng(0).standard_normal(A.n)
    v /= np.linalg.norm(v)
    before, w = np.zeros(A.n), np.empty(A.n)
    alpha: list[float] = []
    beta: list[float] = []
    for _ in range(PATIENCE.steps):
        A.apply(root * v, w)
        w *= root
        if beta:
            w -= beta[-1] * before
        alpha.append(float(w @ v))
        w -= alpha[-1] * v
        length = float(np.linalg.norm(w))
        if not rounding.PIVOT < length < np.inf:
            break
        smallest = float(eigh_tridiagonal(alpha, beta, eigvals_only=True)[0])
        if smallest < 1e3 * ZERO:
            return smallest
        beta.append(length)
        np.divide(w, length, out=before)
        before, v = v, before
    return 0.0
