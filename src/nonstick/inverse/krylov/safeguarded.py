"""An iteration, and a surer solver that takes over where the iteration fails."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...operators.base import Operator
from ..base import IterativeInverse, LinearResult, Recipe
from ..precond.ilu import ILU
from .bicgstab import BiCGStab
from .direct import Direct


@dataclass(frozen=True)
class Safeguarded(Recipe):
    """`first`, and `last` where `first` does not reach the tolerance in `patience` iterations.

    BiCGStab and GMRES may stall on a matrix that is far from symmetric, whatever the preconditioner. A sparse factor
    does not, but takes more memory. If `first` has failed once, `last` is used for every later right-hand side and for
    every later free set.

    Parameters
    ----------
    first : Recipe
        A Krylov method.
    last : Recipe
        What takes over, usually `Direct()`.
    patience : int
        Limit of iterations of `first`.

    Examples
    --------
    >>> import numpy as np
    >>> from nonstick.inverse import BiCGStab, Direct, ILU, Safeguarded
    >>> from nonstick.operators import CSROperator
    >>> A = CSROperator([[2.0, -1.5], [-0.5, 2.0]], symmetric=False)
    >>> inverse = Safeguarded(BiCGStab(ILU()), Direct()).setup(A)
    >>> inverse.apply(np.array([1.0, 1.0]), np.empty(2)).round(6)
    array([1.076923, 0.769231])
    """

    first: Recipe = field(default_factory=lambda: BiCGStab(ILU()))
    last: Recipe = field(default_factory=Direct)
    patience: int = 300
    general: ClassVar[bool] = True

    def setup(self, operator, reuse=None):
        failed = reuse is not None and reuse.failed
        before = None if failed or reuse is None else reuse.first
        first = None if failed else self.first.setup(operator, before)
        return _Safeguarded(operator, self, first)


class _Safeguarded(IterativeInverse):
    def __init__(self, A: Operator, recipe: Safeguarded, first: IterativeInverse | None):
        self.A, self.recipe, self.first = A, recipe, first
        self.rtol, self.maxiter = 1e-8, 10_000
        self._last: IterativeInverse | None = None

    @property
    def failed(self) -> bool:
        return self.first is None

    @property
    def algebraic(self):
        return None if self.first is None else self.first.algebraic

    @property
    def notes(self):
        return {"direct": True} if self.failed else {}

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        limit = self.maxiter if maxiter is None else maxiter
        cap = min(limit, self.recipe.patience)
        stopped = False

        def seen(residual: float) -> bool:
            nonlocal stopped
            stopped = watch is not None and watch(residual)
            return stopped

        options = {"rtol": self.rtol if rtol is None else rtol, "atol": atol, "watch": seen}
        done = 0
        if self.first is not None:
            before = x.copy()
            result = self.first.solve(b, x, maxiter=cap, **options)
            # The caller may have ended it; otherwise it broke down or was too slow.
            if result.converged or stopped or (result.iterations == limit and np.isfinite(result.residual)):
                return result
            if not result.residual < result.history[0]:  # also if it is NaN
                x[:] = before
            done, self.first = result.iterations, None
        if self._last is None:
            self._last = self.recipe.last.setup(self.A)
        result = self._last.solve(b, x, maxiter=max(limit - done, 1), **options)
        return LinearResult(done + result.iterations, result.residual, result.converged, result.history)
