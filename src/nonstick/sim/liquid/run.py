"""A run from scene to directory, and taking it up again.

Order of writing after each frame: frame, rows, checkpoint. The checkpoint is what makes a frame count, so
a run killed at any moment goes on from its last complete frame, and the frames it then writes are those
the unbroken run would have written, bit for bit.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NonstickError
from ...io.body_files import columns as body_columns
from ...io.body_files import rows as body_rows
from ...io.body_files import write_start
from ...io.rundir import RunDirectory
from ...scenes.heat import HeatScene
from ...scenes.scene import Scene
from ..resources import shortages
from .liquid import STAGES
from .simulation import COLUMNS, Simulation

Progress = Callable[[Simulation, list[dict[str, Any]]], None]


def run(
    scene: Scene, out: str | Path, progress: Progress | None = None, warn: Callable[[str], None] | None = None
) -> RunDirectory:
    """Make all frames of a scene in a new directory; `warn` gets a sentence if memory or disk will not do."""
    RunDirectory.check_free(out)
    simulation = Simulation(scene)
    directory = RunDirectory.create(out, scene.to_toml(), _meta(scene))
    directory.log(
        "start", f"{scene.name}: {'×'.join(map(str, scene.shape))} cells, {simulation.liquid.count} particles"
    )
    for sentence in shortages(scene, simulation.liquid.count, directory.path):
        directory.log("short", sentence)
        if warn is not None:
            warn(sentence)
    directory.write_frame(0, simulation.frame_arrays())
    write_start(directory, simulation.bodies)
    _append_bodies(simulation, directory)
    directory.write_checkpoint(0, simulation.state(), scene.model.output.checkpoint_every)
    _go_on(simulation, directory, progress)
    return directory


def resume(
    path: str | Path, from_frame: int | None = None, frames: int | None = None, scene: Scene | None = None,
    progress: Progress | None = None,
) -> RunDirectory:  # fmt: skip
    """Go on where a run stopped, or from an earlier frame; `scene` may differ only in harmless keys.

    From a frame whose checkpoint is gone, the frames between it and the nearest earlier checkpoint are
    computed again.
    """
    directory = RunDirectory.open(path)
    meta = directory.meta()
    own = Scene.load(directory.path / "scene.toml")
    if own.fingerprint() != meta["fingerprint"]:
        raise NonstickError(
            f"{directory.path / 'scene.toml'} was changed in a way that changes the motion ({_changed(meta, own)}); "
            "start a new run, or undo the change"
        )
    if scene is not None:
        if scene.fingerprint() != meta["fingerprint"]:
            raise NonstickError(
                f"{scene.where} differs from the scene of {path} in a way that changes the motion "
                f"({_changed(meta, scene)}): start a new run"
            )
        own = scene
    own.folder = Path(meta.get("folder", "."))
    if frames is not None:
        own = own.replace({"time.frames": frames})
    usable = [n for n in directory.checkpoints() if from_frame is None or n <= from_frame]
    if not usable:
        raise NonstickError(f"{path} has no checkpoint to go on from")
    begin = usable[-1]
    simulation = Simulation(own)
    simulation.restore(directory.read_checkpoint(begin))
    simulation.session = max((int(r["session"]) for r in directory.rows()), default=0) + 1
    directory.drop_after(begin)
    directory.log("resume", f"from frame {begin}")
    _go_on(simulation, directory, progress)
    return directory


def _go_on(simulation: Simulation, directory: RunDirectory, progress: Progress | None) -> None:
    scene = simulation.scene
    simulation.tell = directory.log
    began = time.time()
    every = scene.model.output.checkpoint_every
    try:
        while simulation.frame < scene.model.time.frames:
            rows = simulation.next_frame()
            directory.write_frame(simulation.frame, simulation.frame_arrays())
            directory.append_rows(rows, COLUMNS)
            _append_bodies(simulation, directory)
            directory.write_checkpoint(simulation.frame, simulation.state(), every)
            if progress is not None:
                progress(simulation, rows)
    except BaseException as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        _finish(directory, status, began)
        directory.log(status, f"after frame {simulation.frame}: {error!r}")
        raise
    _finish(directory, "done", began)
    directory.log("done", f"{simulation.frame} frames")


def _append_bodies(simulation: Simulation, directory: RunDirectory) -> None:
    if simulation.bodies:
        rows = body_rows(simulation.bodies, simulation.frame, simulation.time)
        directory.append_rows(rows, body_columns(simulation.scene.dimension), "bodies.csv")


def _finish(directory: RunDirectory, status: str, began: float) -> None:
    meta = directory.meta()
    meta["status"] = status
    meta["seconds"] = meta.get("seconds", 0.0) + time.time() - began
    meta["frames"] = max(directory.frames(), default=0)
    meta["summary"] = summary(directory)
    directory.write_meta(meta)


def summary(directory: RunDirectory) -> dict[str, Any]:
    """Numbers over all steps of a run; the first step of each session pays for compilation and is left out of times."""
    rows = directory.rows()
    if not rows:
        return {"steps": 0}
    seen: set[str] = set()
    warm = []
    for row in rows:
        if row["session"] in seen:
            warm.append(row)
        seen.add(row["session"])
    warm = warm or rows
    # rows that an older version wrote have no value in newer columns
    column = lambda name, of=rows: np.array([float(r.get(name) or 0.0) for r in of])  # noqa: E731
    stages = [s for s in STAGES if s != "viscosity" or column("viscosity_seconds").any()]
    energy = column("kinetic") + column("potential")
    if rows[0].get("body_kinetic"):  # empty without bodies, and missing in runs of older versions
        energy += column("body_kinetic") + column("body_potential")
    return {
        "energy_first": float(energy[0]),
        "energy_last": float(energy[-1]),
        "largest_energy_rise": float(np.diff(energy).max(initial=0.0)),
        "steps": len(rows),
        "steps_per_frame": len(rows) / max(int(rows[-1]["frame"]), 1),
        "unconverged": int((column("converged") == 0).sum()),
        "capped": int(column("capped").sum()),
        "largest_kkt": float(column("kkt").max()),
        "mean_iterations": float(column("iterations").mean()),
        "mean_outer_iterations": float(column("outer_iterations").mean()),
        "largest_volume_error": float(np.abs(column("volume_error")).max()),
        "mean_step_seconds": float(column("step_seconds", warm).mean()),
        "stage_seconds": {s: float(column(f"{s}_seconds", warm).mean()) for s in stages},
        "peak_bytes": peak_bytes(),
    }


def peak_bytes() -> int:
    """Largest resident memory of this process so far."""
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    except ImportError:
        return 0
    return int(peak) * (1 if platform.system() == "Darwin" else 1024)


def _meta(scene: Scene) -> dict[str, Any]:
    from ... import __version__

    return {
        "format": 1,
        "nonstick": __version__,
        "name": scene.name,
        "status": "running",
        "created": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "shape": list(scene.shape),
        "dx": scene.dx,
        "fingerprint": scene.fingerprint(),
        "scene": scene.to_dict(),
        "folder": os.path.abspath(scene.folder),
    }


def _changed(meta: dict[str, Any], scene: Scene | HeatScene) -> str:
    """The keys in which a scene differs from the one a run was started with."""
    now, then = _flat(scene.to_dict()), _flat(meta.get("scene", {}))
    names = sorted(k for k in now.keys() | then.keys() if now.get(k) != then.get(k))
    names = [n for n in names if n.split(".")[0] not in ("name", "description", "output", "camera")]
    return ", ".join(names[:5]) or "unknown keys"


def _flat(data: Any, path: str = "") -> dict[str, Any]:
    if isinstance(data, dict):
        return {k: v for key, value in data.items() for k, v in _flat(value, f"{path}.{key}" if path else key).items()}
    if isinstance(data, list) and any(isinstance(v, dict) for v in data):
        return {k: v for i, value in enumerate(data) for k, v in _flat(value, f"{path}.{i}").items()}
    return {path: data}
