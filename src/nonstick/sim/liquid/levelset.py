"""The liquid as a level set moved on the grid, without particles (papers 001 and 003).

Each step: extend φ into solids, with the peel-off rule of Chentanez–Müller §3.2 (a solid cell next to liquid
of zero pressure takes its positive distance to the wall, or the liquid would never let go); forces;
pressure; extrapolation; φ and the velocity are carried along (semi-Lagrangian); φ is made a distance again.
Semi-Lagrangian steps lose volume in thin places: the ledger's correction shifts φ as for particles.
"""

from __future__ import annotations

import numpy as np

from ...grid.levelset import extend_into_solids
from ...scenes.scene import Scene
from ._levelset_moves import _advect_faces, _advect_level, _start_distance, _sweep_distance
from .state import STAGES
from .step import Liquid, Report
from .volume import Ledger, shift_for, volume

#: φ is kept a distance within this many cells of the surface
BAND = 8.0
#: cells a step by which liquid has to move out of a wall to have let go of it
LEAVE = 0.01


class GridLiquid(Liquid):
    """Same outside as `Liquid`; `level` (outside solids) and the face velocities are the state."""

    def __init__(self, scene: Scene):
        super().__init__(scene)
        self.level = np.full(self.three, BAND)
        self.velocity = [np.zeros(o.shape) for o in self.solids.open]
        self.mass = [np.zeros(o.shape) for o in self.solids.open]

    def fill(self) -> None:
        cells = self.solids.grid.cells()
        for shape, spec in self.liquids:
            here = shape.sample(cells).reshape(self.three) / self.dx
            inside = here < self.level
            self.level = np.where(inside, here, self.level)
            for axis in range(self.d):
                points = self.solids.grid.faces(axis)
                near = shape.sample(points) < 1.5 * self.dx
                value = np.broadcast_to(self._initial(spec, points)[axis], near.shape)
                self.velocity[self.first + axis].reshape(near.shape)[near] = value[near]
        self.level = np.clip(self.level, -BAND, BAND)
        self.level = self._distance(self.level, np.zeros(self.three, np.int8))
        self.ledger.initial = volume(self.level, self.solids.space)
        self.find_surface()

    # -- one step -------------------------------------------------------------------------------------

    def step(self, dt: float) -> Report:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.bodies.fall(self.time, dt)
        self.solids.update(self.time + dt)
        mu = self._viscous_walls(dt)
        with self._stage("surface"):
            self._flow_in(dt)
            self._flow_out()
            self.find_surface()
        velocity = [u.copy() for u in self.velocity]
        with self._stage("transfer"):
            self._push(velocity, dt)
        with self._stage("pressure"):
            outcome = self.projection.solve(self.dx * self.phi.reshape(self.solids.grid.shape), self._own(velocity), dt)
            velocity = self._lift(outcome.solution.velocity)
        thick = None
        if self.viscosity.acts:
            velocity, outcome, thick = self._thicken(velocity, self.mass, mu, outcome, dt)
        with self._stage("extrapolation"):
            cfl = self._extend(velocity, self.mass, dt)
        with self._stage("advection"):
            self._carry(velocity, dt)
            self._move_bodies(dt)
        self.time += dt
        self.steps += 1
        return Report(dt, outcome, cfl, dict(self.seconds), thick)

    def find_surface(self, correct: bool = True) -> float:
        """φ for the pressure solve: the level set, shifted to its volume, extended into solids."""
        ledger, space = self.ledger, self.solids.space
        if correct and self.scene.model.volume.correct:
            ledger.offset = shift_for(self.level, space, ledger.expected, 0.0)
            self.level += ledger.offset
        ledger.measure(volume(self.level, space))
        shape = self.solids.grid.shape
        level = self.level.reshape(shape)
        inside = self.solids.centre < 0
        # liquid of zero pressure next to the wall: it has let go
        released = (self.projection.pressure <= 0.0) & (level < 0.0) & ~inside if self.steps else None
        sticky = self.projection.sticky().reshape(shape) == 1
        if released is not None:
            released &= ~sticky
        phi = extend_into_solids(
            np.where(inside, 1.0, level), inside, released=released,
            solid_distance=np.abs(self.solids.centre) / self.dx,
        )  # fmt: skip
        self.phi = np.ascontiguousarray(phi.reshape(self.three))
        return ledger.measured

    def _carry(self, velocity: list[np.ndarray], dt: float) -> None:
        rate = dt / self.dx
        moved = np.empty_like(self.level)
        # liquid of zero pressure along a separating side of the grid has let go of it
        free = (
            (self.projection.pressure.reshape(self.three) <= 0.0) & (self.level < 0.0) & (self.projection.sticky() == 0)
        )
        released = free.astype(np.int8)
        # inside solids φ follows its liquid neighbours, so that the surface meets walls without a kink
        beyond = np.where(self.phi > 0.0, np.maximum(self.phi, self.level), self.phi)
        # what comes out of a wall is air, whatever the pressure was
        beyond = np.where(self._leaving(velocity, rate), np.maximum(beyond, -self.solids.middle), beyond)
        source = np.where(self.solids.middle < 0.0, np.minimum(beyond, BAND), self.level)
        _advect_level(moved, np.ascontiguousarray(source), *velocity, self.first, rate, BAND - 0.5, released)
        self.level = self._distance(moved, released)
        carried = [np.empty_like(u) for u in velocity]
        for axis in range(self.first, 3):
            _advect_faces(carried[axis], velocity[axis], *velocity, axis, self.first, rate)
        self.velocity = carried

    def _leaving(self, velocity: list[np.ndarray], rate: float) -> np.ndarray:
        """Cells in separating walls from which the velocity points out, by more than LEAVE cells a step."""
        walls = self.solids
        out = np.zeros(self.three)
        for a in range(self.first, 3):
            u = velocity[a] - walls.velocity[a] if walls.moving else velocity[a]
            middle = 0.5 * (np.take(u, range(self.three[a]), a) + np.take(u, range(1, self.three[a] + 1), a))
            out += middle * np.gradient(walls.middle, axis=a)
        return (walls.middle < 0.0) & (rate * out > LEAVE) & (self.projection.sticky() == 0)

    def _distance(self, phi: np.ndarray, released: np.ndarray) -> np.ndarray:
        out, fixed = np.empty_like(phi), np.empty(phi.shape, np.int8)
        _start_distance(out, fixed, phi, BAND, released)
        _sweep_distance(out, fixed, 1)
        return out

    # -- in and out -----------------------------------------------------------------------------------

    def _flow_in(self, dt: float) -> None:
        grid = self.solids.grid
        for source in self.sources:
            if not source.flows(self.time):
                continue
            shape = source.at(self.time)
            here = shape.sample(grid.cells()).reshape(self.three) / self.dx
            before = volume(self.level, self.solids.space)
            self.level = np.minimum(self.level, here)
            self.ledger.inflow += volume(self.level, self.solids.space) - before
            for axis in range(self.d):
                points = grid.faces(axis)
                near = shape.sample(points) < 0.5 * self.dx
                value = np.broadcast_to(source.velocity(axis, points, self.time), near.shape)
                self.velocity[self.first + axis].reshape(near.shape)[near] = value[near]

    def _flow_out(self) -> None:
        for shape in self.outflows:
            here = shape.sample(self.solids.grid.cells()).reshape(self.three) / self.dx
            before = volume(self.level, self.solids.space)
            self.level = np.maximum(self.level, -here)
            self.ledger.outflow += before - volume(self.level, self.solids.space)

    # -- numbers --------------------------------------------------------------------------------------

    def max_speed(self) -> float:
        fastest = 0.0
        for u in [*self.velocity[self.first :], *(self.solids.velocity[self.first :] if self.solids.moving else ())]:
            fastest = max(fastest, float(u.max(initial=0.0)), -float(u.min(initial=0.0)))
        return fastest

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy of the cells, by their liquid share."""
        rho = self.scene.model.physics.density
        share = self.solids.space * np.clip(0.5 - self.level, 0.0, 1.0)
        each = rho * self.dx**self.d
        kinetic = potential = 0.0
        for axis in range(self.d):
            u = self.velocity[self.first + axis]
            a = self.first + axis
            low = np.take(u, range(u.shape[a] - 1), a)
            high = np.take(u, range(1, u.shape[a]), a)
            kinetic += 0.5 * float((share * (0.5 * (low + high)) ** 2).sum())
            g = self.scene.gravity[axis]
            if g:
                x = self.solids.grid.cells()[axis].reshape((1,) * self.first + self.solids.grid.cells()[axis].shape)
                potential -= g * float((share * x).sum())
        return each * kinetic, each * potential

    @property
    def count(self) -> int:
        return 0

    # -- frames and checkpoints -----------------------------------------------------------------------

    def settle(self) -> None:
        self.solids.update(self.time)
        self.find_surface()

    def frame_arrays(self, output) -> dict[str, np.ndarray]:
        out = self._common_arrays(output)
        if output.particles:  # cell centres in the liquid stand in for particles
            wet = (self.level < 0.0) & (self.solids.middle > 0.0)
            index = np.argwhere(wet)[:, self.first :]
            out["position"] = ((index + 0.5) * self.dx).astype(np.float32)
            parts = []
            for a in range(self.first, 3):
                u = self.velocity[a]
                middle = 0.5 * (np.take(u, range(u.shape[a] - 1), a) + np.take(u, range(1, u.shape[a]), a))
                parts.append(middle[wet])
            out["velocity"] = np.stack(parts, axis=1).astype(np.float32)
        return out

    def state(self) -> dict[str, np.ndarray]:
        ledger = self.ledger
        faces = {f"velocity{a}": self.velocity[a] for a in range(self.first, 3)}
        return {
            "level": self.level, **faces, "pressure": self.projection.pressure, "active": self.projection.active,
            "steps": np.array(self.steps), "time": np.array(self.time),
            "ledger": ledger.array(),
            **self.bodies.state(),
        }  # fmt: skip

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.level = state["level"]
        for a in range(self.first, 3):
            self.velocity[a] = state[f"velocity{a}"]
        self.projection.pressure, self.projection.active = state["pressure"], state["active"]
        self.steps, self.time = int(state["steps"]), float(state["time"])
        self.ledger = Ledger.of(state["ledger"])
        self.bodies.restore(state, self.time)
        self.solids.update(self.time)
