"""`K = [A −Bᵀ; B 0]`: an energy with matrix A, and constraints B u = s with multipliers p.

In a Stokes step u are face velocities, A is mass and viscosity, B the divergence and p the pressure. Where a multiplier
has a bound, `B u ≥ s ⟂ p ≥ bound`: a box problem with the matrix K, which is not symmetric, but monotone.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..core import rounding
from .base import Operator


class Saddle(Operator):
    """Vectors are those of A, then one entry for each constraint.

    Parameters
    ----------
    A : Operator
        Symmetric and positive definite, on flat vectors.
    B : sparse matrix
        One row for each constraint. Columns beyond those of `mass` belong to the border of A, the motions of bodies.
    mass : array
        The diagonal part M of A that does not couple unknowns.
    schur : Operator
        `B M⁻¹ Bᵀ` without the border: what the multipliers see if A is its mass alone.
    dimension : int
        2 or 3.
    """

    symmetric = False

    def __init__(self, A: Operator, B: sp.csr_array, mass: np.ndarray, schur: Operator, dimension: int):
        self.A, self.B, self.Bt = A, B, sp.csr_array(B.T)
        self.mass, self.schur, self.dimension = mass, schur, dimension
        self.m = B.shape[0]
        self.n = A.n + self.m
        self._native = A.native
        self._x, self._y = self._native.zeros(), self._native.zeros()

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Views of the two parts of a vector."""
        return x[: self.A.n], x[self.A.n :]

    @cached_property
    def schur_diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        """Σ B²/diag(A) and Σ B²/M over the unknowns with a mass, for every constraint."""
        square, k = self.B[:, : self.mass.size].power(2), self.mass.size
        return square @ (1.0 / self.A.diagonal[:k]), square @ (1.0 / self.mass)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """diag(A), and for the constraints an estimate of diag(B A⁻¹ Bᵀ): the units in which p and B u compare."""
        return np.concatenate([self.A.diagonal, self.schur_diagonals[0]])

    @cached_property
    def units(self) -> np.ndarray:
        """Residuals times these have one unit, the root of an energy."""
        return 1.0 / np.sqrt(np.where(self.diagonal > 0.0, self.diagonal, 1.0))

    @cached_property
    def closed(self) -> list[np.ndarray]:
        """Groups of constraints that add up to nothing, Bᵀ1 = 0: their p is known up to a constant."""
        count, label = self.schur.components()
        open_columns = np.abs(self.Bt @ np.ones(self.m)) > rounding.SUM
        opened = np.zeros(count, bool)
        opened[label[abs(self.B) @ open_columns.astype(float) > 0.0]] = True
        return [np.flatnonzero(label == part) for part in np.flatnonzero(~opened)]

    def apply(self, x, out):
        (u, p), (to_u, to_p) = self.parts(x), self.parts(out)
        native = self._native
        native.leave(native.apply(native.enter(u, self._x), self._y), to_u)
        to_u -= self.Bt @ p
        to_p[:] = self.B @ u
        return out

    def magnitude(self, x, out):
        (u, p), (to_u, to_p) = self.parts(x), self.parts(out)
        self.A.magnitude(u, to_u)
        to_u += abs(self.Bt) @ np.abs(p)
        to_p[:] = abs(self.B) @ np.abs(u)
        return out

    def matrix(self) -> sp.csr_array:
        return sp.csr_array(sp.block_array([[self.A.matrix(), -self.Bt], [self.B, None]]))
