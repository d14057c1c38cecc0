"""Branches of runs: a new run that starts from a frame of another one, with changed physics.

The new directory is a whole run. Its frames up to the branch are those of the parent: links to the same files where the
file system has links, copies elsewhere. A frame is never changed in place, so neither run can harm the other. The rows
of all tables up to the branch are copied, and files for other programs are written for the whole run at its end.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...core.guarded import folder, read_bytes, reading, remove
from ...errors import NonstickError
from ...files import pieces
from ...files.atomic import replacing
from ...files.rundir import PROBES, RunDirectory
from ...parallel.comm import world
from ...scenes.scene import Scene
from ..kinds import AnySimulation, Kind, kind_of
from .loop import Exports, Progress, flat, go_on, latest, new_meta, wanted

#: tables that are copied up to the branch
TABLES = ("stats.csv", "bodies.csv", PROBES)


def branch(
    path: str | Path,
    out: str | Path,
    from_frame: int | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    scene: Scene | None = None,
) -> RunDirectory:
    """Go on from a frame of a run, with some keys of its scene changed, in a new directory.

    Parameters
    ----------
    path : str or Path
        The run to start from. It is only read.
    out : str or Path
        The new directory; it must be empty or not exist.
    from_frame : int, optional
        The frame to start from; default: the last one that was saved. If its checkpoint was deleted, it is computed
        again from an earlier one with the old settings.
    changes : mapping, optional
        Dotted keys to values, for example `{"inflow.0.viscosity": 50.0, "time.frames": 80}`. The domain, the frames per
        second, the bodies and `surface.track` must stay as they are. Liquid that carries its own viscosity keeps it.
    progress, warn : callable, optional
        As in `nonstick.sim.run.loop.run`.
    scene : Scene, optional
        The changed scene, in place of the one of the run.

    Returns
    -------
    RunDirectory
        The new run; `meta()["parent"]` says where it comes from.

    Examples
    --------
    >>> import tempfile
    >>> from nonstick import Scene
    >>> from nonstick.sim.run.branch import branch
    >>> from nonstick.sim.run.loop import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = run(Scene.load("still", {"domain.resolution": 8, "time.frames": 2}), f"{folder}/a")
    ...     other = branch(first.path, f"{folder}/b", 1, {"physics.density": 900.0, "time.frames": 3})
    ...     print(other.frames(), other.meta()["parent"]["frame"])
    [0, 1, 2, 3] 1
    """
    if world().size > 1:
        raise NonstickError("a branch is made by one process: leave mpiexec out, and resume the branch on many ranks")
    RunDirectory.check_free(out)
    parent = RunDirectory.open(path)
    own = parent.scene()
    scene = (scene or own).replace(changes or {})
    scene.folder = own.folder
    _check(own, scene)
    wanted(scene)
    kind = kind_of(scene)

    def tell(sentence: str) -> None:
        if warn is not None:
            warn(sentence)

    before = _at(kind, own, parent, from_frame, tell)
    simulation = kind.simulate(scene)
    try:
        simulation.restore(kind.adapted(before, simulation))
    except NonstickError as error:
        raise NonstickError(
            f"frame {before.frame} of {path} does not fit the changed scene ({error}): the domain, the bodies and "
            "surface.track must stay as they are; start a new run instead"
        ) from None
    directory = _new_directory(kind, simulation, parent, own, Path(out))
    with directory.writing():
        simulation.session = 1 + max((int(float(row.get("session") or 0)) for row in directory.rows()), default=0)
        directory.log("branch", f"from frame {before.frame} of {parent.path}")
        if simulation.frame >= scene.model.time.frames:
            tell(f"no frame is left to make: time.frames is {scene.model.time.frames}; give --frames a larger number")
        go_on(kind, simulation, directory, progress, Exports(scene, directory, warn))
    return directory


def _check(own: Scene, scene: Scene) -> None:
    """Refuse changes under which the state of a run has another meaning."""
    now, then = scene.model, own.model
    fixed = {"kind": (now.kind, then.kind), "domain": (now.domain, then.domain)}
    if hasattr(then.time, "fps"):
        fixed["time.fps"] = (getattr(now.time, "fps", None), then.time.fps)
    for key, (new, old) in fixed.items():
        if new != old:
            raise NonstickError(f"{key} cannot change in a branch: leave it as it is, or start a new run")


def _at(
    kind: Kind, scene: Scene, parent: RunDirectory, frame: int | None, tell: Callable[[str], None]
) -> AnySimulation:
    """The parent at a frame."""
    saved, there = kind.saved(parent), parent.frames()
    if not saved:
        raise NonstickError(
            f"{parent.path} has no saved frame to start from: continue with `nonstick resume {parent.path}`"
        )
    if frame is not None and frame > max(*saved, *there):
        raise NonstickError(
            f"{parent.path} has frames up to {max(*saved, *there)}, so a branch cannot start at {frame}"
        )
    usable = [n for n in saved if frame is None or n <= frame]
    if not usable:
        raise NonstickError(f"{parent.path} has no saved frame up to {frame}; the first is {saved[0]}")
    simulation, reached = latest(kind, scene, parent, usable, tell)
    if frame is not None and reached < frame:
        tell(f"frame {frame} has no checkpoint: it is computed again from frame {reached}, with the old settings")
        while simulation.frame < frame and not kind.ended(simulation):
            simulation.next_frame()
    return simulation


def _new_directory(kind: Kind, simulation: AnySimulation, parent: RunDirectory, own: Scene, out: Path) -> RunDirectory:
    """The directory of the branch at its first frame; it appears whole or not at all."""
    scene, frame = simulation.scene, simulation.frame
    now, then = flat(scene.to_dict()), flat(own.to_dict())
    changed = {k: [then.get(k), now.get(k)] for k in sorted({*now, *then}) if now.get(k) != then.get(k)}
    origin = {"run": os.path.abspath(parent.path), "frame": frame, "changed": changed}
    meta = new_meta(scene) | {"parent": origin}
    target = Path(os.path.realpath(out))  # `out` may be a link to another disk
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.partial", dir=target.parent) as place:
        made = RunDirectory.create(Path(place) / "run", scene.to_toml(), meta)
        for name in TABLES:
            if (parent.path / name).is_file():
                with replacing(made.path / name) as partial:
                    partial.write_bytes(read_bytes(parent.path / name))
                made.cut_rows(frame, name)
        made.again = frame
        kind.describe(simulation, made)
        kind.save(simulation, made, [])
        for number in parent.frames():
            if number <= frame:
                there = parent.frame_file(number)
                for file in (*pieces.files(there), there):
                    _link(file, made.frames_path / file.name)
        _put(made.path, target)
    return RunDirectory.open(out)


def _put(made: Path, out: Path) -> None:
    """Move a directory to a place that may be there: then it is empty, or has what a run left that never began."""
    if not out.is_dir():
        os.rename(made, out)
        return
    # The directory itself stays, because it may be a disk of its own. The note that makes it a run comes last.
    for left in list(out.iterdir()):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    for part in sorted(made.iterdir(), key=lambda part: part.name == "meta.json"):
        shutil.move(part, out / part.name)


def _link(source: Path, target: Path) -> None:
    remove(target)
    with reading(source) as file:  # a regular one
        try:
            with folder(target.parent) as place:
                os.link(source, place.named(target.name), dst_dir_fd=place.handle)
        except OSError:  # another disk, or a file system without links
            with replacing(target) as partial, open(partial, "wb") as copy:
                shutil.copyfileobj(file, copy)
