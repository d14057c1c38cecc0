"""Scenes of kind heat: how their runs are saved, summarised and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NonstickError
from ...io.rundir import RunDirectory, damaged
from ...mpi.comm import world
from ...scenes.heat import HeatModel
from ...scenes.scene import Scene
from ..findings import Findings
from ..kinds import Kind, Row
from ..preview import Film, Frames
from ..resources import Needs
from ..states import check_array
from .simulation import COLUMNS, HeatSimulation


class HeatKind(Kind):
    """Temperatures between bounds. A frame holds the whole state, so it is its own checkpoint."""

    name = "heat"
    columns = COLUMNS

    def simulate(self, scene: Scene[HeatModel]) -> HeatSimulation:
        if world().size > 1:
            raise NonstickError(f"{scene.where}: {self.obstacles(scene)[0]}; leave mpiexec out")
        return HeatSimulation(scene)

    def check(self, scene: Scene[HeatModel]) -> Findings:
        from .check import check

        return check(scene)

    def contents(self, simulation: HeatSimulation) -> str:
        return f"{simulation.inside.sum()} of them in the body"

    def needs(self, simulation: HeatSimulation) -> Needs:
        from .check import needs

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
