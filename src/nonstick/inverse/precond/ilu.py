"""ILU(0): the incomplete factor on the pattern of A, the preconditioner of Lai's PCG.

A is symmetric here, so ILU(0) is the root-free IC(0): `A ≈ (E + U)ᵀ E⁻¹ (E + U)`, and conjugate gradients may
use it. On M-matrices every pivot is positive; on other matrices a pivot that vanishes is replaced by the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..base import Recipe
from .mic import factor

# A singular component whose graph is a tree is factored exactly, and its last pivot has the size of rounding errors.
VANISHED = 1e-10


@dataclass(frozen=True)
class ILU(Recipe):
    """ILU without fill; on stencil operators no matrix is assembled."""

    def setup(self, operator, reuse=None):
        return factor(operator, 0.0, VANISHED, reuse)
