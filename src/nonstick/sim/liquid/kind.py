"""Scenes of kind liquid: how their runs are saved, summarised and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import NonstickError
from ...files.rundir import PROBES, RunDirectory, damaged
from ...files.tables import body_columns, body_rows, read_probes, write_bodies, write_rows
from ...parallel.comm import world
from ...pictures.render.charts import finish, new_figure
from ...scenes.scene import Scene
from ..kinds import Kind, Row, column, warm
from ..run.findings import Findings, Needs
from ..run.preview import Film, Frames
from .requirements import given_speed, needs, require_pace
from .stats import COLUMNS

if TYPE_CHECKING:  # pictures of a run do without the simulator, which is slow to load
    from .simulation import Simulation


class LiquidKind(Kind):
    """Particles or a level set on a grid, with separating walls; a frame is complete when its checkpoint exists."""

    name = "liquid"
    columns = COLUMNS

    def simulate(self, scene: Scene) -> Simulation:
        comm = world()
        if comm.size == 1:
            from .simulation import Simulation

            return Simulation(scene)
        from .distributed import simulate

        return simulate(scene, comm)

    def check(self, scene: Scene) -> Findings:
        require_pace(scene, given_speed(scene))  # what the tables show is said before the simulator is loaded
        from .check import check

        return check(scene)

    def obstacles(self, scene: Scene) -> list[str]:
        from .distributed import obstacle

        found = obstacle(scene)
        return [found] if found else []

    def contents(self, simulation: Simulation) -> str:
        return f"{simulation.liquid.count} particles"

    def needs(self, simulation: Simulation) -> Needs:
        return needs(simulation.scene, simulation.liquid.count)

    def compiling(self, scene: Scene) -> AbstractContextManager[None]:
        from ..run.compile_ahead import compiling_ahead

        return compiling_ahead(scene.dimension) if world().size == 1 else nullcontext()

    # -- frames on disk -------------------------------------------------------------------------------

    def describe(self, simulation: Simulation, directory: RunDirectory) -> None:
        own = directory.alone()  # the first of many ranks writes for all
        if own is not None:
            write_bodies(own, simulation.bodies)

    def adapted(self, before: Simulation, simulation: Simulation) -> dict[str, np.ndarray]:
        from .particles.tracker import Particles

        state, old, new = before.state(), before.liquid.tracker, simulation.liquid.tracker
        if isinstance(old, Particles) and isinstance(new, Particles):
            n = old.cloud.n
            if new.cloud.thick != old.cloud.thick:  # one viscosity for all becomes one for each, or the reverse
                state["mu"] = np.full(n if new.cloud.thick else 0, before.liquid.viscosity.mu, np.float32)
            if new.cloud.affine and not old.cloud.affine:  # APIC starts without gradients
                state["aff"] = np.zeros((9, n), np.float32)
        return state

    def save(self, simulation: Simulation, directory: RunDirectory, rows: Sequence[Row]) -> None:
        frame, scene = simulation.frame, simulation.scene
        boxes = simulation.liquid.partition.boxes.boxes
        directory.write_frame(frame, simulation.frame_arrays(), boxes)
        if rows:
            directory.append_rows(rows, self.columns)
        if simulation.bodies:
            places = body_rows(simulation.bodies, frame, simulation.time)
            directory.append_rows(places, body_columns(scene.dimension), "bodies.csv")
        probes = simulation.probes
        if probes.list:
            write_rows(directory, probes.rows, probes.units, frame)
            probes.rows.clear()
        directory.write_checkpoint(frame, simulation.state(), scene.model.output.checkpoint_every, boxes)

    def saved(self, directory: RunDirectory) -> list[int]:
        return directory.checkpoints()

    def restore(self, simulation: Simulation, directory: RunDirectory, frame: int) -> None:
        boxes = box = None
        if simulation.partition.shared:
            from .distributed import boxes_of_checkpoint

            boxes = boxes_of_checkpoint(directory, simulation.scene, frame)
            box = boxes[directory.comm.rank]
        state = directory.read_checkpoint(frame, box)
        try:
            simulation.restore(state, boxes)
            if simulation.frame != frame:
                raise NonstickError(f"it is one of frame {simulation.frame}")
        except NonstickError as error:
            raise damaged(directory.checkpoints_path / f"{frame:06d}.npz", str(error)) from None

    # -- words and pictures ---------------------------------------------------------------------------

    def summary(self, rows: list[dict[str, str]]) -> dict[str, Any]:
        from .stats import STAGES

        stages = [s for s in STAGES if s != "viscosity" or column(rows, "viscosity_iterations").any()]
        energy = column(rows, "kinetic") + column(rows, "potential")
        if rows[0].get("body_kinetic"):  # empty without bodies, and missing in runs of older versions
            energy += column(rows, "body_kinetic") + column(rows, "body_potential")
        return {
            **super().summary(rows),
            "steps_per_frame": len(rows) / max(int(rows[-1]["frame"]), 1),
            "capped": int(column(rows, "capped").sum()),
            "largest_volume_error": float(np.abs(column(rows, "volume_error")).max()),
            "energy_first": float(energy[0]),
            "energy_last": float(energy[-1]),
            "largest_energy_rise": float(np.diff(energy).max(initial=0.0)),
            "stage_seconds": {s: float(column(warm(rows), f"{s}_seconds").mean()) for s in stages},
        }

    def progress(self, rows: Sequence[Row]) -> str:
        last = rows[-1]
        worst = max(float(r["kkt"]) for r in rows)
        return (
            f"{len(rows)} substeps  dt {last['dt']:.2g} s  {last['unknowns']} cells  "
            f"{sum(r['iterations'] for r in rows)} it  KKT {worst:.0e}  volume {100 * last['volume_error']:+.2f} %"
        )

    def report(self, numbers: Mapping[str, Any]) -> list[str]:
        parts = ", ".join(f"{k} {v:.3g}" for k, v in numbers["stage_seconds"].items())
        lines = [
            f"{numbers['steps']} substeps ({numbers['steps_per_frame']:.2f} per frame), "
            f"{numbers['mean_iterations']:.1f} iterations ({numbers['mean_outer_iterations']:.2f} outer) per solve, "
            f"largest KKT {numbers['largest_kkt']:.1e}, {numbers['unconverged']} not converged",
            f"largest volume error {100 * numbers['largest_volume_error']:.3f} %",
            f"{numbers['mean_step_seconds']:.3g} s per substep: {parts}",
        ]
        if "energy_first" in numbers:
            lines.insert(
                2,
                f"energy {numbers['energy_first']:.5g} J at the start, {numbers['energy_last']:.5g} J at the end, "
                f"largest rise in a substep {numbers['largest_energy_rise']:.2g} J",
            )
        return lines

    def warnings(self, numbers: Mapping[str, Any]) -> list[str]:
        found = []
        if numbers.get("capped"):
            found.append(f"time.max_substeps was reached {numbers['capped']} times, so the CFL number was exceeded")
        if numbers.get("largest_volume_error", 0.0) > 0.01:
            found.append(f"the volume error reached {100 * numbers['largest_volume_error']:.1f} %")
        return found

    def camera(self, scene: Scene, changes: Mapping[str, Any]) -> Any:
        changes = {f"camera.{key.removeprefix('camera.')}": value for key, value in changes.items()}
        return scene.replace(changes).model.camera

    def chart(self, directory: RunDirectory, path: Path) -> None:
        draw_chart(directory, path)

    def film(
        self, path: str | Path, compare: str | Path | None = None, camera: Any = None, frames: Frames = None
    ) -> Film:
        from .preview import LiquidFilm

        return LiquidFilm(path, compare, camera, frames)


def draw_chart(run: RunDirectory, path: Path) -> None:
    """Write the chart of a run; the numbers are those of stats.csv and probes.csv."""
    rows = run.rows()
    if not rows:
        raise NonstickError(f"{run.path} has no steps yet, so there is nothing to plot")
    groups: dict[str, list[str]] = {}
    table = read_probes(run) if run.rows(PROBES) else None
    for name in table or ():
        probe, _, part = name.rpartition(".")
        # flow and volume, force and torque: one panel for each unit
        groups.setdefault(f"{probe} [{table.units[name]}]", []).append(part)  # type: ignore[union-attr]
    figure, axes = new_figure(2 + len(groups), 3)
    time = column(rows, "time")
    for part in ("kinetic", "potential"):
        axes[0].plot(time, column(rows, part), label=part, lw=1.2)
    axes[0].set(title="energy of the liquid", ylabel="J")
    axes[0].legend(fontsize=8)
    axes[1].plot(time, 100 * column(rows, "volume_error"), lw=1.2)
    axes[1].set(title="volume error", ylabel="%")
    for panel, (title, parts) in zip(axes[2:], groups.items()):
        assert table is not None
        probe, _, unit = title.removesuffix("]").rpartition(" [")
        for part in parts:
            panel.plot(table.time, table[f"{probe}.{part}"], label=part, lw=1.2)
        panel.set(title=probe, ylabel=unit)
        if len(parts) > 1:
            panel.legend(fontsize=8)
        else:
            panel.set_ylabel(f"{parts[0]} in {unit}")
        if np.isnan(table[f"{probe}.{parts[0]}"]).all():
            panel.text(0.5, 0.5, "no liquid there", ha="center", transform=panel.transAxes)
    for panel in axes:
        panel.set_xlabel("time in s")
        panel.grid(alpha=0.25)
    finish(figure, path)
