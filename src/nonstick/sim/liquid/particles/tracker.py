"""The liquid as particles: they carry mass and velocity, and the pressure is computed on the grid.

φ from the particles              Zhu & Bridson 2005, with a distance that is exact for flat surfaces (`_surface`)
momentum to the faces and back    APIC: Jiang et al. 2015; FLIP and PIC: Zhu & Bridson 2005
particles move                    Runge–Kutta of third order, out of solids, evened out (`spacing`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ....grid.faces import FaceField
from ....grid.shapes import Shape
from ....scenes.scene import Scene
from .._energy import _free_share, _look_up
from ..accounts import Ledger, energy, give_back, shift_for, surplus, volume
from ..flow.extrapolation import fill_gaps
from ..flow.pressure import least_pressure
from ..flow.viscosity import Viscosity, cell_viscosity
from ..settings import SEEDING, STEP
from ..solids.on_grid import Solids
from ..sources.sources import Source, Taps
from ..surface.particle_surface import ParticleSurface
from ..tracking import Added, Flow, GridVelocity
from ._particles import BATCH, _advect, _gather_velocity, _normalise, _scatter_velocity
from .seeding import first_gradient, first_velocity, region, seed_slabs, varies
from .spacing import WallLayer, crushed, displacement, in_flight, keep_centre, moments
from .storage import Cloud


class Particles:
    """Tracks the liquid by particles; a `tracker.Tracker`."""

    def __init__(self, scene: Scene, solids: Solids, ledger: Ledger, viscosity: Viscosity):
        self.scene, self.solids, self.ledger = scene, solids, ledger
        self.grid, self.partition = solids.grid, solids.partition
        self.dx = scene.dx
        setting = scene.model.particles
        #: particles of a full cell
        self.per_cell = setting.per_axis**scene.dimension
        #: volume of a particle in cells
        self.worth = 1.0 / self.per_cell
        #: mass of a particle in kg (per metre of depth in 2D)
        self.mass = scene.model.physics.density * self.dx**scene.dimension / self.per_cell
        #: share of FLIP in the velocity that particles take
        self.flip = setting.flip if setting.transfer == "flip" else 0.0
        #: m/s²
        self.gravity = self.grid.vector(scene.gravity)
        #: half of the length of the last step
        self.lag = 0.0
        #: kinetic energy of the particles in joule that is not energy of the flow (`energy.surplus`)
        self._added = 0.0
        self.cloud = Cloud(self.grid, setting.transfer == "apic", viscosity.carried)
        self.phi = np.full(self.grid.three, 1.5)
        #: True if φ belongs to the present particles
        self.surface_is_current = False
        pull = float(np.linalg.norm(self.gravity))
        up = -self.gravity / pull if pull > 0.0 else np.zeros(3)
        self._surface = ParticleSurface(solids, self.per_cell, up)
        self._layer = WallLayer(solids)
        self._viscosity = viscosity
        self._sorted = False
        #: length of the last step: sources fill the space that their liquid left in it
        self._last_dt = 0.0
        self._taps = Taps(scene, solids)

    @property
    def count(self) -> int:
        """Number of particles."""
        return int(self.partition.comm.total(self.partition.own_particles(self.cloud).n))

    def points(self, x: np.ndarray | None = None) -> list[np.ndarray]:
        """Positions of the particles, or of x (3, n) in cells of the domain, in metres and the user's dimension."""
        x = self.partition.position(self.cloud.x) if x is None else x
        return [self.dx * c for c in x[self.grid.axes.start :]]

    def fill(self) -> None:
        """Fill the liquids of the scene with particles; where liquids overlap, the first one counts."""
        setting = self.scene.model.particles
        rng = np.random.default_rng(setting.seed)
        taken: list[Shape] = []
        for index, spec in enumerate(self.scene.model.liquid):
            shape = region(self.scene, spec.shape, f"liquid.{index}.shape")
            slabs = seed_slabs(shape, self.solids, setting.per_axis, setting.jitter, rng)
            x, places, count = self.partition.born(self._outside(slab, taken) for slab in slabs)
            taken.append(shape)
            points = self.points(x)
            velocity = first_velocity(spec, self.scene.model.domain.size, points, f"{self.scene.where}: liquid.{index}")
            self._add(x, velocity, spec.viscosity, index, places, count)
            if varies(spec) and self.cloud.affine:  # so that the first transfer includes the gradient
                gradient = first_gradient(spec, self.dx, points)
                self.cloud.aff[:, self.cloud.n - x.shape[1] :] = self._matrices(gradient)
        self._sort()
        # the number of particles is that of the volume they fill; the level set is off by a few hundredths of a cell
        self.ledger.initial = self.cloud.born * self.worth
        self._outline(None, False)
        # without a surface a shift of φ could only make bubbles
        air = self.partition.comm.any(bool(((self.phi >= 0.0) & (self.solids.space > 0.0)).any()))
        if self.scene.model.volume.correct and air:
            self._outline(None, True)
        elif self.cloud.born:
            self.ledger.initial = self.ledger.due = self.ledger.measured
            self.worth = self.ledger.initial / self.cloud.born

    def _outside(self, x: np.ndarray, taken: Sequence[Shape]) -> np.ndarray:
        """Those of the positions that lie outside the shapes."""
        for other in taken:
            x = x[:, other(*self.points(x)) >= 0]
        return x

    def _add(
        self, x: np.ndarray, velocity: Sequence[np.ndarray | float], viscosity, source: int,
        places: np.ndarray | None = None, count: int | None = None,
    ) -> None:  # fmt: skip
        """Append particles of a liquid or an inflow at x (3, n), in cells of the domain; the rest as in `Cloud.add`."""
        mu = self._viscosity.given(viscosity, self.points(x))
        vectors = np.zeros((3, x.shape[1]))
        for row, values in zip(vectors[self.grid.axes.start :], velocity):
            row[:] = values
        self.cloud.add(self.partition.here(x), vectors, mu, source, places, count)
        self._sorted = False

    def place(self, x: np.ndarray | None, velocity: np.ndarray | None, gradient: np.ndarray) -> None:
        """Change positions (d, n) in cells, and velocities (d, n) with their gradients (d, d, n) in m/s per cell."""
        cloud = self.cloud
        if x is not None:
            cloud.x[self.grid.axes.start :][:] = x
        if velocity is not None:
            cloud.vel[self.grid.axes.start :][:] = velocity
            if cloud.affine:
                cloud.aff[:] = self._matrices(gradient)
            self._added = self.mass * surplus(cloud, self.lag * self.gravity, self.partition)
        self._sorted = self.surface_is_current = False

    def _matrices(self, entries: np.ndarray) -> np.ndarray:
        """Matrices (d, d, n) of the user's dimension as nine rows (9, n)."""
        out, first = np.zeros((3, 3, entries.shape[2])), self.grid.axes.start
        out[first:, first:] = entries
        return out.reshape(9, -1)

    def _sort(self) -> None:
        if not self._sorted:
            self.partition.surround(self.cloud)
            self.cloud.sort()
            self._sorted = True

    # -- in and out -----------------------------------------------------------------------------------

    def flow_in(self, sources: Sequence[Source], time: float, dt: float) -> Added:
        """Give the liquid in the sources their velocity, and fill the space that has become empty there."""
        if not sources:
            return Added()
        self.surface_is_current = False
        added = Added(np.zeros(self.grid.three))
        for index, source in enumerate(sources):
            if source.flows(time):
                fallen = self.lag > 0.0  # in the first step it is not known what holds the liquid
                free = self._taps.set_velocity(source, time, dt, self.cloud, self.points(), self.gravity, fallen)
                self._sort()
                self._fill_source(source, index, time, dt, free, added)
        return added

    def _fill_source(self, source: Source, index: int, time: float, dt: float, free: float, added: Added) -> None:
        """Add the particles that one source emits; `free` is the share of gravity that nothing holds in it."""
        new = self._taps.open(source, index, time, self._last_dt, self.cloud, self.worth)
        if new.blocked:
            full = f"inflow.{index} has no room for more liquid: its chamber is full at {time:.4g} s"
            added.remarks.append(("full", full))
        assert added.divergence is not None
        added.divergence += new.crowding / dt
        points = self.points(new.x)
        velocity = self._taps.velocity(source, points, time, dt, free * self.gravity)
        kind = len(self.scene.model.liquid) + index
        self._add(new.x, velocity, source.spec.viscosity, kind, new.places, new.count)
        self.ledger.inflow += new.count * self.worth

    def flow_out(self, regions: Sequence[Shape]) -> None:
        """Remove the particles in the regions."""
        for shape in regions:
            gone = shape(*self.points()) < 0
            count = int(self.partition.comm.total(int(gone.sum())))
            if count:
                self._added *= 1.0 - count / self.count
                self.cloud.keep(~gone)
                self._sorted = self.surface_is_current = False
                self.ledger.outflow += count * self.worth

    # -- surface --------------------------------------------------------------------------------------

    def find_surface(self, pressure: np.ndarray | None, sticky: np.ndarray) -> None:
        """φ from the particles, shifted so that it encloses the volume of the ledger."""
        self._sort()
        self._outline(pressure, self.scene.model.volume.correct)
        self.surface_is_current = True

    def _outline(self, pressure: np.ndarray | None, correct: bool) -> None:
        cloud, ledger, space = self.cloud, self.ledger, self.partition.only_own(self.solids.space)
        weight = self._surface.outline(self.phi, cloud)
        gaps = 0.0
        if pressure is not None:
            least = least_pressure(pressure, self.scene, self.gravity, self.partition, self._last_dt)
            gaps = self._surface.gaps(self.phi, cloud, weight, pressure, least)
        around = (self.partition.own_starts(cloud.start), float(self.per_cell), self.partition)
        shift = 0.0
        if correct:
            shift = ledger.offset = shift_for(self.phi, space, ledger.expected + gaps, ledger.offset, *around)
        ledger.measure(volume(self.phi, space, shift, *around) - gaps)
        self.phi += shift

    def viscosity(self) -> np.ndarray | float:
        """Viscosity of cells, or one number for all."""
        if not self.cloud.thick:
            return self._viscosity.mu
        self._sort()
        return cell_viscosity(self.cloud, self.grid)

    # -- to the grid and back -------------------------------------------------------------------------

    def to_grid(self) -> GridVelocity:
        """Momentum and mass of the particles on the faces around them, with the velocities of `lag` seconds ago."""
        energy = sum(self._energies())
        self.cloud.add_gravity(-self.lag * self.gravity)
        velocity, mass = self._on_faces()
        before = velocity.copy() if self.flip > 0.0 else velocity
        return GridVelocity(velocity, mass, before, energy)

    def face_velocity(self) -> FaceField:
        """The velocity on the faces at this moment; nothing is changed."""
        self._sort()
        return self._on_faces()[0]

    def _on_faces(self) -> tuple[FaceField, FaceField]:
        """Velocity and mass of the particles on the faces around them."""
        cloud, solids = self.cloud, self.solids
        velocity, mass = solids.open.zeros(), solids.open.zeros()
        aff = cloud.aff if cloud.affine else np.zeros((9, cloud.n), np.float32)
        plane, first = self.grid.plane, self.grid.axes.start
        _scatter_velocity(*velocity, *mass, cloud.x, cloud.vel, aff, cloud.start, plane, first)
        for axis, u in velocity.each():
            known = np.empty(u.shape, np.int8)
            _normalise(u, known, mass[axis])
            fill_gaps(u, known)
        self.partition.fill_faces(velocity)
        return velocity, mass

    def move(self, flow: Flow) -> None:
        """Give particles the new velocity, move them, and even them out; a closed run gains no energy by this."""
        cloud, solids, first = self.cloud, self.solids, self.grid.axes.start
        even_out = self.scene.model.particles.even_out
        shift, flies = flow.velocity, False
        spread: Callable[[], np.ndarray] = partial(np.zeros, 3)
        if even_out:
            problem, pressure = flow.outcome.problem, flow.outcome.pressure
            least = least_pressure(pressure, self.scene, self.gravity, self.partition, flow.kick)
            shift = displacement(cloud, self.phi, solids, problem, pressure, least, self.per_cell, self.ledger.offset)
            flies = in_flight(solids, pressure, least)
            spread = partial(self._layer.spread, cloud, self.phi, pressure, least, SEEDING.margin)
        spread = self.partition.release(cloud, spread)
        aff = cloud.aff if cloud.affine else np.zeros((9, 1), np.float32)
        old = cloud.vel if flow.fed else cloud.with_gravity(self.lag * self.gravity)
        added = np.zeros(-(-cloud.n // BATCH))
        turn, steady = 0.5 * flow.dt**2 / (flow.kick * self.dx), flow.kick / self.dx if self.lag == 0.0 else 0.0
        self._find_falling(flow)
        _gather_velocity(
            added, cloud.vel, aff, cloud.x, self.phi, *flow.velocity, *flow.start.before, first, self.flip,
            cloud.affine, *flow.taken, cloud.fall, *flow.push, turn, STEP.turn, steady,
        )  # fmt: skip
        self._added = self.mass * surplus(cloud, self.lag * self.gravity, self.partition, added)
        if even_out:
            way, calm = spread(), 1.0 if flies else 1.0 - crushed(self.ledger.offset)
            if calm > 0.0:
                keep_centre(shift, flow.start.mass, way, calm, self.partition)
            self._pay_for_lift(shift, flow)
        _advect(
            cloud.x, cloud.vel, *flow.velocity, *shift, solids.nodes, *solids.velocity, first, flow.dt / self.dx,
            SEEDING.margin, even_out, self.flip == 0.0,
        )  # fmt: skip
        cloud.add_gravity(self.lag * self.gravity)
        if not flow.fed:
            kinetic, potential = self._energies()
            gain = kinetic + potential - flow.start.energy
            if gain > 0.0:
                give_back(cloud, old, flow.dt * self.gravity, gain / self.mass, self.partition)
        self.partition.migrate(cloud)
        self._last_dt = flow.dt
        self._sorted = self.surface_is_current = False

    def _find_falling(self, flow: Flow) -> None:
        """Find the share of gravity that neither pressure nor viscosity holds, for each particle."""
        self.lag = 0.5 * flow.dt
        cloud, push = self.cloud, flow.push
        if push.any():
            share = np.empty(self.grid.three)
            _free_share(share, *flow.taken, *flow.open, *push, self.grid.axes.start)
            _look_up(cloud.fall, share, cloud.x)

    def _pay_for_lift(self, shift: FaceField, flow: Flow) -> None:
        """Evening out adds potential energy: take it from the kinetic energy of the particles.

        Otherwise crushed liquid that spreads again would gain energy from nothing. The energy that the step loses
        anyway pays first, what viscosity takes included, and then at most the share `payment` of the kinetic energy. If
        the displacement adds more than this, it is made smaller: liquid at rest must not rise.
        """
        mass = flow.start.mass
        lift = -self.dx * self._work(shift, mass)
        if lift <= 0.0:
            return
        kinetic, potential, heat = *self._energies(), self.mass * flow.start.heat
        # energy after moving, with the velocity that falling particles gain until then
        gained = self.mass * self.partition.comm.total(self.cloud.energy_of_falling(self.lag * self.gravity))
        ahead = kinetic + potential + gained - flow.dt * self._work(flow.velocity, mass)
        lost = max(flow.start.energy + flow.work - ahead, heat)
        paid = min(max(lift - lost, 0.0), max(STEP.payment * kinetic - heat, 0.0))
        allowed = paid + lost
        if lift > allowed:
            shift *= allowed / lift
        if paid > 0.0:
            self.cloud.slow(float(np.sqrt(1.0 - paid / kinetic)))

    def _work(self, faces: FaceField, mass: FaceField) -> float:
        """Mass of a particle times the sum of g · (face arrays at the particle) over all particles."""
        parts = (g * moments(faces[a], mass[a], a, self.partition)[0] for a, g in enumerate(self.gravity) if g)
        return self.mass * sum(parts, 0.0)

    # -- numbers --------------------------------------------------------------------------------------

    def fastest(self) -> float:
        """The largest velocity component of a particle."""
        return self.cloud.fastest()

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy of the particles."""
        kinetic, potential = self._energies()
        return max(kinetic, 0.0), potential

    def _energies(self) -> tuple[float, float]:
        """Kinetic and potential energy; the first may be a little below zero."""
        kinetic, height = energy(self.partition.own_particles(self.cloud), self.gravity, self.partition)
        return self.mass * kinetic - self._added, self.mass * self.dx * height

    # -- frames and checkpoints -----------------------------------------------------------------------

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """Position, velocity, id and, where it varies, viscosity of every particle; the number of births so far."""
        cloud = self.partition.own_particles(self.cloud)
        rows = self.partition.position(cloud.x)[self.grid.axes.start :]
        position = np.empty((cloud.n, len(rows)), np.float32)
        for a, row in enumerate(rows):
            np.multiply(row, self.dx, out=position[:, a], casting="same_kind")
        out = {"position": position, "velocity": np.ascontiguousarray(cloud.vel[self.grid.axes.start :].T)}
        out |= {"id": cloud.id.copy(), "born": np.array(cloud.born), "sources": cloud.sources}
        if cloud.thick:
            out["viscosity"] = cloud.mu.copy()
        return out

    def state(self) -> dict[str, np.ndarray]:
        """The columns, and the length of the last step."""
        c = self.partition.own_particles(self.cloud)
        ids = {"id": c.id, "born": np.array(c.born)}
        own = {"fall": c.fall, "added": np.array(self._added), "sources": c.sources}
        columns = {"x": self.partition.position(c.x), "vel": c.vel, "aff": c.aff, "mu": c.mu}
        return {**columns, **ids, "dt": np.array(self._last_dt), **own}

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a state that is not one of these particles."""
        self.cloud.check(state, self.solids.whole.three)

    def restore(self, state: dict[str, np.ndarray], started: bool) -> None:
        """Particles of a checkpoint, and the φ of its frame."""
        c = self.cloud
        c.x, c.vel, c.aff, c.mu = self.partition.here(state["x"]), state["vel"], state["aff"], state["mu"]
        c.fall = state["fall"] if "fall" in state else np.ones(c.n, np.float32)
        self._added = float(state["added"]) if "added" in state else 0.0
        c.id, c.born = (state["id"], int(state["born"])) if "id" in state else (np.arange(c.n, dtype=c.ID), c.n)
        c.sources = state.get("sources", c.sources[:0])
        self._last_dt, self._sorted, self.surface_is_current = float(state["dt"]), False, False
        if started:  # use the shift of the ledger: a new search could find another shift
            self._sort()
            self._surface.outline(self.phi, c)
            self.phi += self.ledger.offset
            self.surface_is_current = True
