"""The block A of a Stokes step, and rigid bodies in it.

A body owns the faces that it closes or holds: u_f = kᵀV there. Its motion V is an unknown beside the velocities of
faces, for the stress as in `viscosity_bodies` and for the flux as in `coupling`: substituting u = T (u, V) gives TᵀA T
plus the body's mass, and B T. The flux of V out of a cell is Σ ± β kᵀV over its faces, where β is the share of the body
and, for a face that it holds, also the open share. The liquid there moves with the body: its mass and momentum are
added to those of the body, or its weight would be missing and the body would float too high. Pressure and drag act in
one solve, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..grid.faces import at_faces, ends
from .coupling import Coupling, Covered, MovedBody, freedoms, spin_of
from .fields import Faces
from .viscosity import ViscosityProblem
from .viscosity_bodies import ViscosityWithBodies, ViscousBody


class ViscousBlock(ViscosityProblem):
    """A without bodies. Walls do not shorten its masses: pressure and weight must act on the same mass."""

    harmonic = True

    def _shortened(self, mass):
        return np.ones(mass.shape)


class _BlockWithBodies(ViscosityWithBodies):
    liquid_kind = ViscousBlock


class BodiesInLiquid:
    """The bodies of a Stokes step: what they hold, and the columns they add to A and B."""

    def __init__(self, coupling: Coupling, body_of_face: Sequence[np.ndarray] | None):
        self.coupling, self._given = coupling, body_of_face
        d = coupling.d
        #: static solids and bodies of known motion; those that the liquid moves count as at rest
        motions = [c.motion if c.mass is None else np.zeros(freedoms(d)) for c in coupling.covered]
        self.known_velocity = coupling.solid_velocity(motions)

    def distance(self, distance: Faces) -> Faces:
        """The distance of faces to walls and bodies, from that to walls."""
        out = tuple(np.array(f, float) for f in distance)
        for c in self.coupling.covered:
            for axis, f in enumerate(out):
                here = c.window(axis)
                f[here] = np.minimum(f[here], at_faces(c.phi, axis))
        return out

    def own(self, loose: Faces) -> None:
        """Find the owners of the faces that are not unknowns."""
        owner = [np.full(f.shape, -1) for f in loose]
        for i, c in enumerate(self.coupling.covered):
            for axis, o in enumerate(owner):
                here = c.window(axis)
                o[here][(at_faces(c.phi, axis) < 0.0) | (c.beta[axis] >= 0.5)] = i
        if self._given is not None:
            owner = [np.array(o) for o in self._given]
        for axis, (o, free) in enumerate(zip(owner, loose)):
            o[free] = -1
            o[ends(axis)] = -1
        self.owner = tuple(owner)

    def block(self, loose: Faces, carried: Faces, **fields) -> ViscosityWithBodies:
        """A with a border for the bodies, which carry the liquid of the faces that they hold."""
        bodies = []
        for c in self.coupling.covered:
            velocity, spin = np.split(c.motion, [c.d])
            bodies.append(ViscousBody(c.body.centre, velocity, spin, matrix=c.mass))
        fluid = tuple(f | (o >= 0) for f, o in zip(loose, self.owner))
        fields.pop("solid_velocity")  # that of bodies is not known yet
        self.viscous = _BlockWithBodies(bodies=bodies, body_of_face=self.owner, fluid=fluid, carried=carried, **fields)
        return self.viscous

    def moved_faces(self) -> Faces:
        """Faces that bodies hold whose motion is unknown."""
        free = np.array([c.mass is not None for c in self.coupling.covered] + [False])
        return tuple(free[o] for o in self.owner)

    def columns(self, number: np.ndarray, open_share: Faces) -> sp.csr_array:
        """The columns of B for the motions; `number` is the row of each cell of the grid, -1 where there is none."""
        rows, columns, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        dofs, place = freedoms(self.coupling.d), 0
        for i, c in enumerate(self.coupling.covered):
            if c.mass is None:
                continue
            flux = self._flux(c, i, open_share) * self.viscous.unit[place : place + dofs]
            row = number[c.window()]
            at = np.nonzero((row >= 0) & np.abs(flux).max(axis=-1).astype(bool))
            rows.append(np.repeat(row[at], dofs))
            columns.append(np.tile(np.arange(place, place + dofs), at[0].size))
            values.append(flux[at].ravel())
            place += dofs
        parts = (np.concatenate(p) for p in (values, rows, columns))
        value, row, column = parts
        return sp.csr_array((value, (row, column)), shape=(int(number.max(initial=-1)) + 1, place))

    def _flux(self, c: Covered, i: int, open_share: Faces) -> np.ndarray:
        """Σ ± (β + held w) k over the faces of each cell of the body's window."""
        out = np.zeros((*c.cells, c.dofs))
        for axis, beta in enumerate(c.beta):
            here = c.window(axis)
            share = beta + np.where(self.owner[axis][here] == i, open_share[axis][here], 0.0)
            for j, arm in c.arms(axis):
                out[..., j] += np.diff(share * arm, axis=axis)
        return out

    def moved(self, x: np.ndarray) -> list[MovedBody]:
        """The bodies after the step, from the unknowns of A."""
        d, out = self.coupling.d, []
        for c, V in zip(self.coupling.covered, self.viscous._after(x)):
            impulse = np.zeros(V.size) if c.mass is None else c.mass @ (V - c.motion)
            out.append(MovedBody(V[:d], spin_of(V, d), impulse[:d], impulse[d:]))
        return out

    def solid_velocity(self, x: np.ndarray) -> Faces:
        """The velocity of solids and bodies after the step."""
        return self.coupling.solid_velocity(list(self.viscous._after(x)))
