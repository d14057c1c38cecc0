"""A run of a heat scene from file to directory, and taking it up again.

Order of writing after each frame: row, frame. A frame holds the whole state and appears whole or not at all, so it
is its own checkpoint: a killed run goes on from its last frame, with the temperatures of an unbroken run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NonstickError
from ...io.rundir import RunDirectory
from ...scenes.geometry import build
from ...scenes.heat import HeatScene
from ..liquid.run import _changed
from .simulation import Heat

COLUMNS = ("step", "frame", "time", "dt", "unknowns", "iterations", "outer_iterations", "pressure_seconds",
           "step_seconds", "kkt", "converged", "coldest", "hottest")  # fmt: skip

#: called after every frame with its number and its row
Progress = Callable[[int, dict[str, Any]], object]


def heat_of(scene: HeatScene) -> Heat:
    """The set-up a scene describes."""
    model = scene.model
    return Heat(
        resolution=model.domain.resolution,
        size=model.domain.size,  # type: ignore[arg-type]
        body=None if model.body is None else build(model.body, scene.folder),
        start=model.start,
        bands=tuple((band.low, band.high, band.temperature) for band in model.band),
        lower=-np.inf if model.lower is None else model.lower,
        upper=np.inf if model.upper is None else model.upper,
        diffusivity=model.diffusivity,
        dt=model.time.dt,
        method=model.solver.method,
        rtol=model.solver.rtol,
    )


def run(scene: HeatScene, out: str | Path, progress: Progress | None = None) -> RunDirectory:
    """Make all frames of a scene in a new directory, up to equilibrium."""
    heat = heat_of(scene)
    begin, inside, fixed = heat.begin()
    meta = {
        "name": scene.model.name,
        "kind": "heat",
        "shape": list(heat.grid.shape),
        "status": "running",
        "fingerprint": scene.fingerprint(),
        "scene": scene.to_dict(),
        "folder": os.path.abspath(scene.folder),
    }
    directory = RunDirectory.create(out, scene.to_toml(), meta)
    directory.write_frame(0, {"temperature": begin, "inside": inside, "fixed": fixed})
    _go_on(scene, heat, directory, 0, progress)
    return directory


def resume(
    path: str | Path, from_frame: int | None = None, frames: int | None = None, scene: HeatScene | None = None,
    progress: Progress | None = None,
) -> RunDirectory:  # fmt: skip
    """Go on where a run stopped, or from an earlier frame; `scene` may differ only in harmless keys."""
    directory = RunDirectory.open(path)
    meta = directory.meta()
    own = load(directory)
    for candidate in (own, scene):
        if candidate is not None and candidate.fingerprint() != meta.get("fingerprint"):
            raise NonstickError(
                f"{candidate.where} differs from the scene {path} was started with in a way that changes the "
                f"temperatures ({_changed(meta, candidate)}): start a new run, or undo the change"
            )
    if scene is not None:
        own = HeatScene(scene.to_dict(), scene.where, own.folder)
    if frames is not None:
        own = own.replace({"time.frames": frames})
    usable = [n for n in directory.frames() if from_frame is None or n <= from_frame]
    if not usable or 0 not in usable:
        raise NonstickError(f"{path} has no first frame to go on from: start a new run")
    directory.drop_after(usable[-1])
    directory.log("resume", f"from frame {usable[-1]}")
    _go_on(own, heat_of(own), directory, usable[-1], progress)
    return directory


def load(directory: RunDirectory) -> HeatScene:
    """The scene of a run; its meshes lie where they lay when the run began."""
    scene = HeatScene.load(directory.path / "scene.toml")
    scene.folder = Path(directory.meta().get("folder", "."))
    return scene


def _go_on(scene: HeatScene, heat: Heat, directory: RunDirectory, done: int, progress: Progress | None) -> None:
    first = directory.read_frame(0)
    free = first["inside"] & ~first["fixed"]
    frame, state, ended = done, directory.read_frame(done)["temperature"], False
    if done:  # a run that has come to rest stays there
        ended = heat.at_rest(directory.read_frame(done - 1)["temperature"], state, first["inside"])
    count = 0 if ended else scene.model.time.frames - done
    clock = time.perf_counter()
    try:
        for frame, solution in enumerate(heat.solutions(count, state), done + 1):
            now = time.perf_counter()
            values = solution.temperature[free]
            row = dict(zip(COLUMNS, (
                frame, frame, frame * heat.dt, heat.dt, solution.problem.n, solution.iterations,
                solution.outer_iterations, solution.seconds, now - clock, solution.kkt(), int(solution.converged),
                values.min(initial=np.inf), values.max(initial=-np.inf),
            )))  # fmt: skip
            clock = now
            directory.append_rows([row], COLUMNS)
            directory.write_frame(frame, {"temperature": solution.temperature})
            if not solution.converged:
                directory.log("unconverged", f"frame {frame}: {solution.message}")
            if progress is not None:
                progress(frame, row)
    except BaseException as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        _finish(directory, status)
        directory.log(status, f"after frame {max(directory.frames())}: {error!r}")
        raise
    _finish(directory, "done")
    directory.log("done", f"equilibrium after {frame} frames" if frame < scene.model.time.frames else f"{frame} frames")


def _finish(directory: RunDirectory, status: str) -> None:
    directory.write_meta({**directory.meta(), "status": status, "summary": summary(directory)})


def summary(directory: RunDirectory) -> dict[str, Any]:
    """Numbers over all frames of a run."""
    rows = directory.rows()
    if not rows:
        return {"steps": 0}
    column = lambda name: np.array([float(r[name]) for r in rows])  # noqa: E731
    return {
        "steps": len(rows),
        "unconverged": int((column("converged") == 0).sum()),
        "largest_kkt": float(column("kkt").max()),
        "mean_iterations": float(column("iterations").mean()),
        "mean_outer_iterations": float(column("outer_iterations").mean()),
        "mean_step_seconds": float(column("step_seconds").mean()),
        "coldest": float(rows[-1]["coldest"]),
        "hottest": float(rows[-1]["hottest"]),
    }
