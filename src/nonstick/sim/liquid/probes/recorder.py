"""All probes of a running scene: they look at every step and keep a row of numbers for each.

The surface at the end of a step is found when the next step begins, or when a frame ends. So a row waits until then for
the numbers that need the surface; probes never change a run. Their check before a run asks whether they lie where
something can be measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....errors import NonstickError
from ....scenes.geometry import WALLS, named
from ....scenes.scene import Scene
from ...run.findings import Findings
from ..flow.masses import Masses
from ..flow.pressure import PressureResult
from ..solids.on_grid import Solids
from ..step import Liquid
from ..tracking import StepFields
from .meters import KINDS, FlowProbe, ForceProbe, Height, Pressure
from .observed import Load, Observed, Probe, Surroundings, sample


def make(scene: Scene) -> list[Probe]:
    """The probes of a scene."""
    tables = scene.model.probe
    return [
        KINDS[table.type](name, table, scene, f"probe.{index}")
        for index, (name, table) in enumerate(zip(named(tables), tables))
    ]


class Recorder:
    """The probes of a simulation; it is the `observer` of its `Liquid`."""

    def __init__(self, scene: Scene, liquid: Liquid):
        self.liquid = liquid
        self.list = make(scene)
        walls = Surroundings(liquid.solids)
        for probe in self.list:
            if isinstance(probe, (Pressure, ForceProbe)):
                probe.walls = walls
        self.flows = [p for p in self.list if isinstance(p, FlowProbe)]
        #: columns with their units
        self.units: dict[str, str] = {name: unit for p in self.list for name, unit in p.columns.items()}
        #: rows that are complete
        self.rows: list[dict[str, Any]] = []
        self._waiting: dict[str, Any] | None = None
        self._seen = self._new()

    def _new(self) -> Observed:
        return Observed(self.liquid, Load(self.liquid.scene.dx))

    # -- called by the step ---------------------------------------------------------------------------

    def projected(self, outcome: PressureResult, masses: Masses) -> None:
        """A pressure was solved; the first one of a step uses the surface at the end of the last step."""
        if not self._seen.outcomes:
            self.surface(outcome.problem.phi_liquid)
        self._seen.load.add(outcome, masses)
        self._seen.outcomes.append(outcome)

    def moving(self, fields: StepFields) -> None:
        """The velocity of the step is known, and the liquid is about to move."""
        seen, liquid = self._seen, self.liquid
        seen.velocity, seen.dt, seen.kick = fields.velocity.user, fields.dt, fields.kick
        seen.phi = seen.outcomes[-1].problem.phi_liquid
        values = {p.name: p.read(seen) for p in self.list}
        self._waiting = {"step": liquid.steps + 1, "time": liquid.time + fields.dt, "values": values}
        if self.flows and liquid.count:
            for probe in self.flows:
                probe.leave(np.array(liquid.tracker.points()))  # type: ignore[attr-defined]
        self._seen = self._new()

    def moved(self) -> None:
        """The liquid has moved."""
        if self._waiting is None:
            return
        if self.flows and self.liquid.count:
            tracker: Any = self.liquid.tracker
            worth = tracker.worth * self.liquid.scene.dx**self.liquid.scene.dimension
            for probe in self.flows:
                probe.arrive(np.array(tracker.points()), worth)
        for probe in self.flows:
            self._waiting["values"][probe.name][1] = probe.volume

    def surface(self, phi: np.ndarray) -> None:
        """The surface at the end of the last step, in metres: complete the row that waits for it."""
        row = self._waiting
        if row is None:
            return
        self._waiting = None
        seen = Observed(self.liquid, Load(self.liquid.scene.dx), phi=phi)
        numbers: list[float] = []
        for probe in self.list:
            values = row["values"][probe.name]
            numbers += probe.late(seen) if values is None else values
        self.rows.append({"step": row["step"], "time": row["time"], **dict(zip(self.units, numbers))})

    # -- checkpoints ----------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """The volumes that have passed planes, with a mark of each plane."""
        if not self.flows:
            return {}
        return {
            "probe_marks": np.array([_mark(p) for p in self.flows], np.int64),
            "probe_volumes": np.array([p.volume for p in self.flows]),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue; a plane that the checkpoint does not know starts at zero."""
        marks, volumes = state.get("probe_marks", np.empty(0)), state.get("probe_volumes", np.empty(0))
        if np.asarray(volumes).dtype.kind != "f":
            raise NonstickError("probe_volumes does not hold numbers")
        known = dict(zip(np.ravel(marks).tolist(), np.ravel(volumes).tolist()))
        for probe in self.flows:
            probe.volume = float(known.get(_mark(probe), 0.0))
        self.rows, self._waiting, self._seen = [], None, self._new()


def _mark(probe: Probe) -> int:
    """A number that is the same as long as the table of a probe is."""
    text = probe.name + probe.table.model_dump_json(exclude_none=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little", signed=True)


def check_probes(found: Findings, scene: Scene, solids: Solids) -> None:
    """Warnings for probes that will show nothing."""
    walls = Surroundings(solids)
    for index, probe in enumerate(make(scene)):
        key, table = f"probe.{index} ({probe.name})", probe.table
        if table.at is not None:
            points = probe.feet if isinstance(probe, Height) else probe.point
            outside = [f"({', '.join(f'{c:g}' for c in x)})" for x in points if not _inside(x, scene)]
            if outside and probe.kind != "flow":
                found.warnings.append(f"{key} lies outside the domain at {outside[0]}; move it inside")
            # the foot of a gauge may lie in a floor
            elif probe.kind in ("pressure", "velocity") and not solids.moving and _buried(points, solids):
                found.warnings.append(f"{key} lies inside a solid, where there is no liquid; move it out")
        elif table.on not in scene.model.body_names or table.on in scene.model.solid_names:
            pieces, _ = walls.patches(table.on or WALLS, probe.region)
            if not len(pieces.x) and not solids.moving:
                found.warnings.append(f"{key} finds no wall; check its shape and the solid it names")
            elif probe.kind == "force":
                size = float(np.linalg.norm(pieces.area, axis=1).sum())
                unit = "m²" if scene.dimension == 3 else "m"
                found.facts.append(f"{key} looks at {size:.4g} {unit} of wall")


def _inside(x: np.ndarray, scene: Scene) -> bool:
    return all(0.0 <= c <= s for c, s in zip(x, scene.model.domain.size))


def _buried(points: np.ndarray, solids: Solids) -> bool:
    return bool(sample(solids.phi, points, solids.grid.dx, 0.0)[0] < -0.5 * solids.grid.dx)
