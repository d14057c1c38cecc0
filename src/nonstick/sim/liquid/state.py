"""The liquid of a simulation: particles, the level set found from them, what flows in and out, frames and checkpoints.

All arrays have three axes (2D: the first has one cell) and lengths are in cells, velocities in m/s.
"""

from __future__ import annotations

import numpy as np

from ...scenes.geometry import build
from ...scenes.scene import Scene
from ._gaps import _gap_planes
from ._surface import _fill_holes, _surface_band, _surface_particles, _weigh, flat_distance
from .bodies import Bodies, make
from .energy import energy
from .motion import rotation
from .particles import Particles, seed
from .pressure import Projection
from .solids import Solids
from .sources import Chambers, Source, crowding
from .spacing import PRESSED
from .viscosity import Viscosity
from .volume import Ledger, shift_for, volume

STAGES = ("surface", "transfer", "pressure", "viscosity", "extrapolation", "advection")


class State:
    """Everything that moves, without how it takes a step."""

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

    # -- surface -----------------------------------------------------------------------------------

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

    # -- in and out --------------------------------------------------------------------------------

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

    # -- numbers -----------------------------------------------------------------------------------

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

    # -- frames and checkpoints --------------------------------------------------------------------

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
