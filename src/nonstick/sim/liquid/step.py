"""The liquid of a scene, and one step of it.

    φ, where the liquid is            surface        by the tracker: particles or a level set
    velocity and mass on the faces    transfer       by the tracker
    u += kick g                       pressure       gravity and forces (`flow.masses`)
    0 ≤ p ⟂ div u ≥ s at walls        pressure       nonstick.discretise.pressure
    pressure and viscosity in one     viscosity      where liquid is viscous: nonstick.discretise.stokes
    u beyond the liquid               extrapolation  walls remove only the forbidden part
    the liquid moves with u           advection      by the tracker

Positions belong to the ends of steps, velocities to their middles (leapfrog). Forces and pressure act at the end of a
step, for the time `kick` from the middle of one step to the middle of the next. So liquid in free flight follows a
parabola exactly, for any steps. What moves is the mass of the particles, and s is the divergence with which their
straight moves keep volumes (`flow.masses`): pressure keeps momentum and adds no energy, and a step is of second order.

Arrays have three axes (`grid.mac`), lengths are in cells and velocities in m/s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from ...core.columns import FIELDS, NUMBERS, check_array
from ...discretise.stokes import StokesSolution
from ...discretise.viscosity import ViscositySolution
from ...errors import NonstickError
from ...grid.box import IndexBox
from ...grid.faces import FaceField
from ...grid.mac import Grid
from ...scenes.scene import Scene
from .accounts import Ledger
from .flow.extrapolation import LiquidFaces, extend
from .flow.forces import Force
from .flow.masses import Masses, add_gravity
from .flow.pressure import PressureResult, PressureStage, least_pressure
from .flow.two_stages import GAMMA, Stage, two_stages
from .flow.viscosity import Viscosity
from .particles.seeding import region
from .partition import ParticlePartition, active_box, cells_between, ghost_layers
from .solids.bodies import Bodies, make
from .solids.on_grid import Solids
from .sources.sources import Source
from .stats import Stopwatch, stage
from .tracking import Added, StepFields, Tracker

#: most that liquid may move in a step, in lengths of the domain
LONGEST = 20


@dataclass
class Report:
    """Numbers of one step."""

    dt: float
    outcome: PressureResult
    #: cells the fastest face value crosses in dt
    cfl: float
    #: seconds of each stage
    seconds: dict[str, float] = field(default_factory=dict)
    #: result of the viscosity stage, if there is one
    viscosity: ViscositySolution | StokesSolution | None = None
    #: (kind, message) for the log
    remarks: list[tuple[str, str]] = field(default_factory=list)


class Observer(Protocol):
    """Looks at a step while it runs, and changes nothing."""

    def projected(self, outcome: PressureResult, masses: Masses) -> None:
        """A pressure has acted on these masses; a step with split viscosity has two."""

    def moving(self, fields: StepFields) -> None:
        """The liquid is about to move with this velocity."""

    def moved(self) -> None:
        """The liquid has moved; its particles are still in the same order."""


class Liquid:
    """The moving liquid, solids and bodies of a scene.

    `tracker` is the class that tracks the liquid: `particles.Particles` or `levelset.LevelSet`.

    Examples
    --------
    >>> from nonstick import Scene
    >>> from nonstick.sim.liquid.surface.levelset import LevelSet
    >>> liquid = Liquid(Scene.load("circle", {"domain.resolution": 16}), LevelSet)
    >>> report = liquid.step(0.01)
    >>> liquid.steps, liquid.count, report.outcome.solution.converged
    (1, 0, True)
    """

    def __init__(
        self,
        scene: Scene,
        tracker: Callable[[Scene, Solids, Ledger, Viscosity], Tracker],
        partition: ParticlePartition | None = None,
    ):
        self.scene = scene
        self.partition = partition or ParticlePartition.whole(scene.shape, scene.dx)
        model = scene.model
        bodies = make(scene)
        self.solids = Solids(scene, bodies, self.partition)
        #: rigid bodies; the pressure changes their velocity and spin in place
        self.bodies = Bodies(scene, bodies, self.solids)
        self.bodies.check_start()
        self.projection = PressureStage(self.solids, model.solver, model.physics.density)
        self.viscosity = Viscosity(self.solids, model)
        self.ledger = Ledger()
        self.tracker = tracker(scene, self.solids, self.ledger, self.viscosity)
        self.sources = Source.all(scene)
        self.outflows = [region(scene, s.shape, f"outflow.{k}.shape") for k, s in enumerate(model.outflow)]
        self.forces = Force.all(scene)
        self.steps = 0
        self.time = 0.0
        #: seconds of the stages of the last step
        self.clock = Stopwatch()
        #: pressure over the whole last step: the sum of its projections
        self.pressure = self.projection.pressure
        #: probes; None if the scene has none
        self.observer: Observer | None = None
        #: True if a step of viscous liquid has two stages; with bodies and beside thin walls it has one
        self._two_stages = model.time.order == 2 and not bodies and self.solids.layers is None
        #: True if the step works on an active box, which follows the liquid
        self._follows = not self.partition.shared and self.solids.rests and not model.probe
        #: layers of cells around the liquid
        self._margin = ghost_layers(model.time.cfl)
        self.tracker.fill(self._kept())

    @property
    def grid(self) -> Grid:
        """The grid of the step: the active box."""
        return self.solids.grid

    # -- one step -------------------------------------------------------------------------------------

    def step(self, dt: float) -> Report:
        """Advance by dt seconds."""
        self.clock = Stopwatch()
        added = self._flow_in(dt)
        fields = self._to_grid(dt, added.divergence)
        self._push(fields)
        self._solve(fields)
        self._extend(fields)
        self._even_out(fields)
        self._move_bodies(fields)
        self._move(fields)
        self.time += dt
        self.steps += 1
        return Report(dt, fields.solved, fields.way, self.clock.seconds, fields.viscous, added.remarks)

    @stage("surface")
    def _flow_in(self, dt: float) -> Added:
        """Place solids and bodies for the end of the step, let the sources add liquid, and find the surface."""
        tracker = self.tracker
        self._follow()
        self.bodies.fall(self.time, tracker.lag, tracker.lag + 0.5 * dt)
        walls_moved = self.solids.update(self.time + dt, dt)
        added = tracker.flow_in(self.sources, self.time, dt, self._last_pressure())
        if walls_moved or not tracker.surface_is_current:
            tracker.find_surface(self._last_pressure(), self.solids.sticky)
        return added

    @stage("transfer")
    def _to_grid(self, dt: float, room: np.ndarray | None) -> StepFields:
        """Velocity and masses on the faces; `room` is the divergence that makes room for added liquid."""
        start = self.tracker.to_grid(dt)
        masses = Masses.of_layers(self.tracker.phis, self.solids, start.mass)
        self.viscosity.load_bodies(masses)
        fields = StepFields(
            dt, self.tracker.lag + 0.5 * dt, self.steps, start.before, start.velocity, masses, self.solids.sticky
        )
        fields.divergence = _sum(start.divergence, room)
        self._find_skin(fields)
        return fields

    def _follow(self) -> None:
        """Let all fields cover the active box of the present liquid."""
        if self._follows:
            self._hold(self._active_box(self._margin))

    def _active_box(self, margin: int) -> IndexBox:
        domain, extent = self.scene.shape, self.tracker.extent()
        around = (self.time, 2.0 * self.tracker.lag, self.scene.dx, domain)
        parts = [s.cells(*around) for s in self.sources if s.flows(self.time)]
        return active_box(parts if extent is None else [*parts, extent], margin, domain)

    def _hold(self, box: IndexBox) -> None:
        """Let all fields cover this box."""
        old = self.partition.held
        if box != old:
            self.solids.hold(box)
            self.projection.follow(old)
            self.pressure = self.projection.pressure
            self.tracker.follow(old)

    def _kept(self) -> list[IndexBox]:
        """Boxes around the sources and outflows, where it counts which particles are there."""
        if not self.scene.model.particles.band:
            return []
        domain, dx = self.scene.shape, self.scene.dx
        out = [s.cells(self.time, 2.0 * self.tracker.lag, dx, domain) for s in self.sources]
        for drain in self.outflows:
            low, high = drain.bounds(len(domain))
            out.append(cells_between(low / dx, high / dx, domain))
        return out

    def _make_room(self, fields: StepFields) -> None:
        """Widen the active box if particles move farther than it reaches; they read a node beyond."""
        need = math.ceil(fields.way + 1.5)
        if self._follows and need > self._margin:
            old, wider = self.partition.held, self._active_box(need)
            self._hold(old.union(wider))
            fields.follow(old.three(), self.partition.held.three())

    def _gravitate(self, time: float) -> None:
        """Let gravity have its value at a time."""
        if self.scene.gravity_varies:
            now = self.scene.gravity_at(time)
            self.tracker.gravity = self.grid.vector(now)
            self.bodies.world.pull = np.array(now)

    @stage("pressure")
    def _push(self, fields: StepFields) -> None:
        """Add gravity and the forces of the scene: half of the last step, half of this step."""
        rho, gravity = self.projection.density, self.tracker.gravity
        if not self.steps and gravity.any():  # find out what the liquid rests on
            first = fields.velocity.copy()
            for axis, u in first.each():
                u += fields.kick * gravity[axis]
            by_shape = fields.masses.of_shape(self.solids)
            self.projection.solve(self.tracker.phi, first, fields.kick, by_shape, fields.hold, keep_bodies=True)
        add_gravity(fields.velocity, fields.kick, gravity, self.projection.pressure, rho, fields.masses, self.solids)
        for force in self.forces:
            force.push(fields.velocity.user, self.grid, self.time, self.tracker.lag, fields.dt)

    def _find_skin(self, fields: StepFields) -> None:
        """Find the viscosity, the walls that hold thick liquid, and its skin, which it takes along."""
        if not self.viscosity.acts:
            return
        masses, solids = fields.masses, self.solids
        fields.mu = self.tracker.viscosity()
        fields.hold = self.viscosity.held_walls(fields.mu, self.tracker.gravity, self._flowing())
        fields.sticky = self.solids.held(fields.hold)
        wet = masses.filled(solids) if masses.held is None else masses.held
        fields.skin = self.viscosity.skin(masses, fields.mu, self.tracker.gravity, wet)
        if self.viscosity.coupled:  # apart, viscosity acts on the mass of the shape, which ends at the solved faces
            for axis, skin in fields.skin.items():
                skin.load(fields.velocity[axis], masses.inertia[axis], solids.open[axis])

    def _solve(self, fields: StepFields) -> None:
        """Let pressure and viscosity act on the velocity."""
        if not self.viscosity.acts:
            self._project(fields)
        elif self.viscosity.coupled:
            self._solve_together(fields)
        else:
            self._solve_apart(fields)

    @stage("viscosity")
    def _solve_together(self, fields: StepFields) -> None:
        """Pressure and viscosity in one solve, or in two stages (`time.order = 2`)."""
        projection, sources = self.projection, self._flowing()
        last = projection.pressure, projection.active

        def solve(velocity: FaceField, dt: float) -> Stage:
            problem = projection.problem(self.tracker.phi, velocity, dt, fields.masses, fields.hold, fields.divergence)
            found = self.viscosity.solve_with_pressure(problem, fields.mu, *last, sources, self.tracker.phis)
            return Stage(problem, found, found.pressure)

        solved = None
        if self._two_stages and not self.partition.comm.any(bool(np.any(last[1] < 0))):
            solved = two_stages(lambda u: solve(u, GAMMA * fields.kick), fields.before[0], fields.velocity)
        problem, fields.viscous, pressure = solved or solve(fields.velocity, fields.kick)
        self._take(fields, projection.keep(problem, fields.viscous, pressure))

    def _take(self, fields: StepFields, outcome: PressureResult) -> None:
        """Go on with the result of a solve."""
        if self.observer is not None:
            self.observer.projected(outcome, fields.masses)
        fields.outcome, fields.velocity, self.pressure = outcome, outcome.velocity, outcome.pressure
        fields.least = least_pressure(self.pressure, self.scene, self.tracker.gravity, self.partition, fields.kick)

    @stage("pressure")
    def _project(self, fields: StepFields) -> None:
        """Let the pressure act on the velocity."""
        given = self.tracker.phi, fields.velocity, fields.kick, fields.masses, fields.hold, fields.divergence
        self._take(fields, self.projection.solve(*given))

    @stage("extrapolation")
    def _extend(self, fields: StepFields) -> None:
        """Extrapolate the velocity as far as particles may come in the step, and find how far liquid moves."""
        liquid_faces, mass = LiquidFaces(self.solids.open), fields.masses.inertia
        if self.viscosity.acts:
            liquid_faces = self.viscosity.liquid_faces
            for axis, skin in fields.skin.items():
                skin.drag(fields.velocity[axis])
        far, keep = math.ceil(self.scene.model.time.cfl) + 2, np.maximum(fields.sticky, self._pressed(fields))
        layers = self.solids.layers
        for c, phi in enumerate(self.tracker.phis[1:], 1):
            assert layers is not None
            u, seen, layer = fields.velocity.copy(), layers.seen(c), layers.list[c]
            extend(u, seen * mass, phi, layer, liquid_faces.seen_from(seen, layer.nodes), keep, far)
            fields.beside.append(u)
        fastest = extend(fields.velocity, mass, self.tracker.phi, self.solids, liquid_faces, keep, far)
        if layers is not None:
            for u in (fields.velocity, *fields.beside):
                layers.take_walls_in(u, self.solids.velocity if self.solids.moving else None)
        self._check_flow(fields.velocity, fastest, fields.dt)
        fields.way = fastest * fields.dt / self.scene.dx

    def _pressed(self, fields: StepFields) -> np.ndarray:
        """1 in cells whose liquid presses on its walls and does not leave them in this step.

        Otherwise the rise of the liquid above would reach down to the wall, and carry off the particles there.
        """
        pressed = fields.solved.pressure > fields.least
        if np.any(self.solids.separation):
            pressed &= np.broadcast_to(np.asarray(self.solids.separation) <= 0.0, pressed.shape)
        return pressed.astype(np.int8)

    def _solve_apart(self, fields: StepFields) -> None:
        """Split: viscosity acts on the projected velocity, which is projected again (Aanjaneya et al. 2019)."""
        self._project(fields)
        first = fields.solved
        with self.clock("viscosity"):
            given = self.tracker.phi, fields.velocity, self._before(fields), first.pressure, fields.mu, fields.kick
            fields.viscous = self.viscosity.solve(*given, self._flowing())
            fields.velocity = FaceField.of(fields.viscous.velocity)
        self._project(fields)
        with self.clock("pressure"):
            second = fields.solved
            self.projection.pressure = self.pressure = first.pressure + second.pressure
            notes = first.solution.notes | second.solution.notes
            solution = replace(second.solution, pressure=self.grid.drop(self.pressure), notes=notes)
            fields.outcome = replace(second, solution=solution)

    def _before(self, fields: StepFields) -> FaceField:
        """The velocity before forces."""
        return fields.before[0] if self.solids.layers is None else self.solids.layers.faces(fields.before)

    def _check_flow(self, velocity: FaceField, fastest: float, dt: float) -> None:
        """Stop before a velocity without meaning reaches the kernels that follow it cell by cell."""
        finite = not self.partition.comm.any(not all(math.isfinite(float(u.sum())) for _, u in velocity.each()))
        if not finite or fastest * dt > LONGEST * max(self.scene.model.domain.size):
            speed = f"reaches {fastest:.3g} m/s" if finite else "is not finite"
            raise NonstickError(
                f"{self.scene.where}: the velocity of the liquid {speed} at {self.time:.4g} s; make what drives it "
                "weaker (velocities, forces, motions, inflows), or raise time.max_substeps"
            )
        way = fastest * dt / self.scene.dx
        if self.partition.shared and way > self.partition.depth - 1.5:  # the velocity is read a cell beyond
            raise NonstickError(
                f"{self.scene.where}: liquid moves {way:.2g} cells in a step at {self.time:.4g} s, more than ranks "
                f"see of each other ({self.partition.depth} cells): raise time.max_substeps, "
                "lower time.cfl, or run on one rank"
            )

    @stage("advection")
    def _even_out(self, fields: StepFields) -> None:
        """Find the displacement that evens out the liquid, over a box from which it does not move away."""
        self.tracker.even_out(fields)
        fields.kept = self._kept()
        self._make_room(fields)

    @stage("advection")
    def _move_bodies(self, fields: StepFields) -> None:
        """Move bodies with the velocities of this step, and update the distances that keep particles out of them."""
        self._gravitate(self.time + fields.dt)
        if len(self.bodies):
            self.bodies.move(fields.dt)
            self.solids.place()

    @stage("advection")
    def _move(self, fields: StepFields) -> None:
        """Let the liquid move with the velocity, and out of the domain."""
        if self.observer is not None:
            self.observer.moving(fields)
        self.tracker.move(fields)
        if self.observer is not None:
            self.observer.moved()
        self.tracker.flow_out(self.outflows)

    def phi(self) -> np.ndarray:
        """φ over all cells of this process, in metres and the user's dimension."""
        return self.scene.dx * self.tracker.everywhere()

    def _last_pressure(self) -> np.ndarray | None:
        return self.projection.pressure if self.steps else None

    def _flowing(self) -> list[tuple[Source, float]]:
        """The sources that flow at the beginning of the step, each with the time."""
        return [(s, self.time) for s in self.sources if s.flows(self.time)]

    # -- numbers --------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of particles."""
        return self.tracker.count

    def contacts(self) -> int:
        """Number of cells in which liquid separates from a wall."""
        return int(self.partition.comm.total(int(np.count_nonzero(self.partition.own(self.projection.active)))))

    def max_speed(self) -> float:
        """Largest velocity component of the liquid or a solid."""
        return max(self.partition.comm.largest(self.tracker.fastest()), self.solids.fastest())

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in joule (per metre of depth in 2D); height is above the domain's corner."""
        return self.tracker.energy()

    # -- frames and checkpoints -----------------------------------------------------------------------

    def update_surface(self) -> None:
        """Find the surface at the end of a frame; the next step starts from it."""
        self._follow()
        self.solids.update(self.time)
        self.tracker.find_surface(self._last_pressure(), self.solids.sticky)

    def frame_arrays(self, output) -> dict[str, np.ndarray]:
        """The content of a frame file; `output` is the table of this name in the scene."""
        volume = self.ledger.measured * self.scene.dx**self.scene.dimension
        out = {"time": np.array(self.time), "dx": np.array(self.scene.dx), "volume": np.array(volume)}
        if output.surface:
            out["phi"] = self.phi().astype(np.float32)
        if output.pressure or (output.pressure is None and self.scene.dimension == 2):
            out["pressure"] = self._user(self.pressure).astype(np.float32)
        solid = self.solids.moved_phi()
        if solid is not None:
            out["phi_solid"] = self.partition.own_nodes(solid).astype(np.float32)
        out |= self.bodies.frame_arrays()
        if output.particles:
            out |= self.tracker.frame_arrays()
        return out

    def state(self) -> dict[str, np.ndarray]:
        """The whole state as plain arrays; a run continues from it bit for bit."""
        return {
            **self.tracker.state(),
            "pressure": self._user(self.projection.pressure),
            "active": self._user(self.projection.active),
            "steps": np.array(self.steps),
            "time": np.array(self.time),
            "lag": np.array(self.tracker.lag),
            "ledger": self.ledger.array(),
            **self.bodies.state(),
        }

    def _user(self, cells: np.ndarray) -> np.ndarray:
        """A field over this process's own cells, in the user's dimension."""
        return self.partition.over_own(self.grid.drop(cells))

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a state that is not one of this scene, before anything of it is used."""
        if "lag" not in state or "fall" in state:
            raise NonstickError("it was made by an older version of nonstick, whose velocities are of other times")
        self.tracker.check(state)
        self.bodies.check(state)
        cells = self.partition.own_box.shape
        for name, column in (FIELDS | NUMBERS).items():
            if name == "surface" and name not in state:  # of an older version, or without particles
                continue
            check_array(name, state, cells if name in FIELDS else (), *column.values)
        if check_array("ledger", state, (None,), float).size < self.ledger.array().size:
            raise NonstickError("ledger has too few numbers")

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state."""
        self._hold(self.partition.own_box if self._follows else self.partition.held)
        cells = {name: self.grid.lift(self.partition.with_ghosts(state[name])) for name in FIELDS if name in state}
        self.projection.pressure, self.projection.active = cells["pressure"], cells["active"]
        self.pressure = self.projection.pressure
        self.steps, self.time = int(state["steps"]), float(state["time"])
        self.tracker.lag = float(state["lag"])
        self.ledger.restore(state["ledger"])
        self._gravitate(self.time)
        self.bodies.restore(state, self.time)
        self.solids.update(self.time)
        self.tracker.restore(state)
        self._follow()
        if self.steps:
            self.tracker.restore_surface()


def _sum(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    """The sum of two fields; None is zero."""
    if one is None or other is None:
        return other if one is None else one
    return one + other
