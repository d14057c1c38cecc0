"""Rigid bodies in the pressure equation, in the volume-fraction form (Batty, Bertails, Bridson 2007, §4).

A body covers the share β_f of the cube of one cell around face f and moves with V = (v, ω), so its velocity through
the face is kᵀV with k = (e_a, r × e_a), r from the centre to the middle of the face. Its flux out of cell c is (G V)_c
= Σ ± β kᵀV / dx. The same G gives the push of the pressure on it: M (V' - V) = dt dx^d Gᵀp. Eliminating V' from the
pressure equation leaves

    (A + dt dx^d G M⁻¹ Gᵀ) p = -div(u) - G V.

Summation by parts makes three properties exact. Constant pressure does not push or turn a submerged body. The liquid
loses exactly the momentum and angular momentum that the body gains. Hydrostatic pressure lifts the body by the weight
of the liquid it displaces, Σ_f β_f dx^d ρ g k.

The mass of a body is computed on the grid too, so that a body with the density of the liquid neither rises nor sinks: M
= ρ_b dx^d Σ_f s_f k kᵀ over all the faces it covers, a matrix of rank 3 (2D) or 6 (3D). Weight and hydrostatic pressure
are then both M times one acceleration, so a submerged body of uniform density and any shape does not turn in liquid at
rest. (Mass and inertia of the exact shape differ by the error of the fractions. They are used where the grid does not
resolve the whole body.)

Shares are fractions of volumes here, and fractions of areas at static walls. The cubes around the faces of one axis
fill space. So a body displaces exactly its volume in every position, and nothing jumps when a flat side passes a plane
of the grid.

Departure from Aanjaneya et al. 2019, who couple by impulses at the surface (Robinson-Mosher et al. 2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import rounding
from ..errors import NonstickError
from ..grid.box import IndexBox
from ..grid.fractions import cover
from ..operators.base import Operator
from ..operators.masked import LowRank
from ..operators.rows import Rows
from ..parallel.partition import Partition
from .fields import Faces


@dataclass(frozen=True)
class CouplingSettings:
    """Bodies on the grid."""

    #: allowed relative difference between the volume on the grid and mass/density; above it the grid does not resolve
    #: the whole body
    whole: float = 0.3


SETTINGS = CouplingSettings()


@dataclass(frozen=True)
class Body:
    """A rigid body as plain arrays; without density and mass its motion is prescribed and does not change.

    phi         signed distance at nodes, negative inside; all nodes of the grid, or a window of them that
                holds the body and starts at node `corner`
    centre      centre of mass
    velocity    of the centre
    spin        angular velocity: a number in 2D, a vector in 3D
    density     of the body; its mass matrix then comes from the face fractions (see above)
    mass        and `inertia` (2D a number, 3D a matrix in world axes): used if there is no density, or where the
                body lies partly outside the grid or is smaller than its cells
    """

    phi: np.ndarray
    centre: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray | float = 0.0
    density: float | None = None
    mass: float | None = None
    inertia: np.ndarray | float | None = None
    corner: tuple[int, ...] = ()

    @property
    def free(self) -> bool:
        """True if the liquid moves the body."""
        return self.density is not None or (self.mass is not None and np.isfinite(self.mass))

    def motion(self, dimension: int) -> np.ndarray:
        """V = (v, ω)"""
        return rigid_motion(self.centre, self.velocity, self.spin, dimension)


def freedoms(d: int) -> int:
    """Number of components of a rigid motion (v, ω): 3 in 2D, 6 in 3D."""
    return d * (d + 1) // 2


def rigid_motion(centre, velocity, spin, d: int) -> np.ndarray:
    """V = (v, ω) of a body, checked; in 3D a spin of zero may be a number."""
    w = np.atleast_1d(np.asarray(spin, dtype=float))
    if d == 3 and w.size == 1 and not w.any():
        w = np.zeros(3)
    c, v, n = np.asarray(centre, dtype=float), np.asarray(velocity, dtype=float), freedoms(d) - d
    if v.shape != (d,) or c.shape != (d,) or w.shape != (n,):
        raise NonstickError(
            f"a body in {d}D needs a centre and a velocity of {d} numbers and a spin of {n}, not {c.shape}, {v.shape} "
            f"and {w.shape}"
        )
    out = np.concatenate([v, w])
    if not (np.isfinite(out).all() and np.isfinite(c).all()):
        raise NonstickError("a body's centre, velocity or spin is NaN or infinite")
    return out


def mass_matrix(mass: float, inertia, d: int) -> np.ndarray:
    """M over (v, ω)."""
    M = np.zeros((freedoms(d),) * 2)
    M[range(d), range(d)] = mass
    M[d:, d:] = inertia
    return M


def arms(axis: int, r: Sequence[np.ndarray]) -> list[tuple[int, np.ndarray | float]]:
    """k = (e_a, r × e_a) at faces along an axis: (degree of freedom, values) of its entries that are not zero."""
    if len(r) == 2:
        return [(axis, 1.0), (2, -r[1] if axis == 0 else r[0])]
    b, c = (axis + 1) % 3, (axis + 2) % 3  # r × e_a = r_c e_b - r_b e_c
    return [(axis, 1.0), (3 + b, r[c]), (3 + c, -r[b])]


def spin_of(motion: np.ndarray, d: int) -> np.ndarray | float:
    """ω of V = (v, ω): a number in 2D, a vector in 3D."""
    return float(motion[2]) if d == 2 else motion[3:]


@dataclass(frozen=True)
class MovedBody:
    """The effect of a solve on a body."""

    velocity: np.ndarray
    spin: np.ndarray | float
    #: impulse and angular impulse (about the centre) from the pressure
    impulse: np.ndarray
    angular_impulse: np.ndarray


class Covered:
    """One body on the faces of a grid: shares of the faces in its window, arms, mass matrix."""

    def __init__(self, body: Body, shape: tuple[int, ...], dx: float, part: Partition | None = None):
        self.body, self.dx, self.part = body, dx, part or Partition.whole(shape, dx)
        d = len(shape)
        self.d = d
        self._first = self.part.grid.first
        self.dofs = freedoms(d)
        self.motion = body.motion(d)
        phi = np.asarray(body.phi, dtype=np.float64)
        corner = body.corner or (0,) * d
        if phi.ndim != d or any(c < 0 or c + m > n + 1 or m < 2 for c, m, n in zip(corner, phi.shape, shape)):
            raise NonstickError(
                f"the distance of a body must lie on nodes of the grid {tuple(n + 1 for n in shape)}, "
                f"not on {phi.shape} nodes from {corner} on"
            )
        phi, self.corner = _crop(phi, corner, dx)
        self.phi = phi
        self.cells = tuple(m - 1 for m in phi.shape)
        #: share of each face of the window inside the body, and the part of that share not taken by other solids
        self.shares: Faces = cover(phi / dx)
        self.beta = self.shares
        self.mass = self._mass()

    def window(self, axis: int | None = None) -> tuple[slice, ...]:
        """The position of the window among the cells of the grid, or among its faces along an axis."""
        return tuple(slice(c, c + m + (a == axis)) for a, (c, m) in enumerate(zip(self.corner, self.cells)))

    def arms(self, axis: int) -> list[tuple[int, np.ndarray | float]]:
        """k at the faces of an axis in the window."""
        x = []
        for a, (c, m) in enumerate(zip(self.corner, self.cells)):
            middle = 0.0 if a == axis else 0.5
            line = self.dx * (self._first[a] + c + np.arange(m + (a == axis)) + middle) - self.body.centre[a]
            x.append(line.reshape([-1 if b == a else 1 for b in range(self.d)]))
        return arms(axis, x)

    def _mass(self) -> np.ndarray | None:
        body, d = self.body, self.d
        if not body.free:
            return None
        exact = self._exact()
        if body.density is None:
            if exact is None:
                raise NonstickError("a body with a mass needs its inertia too, or give its density instead")
            return exact
        if not (np.isfinite(body.density) and body.density > 0):
            raise NonstickError(f"the density of a body must be positive, not {body.density}")
        M = np.zeros((self.dofs, self.dofs))
        for axis, s in enumerate(self.shares):
            arms, own = self.arms(axis), self.part.own_faces_in(self.window(axis), axis)
            for i, a in arms:
                for j, b in arms:
                    M[i, j] += float((s * a * b)[own].sum())
        M = self.part.comm.total(M)
        volume = np.diag(M)[:d].copy() * self.dx**d
        if exact is not None and body.mass is not None:
            known = float(body.mass) / body.density
            if np.abs(volume - known).max() > SETTINGS.whole * known:
                return exact
        elif not volume.min() > 0.0 or not _definite(M):
            raise NonstickError("a body is smaller than the cells of the grid: give its mass and inertia as well")
        return body.density * self.dx**d * M

    def _exact(self) -> np.ndarray | None:
        body, d = self.body, self.d
        if body.mass is None or body.inertia is None:
            return None
        M = mass_matrix(body.mass, body.inertia, d)
        if not (np.isfinite(M).all() and _definite(M)):
            raise NonstickError("mass and inertia of a body must be positive")
        return M

    def displaced(self) -> float:
        """The volume of the body on the grid, in cells."""
        own = [float(s[self.part.own_faces_in(self.window(axis), axis)].sum()) for axis, s in enumerate(self.shares)]
        return float(self.part.comm.total(np.array(own)).max())

    def flux(self) -> np.ndarray:
        """G on the cells of the window: one more axis, over the degrees of freedom."""
        out = np.zeros((*self.cells, self.dofs))
        for axis, s in enumerate(self.beta):
            for i, arm in self.arms(axis):
                out[..., i] += np.diff(s * arm, axis=axis) / self.dx
        return out

    def speed(self, axis: int, motion: np.ndarray) -> np.ndarray | float:
        """kᵀV at the faces of the window."""
        return sum(motion[i] * arm for i, arm in self.arms(axis))


class Coupling:
    """All bodies of a pressure problem: shared faces, the low-rank term, and the motion after the solve.

    `weights` and `velocity` describe the static solids; they have priority where solids overlap. The remaining part of
    a face is divided among bodies in proportion to the part that each would cover.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        weights: Faces,
        velocity: Faces | None,
        shape: tuple[int, ...],
        dx: float,
        part: Partition | None = None,
    ):
        self.shape, self.dx, self.d = shape, dx, len(shape)
        self.part = part or Partition.whole(shape, dx)
        self.covered = [Covered(body, shape, dx, self.part) for body in bodies]
        self.free = [c for c in self.covered if c.mass is not None]
        self._velocity = velocity
        self._closed = tuple(1.0 - np.asarray(w, dtype=np.float64) for w in weights)
        self.weights = self._share(weights)

    @classmethod
    def of(
        cls, bodies: Any, weights: Faces, velocity: Faces | None, shape: tuple[int, ...], dx: float
    ) -> Coupling | None:
        """The coupling of the bodies that a user gives, which may be one already; None without bodies."""
        if isinstance(bodies, Coupling):
            return bodies
        if not (isinstance(bodies, (list, tuple)) and all(isinstance(body, Body) for body in bodies)):
            raise NonstickError("bodies must be a list of nonstick.discretise.Body")
        return cls(bodies, weights, velocity, shape, dx) if bodies else None

    def _share(self, weights: Faces) -> Faces:
        out = []
        betas: list[list[np.ndarray]] = [[] for _ in self.covered]
        for axis, static in enumerate(weights):
            w = np.array(static, dtype=np.float64)
            total = np.zeros_like(w)
            for c in self.covered:
                total[c.window(axis)] += c.shares[axis]
            left = w - total
            # bodies that overlap share the remaining part; a gap of rounding size is closed and given to them too
            tight = (total > 0.0) & (left < rounding.SINGLE)  # rounding makes no gap between two solids
            part = np.divide(w, total, out=np.ones_like(w), where=tight)
            for c, beta in zip(self.covered, betas):
                beta.append(c.shares[axis] * part[c.window(axis)])
            w = np.where(tight, 0.0, np.where(total > 0.0, left, w))
            out.append(w)
        for c, beta in zip(self.covered, betas):
            c.beta = tuple(beta)
        return tuple(out)

    def moving(self, motions: Sequence[np.ndarray], velocity: Faces | None) -> Coupling:
        """The same bodies in the same place with other motions, and the static solids with another velocity."""
        out = copy(self)
        out.covered = [copy(c) for c in self.covered]
        for c, V in zip(out.covered, motions):
            c.motion = V
        out.free = [c for c in out.covered if c.mass is not None]
        out._velocity = velocity
        return out

    def solid_velocity(self, motions: Sequence[np.ndarray] | None = None) -> Faces:
        """Velocity of the solids at each face: the mean over static solids and bodies, weighted by their shares."""
        motions = [c.motion for c in self.covered] if motions is None else motions
        out = []
        for axis, (w, closed) in enumerate(zip(self.weights, self._closed)):
            still = None if self._velocity is None else np.asarray(self._velocity[axis], dtype=np.float64)
            flux = np.zeros(w.shape) if still is None else closed * still
            for c, V in zip(self.covered, motions):
                flux[c.window(axis)] += c.beta[axis] * c.speed(axis, V)
            mean = np.zeros(w.shape) if still is None else still.copy()
            for c in self.covered:
                here = c.window(axis)
                rest = 1.0 - w[here]
                mean[here] = np.divide(flux[here], rest, out=np.zeros(rest.shape), where=rest > 0.0)
            out.append(mean)
        return tuple(out)

    def couple(self, A: Operator, rows: Rows, dt: float, rho: float) -> LowRank:
        """A + dt dx^d G M⁻¹ Gᵀ over the unknowns of `rows`."""
        dofs = freedoms(self.d)
        own = self.part.only_own(np.ones(self.shape, bool)) if self.part.shared else None
        S = np.zeros((dofs * len(self.free),) * 2)
        where, column, value, light = [], [], [], np.empty(S.shape[0])
        for k, c in enumerate(self.free):
            assert c.mass is not None  # it is free
            block = slice(k * dofs, (k + 1) * dofs)
            S[block, block] = dt * self.dx**self.d * np.linalg.inv(c.mass)
            displaced = self.dx**self.d * c.displaced()
            light[block] = rho * displaced / float(np.diag(c.mass)[: self.d].min())
            G = c.flux()
            pushed = np.abs(G).max(axis=-1) > 0.0
            if own is not None:
                pushed &= own[c.window()]
            hit = np.argwhere(pushed)
            cell = np.ravel_multi_index(tuple((hit + c.corner).T), self.shape)
            at = np.searchsorted(rows.cells, cell)
            at[at == rows.n] = 0
            known = rows.cells[at] == cell if rows.n else np.zeros(cell.size, bool)
            at, hit = at[known], hit[known]
            where.append(np.repeat(at, dofs))
            column.append(np.tile(np.arange(k * dofs, (k + 1) * dofs), at.size))
            value.append(G[tuple(hit.T)].ravel())
        t, j, v = (np.concatenate([np.empty(0, np.int64), *part]) for part in (where, column, value))
        touched, t = np.unique(t, return_inverse=True)
        U = sp.csr_array((v, (t, j.astype(np.int64))), shape=(touched.size, S.shape[0]))
        return LowRank(A, touched.astype(np.int64), U, 0.5 * (S + S.T), light, self.part.comm)

    def moved(self, operator: LowRank, pressure: np.ndarray, dt: float) -> list[MovedBody]:
        """The bodies after the pressure (a vector over the unknowns) has acted on them for dt."""
        force = dt * self.dx**self.d * operator.gather(pressure)
        dofs, d = freedoms(self.d), self.d
        out, k = [], 0
        for c in self.covered:
            V, impulse = c.motion, np.zeros(dofs)
            if c.mass is not None:
                impulse = force[k * dofs : (k + 1) * dofs]
                V = V + np.linalg.solve(c.mass, impulse)
                k += 1
            out.append(MovedBody(V[:d], spin_of(V, d), impulse[:d], impulse[d:]))
        return out


def _crop(phi: np.ndarray, corner, dx: float) -> tuple[np.ndarray, tuple[int, ...]]:
    """The window of nodes that matters: no cell outside it is covered by the body or next to a covered cell."""
    box = IndexBox.around(phi < 2.0 * dx) or IndexBox((0,) * phi.ndim, (2,) * phi.ndim)
    low = tuple(min(l, n - 2) for l, n in zip(box.low, phi.shape))
    box = IndexBox(low, tuple(max(h, l + 2) for l, h in zip(low, box.high)))
    return phi[box.slices], tuple(int(c) + l for c, l in zip(corner, low))


def _definite(M: np.ndarray) -> bool:
    """True if the matrix is positive definite; the test does not depend on the unit of length."""
    scale = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    return bool(np.linalg.eigvalsh(M / scale[:, None] / scale).min() > 1e-12)
