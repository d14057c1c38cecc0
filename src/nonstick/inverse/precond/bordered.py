"""A preconditioner for `[A C; Cᵀ D]` from one for A: the block factors with B ≈ A⁻¹ instead of A⁻¹,

    z_V = Σ⁻¹ (r_V − Wᵀ r_u),   z_u = B r_u − W z_V,   W = B C,   Σ = D − Cᵀ W.

At set-up, W takes one application of B for each unknown of the border. Then a rigid body in viscous liquid needs no
extra iterations, even if the liquid is very stiff. With D alone instead of Σ, the preconditioner would move thick
liquid and a light body apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...operators.bordered import Bordered
from ..base import Directions, Inverse, NoPreconditioner, Recipe


@dataclass(frozen=True)
class WithBorder(Recipe):
    """`M` for operators without a border; with a border, `M` of the operator without it and the factors above.

    Parameters
    ----------
    M : Recipe
        A preconditioner of the operator without its border.

    Examples
    --------
    A ring of four masses on springs, and a fifth that two of them are tied to:

    >>> import numpy as np, scipy.sparse as sp
    >>> from nonstick.inverse import CG, Jacobi, WithBorder
    >>> from nonstick.operators import Bordered, CSROperator
    >>> ring = CSROperator([[3.0, -1, 0, -1], [-1, 3, -1, 0], [0, -1, 3, -1], [-1, 0, -1, 3]])
    >>> A = Bordered(ring, np.array([0, 2]), sp.csr_array([[-1.0], [-1.0]]), D=np.array([[3.0]]), own=np.array([[1.0]]))
    >>> x = np.zeros(5)
    >>> CG(WithBorder(Jacobi())).setup(A).solve(np.array([0.0, 0, 0, 0, 1]), x).converged
    True
    >>> x.round(3)
    array([0.333, 0.222, 0.333, 0.222, 0.556])
    """

    M: Recipe = field(default_factory=NoPreconditioner)
    wraps: ClassVar[bool] = True

    def setup(self, operator, reuse=None):
        if not isinstance(operator, Bordered):
            return self.M.setup(operator, reuse)
        M = self.M if operator.A.n else NoPreconditioner()
        return BorderedInverse(operator, M.setup(operator.A))


class BorderedInverse(Inverse):
    """`M` is B; W and Σ are made here. W has the precision of B: it is not more accurate than B, and it is large."""

    def __init__(self, A: Bordered, M: Inverse):
        self.A, self.M = A, M
        self.inner = M.directions(A.A)
        self.W = np.zeros((A.m, A.A.n), self.inner.z.dtype)
        C = A.C.toarray()
        r, z = A.A.zeros(), A.A.zeros()
        for j in range(A.m):
            if C[:, j].any():  # otherwise it is outside the liquid
                r[A.places] = C[:, j]
                self.W[j] = A.A.leave(M.apply(r, z), np.empty(A.A.n))
        import scipy.linalg as la  # slow to load, rarely needed

        # Σ is at least the border's own part; if B exceeds A⁻¹, the difference may become negative
        rest = A.D - A.own - C.T @ self.W[:, A.touched].T.astype(np.float64)
        root = np.sqrt(np.diagonal(A.D))
        values, vectors = np.linalg.eigh((rest + rest.T) / (2.0 * np.outer(root, root)))
        rest = root[:, None] * ((vectors * np.maximum(values, 0.0)) @ vectors.T) * root
        self._factor = la.cho_factor(rest + A.own + 1e-12 * np.diag(np.diagonal(A.D))) if A.m else None
        self._solve = la.cho_solve

    @property
    def notes(self):
        return self.M.notes

    def directions(self, A, flexible=False):
        return _BorderedDirections(self.A, self)

    def apply(self, r, out):
        r_u, r_y = self.A.parts(r)
        z_u, z_y = self.A.parts(out)
        self.M.apply(r_u, z_u)
        z_y[:] = self.correct(z_u, r_u, r_y, 1.0)
        return out

    def correct(self, z: np.ndarray, r: np.ndarray, r_y: np.ndarray, scale: float) -> np.ndarray:
        """z := z_u in place, given scale·B r; returns z_V."""
        if self._factor is None:
            return r_y
        A, precision = self.A.A, self.W.dtype
        flat = A.leave(r, np.empty(A.n)).astype(precision)
        z_y = self._solve(self._factor, scale * (r_y - self.W @ flat))
        change = A.leave(z, np.empty(A.n, z.dtype)) - z_y.astype(precision) @ self.W
        A.enter(change.astype(z.dtype), z)
        return z_y


class _BorderedDirections(Directions):
    """The directions of B, corrected, together with z_V."""

    def __init__(self, A: Bordered, M: BorderedInverse):
        self.A: Bordered = A
        self.inner, self._correct = M.inner, M.correct
        self._y = np.zeros(A.m)

    def begin(self, r, size):
        r_u, r_y = self.A.parts(r)
        peak = self.inner.begin(r_u, size)
        self.scale = self.inner.scale
        return float(np.maximum(peak, np.abs(r_y).max(initial=0.0)))

    def find(self, r, size):
        r_u, r_y = self.A.parts(r)
        self.inner.find(r_u, size)
        self._y = self._correct(self.inner.z, r_u, r_y, self.scale)
        return self.along(r)

    def along(self, q):
        q_u, q_y = self.A.parts(q)
        return self.inner.along(q_u) + float(q_y @ self._y)

    def add_to(self, p, beta):
        p_u, p_y = self.A.parts(p)
        self.inner.add_to(p_u, beta)
        p_y[:] = self._y + beta * p_y if beta else self._y

    def step(self, x, r, p, q, alpha):
        parts = [self.A.parts(v) for v in (x, r, p, q)]
        peak = self.inner.step(*(u for u, _ in parts), alpha)
        return self.A.step_border(*(y for _, y in parts), alpha, peak)
