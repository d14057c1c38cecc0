"""The viscosity stage, between two projections (Aanjaneya §4.1), and viscous liquid at walls.

- `no-slip`: liquid at a wall moves with it. Thick liquid does not leave the wall: the pressure may pull it there.
  Liquid is thick if its velocity spreads over a cell within the step. The boundary layer of other liquid is not
  resolved, and `walls.pressure` alone decides whether it separates.
- `slip`: liquid takes only the wall's normal velocity; no shear acts there.
- `separating`: a wall holds liquid only where the liquid presses on it. Where the projection before this stage found no
  pressure, liquid has left the wall: its faces are free and no shear acts there. Elsewhere it acts like no-slip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...discretise.viscosity import ViscosityProblem, ViscositySolution, liquid_volumes
from ...discretise.viscosity_bodies import BodyViscositySolution, ViscosityWithBodies, ViscousBody
from ...scenes.schema import Ramp, SceneModel
from ._extrapolate import _continue_linearly, _known_faces
from .layout import between
from .solids import Solids

#: tried when the scene's own method misses its tolerance
STRONGER = ("visc-auto", "visc-cg")
#: layers of faces in the air that thick liquid drags along
DRAGGED = 2


class Viscosity:
    """Solves the viscosity of each step."""

    def __init__(self, solids: Solids, model: SceneModel):
        self.solids = solids
        self.mu, self.rho = model.physics.viscosity, model.physics.density
        own = [liquid.viscosity for liquid in model.liquid] + [inflow.viscosity for inflow in model.inflow]
        found = [self.mu if value is None else value for value in own] or [self.mu]
        #: True if the viscosity varies in space and particles carry it
        self.carried = len({*found}) > 1 or isinstance(found[0], Ramp)
        if not isinstance(found[0], Ramp) and not self.carried:
            self.mu = found[0]
        self._thick = any(max(v.values) if isinstance(v, Ramp) else v for v in found)
        self.walls = model.walls.viscous
        self.method, self.rtol = model.solver.viscosity, model.solver.viscosity_rtol

    @property
    def acts(self) -> bool:
        """True if any liquid of the scene is viscous."""
        return bool(self._thick)

    def given(self, value: float | Ramp | None, points) -> np.ndarray | float:
        """Viscosity at points (metres) of a liquid or a source of the scene, whose key holds `value`."""
        if not isinstance(value, Ramp):
            return self.mu if value is None else value
        x = points["xyz".index(value.along)]
        if value.scale == "log":
            return np.exp(np.interp(x, value.at, np.log(value.values)))
        return np.interp(x, value.at, value.values)

    def _is_thick(self, mu: np.ndarray | float, dt: float) -> np.ndarray:
        """True if the velocity spreads over a cell within the step: one boolean, or one for each cell."""
        return np.asarray(mu) * dt > self.rho * self.solids.grid.dx**2

    def holds(self, mu: np.ndarray | float, dt: float, sources=()) -> np.ndarray | None:
        """Cells in which walls hold the liquid by pressure too, or None; `sources` as in `solve`.

        Cells at sources are excluded: liquid that comes out of a wall must be able to leave it.
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
        """Extend the velocity of thick liquid to faces in the air near it, in place; arrays on three axes, φ in cells.

        Some particles lie a little outside the level set. No solve includes the faces there, so these particles would
        fall freely, and a surface that narrows would leave them behind. The velocity is extended linearly, which does
        not change rotations. Thin liquid is not treated: it may spray.
        """
        thick = self._is_thick(mu, dt)
        if not thick.any():
            return
        for axis in self.solids.layout.axes:
            u = velocity[axis]
            known = np.empty(u.shape, np.int8)
            _known_faces(known, self.solids.open[axis], np.zeros(u.shape), phi, axis, True)
            far = (known == 0) & (mass[axis] > 1e-9)
            if thick.ndim:
                far &= _touches(thick.reshape(phi.shape), axis)
            spread = u.copy()
            _continue_linearly(spread, known, DRAGGED)
            far &= known == 1
            u[far] = spread[far]

    def solve(
        self, phi: np.ndarray, velocity, pressure: np.ndarray, mu: np.ndarray | float, dt: float, sources=()
    ) -> ViscositySolution | BodyViscositySolution:
        """Solve for the viscosity of one step; all arrays are in the user's dimension.

        Parameters
        ----------
        phi
            Distance to the surface at cell centres, in metres.
        velocity, pressure
            After the first projection.
        mu
            Dynamic viscosity, a number or an array over cells.
        dt
            Length of the step.
        sources
            Pairs (source, time) that flow. The velocity of their faces is given. Otherwise thick liquid would stay on
            the wall it comes out of.
        """
        solids, layout = self.solids, self.solids.layout
        walls = layout.drop_faces(solids.velocity)
        fluid = [w > 0 for w in _middle_open(solids)]
        faces, cells, edges = liquid_volumes(phi)
        given = [np.where(f, u, w) for f, u, w in zip(fluid, velocity, walls)]
        if self.walls != "no-slip":
            solid = [~f for f in fluid]
            free = np.ones(phi.shape, bool)
            if self.walls == "separating":
                # include cells of air: liquid that has begun to leave still fills a part of them
                free = pressure <= 0.0
                fluid = [f | _touches(free, a) for a, f in enumerate(fluid)]
                given = [np.where(f, u, g) for f, u, g in zip(fluid, velocity, given)]
            around = layout.lift_faces(solid), layout.lift(free)
            edges = tuple(e * ~layout.drop(_at_walls(*around, axis)) for axis, e in zip(layout.edge_axes, edges))
        for source, time in sources:
            shape = source.at(time)
            for a in range(len(fluid)):
                points = solids.grid.faces(a)
                inside = np.broadcast_to(shape.sample(points) < 0, fluid[a].shape)
                fluid[a] = fluid[a] & ~inside
                given[a] = np.where(inside, source.velocity(a, points, time), given[a])
        problem = self._problem(given, mu, dt, (faces, cells, edges), fluid)
        best: ViscositySolution | BodyViscositySolution | None = None
        for name in dict.fromkeys((self.method, *STRONGER)):
            solution = problem.solve(name, rtol=self.rtol, criterion="papers")
            if best is None or solution.kkt() < best.kkt():
                best = solution
            if solution.converged:
                break
        assert best is not None
        if isinstance(best, BodyViscositySolution):
            solids.push(best.motions)
        return best

    def _problem(self, given, mu, dt: float, volumes, fluid) -> ViscosityProblem | ViscosityWithBodies:
        """The problem of the liquid, or of liquid and bodies: faces in a body move with it and exert a drag on it."""
        solids = self.solids
        fields: dict[str, Any] = {
            "velocity": given, "viscosity": mu, "dt": dt, "dx": solids.grid.dx, "rho": self.rho, "volumes": volumes,
        }  # fmt: skip
        if solids.coupling is None:
            return ViscosityProblem(fluid=fluid, **fields)
        owner = [np.where(f, -1, o) for f, o in zip(fluid, solids.body_of_face())]
        fluid = [f | (o >= 0) for f, o in zip(fluid, owner)]
        bodies = []
        for covered, motion in zip(solids.coupling.covered, solids.motions()):
            velocity, spin = np.split(motion, [len(covered.body.centre)])
            bodies.append(ViscousBody(covered.body.centre, velocity, spin, matrix=covered.mass))
        return ViscosityWithBodies(bodies=bodies, body_of_face=owner, fluid=fluid, **fields)


