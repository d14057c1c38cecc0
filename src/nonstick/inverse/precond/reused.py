"""A preconditioner that is built once for A and then only masked: `P'(r) = a⊗P(a⊗r) + f⊗r` (Andersen eq. 42 and 45).

`a` marks the rows where the equation holds, `f` the clamped rows. When the free set of a masked operator changes,
nothing is rebuilt. If P is positive definite, so is P', and conjugate gradients may use it. But P' may not approximate
the inverse of the smaller system: the paper found that it often does not. P does not include a diagonal shift of the
masked operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...operators.base import Operator
from ..base import Inverse, Recipe
from .ilu import ILU


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
