"""`Simulation`: simulates a scene frame by frame, with a row of statistics for every substep.

Substeps are as long as the CFL number allows, for the speed at their beginning plus one step of gravity; a frame is
divided evenly. If this needs more than `time.max_substeps`, this limit is used and the row says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...bodies.body import RigidBody
from ...core.columns import check_array
from ...core.show import Shown
from ...errors import NonstickError
from ...files.tables import ProbeTable
from ...parallel.halo import Boxes
from ...scenes.scene import Scene
from .particles.storage import Cloud
from .particles.tracker import Particles
from .partition import UNEVEN, ParticlePartition, cut, part_of
from .probes.recorder import Recorder
from .requirements import (
    LONG_STEP,
    WAY,
    check_band,
    check_bodies,
    check_edges,
    check_methods,
    require,
    require_liquid,
)
from .stats import COLUMNS, STAGES
from .step import Liquid, Report
from .surface.levelset import LevelSet
from .tracking import Tracker
from .user_arrays import GridArrays, ParticleArrays, read_grid, read_particles, write_particles

#: the tracker for each value of `surface.track`
TRACKERS: dict[str, type[Tracker]] = {"particles": Particles, "grid": LevelSet}


class Simulation(Shown):
    """The simulation of a liquid scene.

    Parameters
    ----------
    scene
        A `Scene`, or the name or path of a scene file.
    ranks
        Who else simulates parts of it (`nonstick.mpi`); nobody by default.

    Attributes
    ----------
    frame : int
        Frames made so far.
    time : float
        Seconds since the beginning.
    bodies : list of RigidBody
        The rigid bodies of the scene; their velocities may be set between steps.
    particles : ParticleArrays
        Positions and velocities of the particles.
    grid : GridArrays
        Pressure, velocity and level set with their coordinates.
    tell : callable
        Called with (kind, message) when something should not pass unseen.
    watch : callable
        Called with the `Report` of every step.

    Examples
    --------
    >>> from nonstick import Scene, Simulation
    >>> simulation = Simulation(Scene.load("circle", {"domain.resolution": 16}))
    >>> rows = simulation.next_frame()
    >>> simulation.frame, rows[0]["step"]
    (1, 1)
    >>> simulation.frame_arrays()["phi"].shape
    (16, 16)
    """

    def __init__(self, scene: Scene | str | Path, partition: ParticlePartition | None = None):
        self.scene = scene if isinstance(scene, Scene) else Scene.load(scene)
        self.scene.require("liquid")
        check_methods(self.scene)
        check_bodies(self.scene)
        require(self.scene)
        self._begin(partition)
        self.frame = 0
        #: how often this simulation was resumed; the first row of each session includes the time of compilation
        self.session = 0
        #: volume error above which the next message is written
        self._drift = 0.01
        #: called with (kind, message) when something should not pass unseen
        self.tell: Callable[[str, str], None] = lambda kind, message: None
        #: called with the report of every substep
        self.watch: Callable[[Report], None] = lambda report: None
        if self.liquid.ledger.expected <= 0:
            require_liquid(self.scene)
        self._check_speed(
            1.0 / (self.scene.model.time.fps * self.scene.model.time.max_substeps), self.liquid.max_speed()
        )

    def _begin(self, partition: ParticlePartition | None) -> None:
        """Make the liquid of frame 0 on the cells of this process; None: on all cells."""
        self.liquid = Liquid(self.scene, TRACKERS[self.scene.model.surface.track], partition)
        check_edges(self.scene, self.liquid.solids.mode)
        check_band(self.scene, self.liquid.solids.layers)
        #: the probes of the scene
        self.probes = Recorder(self.scene, self.liquid)
        if self.probes.list:
            self.liquid.observer = self.probes

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        return {"frame": self.frame, "time": f"{self.time:.4g} s", "bodies": len(self.bodies)} | self.scene.facts()

    @property
    def bodies(self) -> list[RigidBody]:
        """The rigid bodies, in the order of the scene; their velocities may be set between steps."""
        return self.liquid.bodies.list

    @property
    def partition(self) -> ParticlePartition:
        """The cells and particles that this process has."""
        return self.liquid.partition

    @property
    def time(self) -> float:
        """Seconds since the beginning."""
        return self.liquid.time

    # -- stepping -------------------------------------------------------------------------------------

    def next_frame(self) -> list[dict[str, Any]]:
        """Advance to the next frame.

        Returns
        -------
        list of dict
            One row of statistics for every step, with the columns of stats.csv.

        Examples
        --------
        >>> from nonstick import Simulation
        >>> rows = Simulation("still").next_frame()
        >>> bool(rows[-1]["converged"]), rows[-1]["frame"]
        (True, 1)
        """
        setting = self.scene.model.time
        end = (self.frame + 1) / setting.fps
        rows: list[dict[str, Any]] = []
        while True:
            left = end - self.liquid.time
            if left <= 1e-9 * end:
                break
            speed = self.liquid.max_speed()
            wanted = max(self._substeps(left, speed), setting.min_substeps - len(rows), 1)
            allowed = max(setting.max_substeps - len(rows), 1)
            capped = wanted > allowed
            self._check_speed(left / min(wanted, allowed), speed)
            if capped:
                self.tell(
                    "cap",
                    f"frame {self.frame + 1} needs {len(rows) + wanted} substeps for CFL {setting.cfl:g}, "
                    f"time.max_substeps allows {setting.max_substeps}",
                )
            rows.append(self.step(left / min(wanted, allowed), capped))
        self.frame += 1
        self.liquid.time = end  # so that rounding does not make the clock drift
        began = time.perf_counter()
        self.liquid.update_surface()
        if self.probes.list:
            self.probes.surface(self.liquid.phi())
        if rows:  # the next step starts from the surface of the frame; its time counts here
            rows[-1]["surface_seconds"] += time.perf_counter() - began
            rows[-1]["step_seconds"] += time.perf_counter() - began
        for row in rows:
            row["frame"] = self.frame
        self._watch_volume(rows)
        self.rebalance()
        return rows

    def _watch_volume(self, rows: list[dict[str, Any]]) -> None:
        """Report a volume error above one percent, and again each time it has doubled."""
        worst = max((float(r["volume_error"]) for r in rows), key=abs, default=0.0)
        if abs(worst) > self._drift:
            self._drift = 2.0 * abs(worst)
            far = max(float(r["cfl"]) for r in rows)
            advice = f" in steps of up to {far:.2g} cells; lower time.cfl" if far > LONG_STEP else ""
            self.tell(
                "volume", f"frame {self.frame}: the volume differs from the ledger by {100 * worst:+.2f} %{advice}"
            )

    def rebalance(self) -> bool:
        """Cut the domain again if one of many ranks has too many particles; True if it was cut."""
        part = self.partition
        if not part.shared:
            return False
        most = self._unevenness()
        if most <= UNEVEN:
            return False
        held = part.own(np.diff(self._cloud.start).reshape(part.grid.shape))
        boxes = cut(self.scene, part.comm, part.own_box, held)
        if boxes.boxes == part.boxes.boxes:
            return False
        self._restore(part.moved(self.state(), boxes), boxes)
        self.tell(
            "balance",
            f"frame {self.frame}: one rank had {most:.2f} times the mean number of particles, so the domain was cut "
            f"again; now it has {self._unevenness():.2f} times",
        )
        return True

    @property
    def _cloud(self) -> Cloud:
        tracker = self.liquid.tracker
        assert isinstance(tracker, Particles), "only particles run on many ranks"
        return tracker.cloud

    def _unevenness(self) -> float:
        """The largest number of particles of a rank against the mean."""
        counts = np.array(self.partition.comm.gathered(int(self.partition.own_particles(self._cloud).n)))
        return float(counts.max() / counts.mean())

    def step(self, dt: float, capped: bool = False) -> dict[str, Any]:
        """One step of dt seconds; returns its row of statistics. `capped` is written to the row."""
        began = time.perf_counter()
        report = self.liquid.step(dt)
        self.watch(report)
        outcome = report.outcome
        if outcome.retried or not outcome.solution.converged:
            kind = "retry" if outcome.solution.converged else "unconverged"
            self.tell(kind, f"step {self.liquid.steps}: {outcome.asked}: {outcome.solution.message}")
        for kind, message in report.remarks:
            self.tell(kind, message)
        thick = report.viscosity
        if thick is not None and not thick.converged:
            self.tell("unconverged", f"step {self.liquid.steps}: viscosity, {thick.message}")
        return self._row(report, capped, time.perf_counter() - began)

    def _substeps(self, left: float, speed: float) -> int:
        """Substeps that the CFL number asks for in the rest of a frame."""
        stable = self._stable_dt(speed)
        count = left / stable * (1 - 1e-9) if stable > 0.0 else math.inf
        return math.ceil(min(count, 1e9))

    def _check_speed(self, dt: float, speed: float) -> None:
        """Refuse a step that takes liquid or solids across the domain several times: no grid can follow that."""
        if not speed * dt <= WAY * max(self.scene.model.domain.size):
            raise NonstickError(
                f"{self.scene.where}: at {self.time:.4g} s something moves at {speed:.3g} m/s, which is more than "
                f"{WAY} times across the domain in a substep of {dt:.3g} s; lower the velocities, forces or motions of "
                "the scene, or raise time.max_substeps"
            )

    def _stable_dt(self, v: float) -> float:
        """Solves v dt + g dt² = CFL dx for the fastest particle."""
        g = max(map(abs, self.scene.gravity_at(self.time)), default=0.0) + sum(
            max(map(abs, f.acceleration)) for f in self.scene.model.force
        )
        reach = self.scene.model.time.cfl * self.scene.dx
        down = v + math.sqrt(v * v + 4 * g * reach)
        return 2 * reach / down if down > 0 else math.inf

    def _row(self, report: Report, capped: bool, seconds: float) -> dict[str, Any]:
        liquid, outcome = self.liquid, report.outcome
        solution = outcome.solution
        kinetic, potential = liquid.energy()
        cell = self.scene.dx**self.scene.dimension
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row.update(
            step=liquid.steps, frame=self.frame + 1, time=liquid.time, dt=report.dt, unknowns=outcome.unknowns,
            iterations=solution.iterations, outer_iterations=solution.outer_iterations, step_seconds=seconds,
            kkt=outcome.kkt, volume=liquid.ledger.measured * cell, volume_error=liquid.ledger.error,
            particles=liquid.count, converged=int(solution.converged), method=outcome.method, cfl=report.cfl,
            capped=int(capped), max_speed=liquid.max_speed(), kinetic=kinetic, potential=potential,
            contacts=liquid.contacts(), session=self.session,
        )  # fmt: skip
        if report.viscosity is not None:
            row.update(viscosity_iterations=report.viscosity.iterations, viscosity_residual=report.viscosity.kkt())
        if self.bodies:
            row["body_kinetic"], row["body_potential"] = liquid.bodies.energy()
            row["body_contacts"] = liquid.bodies.world.touching
        for stage in STAGES:
            row[f"{stage}_seconds"] = report.seconds[stage]
        return row

    # -- access ---------------------------------------------------------------------------------------

    @property
    def particles(self) -> ParticleArrays:
        """Positions (m), velocities (m/s) and ids of all particles, as copies; `set_particles` changes them.

        Examples
        --------
        >>> from nonstick import Scene, Simulation
        >>> simulation = Simulation(Scene.load("still", {"domain.resolution": 16}))
        >>> simulation.particles.position.shape
        (512, 2)
        """
        return read_particles(self.liquid)

    def set_particles(self, position=None, velocity=None, gradient=None) -> None:
        """Change positions or velocities of the particles between two steps.

        Parameters
        ----------
        position : array_like, optional
            (n, d) in metres, inside the domain, in the order of `particles`.
        velocity : array_like, optional
            (n, d) in m/s.
        gradient : array_like, optional
            (n, d, d) in 1/s: entry [k, a, b] is the derivative of component a along axis b at particle k. The APIC
            transfer uses it; zero if not given.

        Examples
        --------
        >>> from nonstick import Scene, Simulation
        >>> simulation = Simulation(Scene.load("still", {"domain.resolution": 16}))
        >>> simulation.set_particles(velocity=0.1 * simulation.particles.position)
        >>> float(simulation.particles.velocity.max().round(3))
        0.098
        """
        write_particles(self.liquid, position, velocity, gradient)

    @property
    def grid(self) -> GridArrays:
        """Pressure, velocity, level set and distance to solids on the grid, with their coordinates; copies."""
        return read_grid(self.liquid)

    def probe_table(self) -> ProbeTable:
        """The numbers of the scene's probes since the simulation was made or restored, as arrays.

        A row is complete when the surface at its end is known: at the end of a frame, or after the next step.
        """
        return ProbeTable(self.probes.rows, self.probes.units)

    # -- frames and checkpoints -----------------------------------------------------------------------

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """The content of a frame file: SI units, the domain's lower corner at zero, float32."""
        return self.liquid.frame_arrays(self.scene.model.output)

    def state(self) -> dict[str, np.ndarray]:
        """The whole state as plain arrays; a run continues from it bit for bit.

        The simulation still uses these arrays, and its next step changes them: save or copy them first.
        """
        out = {**self.liquid.state(), **self.probes.state()}
        out["frame"] = np.array(self.frame)
        return out

    def restore(self, state: dict[str, np.ndarray], boxes: Boxes | None = None) -> None:
        """Continue from the result of `state`, in a simulation of the same scene.

        On many ranks each gives its part of the state, in its box of `boxes` if the domain is cut anew.

        Examples
        --------
        >>> from nonstick import Scene, Simulation
        >>> scene = Scene.load("circle", {"domain.resolution": 16})
        >>> one, other = Simulation(scene), Simulation(scene)
        >>> _ = one.next_frame()
        >>> other.restore(one.state())
        >>> other.frame
        1
        """
        self.session += 1
        self._restore(state, boxes)

    def _restore(self, state: dict[str, np.ndarray], boxes: Boxes | None) -> None:
        if boxes is not None:
            self._begin(part_of(self.scene, self.partition.comm, boxes))
        check_array("frame", state, (), np.int64, 0, 10**7)
        self.liquid.check(state)
        self.frame = int(state["frame"])
        # copied, because a simulation changes its arrays in place, and the other simulation may continue
        self.liquid.restore({name: np.array(values, order="C") for name, values in state.items()})
        self.probes.restore(state)