def _middle_open(solids: Solids) -> tuple[np.ndarray, ...]:
    """Positive where the middle of a face is outside the solids and inside the box."""
    out = []
    for a in range(3):
        value = solids.nodes
        for axis in range(3):
            if axis != a:
                value = between(value, axis)
        value = value.copy()
        for end in (0, -1):
            value[(slice(None),) * a + (end,)] = -1.0
        out.append(value)
    return solids.layout.drop_faces(out)


def _touches(cells: np.ndarray, a: int) -> np.ndarray:
    """Faces of axis a next to a cell of the mask."""
    return _pair_any(_widened(cells, (a,)), a)


def _at_walls(solid: list[np.ndarray], wet: np.ndarray, n: int) -> np.ndarray:
    """Edges along axis n with a solid face, or on the box, and next to a cell of `wet`; all on three axes."""
    a, b = (axis for axis in range(3) if axis != n)
    around_a = _pair_any(_widened(solid[a], (b,), True), b)
    around_b = _pair_any(_widened(solid[b], (a,), True), a)
    near = _pair_any(_pair_any(_widened(wet, (a, b)), a), b)
    return (around_a | around_b) & near


def _widened(mask: np.ndarray, axes: tuple[int, ...], value: bool = False) -> np.ndarray:
    """A mask with one more entry at both ends of the axes."""
    return np.pad(mask, [(int(axis in axes),) * 2 for axis in range(mask.ndim)], constant_values=value)


def _pair_any(mask: np.ndarray, axis: int) -> np.ndarray:
    """True where at least one of two neighbours along an axis is True."""
    n = mask.shape[axis]
    return np.take(mask, range(n - 1), axis) | np.take(mask, range(1, n), axis)
