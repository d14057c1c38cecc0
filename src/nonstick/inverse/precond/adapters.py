"""Inverses made from others: of the assembled matrix, and reused under a mask.

`AsMatrix` is for an operator that works on vectors of another layout.

`Reused` is a preconditioner that is built once for A and then only masked: `P'(r) = a⊗P(a⊗r) + f⊗r` (Andersen
eq. 42 and 45).
`a` marks the rows where the equation holds, `f` the clamped rows. When the free set of a masked operator changes,
nothing is rebuilt. If P is positive definite, so is P', and conjugate gradients may use it. But P' may not approximate
the inverse of the smaller system: the paper found that it often does not. P does not include a diagonal shift of the
masked operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...operators.base import Operator
from ...operators.csr import CSROperator
from ..base import Inverse, IterativeInverse, Recipe
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

    def setup(self, operator, reuse=None):
        return _AsMatrix(operator, self.recipe.setup(CSROperator(operator.matrix(), operator.cells)))


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
