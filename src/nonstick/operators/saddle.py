"""Operators in blocks.

`K = [A −Bᵀ; B 0]`: an energy with matrix A, and constraints B u = s with multipliers p.

In a Stokes step u are face velocities, A is mass and viscosity, B the divergence and p the pressure. Where a multiplier
has a bound, `B u ≥ s ⟂ p ≥ bound`: a box problem with the matrix K, which is not symmetric, but monotone.

`[A C; Cᵀ D]`: an operator with a border of a few more unknowns, each coupled to some of its rows.

In a viscosity step A is the liquid, and the border is the motion of rigid bodies in it. C is the effect of moving
bodies on the faces around them; D is their effect on each other plus their own mass.
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


class Bordered(Operator):
    """Vectors are those of A, followed by the m unknowns of the border.

    Parameters
    ----------
    A : Operator
        The operator without its border, in any layout.
    touched : array of int
        The unknowns of A that the border is coupled to.
    C : sparse matrix
        Their couplings: one row for each of `touched`, m columns.
    D : array
        m × m.
    own : array
        The part of D that does not come from A; for bodies, their mass. D - Cᵀ A⁻¹ C is at least this.
    places : array of int, optional
        Indices of `touched` in a vector of A's layout; `touched` itself if not given.
    """

    def __init__(
        self,
        A: Operator,
        touched: np.ndarray,
        C: sp.csr_array,
        D: np.ndarray,
        own: np.ndarray,
        places: np.ndarray | None = None,
    ):
        self.A, self.touched, self.C, self.D, self.own = A, touched, C, D, own
        self.places = touched if places is None else places
        self.Ct = sp.csr_array(C.T)
        self.m = D.shape[0]
        self.n = A.n + self.m
        self._size = A.zeros().size

    @property
    def native(self) -> Bordered:
        A = self.A.native
        if A is self.A:
            return self
        return Bordered(A, self.touched, self.C, self.D, self.own, A.positions()[self.touched])

    @property
    def diagonal(self) -> np.ndarray:
        return np.concatenate([self.A.diagonal, np.diagonal(self.D)])

    def parts(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Views of the two parts of a vector: the part of A, and the part of the border."""
        return x[: self._size], x[self._size :]

    # -- products ------------------------------------------------------------------------------------------

    def apply(self, x, out):
        u, y = self.parts(x)
        to_u, to_y = self.parts(out)
        self.A.apply(u, to_u)
        to_u[self.places] += self.C @ y
        to_y[:] = self.Ct @ u[self.places] + self.D @ y
        return out

    def residual(self, b, x, out):
        (u, y), (b_u, b_y), (r_u, r_y) = self.parts(x), self.parts(b), self.parts(out)
        self.A.residual(b_u, u, r_u)
        r_u[self.places] -= self.C @ y
        r_y[:] = b_y - self.Ct @ u[self.places] - self.D @ y
        return out

    def energy(self, x, out):
        u, y = self.parts(x)
        to_u, to_y = self.parts(out)
        energy = self.A.energy(u, to_u)
        near, cross, own = u[self.places], self.C @ y, self.D @ y
        to_u[self.places] += cross
        to_y[:] = self.Ct @ near + own
        return energy + 2.0 * float(near @ cross) + float(y @ own)

    def magnitude(self, x, out):
        (u, y), (to_u, to_y) = self.parts(np.abs(x)), self.parts(out)
        self.A.magnitude(u, to_u)
        to_u[self.places] += abs(self.C) @ y
        to_y[:] = abs(self.Ct) @ u[self.places] + np.abs(self.D) @ y
        return out

    def matrix(self) -> sp.csr_array:
        coo = sp.coo_array(self.C)
        C = sp.csr_array((coo.data, (self.touched[coo.row], coo.col)), shape=(self.A.n, self.m))
        return sp.csr_array(sp.block_array([[self.A.matrix(), C], [C.T, sp.csr_array(self.D)]]))

    # -- vectors -------------------------------------------------------------------------------------------

    def zeros(self, dtype=np.float64):
        return np.zeros(self._size + self.m, dtype)

    def enter(self, x, out=None):
        out = self.zeros(x.dtype) if out is None else out
        u, y = self.parts(out)
        self.A.enter(x[: self.A.n], u)
        y[:] = x[self.A.n :]
        return out

    def leave(self, vector, out):
        u, y = self.parts(vector)
        self.A.leave(u, out[: self.A.n])
        out[self.A.n :] = y
        return out

    def dot(self, x, y):
        (x_u, x_y), (y_u, y_y) = self.parts(x), self.parts(y)
        return self.A.dot(x_u, y_u) + float(x_y @ y_y)

    def combine(self, y, x, beta):
        (y_u, y_y), (x_u, x_y) = self.parts(y), self.parts(x)
        self.A.combine(y_u, x_u, beta)
        y_y[:] = x_y + beta * y_y if beta else x_y

    def peak(self, x):
        u, y = self.parts(x)
        return _larger(self.A.peak(u), y)

    def step(self, x, r, p, q, alpha):
        parts = [self.parts(v) for v in (x, r, p, q)]
        peak = self.A.step(*(u for u, _ in parts), alpha)
        return self.step_border(*(y for _, y in parts), alpha, peak)

    @staticmethod
    def step_border(x, r, p, q, alpha: float, peak: float) -> float:
        """`step` for the part of the border alone; `peak` is the result of the part of A."""
        x += alpha * p
        r -= alpha * q
        return _larger(peak, r)


def _larger(peak: float, y: np.ndarray) -> float:
    """The larger of a peak and max|y|; NaN if either is."""
    return float(np.maximum(peak, np.abs(y).max(initial=0.0)))
