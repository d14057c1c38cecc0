"""Inverses made from others: of the assembled matrix, reused under a mask, and with a border.

`AsMatrix` is for an operator that works on vectors of another layout.

`Reused` is a preconditioner that is built once for A and then only masked: `P'(r) = a⊗P(a⊗r) + f⊗r` (Andersen
eq. 42 and 45).
`a` marks the rows where the equation holds, `f` the clamped rows. When the free set of a masked operator changes,
nothing is rebuilt. If P is positive definite, so is P', and conjugate gradients may use it. But P' may not approximate
the inverse of the smaller system: the paper found that it often does not. P does not include a diagonal shift of the
masked operator.

`WithBorder` is a preconditioner for `[A C; Cᵀ D]` from one for A: the block factors with B ≈ A⁻¹ instead of A⁻¹,

    z_V = Σ⁻¹ (r_V − Wᵀ r_u),   z_u = B r_u − W z_V,   W = B C,   Σ = D − Cᵀ W.

At set-up, W takes one application of B for each unknown of the border. Then a rigid body in viscous liquid needs no
extra iterations, even if the liquid is very stiff. With D alone instead of Σ, the preconditioner would move thick
liquid and a light body apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...operators.base import Operator
from ...operators.csr import CSROperator
from ...operators.saddle import Bordered
from ..base import Directions, Inverse, IterativeInverse, NoPreconditioner, Recipe
from .incomplete import ILU


@dataclass(frozen=True)
class AsMatrix(Recipe):
    """`recipe` for the assembled matrix of an operator.

    Methods that need the entries (incomplete and sparse factors) work on compact vectors over the unknowns; this class
    converts to them and back.

    Parameters
    ----------
    recipe : Recipe
        The recipe for the matrix: `CG(MIC())`, `Direct()`, ...

    Examples
    --------
    >>> import numpy as np, nonstick
    >>> from nonstick.inverse import MIC, CG, AsMatrix
    >>> u, v = np.ones((5, 4)), np.zeros((4, 5))
    >>> step = nonstick.ViscosityProblem(velocity=(u, v), viscosity=1.0, dt=0.1, dx=0.1, phi_liquid=-np.ones((4, 4)))
    >>> A = step.operator.native
    >>> solver = AsMatrix(CG(MIC())).setup(A)
    >>> x = A.zeros()
    >>> solver.solve(A.enter(step.rhs), x).converged
    True
    """

    recipe: Recipe
    wraps: ClassVar[bool] = True

    def fits(self, operator):
        return self.recipe.fits(self._assembled(operator))

    def setup(self, operator, reuse=None):
        return _AsMatrix(operator, self.recipe.setup(self._assembled(operator)))

    @staticmethod
    def _assembled(operator: Operator) -> CSROperator:
        return CSROperator(operator.matrix(), operator.cells)


class _AsMatrix(IterativeInverse):
    def __init__(self, A: Operator, inner: Inverse):
        self.A, self.inner = A, inner

    @property
    def notes(self):
        return self.inner.notes

    def _flat(self, vector: np.ndarray) -> np.ndarray:
        return self.A.leave(vector, np.empty(self.A.n, vector.dtype)).astype(np.float64, copy=False)

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        assert isinstance(self.inner, IterativeInverse)
        flat = self._flat(x)

        def tell(residual: float) -> bool:
            self.A.enter(flat, x)  # the callback may read x
            return watch(residual)

        told = None if watch is None else tell
        result = self.inner.solve(self._flat(b), flat, rtol=rtol, atol=atol, maxiter=maxiter, watch=told)
        self.A.enter(flat, x)
        return result

    def apply(self, r, out):
        flat = self.inner.apply(self._flat(r), np.empty(self.A.n))
        return self.A.enter(flat.astype(out.dtype, copy=False), out)


@dataclass(frozen=True)
class Reused(Recipe):
    """`M` is set up for the unmasked operator, once."""

    M: Recipe = field(default_factory=ILU)

    def setup(self, operator, reuse=None):
        base, free = operator.core, operator.free
        if reuse is None or reuse.base is not base:
            reuse = _Reused(base, self.M.setup(base))
        reuse.clamped = None if free is None else ~free
        return reuse


class _Reused(Inverse):
    clamped: np.ndarray | None

    def __init__(self, base: Operator, P: Inverse):
        self.base, self.P = base, P
        self._masked = np.empty(base.n)

    def apply(self, r, out):
        if self.clamped is None:
            return self.P.apply(r, out)
        np.copyto(self._masked, r)
        np.copyto(self._masked, 0.0, where=self.clamped)
        self.P.apply(self._masked, out)
        np.copyto(out, r, where=self.clamped)
        return out


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

    def fits(self, operator):
        return self.M.fits(operator.A if isinstance(operator, Bordered) else operator)

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
