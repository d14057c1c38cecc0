"""Scenes of kind heat: how they are checked, and how their runs are saved, summarised and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.columns import check_array
from ...errors import NonstickError
from ...files.rundir import RunDirectory, damaged
from ...grid.fractions import connected_parts
from ...parallel.comm import world
from ...scenes.scene import Scene
from ...scenes.schema import HeatModel
from ..kinds import Kind, Row
from ..liquid.requirements import check_scalar
from ..run.findings import Findings, Needs, disk_shortage, memory_shortage, reaches_beyond, size
from ..run.preview import Film, Frames
from .simulation import COLUMNS, Heat, HeatSimulation


class HeatKind(Kind):
    """Temperatures between bounds. A frame holds the whole state, so it is its own checkpoint."""

    name = "heat"
    columns = COLUMNS

    def simulate(self, scene: Scene[HeatModel]) -> HeatSimulation:
        if world().size > 1:
            raise NonstickError(f"{scene.where}: {self.obstacles(scene)[0]}; leave mpiexec out")
        return HeatSimulation(scene)

    def check(self, scene: Scene[HeatModel]) -> Findings:

        return check(scene)

    def contents(self, simulation: HeatSimulation) -> str:
        return f"{simulation.inside.sum()} of them in the body"

    def needs(self, simulation: HeatSimulation) -> Needs:

        return needs(simulation.scene)

    # -- frames on disk -------------------------------------------------------------------------------

    def save(self, simulation: HeatSimulation, directory: RunDirectory, rows: Sequence[Row]) -> None:
        if rows:
            directory.append_rows(rows, self.columns)
        directory.write_frame(simulation.frame, simulation.frame_arrays())

    def saved(self, directory: RunDirectory) -> list[int]:
        return directory.frames()

    def restore(self, simulation: HeatSimulation, directory: RunDirectory, frame: int) -> None:
        names = {"temperature": frame} | ({"before": frame - 1} if frame else {})
        state = {"frame": np.array(frame)}
        for name, number in names.items():
            found = directory.read_frame(number)
            try:
                state[name] = check_array("temperature", found, simulation.inside.shape, float)
            except NonstickError as error:
                raise damaged(directory.frame_file(number), str(error)) from None
        simulation.restore(state)

    def ended(self, simulation: HeatSimulation) -> bool:
        return simulation.at_rest

    # -- words and pictures ---------------------------------------------------------------------------

    def summary(self, rows: list[dict[str, str]]) -> dict[str, Any]:
        last = rows[-1]
        return {**super().summary(rows), "coldest": float(last["coldest"]), "hottest": float(last["hottest"])}

    def progress(self, rows: Sequence[Row]) -> str:
        last = rows[-1]
        return f"{last['outer_iterations']} outer iterations  {last['coldest']:.2f} to {last['hottest']:.2f} degrees"

    def report(self, numbers: Mapping[str, Any]) -> list[str]:
        return [
            f"{numbers['mean_iterations']:.1f} iterations ({numbers['mean_outer_iterations']:.2f} outer) per frame, "
            f"{numbers['mean_step_seconds']:.3g} s, "
            f"largest KKT {numbers['largest_kkt']:.1e}, {numbers['unconverged']} not converged",
            f"{numbers['coldest']:.2f} to {numbers['hottest']:.2f} degrees outside the bands",
        ]

    def film(
        self, path: str | Path, compare: str | Path | None = None, camera: Any = None, frames: Frames = None
    ) -> Film:
        from .preview import HeatFilm

        return HeatFilm(path, compare, frames)


#: peak of runs of the dragon at 32 to 192 cells
BYTES_PER_CELL = 120
BYTES_BASE = 215 * 2**20


def needs(scene: Scene[HeatModel]) -> Needs:
    """Memory and disk that a run takes."""
    cells = float(np.prod(scene.shape, dtype=float))
    return Needs(BYTES_BASE + BYTES_PER_CELL * cells, (8 * (scene.model.time.frames + 1) + 2) * cells)


def check(scene: Scene[HeatModel]) -> Findings:
    """All findings, computed on the grid of the scene at time 0."""
    found, model = Findings(), scene.model
    check_scalar(model.solver.method, scene.where)
    heat = Heat.of(scene)
    grid = heat.grid
    temperature, inside, fixed = heat.begin()
    unknowns = heat.problem(temperature, inside, fixed).problem.n
    frames = model.time.frames
    need = needs(scene)
    found.facts += [
        f"{model.name}: {'×'.join(map(str, grid.shape))} cells of {grid.dx:.4g} m, {inside.sum()} in the body, "
        f"{fixed.sum()} of them held by bands",
        f"at most {frames} frames, {unknowns} unknowns each, one implicit step of {heat.dt:g} s per frame",
        f"memory about {size(need.memory)}, disk about {size(need.disk)}",
    ]
    found.errors += memory_shortage(need)
    found.warnings += disk_shortage(need, ".")
    body = heat.shape
    _, parts = connected_parts(body.sample(grid.cells()) < 0)
    if parts > 1:
        found.warnings.append(f"the body consists of {parts} separate parts on this grid; only the largest is heated")
    if reaches_beyond(body, grid):
        found.warnings.append("the body reaches the edge of the domain; the part outside is discarded")
    x = np.broadcast_to(grid.cells()[0], grid.shape)
    for index, (low, high, _) in enumerate(heat.bands):
        if not ((x > low) & (x < high) & inside).any():
            found.warnings.append(f"band.{index} contains no cell of the body: low is {low:g}, high is {high:g}")
    if not fixed.any():
        found.warnings.append(
            "no band holds a temperature, so nothing will change; add a [[band]] that contains cells of the body"
        )
    if not heat.lower <= heat.start <= heat.upper:
        found.warnings.append("start is not between lower and upper; the first frame jumps to the nearer bound")
    return found
