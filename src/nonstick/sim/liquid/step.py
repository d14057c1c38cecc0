"""One substep: particles → grid, surface, forces, pressure, extrapolation, grid → particles, advection.

    sort, φ from particles            surface     nonstick.kernels._surface
    momentum to faces                 transfer    APIC: Jiang et al. 2015; FLIP/PIC: Zhu & Bridson 2005
    u += dt g                         forces
    0 ≤ p ⟂ div u ≥ 0 at walls        pressure    nonstick.discretise.pressure
    u beyond the liquid               extrapolation; into walls only what they forbid is removed
    particles take u and move         advection   RK3, out of solids, evened out

All arrays have three axes (2D: the first has one cell) and lengths are in cells, velocities in m/s.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from ...discretise.viscosity import ViscositySolution
from ...kernels._solids import _keep_known, _known_faces
from ._extrapolate import _constrain, _extrapolate, _put
from ._particles import _advect, _gather_velocity, _normalise, _scatter_velocity
from .energy import give_back
from .particles import MARGIN
from .pressure import Outcome
from .sources import Source
from .spacing import displacement
from .state import STAGES, State

#: largest share of its kinetic energy the liquid pays in a substep for having been lifted
PAYMENT = 0.02


@dataclass
class Report:
    """Numbers of one substep."""

    dt: float
    outcome: Outcome
    #: cells the fastest face value crosses in dt
    cfl: float
    seconds: dict[str, float] = field(default_factory=dict)
    #: of the viscosity stage, where there is one
    viscosity: ViscositySolution | None = None


class Liquid(State):
    """How the liquid takes a step."""

    def step(self, dt: float) -> Report:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.bodies.fall(self.time, dt)
        with self._stage("surface"):
            moved = self.solids.update(self.time + dt)
            self._flow_in(dt)
            if moved or not self.settled:
                self.particles.sort()
                self.find_surface()
            self.settled = False
            had = sum(self.energy())
        with self._stage("transfer"):
            velocity, mass = self._to_grid()
            before = [u.copy() for u in velocity] if self._flip > 0.0 else velocity
            self._push(velocity, dt)
        mu = self._viscous_walls(dt)
        with self._stage("pressure"):
            outcome = self.projection.solve(self.dx * self.phi.reshape(self.solids.grid.shape), self._own(velocity), dt)
            velocity = self._lift(outcome.solution.velocity)
        thick = None
        if self.viscosity.acts:
            velocity, outcome, thick = self._thicken(velocity, mass, mu, outcome, dt)
        with self._stage("extrapolation"):
            cfl = self._extend(velocity, mass, dt)
        with self._stage("advection"):
            self._move_bodies(dt)
            self._move(velocity, mass, before, outcome, dt, had)
            self._flow_out()
        self.time += dt
        self.dt = dt
        self.steps += 1
        return Report(dt, outcome, cfl, dict(self.seconds), thick)

    def _viscous_walls(self, dt: float) -> np.ndarray | float:
        """The viscosity of cells, and what it means for the pressure at walls."""
        with self._stage("viscosity"):
            mu = self.viscosity.on_cells(self.particles)
            self.projection.hold = self.viscosity.holds(mu, dt, self._flowing())
            return mu

    def _flowing(self) -> list[tuple[Source, float]]:
        return [(s, self.time) for s in self.sources if s.flows(self.time)]

    def _thicken(self, velocity: list[np.ndarray], mass: list[np.ndarray], mu, outcome: Outcome, dt: float):
        """Viscosity, then a second projection, because it leaves divergence behind."""
        phi = self.dx * self.phi.reshape(self.solids.grid.shape)
        with self._stage("viscosity"):
            pressure, sources = outcome.solution.pressure, self._flowing()
            solution = self.viscosity.solve(phi, self._own(velocity), pressure, mu, dt, sources)
        with self._stage("pressure"):
            outcome = self.projection.solve(phi, solution.velocity, dt)
            velocity = self._lift(outcome.solution.velocity)
        with self._stage("extrapolation"):
            self.viscosity.drag(velocity, mass, self.phi, mu, dt)
        return velocity, outcome, solution

    def _move_bodies(self, dt: float) -> None:
        """Bodies go where the velocities of this step take them, and so does what keeps particles out of them."""
        if len(self.bodies):
            self.bodies.move(dt)
            self.solids.place()

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - began

    @property
    def _flip(self) -> float:
        setting = self.scene.model.particles
        return setting.flip if setting.transfer == "flip" else 0.0

    def _to_grid(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        p = self.particles
        velocity = [np.zeros(o.shape) for o in self.solids.open]
        mass = [np.zeros(o.shape) for o in self.solids.open]
        aff = p.aff if self.affine else np.zeros((9, p.n), np.float32)
        _scatter_velocity(*velocity, *mass, p.x, p.vel, aff, p.start, p.plane, self.first)
        for axis in range(self.first, 3):
            u, m = velocity[axis], mass[axis]
            _normalise(u, m)
            known = np.empty(u.shape, np.int8)
            _known_faces(known, self.solids.open[axis], m, self.phi, axis, False)
            _extrapolate(u, known, np.empty(u.size, np.int32), 2)
        return velocity, mass

    def _acting(self) -> list:
        return [
            (shape, force)
            for shape, force in self.forces
            if self.time >= force.start and (force.stop is None or self.time < force.stop)
        ]

    def _fed(self) -> bool:
        """Whether anything but gravity may do work on the liquid in this step."""
        walls = self.solids.moving or bool(len(self.bodies)) or bool(np.any(self.solids.separation))
        return walls or bool(self._flowing() or self._acting())

    def _push(self, velocity: list[np.ndarray], dt: float) -> None:
        for axis, g in enumerate(self.scene.gravity):
            if g:
                velocity[self.first + axis] += dt * g
        for shape, force in self._acting():
            wave = np.cos(2 * np.pi * force.frequency * self.time) if force.frequency else 1.0
            for axis, a in enumerate(force.acceleration):
                u = velocity[self.first + axis]
                if a == 0.0:
                    continue
                if shape is None:
                    u += dt * a * wave
                else:
                    inside = shape.sample(self.solids.grid.faces(axis)) < 0
                    u += dt * a * wave * inside.reshape(u.shape)

    def _extend(self, velocity: list[np.ndarray], mass: list[np.ndarray], dt: float) -> float:
        """Velocities beyond the liquid and into walls, in place; returns the CFL number of the result."""
        solids = self.solids
        layers = int(np.ceil(self.scene.model.time.cfl)) + 2
        filled = []
        fastest = 0.0
        for axis in range(self.first, 3):
            u = velocity[axis]
            known = np.empty(u.shape, np.int8)
            _known_faces(known, solids.open[axis], mass[axis], self.phi, axis, True)
            queue = np.empty(u.size, np.int32)
            largest = np.empty(u.shape[0] * u.shape[1])
            _keep_known(largest, u, known)
            fastest = max(fastest, float(largest.max(initial=0.0)))
            filled.append((queue, _extrapolate(u, known, queue, layers)))
        results = []
        sticky = self.projection.sticky()
        for axis, (queue, count) in zip(range(self.first, 3), filled):
            values = np.empty(count)
            _constrain(
                values, queue, count, axis, *velocity, solids.open[axis], solids.nodes, *solids.velocity,
                solids.moving, sticky, self.first,
            )  # fmt: skip
            results.append(values)
        for axis, (queue, count), values in zip(range(self.first, 3), filled, results):
            _put(velocity[axis], queue, count, values)
        return fastest * dt / self.dx

    def _move(self, velocity, mass, before, outcome: Outcome, dt: float, had: float) -> None:
        """Particles take the velocity and move; `had` is the energy at the beginning of the step."""
        p, solids = self.particles, self.solids
        shift = self.scene.model.particles.even_out
        fed = self._fed()
        old = p.vel if fed else p.vel.copy()
        aff = p.aff if self.affine else np.zeros((9, 1), np.float32)
        _gather_velocity(p.vel, aff, p.x, self.phi, *velocity, *before, self.first, self._flip, self.affine)
        spread = velocity
        if shift:
            pressure, offset = outcome.solution.pressure, self.ledger.offset
            spread = displacement(p, self.phi, solids, outcome.problem, pressure, self.per_cell, offset)
            self._pay(spread, velocity, mass, dt, had)
        _advect(
            p.x, p.vel, *velocity, *spread, solids.nodes, *solids.velocity, self.first, dt / self.dx, MARGIN, shift,
            self._flip == 0.0,
        )  # fmt: skip
        if not fed:
            excess = sum(self.energy()) - had
            if excess > 0.0:
                give_back(p, old, dt * self.gravity, excess / self._each)

    def _pay(self, spread, velocity, mass, dt: float, had: float) -> None:
        """Evening out moves particles up and down without work being done: motion pays for it.

        Otherwise crushed liquid that spreads again would gain energy from nothing. At most a fiftieth of the kinetic
        energy is taken in a step. A displacement that lifts more than that and what the step loses anyway is made
        smaller, in place: liquid at rest must not rise.
        """
        lift = -self.dx * self._work(spread, mass)
        if lift <= 0.0:
            return
        kinetic, potential = self.energy()
        paid = min(lift, PAYMENT * kinetic)
        # energy after moving, to first order in dt
        ahead = kinetic + potential - dt * self._work(velocity, mass)
        allowed = paid + max(had - ahead, 0.0)
        if lift > allowed:
            for shift in spread[self.first :]:
                shift *= allowed / lift
        if paid > 0.0:
            self.particles.slow(float(np.sqrt(1.0 - paid / kinetic)))

    def _work(self, faces, mass) -> float:
        """Mass of a particle times the sum of g · (face arrays at the particle) over all particles."""
        return self._each * sum(float(g * (m * f).sum()) for g, m, f in zip(self.gravity, mass, faces) if g)

    def _own(self, faces: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Face arrays in the user's dimension."""
        return tuple(f.reshape(f.shape[self.first :]) for f in faces[self.first :])

    def _lift(self, faces) -> list[np.ndarray]:
        return [np.zeros((2, 1, 1))] * self.first + [f.reshape((1,) * self.first + f.shape) for f in faces]
