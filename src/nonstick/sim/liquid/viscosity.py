"""The viscosity stage, between two projections (Aanjaneya §4.1), and what walls do to viscous liquid.

- `no-slip`: liquid at a wall moves with it. Thick liquid does not leave it either: the pressure may pull it there.
  Thick is liquid whose velocity spreads over a cell within the step; the boundary layers of other liquid are not
  resolved, and `walls.pressure` alone decides whether it lets go.
- `slip`: only the normal velocity is the wall's; no shear acts there.
- `separating`: a wall holds liquid only where it presses on it. Where the projection before this stage found
  no pressure the wall is let go: its faces are free and no shear acts there. Elsewhere as no-slip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...discretise.viscosity import ViscosityProblem, ViscositySolution, liquid_volumes
from ...discretise.viscosity_bodies import BodyViscositySolution, ViscosityWithBodies, ViscousBody
from ...kernels._solids import _known_faces
from ...scenes.schema import Ramp, SceneModel
from ._extrapolate import _continue_linearly, _extrapolate
from ._particles import _normalise, _scatter_value
from .particles import Particles
from .solids import Solids

#: tried when the scene's own method misses its tolerance
STRONGER = ("visc-auto", "visc-cg")
#: layers of cells beyond the particles that take the viscosity of their neighbours; edges need one, a surface shifted
#: to keep its volume another
LAYERS = 3
#: layers of faces in the air that thick liquid drags along
REACH = 2


class Viscosity:
    """Solves the viscosity of step after step."""

    def __init__(self, solids: Solids, model: SceneModel):
        self.solids = solids
        self.mu, self.rho = model.physics.viscosity, model.physics.density
        own = [liquid.viscosity for liquid in model.liquid] + [inflow.viscosity for inflow in model.inflow]
        found = [self.mu if value is None else value for value in own] or [self.mu]
        #: it differs from place to place: particles carry it
        self.carried = len({*found}) > 1 or isinstance(found[0], Ramp)
        if not isinstance(found[0], Ramp) and not self.carried:
            self.mu = found[0]
        self._thick = any(max(v.values) if isinstance(v, Ramp) else v for v in found)
        self.walls = model.walls.viscous
        self.method, self.rtol = model.solver.viscosity, model.solver.viscosity_rtol

    @property
    def acts(self) -> bool:
        return bool(self._thick)

    def given(self, value: float | Ramp | None, points) -> np.ndarray | float:
        """What a liquid or a source of a scene has at points (metres)."""
        if not isinstance(value, Ramp):
            return self.mu if value is None else value
        x = points["xyz".index(value.along)]
        if value.scale == "log":
            return np.exp(np.interp(x, value.at, np.log(value.values)))
        return np.interp(x, value.at, value.values)

    def on_cells(self, particles: Particles) -> np.ndarray | float:
        """Viscosity of cells: the mean of the particles around each, weighted by the trilinear hat of its centre.

        Cells beyond the particles take the mean of their neighbours, layer by layer: the edges of the surface
        average over them.
        """
        if not self.carried:
            return self.mu
        p = particles
        mu, mass = np.zeros(p.three), np.zeros(p.three)
        _scatter_value(mu, mass, p.x, p.mu, p.start, p.plane)
        _normalise(mu, mass)
        known = (mass > 1e-9).astype(np.int8)
        _extrapolate(mu, known, np.empty(mu.size, np.int32), LAYERS)
        return mu.reshape(self.solids.grid.shape)

    def _is_thick(self, mu: np.ndarray | float, dt: float) -> np.ndarray:
        return np.asarray(mu) * dt > self.rho * self.solids.grid.dx**2

    def holds(self, mu: np.ndarray | float, dt: float, sources=()) -> np.ndarray | None:
        """Cells in which walls hold the liquid by pressure too, None if there are none; `sources` as in `solve`.

        Sources are left out: what comes out of a wall has to leave it.
        """
        thick = self._is_thick(mu, dt)
        if self.walls != "no-slip" or not thick.any():
            return None
        grid = self.solids.grid
        thick = np.broadcast_to(thick, grid.shape).copy()
        for source, time in sources:
            thick &= source.at(time).sample(grid.cells()) > grid.dx
        return thick

    def drag(self, velocity, mass, phi: np.ndarray, mu: np.ndarray | float, dt: float) -> None:
        """Give faces in the air near thick liquid its velocity, in place; arrays on three axes, φ in cells.

        Particles reach a little beyond the level set. The faces there are in no solve and would fall freely, so that
        a surface that narrows leaves its outermost particles behind. The velocity is continued linearly, which leaves
        rotations alone. Thin liquid may spray.
        """
        thick = self._is_thick(mu, dt)
        if not thick.any():
            return
        for axis in range(3 - self.solids.d, 3):
            u = velocity[axis]
            known = np.empty(u.shape, np.int8)
            _known_faces(known, self.solids.open[axis], np.zeros(u.shape), phi, axis, True)
            far = (known == 0) & (mass[axis] > 1e-9)
            if thick.ndim:
                far &= _touches(thick.reshape(phi.shape), axis)
            spread = u.copy()
            _continue_linearly(spread, known, REACH)
            far &= known == 1
            u[far] = spread[far]

    def solve(
        self, phi: np.ndarray, velocity, pressure: np.ndarray, mu: np.ndarray | float, dt: float, sources=()
    ) -> ViscositySolution | BodyViscositySolution:
        """φ in metres; velocity and pressure after the first projection; all in the user's dimension.

        `mu` is a number or an array over cells. `sources` are (source, time) that flow: their faces are held, or else
        thick liquid would hang back on the wall it comes out of.
        """
        solids = self.solids
        d = solids.d
        walls = [v.reshape(v.shape[3 - d :]) for v in solids.velocity[3 - d :]]
        fluid = [w > 0 for w in _middle_open(solids)]
        faces, cells, edges = liquid_volumes(phi)
        given = [np.where(f, u, w) for f, u, w in zip(fluid, velocity, walls)]
        if self.walls != "no-slip":
            solid = [~f for f in fluid]
            free = np.ones(phi.shape, bool)
            if self.walls == "separating":
                # also cells of air: a liquid that has begun to leave still has a part of them
                free = pressure <= 0.0
                fluid = [f | _touches(free, a) for a, f in enumerate(fluid)]
                given = [np.where(f, u, g) for f, u, g in zip(fluid, velocity, given)]
            edges = tuple(e * ~_at_walls(solid, n, free) for n, e in enumerate(edges))
        for source, time in sources:
            shape = source.at(time)
            for a in range(d):
                points = solids.grid.faces(a)
                inside = np.broadcast_to(shape.sample(points) < 0, fluid[a].shape)
                fluid[a] = fluid[a] & ~inside
                given[a] = np.where(inside, source.velocity(a, points, time), given[a])
        problem = self._problem(given, mu, dt, (faces, cells, edges), fluid)
        best: ViscositySolution | BodyViscositySolution | None = None
        for name in dict.fromkeys((self.method, *STRONGER)):
            solution = problem.solve(name, rtol=self.rtol)
            if best is None or solution.kkt() < best.kkt():
                best = solution
            if solution.converged:
                break
        assert best is not None
        if isinstance(best, BodyViscositySolution):
            solids.push(best.motions)
        return best

    def _problem(self, given, mu, dt: float, volumes, fluid) -> ViscosityProblem | ViscosityWithBodies:
        """The step of the liquid, or of liquid and bodies: faces in a body move with it, and drag at it."""
        solids = self.solids
        fields: dict[str, Any] = {
            "velocity": given, "viscosity": mu, "dt": dt, "dx": solids.grid.dx, "rho": self.rho, "volumes": volumes,
        }  # fmt: skip
        if solids.coupling is None:
            return ViscosityProblem(fluid=fluid, **fields)
        owner = [np.where(f, -1, o) for f, o in zip(fluid, solids.body_of_face())]
        fluid = [f | (o >= 0) for f, o in zip(fluid, owner)]
        bodies = [
            ViscousBody(c.body.centre, V[: solids.d], V[solids.d :], matrix=c.mass)
            for c, V in zip(solids.coupling.covered, solids.motions())
        ]
        return ViscosityWithBodies(bodies=bodies, body_of_face=owner, fluid=fluid, **fields)


def _middle_open(solids: Solids) -> list[np.ndarray]:
    """Positive where the middle of a face is outside the walls and inside the box."""
    out = []
    for a in range(solids.d):
        value = solids.phi
        for axis in range(solids.d):
            if axis != a:
                n = value.shape[axis]
                value = 0.5 * (np.take(value, range(n - 1), axis) + np.take(value, range(1, n), axis))
        value = value.copy()
        for end in (0, -1):
            value[(slice(None),) * a + (end,)] = -1.0
        out.append(value)
    return out


def _touches(cells: np.ndarray, a: int) -> np.ndarray:
    """Faces of axis a next to a cell of the mask."""
    pad = [(1, 1) if axis == a else (0, 0) for axis in range(cells.ndim)]
    padded = np.pad(cells, pad)
    n = padded.shape[a]
    return np.take(padded, range(n - 1), a) | np.take(padded, range(1, n), a)


def _at_walls(solid: list[np.ndarray], n: int, wet: np.ndarray) -> np.ndarray:
    """Edges (2D: nodes) with a solid face, or on the box, and next to a cell of `wet`."""
    d = len(solid)
    a, b = (0, 1) if d == 2 else [axis for axis in range(3) if axis != n]
    around_a = _pair_any(np.pad(solid[a], _only(d, b), constant_values=True), b)
    around_b = _pair_any(np.pad(solid[b], _only(d, a), constant_values=True), a)
    near = _pair_any(_pair_any(np.pad(wet, _both(d, a, b)), a), b)
    return (around_a | around_b) & near


def _only(d: int, axis: int) -> list[tuple[int, int]]:
    return [(1, 1) if i == axis else (0, 0) for i in range(d)]


def _both(d: int, a: int, b: int) -> list[tuple[int, int]]:
    return [(1, 1) if i in (a, b) else (0, 0) for i in range(d)]


def _pair_any(mask: np.ndarray, axis: int) -> np.ndarray:
    n = mask.shape[axis]
    return np.take(mask, range(n - 1), axis) | np.take(mask, range(1, n), axis)
