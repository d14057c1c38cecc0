"""The liquid of a scene, and one step of it.

    φ, where the liquid is            surface        by the tracker: particles or a level set
    velocity on the faces             transfer       by the tracker
    u += kick g                       transfer       forces
    0 ≤ p ⟂ div u ≥ 0 at walls        pressure       nonstick.discretise.pressure
    viscosity, pressure again         viscosity      where liquid is viscous: `_solve_viscosity`
    u beyond the liquid               extrapolation  walls remove only the forbidden part
    the liquid moves with u           advection      by the tracker

Positions belong to the ends of steps, velocities to their middles (leapfrog). Forces and pressure act at the end of a
step, for the time `kick` from the middle of one step to the middle of the next. So liquid in free flight follows a
parabola exactly, for any steps.

Arrays have three axes (`grid.mac`), lengths are in cells and velocities in m/s.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ...core.columns import FIELDS, NUMBERS
from ...discretise.viscosity import ViscositySolution
from ...errors import NonstickError
from ...grid.faces import FaceField
from ...scenes.scene import Scene
from ..run.states import check_array
from .accounts import Ledger, heat
from .flow.extrapolation import LiquidFaces, extend, hold_surface, pressure_change
from .flow.forces import Force
from .flow.pressure import IncrementalPressure, PressureResult, Projection, least_pressure
from .flow.viscosity import Viscosity
from .particles.seeding import region
from .partition import ParticlePartition
from .solids.bodies import Bodies, make
from .solids.on_grid import Solids
from .sources.sources import Source
from .stats import Stopwatch
from .tracking import Flow, GridVelocity, Tracker

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
    viscosity: ViscositySolution | None = None
    #: (kind, message) for the log
    remarks: list[tuple[str, str]] = field(default_factory=list)


class Observer(Protocol):
    """Looks at a step while it runs, and changes nothing."""

    def projected(self, outcome: PressureResult) -> None:
        """A pressure has acted; a step with viscosity has up to four."""

    def moving(self, flow: Flow) -> None:
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
        self.grid = self.solids.grid
        self.projection = Projection(self.solids, model.solver, model.physics.density)
        self.viscosity = Viscosity(self.solids, model)
        self.incremental = IncrementalPressure(self.solids)
        self.ledger = Ledger()
        self.tracker = tracker(scene, self.solids, self.ledger, self.viscosity)
        self.sources = Source.all(scene)
        self.outflows = [region(scene, s.shape, f"outflow.{k}.shape") for k, s in enumerate(model.outflow)]
        self.forces = Force.all(scene, self.solids.grid)
        self.steps = 0
        self.time = 0.0
        #: cells whose walls held the liquid in the last step regardless of walls.pressure; None: no cells
        self._hold: np.ndarray | None = None
        #: pressure over the whole last step: the sum of its projections
        self.pressure = self.projection.pressure
        #: probes; None if the scene has none
        self.observer: Observer | None = None
        self.tracker.fill()

    # -- one step -------------------------------------------------------------------------------------

    def step(self, dt: float) -> Report:
        """Advance by dt seconds."""
        watch, tracker = Stopwatch(), self.tracker
        kick = tracker.lag + 0.5 * dt
        of_bodies = sum(self.bodies.energy())
        self.bodies.fall(self.time, tracker.lag, kick)
        with watch("surface"):
            walls_moved = self.solids.update(self.time + dt)
            added = tracker.flow_in(self.sources, self.time, dt)
        with watch("viscosity"):
            mu = tracker.viscosity()
            self._hold = self.viscosity.held_walls(mu, kick, self._flowing())
            sticky = self.solids.held(self._hold)
        with watch("surface"):
            if walls_moved or not tracker.surface_is_current:
                tracker.find_surface(self._last_pressure(), sticky)
        with watch("transfer"):
            start = tracker.to_grid()
            self._push(start.velocity, dt)
        with watch("pressure"):
            velocity, outcome = self._project(start.velocity, kick, added.divergence)
            self.pressure = outcome.pressure
        thick, unpressed, liquid_faces = None, start.velocity, LiquidFaces(self.solids.open)
        push, thin = kick * tracker.gravity, self.viscosity.inviscid_share(mu, tracker.gravity)
        if self.viscosity.acts:
            with watch("extrapolation"):  # viscosity must not drag down what the pressure holds
                taken = start.velocity.copy()
                pressure_change(taken, velocity, tracker.phi, self.solids, liquid_faces)
                hold_surface(velocity, taken, push, start.mass, tracker.phi, self.solids, liquid_faces, thin)
            velocity, outcome, thick, unpressed = self._solve_viscosity(
                watch, start, velocity, outcome, mu, kick, added.divergence
            )
            liquid_faces = self.viscosity.liquid_faces
        with watch("extrapolation"):
            taken = held = start.velocity
            pressure_change(taken, velocity, tracker.phi, self.solids, liquid_faces)
            if thick is not None:
                held = unpressed
                pressure_change(held, velocity, tracker.phi, self.solids, liquid_faces)
            hold_surface(
                velocity, held, push, start.mass, tracker.phi, self.solids, liquid_faces, thin, thick is not None
            )
            if thick is not None:
                self.viscosity.drag(velocity, start.mass, tracker.phi, mu, kick)
            layers, keep = math.ceil(self.scene.model.time.cfl) + 2, np.maximum(sticky, self._pressed(outcome))
            fastest = extend(velocity, start.mass, tracker.phi, self.solids, liquid_faces, keep, layers)
            self._check_flow(velocity, fastest, dt)
        with watch("advection"):
            self._gravitate(self.time + dt)
            self._move_bodies(dt)
            of_bodies -= sum(self.bodies.energy())
            flow = Flow(
                velocity, start, outcome, dt, kick, push, taken, liquid_faces.open, sticky, self._fed(), of_bodies
            )
            if self.observer is not None:
                self.observer.moving(flow)
            tracker.move(flow)
            if self.observer is not None:
                self.observer.moved()
            tracker.flow_out(self.outflows)
        self.time += dt
        self.steps += 1
        return Report(dt, outcome, fastest * dt / self.scene.dx, watch.seconds, thick, added.remarks)

    def _gravitate(self, time: float) -> None:
        """Let gravity have its value at a time."""
        if self.scene.gravity_varies:
            now = self.scene.gravity_at(time)
            self.tracker.gravity = self.grid.vector(now)
            self.bodies.world.pull = np.array(now)

    def _push(self, velocity: FaceField, dt: float) -> None:
        """Add gravity and the forces of the scene, in place: half of the last step, half of this step of length dt."""
        lag = self.tracker.lag
        for axis, u in velocity.each():
            u += (lag + 0.5 * dt) * self.tracker.gravity[axis]
        for force in self.forces:
            force.push(velocity.user, self.time, lag, dt)

    def _project(
        self, velocity: FaceField, dt: float, divergence: np.ndarray | None, acted: np.ndarray | None = None
    ) -> tuple[FaceField, PressureResult]:
        """The velocity after the pressure has acted on it; the last arguments are those of `Projection.solve`."""
        outcome = self.projection.solve(self.tracker.phi, velocity, dt, self._hold, divergence, acted)
        if self.observer is not None:
            self.observer.projected(outcome)
        return outcome.velocity, outcome

    def _pressed(self, outcome: PressureResult) -> np.ndarray:
        """1 in cells whose liquid presses on its walls and does not leave them in this step.

        Otherwise the rise of the liquid above would reach down to the wall, and carry off the particles there.
        """
        pressure = outcome.pressure
        pressed = pressure > least_pressure(
            pressure, self.scene, self.tracker.gravity, self.partition, outcome.problem.dt
        )
        if np.any(self.solids.separation):
            pressed &= np.broadcast_to(np.asarray(self.solids.separation) <= 0.0, pressed.shape)
        return pressed.astype(np.int8)

    def _solve_viscosity(
        self, watch: Stopwatch, start: GridVelocity, velocity: FaceField, outcome: PressureResult,
        mu: np.ndarray | float, dt: float, divergence: np.ndarray | None,
    ) -> tuple[FaceField, PressureResult, ViscositySolution, FaceField]:  # fmt: skip
        """Let viscosity and the pressure that it calls for act on a velocity.

        Viscosity adds divergence, so the velocity u₁ is projected again: with a pressure p₂, which leaves a slip of
        dt/ρ ∂p₂/∂s at walls. So the step begins with p₂ of the last step (`incremental`), and all is done twice, the
        second time from u₁ - dt/ρ ∇p₂: what is left to project is small. With bodies it is done once, from u₁: twice,
        the speed of a sinking sphere would depend more on the step.

        Returns the velocity, the pressure of the whole step, the solution for viscosity, and the velocity as it would
        be without pressure.
        """
        before, first, p1 = velocity, outcome, outcome.pressure
        if self._remembers():
            incremental = self.incremental.after(first)
            before, self.pressure = velocity - first.velocity + incremental.velocity, p1 + incremental.pressure
            if self.observer is not None:
                self.observer.projected(incremental)
        thick: Any = None
        for last in (True,) if len(self.bodies) else (False, True):
            with watch("viscosity"):
                if thick is None:
                    thick = self.viscosity.solve(self.tracker.phi, before, start.velocity, p1, mu, dt, self._flowing())
                    before = FaceField.of(thick.source.velocity)
                else:
                    thick = self.viscosity.solve_again(thick, before, velocity)
                spread = FaceField.of(thick.velocity)
            with watch("pressure"):
                velocity, outcome = self._project(spread, dt, divergence, self.pressure)
                self.pressure = self.projection.pressure
                if not last:
                    before = (self.solids.open > 0.0).where(before - spread + velocity, before)
        if self._remembers():
            self.incremental.keep(self.pressure - p1, self.tracker.phi)
        start.heat = heat(start.mass, before, spread, self.partition)
        unpressed = start.velocity + spread - before
        # the problem is the first one, whose walls do not pull; messages of both
        whole = replace(outcome, problem=first.problem, failed=[*first.failed, *outcome.failed])
        whole.solution = replace(outcome.solution, pressure=self.grid.drop(self.pressure))
        return velocity, whole, thick, unpressed

    def _remembers(self) -> bool:
        """True if a step begins with the viscous pressure of the last one."""
        return self.viscosity.acts and not len(self.bodies) and not self.projection.at_edges

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

    def _move_bodies(self, dt: float) -> None:
        """Move bodies with the velocities of this step, and update the distances that keep particles out of them."""
        if len(self.bodies):
            self.bodies.move(dt)
            self.solids.place()

    def phi(self) -> np.ndarray:
        """φ in metres and the user's dimension."""
        return self.scene.dx * self.grid.drop(self.tracker.phi)

    def _last_pressure(self) -> np.ndarray | None:
        return self.projection.pressure if self.steps else None

    def _flowing(self) -> list[tuple[Source, float]]:
        """The sources that flow at the beginning of the step, each with the time."""
        return [(s, self.time) for s in self.sources if s.flows(self.time)]

    def _fed(self) -> bool:
        """True if something other than gravity may do work on the liquid in this step."""
        solids = self.solids
        moves = solids.moving and solids.velocity.any()  # a paddle that has stopped does no work
        walls = bool(len(self.bodies)) or self.partition.comm.any(bool(moves or np.any(solids.separation)))
        pushed = any(f.acts(self.time - 2.0 * self.tracker.lag) or f.acts(self.time) for f in self.forces)
        return walls or pushed or self.scene.gravity_varies or bool(self._flowing())

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
        self.solids.update(self.time)
        self.tracker.find_surface(self._last_pressure(), self.solids.held(self._hold))

    def frame_arrays(self, output) -> dict[str, np.ndarray]:
        """The content of a frame file; `output` is the table of this name in the scene."""
        volume = self.ledger.measured * self.scene.dx**self.scene.dimension
        out = {"time": np.array(self.time), "dx": np.array(self.scene.dx), "volume": np.array(volume)}
        if output.surface:
            out["phi"] = self.partition.own(self.phi()).astype(np.float32)
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
            **({"called_for": self._user(self.incremental.pressure)} if self._remembers() else {}),
            **self.bodies.state(),
        }

    def _user(self, cells: np.ndarray) -> np.ndarray:
        """A field over this process's own cells, in the user's dimension."""
        return self.grid.drop(self.partition.own(cells))

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a state that is not one of this scene, before anything of it is used."""
        self.tracker.check(state)
        self.bodies.check(state)
        cells = self._user(self.projection.active).shape
        for name, column in (FIELDS | NUMBERS).items():
            if name in state or name not in ("called_for", "lag"):  # a state of an older version has none
                check_array(name, state, cells if name in FIELDS else (), *column.values)
        if check_array("ledger", state, (None,), float).size < self.ledger.array().size:
            raise NonstickError("ledger has too few numbers")

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state."""
        cells = {name: self.grid.lift(self.partition.with_ghosts(state[name])) for name in FIELDS if name in state}
        self.projection.pressure, self.projection.active = cells["pressure"], cells["active"]
        self.pressure = self.projection.pressure
        if "called_for" in state:
            self.incremental.pressure = cells["called_for"]
        self.steps, self.time = int(state["steps"]), float(state["time"])
        self.tracker.lag = float(state["lag"]) if "lag" in state else 0.0  # in older states velocities do not lag
        self.ledger.restore(state["ledger"])
        self._gravitate(self.time)
        self.bodies.restore(state, self.time)
        self.solids.update(self.time)
        self.tracker.restore(state, started=self.steps > 0)
