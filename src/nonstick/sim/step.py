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

from ..discretise.viscosity import ViscositySolution
from ..kernels._extrapolate import _extrapolate
from ..kernels._gaps import _gap_planes
from ..kernels._particles import _advect, _gather_velocity, _normalise, _scatter_velocity
from ..kernels._solids import _keep_known, _known_faces
from ..kernels._surface import (
    _constrain,
    _fill_holes,
    _put,
    _surface_band,
    _surface_particles,
    _weigh,
    flat_distance,
)
from ..scenes.geometry import build
from ..scenes.scene import Scene
from .bodies import Bodies, make
from .energy import energy, give_back
from .even import PRESSED, displacement
from .motion import rotation
from .particles import MARGIN, Particles, seed
from .pressure import Outcome, Projection
from .solids import Solids
from .sources import Chambers, Source, crowding
from .viscosity import Viscosity
from .volume import Ledger, shift_for, volume

#: largest share of its kinetic energy the liquid pays in a substep for having been lifted
PAYMENT = 0.02

STAGES = ("surface", "transfer", "pressure", "viscosity", "extrapolation", "advection")


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


class Liquid:
    """The moving state of a simulation, and how it takes a step."""

    def __init__(self, scene: Scene):
        self.scene = scene
        model = scene.model
        bodies = make(scene)
        self.solids = Solids(scene, bodies)
        #: rigid bodies; the pressure changes their velocity and spin in place
        self.bodies = Bodies(scene, bodies, self.solids)
        self.bodies.check_start()
        self.dx = scene.dx
        self.d = scene.dimension
        self.first = 3 - self.d
        self.three = self.solids.three
        self.per_cell = model.particles.per_axis**self.d
        #: volume of a particle in cells
        self.worth = 1.0 / self.per_cell
        self.affine = model.particles.transfer == "apic"
        self.projection = Projection(self.solids, model.solver, model.physics.density)
        self.viscosity = Viscosity(self.solids, model)
        self.particles = Particles(self.three, self.affine, self.viscosity.carried)
        self.ledger = Ledger()
        self.table = flat_distance(self.d)
        #: liquid distance at cell centres in cells, of the beginning of the last step
        self.phi = np.full(self.three, 1.5)
        self.liquids = [(build(s.shape, scene.folder), s) for s in model.liquid]
        self.sources = Source.all(scene)
        self._chambers: Chambers | None = None
        #: sources that found no room, by index
        self._choked: set[int] = set()
        #: (kind, message) of what the log should tell
        self.remarks: list[tuple[str, str]] = []
        self.outflows = [build(s.shape, scene.folder) for s in model.outflow]
        self.forces = [(None if f.shape is None else build(f.shape, scene.folder), f) for f in model.force]
        #: unit vector against gravity; zero without gravity
        self.up = np.zeros(3)
        pull = float(np.linalg.norm(scene.gravity))
        if pull > 0.0:
            self.up[self.first :] = -np.array(scene.gravity) / pull
        #: m/s², on three axes
        self.gravity = np.zeros(3)
        self.gravity[self.first :] = scene.gravity
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.steps = 0
        self.time = 0.0
        #: length of the last step
        self.dt = 0.0
        #: particles are sorted and φ is theirs, as `settle` leaves them
        self.settled = False

    def fill(self) -> None:
        """The first particles, and the first page of the ledger."""
        setting = self.scene.model.particles
        rng = np.random.default_rng(setting.seed)
        taken: list = []
        for shape, spec in self.liquids:
            x = seed(shape, self.solids, setting.per_axis, setting.jitter, rng)
            for other in taken:  # where liquids overlap the first one counts
                x = x[:, other(*self._points(x)) >= 0]
            taken.append(shape)
            points = self._points(x)
            velocity = self._initial(spec, points)
            self.particles.add(x, self._spread(velocity, x.shape[1]), self.viscosity.given(spec.viscosity, points))
            if spec.spin and self.affine:  # the first transfer knows the rotation already
                self.particles.aff[:, -x.shape[1] :] = self._gradient(spec)[:, None]
        self.particles.sort()
        self.ledger.initial = self.ledger.due = self.find_surface(correct=False)
        if self.particles.n:
            # positions come from a lattice, so their number is only nearly the volume they fill
            self.worth = self.ledger.initial / self.particles.n

    def _points(self, x: np.ndarray) -> list[np.ndarray]:
        """Positions in metres, in the user's dimension."""
        return [self.dx * c for c in x[self.first :]]

    def _initial(self, spec, points) -> list[np.ndarray | float]:
        """The components of a liquid's first velocity at points."""
        out: list[np.ndarray | float] = list(spec.velocity or (0.0,) * self.d)
        if spec.spin:
            about = spec.about or [0.5 * s for s in self.scene.model.domain.size]
            out = [v + rotation(spec.spin, spec.axis, about, a, points) for a, v in enumerate(out)]
        return out

    def _gradient(self, spec) -> np.ndarray:
        """The APIC matrix of a rotation, in (m/s) per cell."""
        out = np.zeros((3, 3))
        for b in range(self.d):
            unit = [np.array(self.dx if a == b else 0.0) for a in range(self.d)]
            for a in range(self.d):
                out[self.first + a, self.first + b] = rotation(spec.spin, spec.axis, (0.0,) * self.d, a, unit)
        return out.ravel()

    def _spread(self, velocity, n: int) -> np.ndarray:
        out = np.zeros((3, n))
        for a, v in enumerate(velocity):
            out[self.first + a] = v
        return out

    # -- one step -------------------------------------------------------------------------------------

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

    def find_surface(self, correct: bool = True) -> float:
        """φ from the particles, shifted to the volume of the ledger; particles must be sorted. Returns the volume."""
        weight = self._outline()
        p, solids = self.particles, self.solids
        ledger, around = self.ledger, (p.start, float(self.per_cell))
        shift, open_gaps = 0.0, self._gaps(weight) if self.steps else 0.0
        if correct and self.scene.model.volume.correct:
            target = ledger.expected + open_gaps
            shift = ledger.offset = shift_for(self.phi, solids.space, target, ledger.offset, *around)
        ledger.measure(volume(self.phi, solids.space, shift, *around) - open_gaps)
        self.phi += shift
        return ledger.measured

    def _outline(self) -> np.ndarray:
        """φ from the particles as they are; returns what each of them counts."""
        p, solids = self.particles, self.solids
        kind = np.empty(self.three, np.int8)
        _surface_band(kind, p.start, solids.middle, solids.space, float(self.per_cell), True)
        weight = np.empty(p.n)
        _weigh(weight, p.start, solids.space, float(self.per_cell))
        _surface_particles(
            self.phi, kind, p.x, weight, p.start, solids.nodes, solids.middle, solids.space, self.table,
            float(self.per_cell), True, self.up,
        )  # fmt: skip
        _fill_holes(self.phi, self.phi.copy(), solids.middle, *solids.open)
        return weight

    def _gaps(self, weight: np.ndarray) -> float:
        """Volume in cells between walls and liquid that does not press on them, which φ counts as liquid."""
        p, solids = self.particles, self.solids
        pressure = self.projection.pressure
        partial = np.empty(self.three[0])
        _gap_planes(
            partial, self.phi, p.x, weight, p.start, solids.nodes, solids.middle, solids.space,
            pressure.reshape(self.three), PRESSED * float(pressure.max(initial=0.0)), self.table, float(self.per_cell),
        )  # fmt: skip
        return float(partial.sum())

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

    # -- in and out -----------------------------------------------------------------------------------

    def _flow_in(self, dt: float) -> None:
        setting = self.scene.model.particles
        self.projection.swell = np.zeros(self.solids.grid.shape if self.sources else ())
        p = self.particles
        for index, source in enumerate(self.sources):
            if not source.flows(self.time):
                continue
            shape = source.at(self.time)
            points = self._points(p.x)
            inside = np.flatnonzero(np.asarray(shape(*points)) < 0)
            for axis in range(self.d if inside.size else 0):
                here = [c[inside] for c in points]
                p.vel[self.first + axis, inside] = source.velocity(axis, here, self.time)
            p.sort()
            counts = np.diff(p.start)
            rng = np.random.default_rng([setting.seed, index, self.steps])
            width = self.dx / setting.per_axis
            shift = source.phase(self.time, width) / self.dx
            x = seed(shape, self.solids, setting.per_axis, setting.jitter, rng, shift)
            cells = np.ravel_multi_index(tuple(x.astype(np.int64)), self.three)
            fresh = source.fresh(self._points(x), self.time, self.dt, width)
            if source.began(self.time, self.dt):  # what is there already need not be filled
                fresh &= counts[cells] < self.per_cell
            fresh |= counts[cells] == 0
            x = self._admit(index, x[:, fresh], cells[fresh], self.worth * counts.reshape(self.three), dt)
            points = self._points(x)
            velocity = [source.velocity(axis, points, self.time) for axis in range(self.d)]
            mu = self.viscosity.given(source.spec.viscosity, points)
            p.add(x, self._spread(velocity, x.shape[1]), mu)
            self.ledger.inflow += x.shape[1] * self.worth

    def _admit(self, index: int, x: np.ndarray, cells: np.ndarray, there: np.ndarray, dt: float) -> np.ndarray:
        """Those of the positions a source fills that find room; tells the pressure by how much the rest gives way."""
        solids = self.solids
        if self._chambers is None or solids.moving:
            self._chambers = Chambers(solids.space)
        fits = self._chambers.admit(cells, there, self.worth)
        if not fits.all() and index not in self._choked:
            self._choked.add(index)
            self.remarks.append(("full", f"inflow.{index} finds no room: its chamber is full at {self.time:.4g} s"))
        new = self.worth * np.bincount(cells[fits], minlength=there.size).reshape(self.three)
        self.projection.swell += crowding(there, new, solids.space).reshape(solids.grid.shape) / dt
        return x[:, fits]

    def _flow_out(self) -> None:
        p = self.particles
        for shape in self.outflows:
            gone = shape(*self._points(p.x)) < 0
            if gone.any():
                p.keep(~gone)
                self.ledger.outflow += int(gone.sum()) * self.worth

    # -- shapes of arrays -----------------------------------------------------------------------------

    def _own(self, faces: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Face arrays in the user's dimension."""
        return tuple(f.reshape(f.shape[self.first :]) for f in faces[self.first :])

    def _lift(self, faces) -> list[np.ndarray]:
        return [np.zeros((2, 1, 1))] * self.first + [f.reshape((1,) * self.first + f.shape) for f in faces]

    # -- numbers --------------------------------------------------------------------------------------

    def max_speed(self) -> float:
        """Largest velocity component of a particle or a wall."""
        fastest = self.particles.fastest()
        for wall in self.solids.velocity[self.first :] if self.solids.moving else ():
            fastest = max(fastest, float(np.abs(wall).max()))
        return fastest

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in joule (per metre of depth in 2D), the latter from the domain's corner."""
        kinetic, height = energy(self.particles, self.gravity)
        return self._each * kinetic, self._each * self.dx * height

    @property
    def _each(self) -> float:
        """Mass of a particle in kg (per metre of depth in 2D)."""
        return self.scene.model.physics.density * self.dx**self.d / self.per_cell

    @property
    def count(self) -> int:
        """Number of particles."""
        return self.particles.n

    # -- frames and checkpoints -----------------------------------------------------------------------

    def settle(self) -> None:
        """Bring surface and order of particles up to date at the end of a frame; the next step begins with them."""
        self.solids.update(self.time)
        self.particles.sort()
        self.find_surface()
        self.settled = not self.sources

    def frame_arrays(self, output) -> dict[str, np.ndarray]:
        out = self._common_arrays(output)
        if output.particles:
            position = np.empty((self.particles.n, self.d), np.float32)
            for a in range(self.d):
                np.multiply(self.particles.x[self.first + a], self.dx, out=position[:, a], casting="same_kind")
            out["position"] = position
            out["velocity"] = np.ascontiguousarray(self.particles.vel[self.first :].T)
            if self.particles.thick:
                out["viscosity"] = self.particles.mu.copy()
        return out

    def _common_arrays(self, output) -> dict[str, np.ndarray]:
        out: dict[str, np.ndarray] = {"time": np.array(self.time), "dx": np.array(self.dx)}
        if output.surface:
            out["phi"] = (self.phi.reshape(self.solids.grid.shape) * self.dx).astype(np.float32)
        if output.pressure and self.d == 2:
            out["pressure"] = self.projection.pressure.astype(np.float32)
        solid = self.solids.moved_phi()
        if solid is not None:
            out["phi_solid"] = solid.astype(np.float32)
        return out | self.bodies.frame_arrays()

    def state(self) -> dict[str, np.ndarray]:
        p, ledger = self.particles, self.ledger
        return {
            "x": p.x, "vel": p.vel, "aff": p.aff, "mu": p.mu, "dt": np.array(self.dt),
            "pressure": self.projection.pressure, "active": self.projection.active,
            "steps": np.array(self.steps), "time": np.array(self.time),
            "ledger": ledger.array(),
            **self.bodies.state(),
        }  # fmt: skip

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.particles.x, self.particles.vel, self.particles.aff = state["x"], state["vel"], state["aff"]
        self.particles.mu, self.dt = state["mu"], float(state["dt"])
        self.projection.pressure, self.projection.active = state["pressure"], state["active"]
        self.steps, self.time = int(state["steps"]), float(state["time"])
        self.ledger = Ledger.of(state["ledger"])
        self.bodies.restore(state, self.time)
        self.solids.update(self.time)
        self.particles.sort()
        self.settled = bool(self.steps) and not self.sources
        if self.settled:  # φ of the frame; to look for the shift again could find another
            self._outline()
            self.phi += self.ledger.offset
