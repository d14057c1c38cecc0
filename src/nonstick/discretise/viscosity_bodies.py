"""Rigid bodies in the viscosity step: their velocities are unknowns, as are the velocities of faces.

The faces that a body owns move with it, u_f = kᵀV with V = (v, ω) and k = (e_a, r × e_a), r from its centre of mass to
the middle of the face. Minimising the energy of Batty–Bridson (Aanjaneya eq. 9) plus ½ (V − V*)ᵀ M (V − V*) for every
body, over liquid faces u and motions V together, gives

    [ A    C ] [u]   [ V_u u*       ]         C = A_fb K,   D = M/(ρ dxᵈ) + Kᵀ S K
    [ Cᵀ   D ] [V] = [ M V*/(ρ dxᵈ) ]

where K has the rows kᵀ of the owned faces, A_fb couples them to liquid faces and S is the stress among themselves. The
matrix is symmetric and positive definite for every positive mass, so light bodies are as stable as heavy ones. A rigid
motion of liquid and body together makes no stress, so their total momentum and angular momentum are conserved. The drag
on a body is M (V − V*)/dt. (Aanjaneya §4.2, 6.5 keep the body's velocity fixed while they solve for the liquid.)

Owned faces carry no liquid mass unless it is given (`carried`): their share of the body's mass is in M. Bodies without
a finite mass are prescribed: their faces keep the body's velocity. φ must be extended into bodies, as into walls.
Otherwise the stress next to them gets the weight of a free surface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ..errors import NonstickError
from ..operators.faces import FaceGrid, FaceSystem
from ..operators.saddle import Bordered
from .base import Discretised, extended
from .coupling import arms, freedoms, mass_matrix, rigid_motion, spin_of
from .fields import face_means, fluid_faces
from .viscosity import ViscosityProblem, ViscositySolution, ViscousBox, deprecated, grid_of


@dataclass(frozen=True)
class ViscousBody:
    """A body as plain arrays. In 2D `spin` and `inertia` are numbers, in 3D a vector and a matrix in world axes.

    `matrix` (3×3 in 2D, 6×6 in 3D, over (v, ω)) replaces mass and inertia if the mass comes from the grid's fractions.
    Without a finite mass the motion is prescribed.
    """

    centre: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray | float = 0.0
    mass: float = np.inf
    inertia: np.ndarray | float | None = None
    matrix: np.ndarray | None = None

    def motion(self, d: int) -> np.ndarray:
        """V* = (v, ω)"""
        return rigid_motion(self.centre, self.velocity, self.spin, d)

    def mass_matrix(self, d: int) -> np.ndarray | None:
        """Over (v, ω); None if the motion is prescribed."""
        dofs = freedoms(d)
        if self.matrix is not None:
            M = np.asarray(self.matrix, float)
        elif not np.isfinite(self.mass):
            return None
        elif self.inertia is None:
            raise NonstickError("a body with a mass needs its inertia")
        else:
            M = mass_matrix(self.mass, np.asarray(self.inertia, float), d)
        if M.shape != (dofs, dofs) or not np.isfinite(M).all() or not np.allclose(M, M.T, rtol=1e-9):
            raise NonstickError(f"the mass matrix of a body in {d}D must be {dofs}×{dofs}, finite and symmetric")
        if np.linalg.eigvalsh(M)[0] < 0.0 or M[0, 0] <= 0.0:
            raise NonstickError("a body's mass must be positive and its inertia not negative")
        return M


def rigid_rows(a: int, x: Sequence[np.ndarray], centre) -> np.ndarray:
    """(faces, dofs): kᵀ of faces of component a whose middles are at coordinates x (one array per axis)."""
    r = [np.asarray(c, float) - m for c, m in zip(x, centre)]
    out = np.zeros((r[0].size, freedoms(len(r))))
    for freedom, values in arms(a, r):
        out[:, freedom] = values
    return out


@dataclass
class BodyViscositySolution(ViscositySolution):
    """Face velocities and motions after the step; owned faces move with their body."""

    @property
    def motions(self) -> list[tuple[np.ndarray, np.ndarray | float]]:
        """(velocity, spin) of every body, in the order given."""
        return self.source.motions(self.x)


class ViscosityWithBodies(Discretised):
    """A viscosity step of liquid and rigid bodies together.

    Parameters
    ----------
    velocity, viscosity, dt, dx, rho, **where
        As for `ViscosityProblem`. For `distance` bodies are solids too; `phi_solid` is the distance to walls only.
    bodies : sequence of ViscousBody
        The bodies.
    body_of_face : tuple of ndarray of int
        Arrays shaped like the velocity: the number of the body that owns a face, -1 if none does. Faces that are solid
        by `phi_solid` or `fluid` stay solid. Coordinates start at the corner of the grid: face (0, j) of u is at x = 0.
    carried : tuple of ndarray, optional
        Mass of liquid on owned faces, 1 on a face inside the liquid: it moves with the body, and brings its velocity.
    """

    default_method = "visc-auto"
    # Momentum against the largest one: faces with a sliver of liquid need not be exact to their own last digits.
    default_criterion = "papers"
    #: makes the problem of the liquid
    liquid_kind: ClassVar[type[ViscosityProblem]] = ViscosityProblem

    def __init__(
        self, *, velocity, viscosity, dt, dx, bodies: Sequence[ViscousBody], body_of_face, rho=1000.0, carried=None,
        **where,
    ):  # fmt: skip
        self.bodies = list(bodies)
        self.velocity = tuple(np.asarray(v, dtype=np.float64) for v in velocity)
        given = tuple(np.array(v, dtype=np.float64) for v in velocity)
        grid = FaceGrid.of(grid_of("velocity", given))
        d, dofs = grid.dimension, freedoms(grid.dimension)
        self.dofs = dofs
        phi_solid = where.pop("phi_solid", None)
        if phi_solid is not None:
            where["distance"] = list(face_means(grid, phi_solid))
        fluid = list(fluid_faces(grid, phi_solid, where.pop("fluid", None)))
        owner = self._owners(body_of_face, fluid)
        self.before = np.array([body.motion(d) for body in self.bodies]).reshape(-1, dofs)
        masses = [body.mass_matrix(d) for body in self.bodies]
        self.free = [i for i, M in enumerate(masses) if M is not None]
        #: owned faces: (component, indices, rows kᵀ, body)
        self._owned = []
        for a, o in enumerate(owner):
            for i, body in enumerate(self.bodies):
                at = np.nonzero(o == i)
                x = [(index + (0.0 if axis == a else 0.5)) * dx for axis, index in enumerate(at)]
                k = rigid_rows(a, x, body.centre)
                self._owned.append((a, at, k, i))
                # this holds zero for free bodies: their effect on the liquid is in C
                given[a][at] = 0.0 if i in self.free else k @ self.before[i]
            fluid[a] = fluid[a] & (o < 0)
        self.liquid = self.liquid_kind(
            velocity=given, viscosity=viscosity, dt=dt, dx=dx, rho=rho, fluid=fluid, whole=True, **where
        )
        self._couple(masses, rho * dx**d, carried)

    def _owners(self, body_of_face, fluid) -> list[np.ndarray]:
        """A face that lies in a wall and in a body belongs to the wall."""
        owner = [np.asarray(o) for o in body_of_face]
        if [o.shape for o in owner] != [f.shape for f in fluid]:
            raise NonstickError("body_of_face needs one array for each component of the velocity, of the same shape")
        for o in owner:
            if o.dtype.kind not in "iu" or o.min(initial=-1) < -1 or o.max(initial=-1) >= len(self.bodies):
                raise NonstickError(f"body_of_face must hold integers from -1 to {len(self.bodies) - 1}")
        return [np.where(f, o, -1) for o, f in zip(owner, fluid)]

    def _couple(self, masses, cell: float, carried) -> None:
        liquid = self.liquid
        system, grid = liquid.system, liquid.grid
        free, dofs = self.free, self.dofs
        m = dofs * len(free)
        # the unit of a degree of freedom makes its row comparable with the row of a face
        self.unit = np.ones(m)
        own = np.zeros((3, *grid.padded), np.bool_)
        entries: list[tuple[int, np.ndarray, np.ndarray]] = []
        for place, i in enumerate(free):
            faces = [(a, at, k) for a, at, k, j in self._owned if j == i]
            count = max(1, sum(len(k) for _, _, k in faces))
            M = masses[i]
            assert M is not None
            reach = np.concatenate([np.abs(k[:, grid.dimension :]).max(axis=1, initial=0.0) for _, _, k in faces])
            length = float(np.sqrt((reach**2).mean())) if reach.size and reach.any() else 1.0
            unit = np.full(dofs, 1.0 / max(count, M[0, 0] / cell))
            unit[grid.dimension :] /= length
            self.unit[place * dofs : (place + 1) * dofs] = unit
            for a, at, k in faces:
                flat = _padded_index(grid, a, at)
                own.reshape(-1)[flat] = True
                entries.append((place, flat, k * unit))
        owned = FaceSystem(grid, np.zeros(3 * grid.P), system.k, own, None)
        column = system.zeros()
        product, inside = system.zeros(), owned.zeros()
        K = np.zeros((owned.n, m))
        rows, values = [], []
        D = np.zeros((m, m))
        for place in range(len(free)):
            mine = [(flat, k) for p, flat, k in entries if p == place]
            face, drag, arm = self._drag([flat for flat, _ in mine], free[place])
            block = slice(place * dofs, (place + 1) * dofs)
            arm = arm * self.unit[block]
            D[block, block] = arm.T @ (drag[:, None] * arm)
            near = system.within(*_around(grid, [flat for flat, _ in mine]))
            part = np.empty((near.n, dofs))
            for j in range(dofs):
                for flat, k in mine:
                    column[flat] = k[:, j]
                K[:, place * dofs + j] = owned.gather(column)
                near.apply(column, product)
                np.subtract.at(product, face, drag * arm[:, j])
                part[:, j] = near.gather(product)
            for flat, _ in mine:
                column[flat] = 0.0
            rows.append(near.numbers)
            values.append(part)
        C = _columns(rows, values, (system.n, m))
        for n in range(m):
            owned.scatter(np.ascontiguousarray(K[:, n]), column)
            D[:, n] += K.T @ owned.gather(owned.apply(column, inside))
        D = 0.5 * (D + D.T)
        b = np.zeros(m)
        walls = liquid._pad([v * ~f for v, f in zip(liquid.velocity, liquid.fluid)])
        push = K.T @ owned.gather(owned.apply(walls, inside))
        weights = np.zeros((m, m))
        for place, i in enumerate(free):
            block = slice(place * dofs, (place + 1) * dofs)
            weights[block, block] = masses[i] / cell * np.outer(self.unit[block], self.unit[block])
            b[block] = weights[block, block] @ (self.before[i] / self.unit[block])
            for a, at, k, j in self._owned if carried is not None else ():
                if j == i:
                    arm = k * self.unit[block]
                    weights[block, block] += arm.T @ (carried[a][at][:, None] * arm)
                    b[block] += arm.T @ (carried[a][at] * self.velocity[a][at])
        touched = np.flatnonzero(np.diff(C.indptr))
        self.operator = Bordered(liquid.operator, touched, sp.csr_array(C[touched]), D + weights, own=weights)
        scale = max(liquid.scale_of(liquid.rhs), float(np.abs(b - push).max(initial=0.0)))
        self.problem = ViscousBox(self.operator, np.concatenate([liquid.rhs, b - push]), scale)

    def _drag(self, owned: list[np.ndarray], i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Liquid faces next to the surface of a body, its drag on them, and their rows kᵀ."""
        grid, drag = self.liquid.grid, self.liquid.drag
        if drag is None:
            return np.zeros(0, np.int64), np.zeros(0), np.zeros((0, self.dofs))
        hit = np.flatnonzero(np.isin(drag.solid, np.concatenate([np.empty(0, np.int64), *owned])))
        face = drag.face[hit]
        component, *index = np.unravel_index(face, (3, *grid.padded))
        arm = np.empty((face.size, self.dofs))
        for a, axis in enumerate(grid.axes):
            mine = component == axis
            x = [(index[b][mine] - (1.0 if b == axis else 0.5)) * self.liquid.dx for b in grid.axes]
            arm[mine] = rigid_rows(a, x, self.bodies[i].centre)
        return face, drag.strength[hit], arm

    @property
    def box(self) -> ViscousBox:
        """Deprecated: the same as `problem`."""
        return deprecated(self, "box", "problem")

    def start(self) -> np.ndarray:
        """The velocities before the step."""
        return np.concatenate([self.liquid.advected(), self.before[self.free].ravel() / self.unit])

    def first_guess(self):
        return self.start()

    def with_fields(self, solution):
        return extended(BodyViscositySolution, solution, source=self)

    def motions(self, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray | float]]:
        V = self._after(x)
        d = self.liquid.grid.dimension
        return [(row[:d], spin_of(row, d)) for row in V]

    def with_unknowns(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        V = self._after(x)
        out = self.liquid.with_unknowns(x[: self.liquid.n])
        for a, at, k, i in self._owned:
            out[a][at] = k @ V[i]
        return out

    def _after(self, x: np.ndarray) -> np.ndarray:
        V = self.before.copy()
        V[self.free] = (x[self.liquid.n :] * self.unit).reshape(-1, self.dofs)
        return V


def _around(grid, places: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the box of padded cells in which the rows of these faces' neighbours lie."""
    cells = np.concatenate([np.empty(0, np.int64), *places]) % grid.P
    at = np.array(np.unravel_index(cells, grid.padded))
    if not cells.size:
        return np.zeros(3, np.int64), np.zeros(3, np.int64)
    return at.min(axis=1) - 1, at.max(axis=1) + 2


def _columns(rows: list[np.ndarray], values: list[np.ndarray], shape: tuple[int, int]) -> sp.csr_array:
    """The matrix with a block of columns for every entry of `values`; `rows` are the places of their rows."""
    r, c, v = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    before = 0
    for number, block in zip(rows, values):
        i, j = np.nonzero(block)
        r.append(number[i])
        c.append(before + j)
        v.append(block[i, j])
        before += block.shape[1]
    return sp.csr_array((np.concatenate(v), (np.concatenate(r), np.concatenate(c))), shape=shape)


def _padded_index(grid: FaceGrid, a: int, at) -> np.ndarray:
    """Indices, in a padded vector, of faces of the user's component a."""
    axis = a + 3 - grid.dimension
    index = [np.ones_like(at[0])] * (3 - grid.dimension) + [i + 1 for i in at]
    return axis * grid.P + np.ravel_multi_index(index, grid.padded)
