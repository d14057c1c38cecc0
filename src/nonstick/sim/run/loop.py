"""Runs a scene of any kind into a directory, and continues a run later.

A frame is complete when its last file exists (a checkpoint, or the frame itself if it holds the whole state). So a run
that is killed at any moment continues from its last complete frame. The frames it then writes are the same, bit for
bit, as those of a run without a break.

Files for other programs that appear while a run goes on (`output.export`).

The run is worth more than its files: if a file cannot be written, the run goes on without, says so, and tries once more
at its end. `nonstick export` makes the missing files at any later time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import NonstickError
from ...files.rundir import RunDirectory
from ...parallel.comm import Comm, world
from ...scenes.scene import HARMLESS, Scene
from ..kinds import AnySimulation, Kind, Row, kind_of
from .findings import peak_bytes, repairs, shortages

if TYPE_CHECKING:
    from ...files.formats.formats import Format


def wanted(scene: Scene) -> dict[str, Format]:
    """The formats that a scene asks for; refused if they cannot hold its frames or need a package that is missing."""
    names = getattr(scene.model.output, "export", ())
    if not names:
        return {}
    from ...files.formats.formats import checked  # loaded only by runs that export

    return checked(scene, names, f"{scene.where}: output.export: the scene")


class Exports:
    """Writes the exported files of a run as its frames are made."""

    def __init__(self, scene: Scene, directory: RunDirectory, warn: Callable[[str], None] | None = None):
        self.formats = wanted(scene)
        self.directory, self.warn = directory, warn
        self._failed = False
        self._exporter = None
        if self.formats or (directory.path / "export").is_dir():
            from ...files.formats.run import Exporter
            from ...files.formats.shot import Shot

            self._exporter = Exporter(Shot(directory.path), self.formats)

    def drop_after(self, frame: int) -> None:
        """Delete the files of frames that the run will make again."""
        if self._exporter is not None:
            self._exporter.drop_after(frame)

    def write(self, simulation: AnySimulation) -> None:
        """The files of the frame that the simulation has just made."""
        exporter = self._exporter
        if exporter is not None and self.formats and not self._failed:
            self._try(simulation.frame, lambda: exporter.write(simulation.frame, simulation.frame_arrays(), True))

    def finish(self, frame: int) -> None:
        """Files that are missing, and those about all frames, at the end of a run."""
        exporter, failed = self._exporter, self._failed
        if exporter is None or not self.formats:
            return
        self._failed = False
        self._try(frame, lambda: exporter.finish(self.directory.frames()))
        if failed and not self._failed:
            self._tell("the exported files that were missing are there now")

    def _try(self, frame: int, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:  # of any kind: none is worth the run
            self._failed = True
            again = " ".join(f"--to {name}" for name in self.formats)
            self._tell(
                f"export stopped at frame {frame} ({error}), and the run goes on without it; write the missing files "
                f"with `nonstick export {self.directory.path} {again}`"
            )

    def _tell(self, sentence: str) -> None:
        with suppress(OSError):  # on a full disk there is no room for the log either
            self.directory.log("export", sentence)
        if self.warn is not None:
            self.warn(sentence)


#: called after every frame with its number and its rows
Progress = Callable[[int, Sequence[Row]], None]


def run(
    scene: Scene,
    out: str | Path,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    known: Sequence[str] = (),
) -> RunDirectory:
    """Make all frames of a scene in a new directory.

    Parameters
    ----------
    scene : Scene
        Of any kind.
    out : str or Path
        The directory; it must be empty or not exist.
    progress : callable, optional
        Called after every frame with its number and its rows of statistics.
    warn : callable, optional
        Gets a sentence if memory or disk will not be enough, or if files cannot be exported.
    known : sequence of str
        Warnings of a check of the scene, for `warn` and for the log.

    Returns
    -------
    RunDirectory

    Examples
    --------
    >>> import tempfile
    >>> from nonstick import Scene
    >>> from nonstick.sim.run.loop import run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run(Scene.load("still", {"domain.resolution": 8, "time.frames": 1}), folder)
    ...     print(done.frames(), done.meta()["status"])
    [0, 1] done
    """
    comm = world()
    _same_scene(comm, scene)
    RunDirectory.check_free(out, comm)
    wanted(scene)
    kind = kind_of(scene)
    simulation = kind.simulate(scene)
    directory = RunDirectory.create(out, scene.to_toml(), new_meta(scene), comm)
    with directory.writing():
        directory.log("start", f"{scene.name}: {'×'.join(map(str, scene.shape))} cells, {kind.contents(simulation)}")
        found = {sentence: "check" for sentence in known} | {sentence: "repair" for sentence in repairs(scene)}
        found |= {sentence: "short" for sentence in shortages(kind.needs(simulation), directory.path)}
        for sentence, what in found.items():
            directory.log(what, sentence)
            if warn is not None:
                warn(sentence)
        go_on(kind, simulation, directory, progress, Exports(scene, directory, warn), begin=True)
    return directory


def _same_scene(comm: Comm, scene: Scene) -> None:
    """Refuse ranks that have read different scenes."""
    texts = comm.gathered(scene.to_toml())
    for rank, text in enumerate(texts):
        if text != texts[0]:
            raise NonstickError(
                f"{scene.where}: rank {rank} of {comm.size} has read another scene than rank 0: let all ranks read the "
                "same file, with the same --set"
            )


def resume(
    path: str | Path,
    from_frame: int | None = None,
    frames: int | None = None,
    scene: Scene | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    discard: bool = False,
) -> RunDirectory:
    """Continue a run from where it stopped, or from an earlier frame.

    Frames that are there are replaced one by one as they are made again. Frames that are not made again are kept.

    A run that was killed before its first frame was saved begins again. Where the last checkpoint is damaged, the one
    before is taken.

    Parameters
    ----------
    path : str or Path
        The run directory.
    from_frame : int, optional
        Go back to this frame first. If its checkpoint was deleted, the frames after the nearest earlier checkpoint are
        computed again.
    frames : int, optional
        A new number of frames.
    scene : Scene, optional
        The scene, if keys changed that do not change the result (name, output, camera, number of frames).
    progress : callable, optional
        As in `run`.
    warn : callable, optional
        Gets a sentence if a checkpoint is damaged, if another process died while it wrote here, or if files cannot be
        exported. It also gets a sentence on frames that are there after the frame it continues from.
    discard : bool
        Delete all frames after the one it continues from, with their rows, checkpoints and exported files.
    """
    directory = RunDirectory.open(path, world())
    with directory.writing() as lock:
        _resume(directory, from_frame, frames, scene, progress, warn, discard, lock.taken_over)
    return directory


def _resume(
    directory: RunDirectory,
    from_frame: int | None,
    frames: int | None,
    scene: Scene | None,
    progress: Progress | None,
    warn: Callable[[str], None] | None,
    discard: bool,
    taken_over: str,
) -> None:
    path = directory.path

    def tell(sentence: str) -> None:
        directory.log("resume", sentence)
        if warn is not None:
            warn(sentence)

    own = directory.scene()
    meta = directory.meta()
    for candidate in (own, scene):
        if candidate is not None and not _same(meta, candidate):
            raise NonstickError(
                f"{candidate.where} differs from the scene that {path} was started with in a way that changes the "
                f"result ({changed_keys(meta, candidate)}): undo the change, or continue in a new directory with "
                f"`nonstick resume {path} --set KEY=VALUE --out NEW`"
            )
    if scene is not None:
        own = Scene(scene.to_dict(), scene.where, own.folder)
    if frames is not None:
        own = own.replace({"time.frames": frames})
    kind = kind_of(own)
    first = meta.get("parent", {}).get("frame", 0)
    if from_frame is not None and isinstance(first, int) and from_frame < first:
        raise NonstickError(
            f"{path} is a branch, and its frames up to {first} are those of {meta['parent'].get('run')}: go back "
            f"there, or choose --from-frame {first} or later"
        )
    exports = Exports(own, directory, warn)
    if taken_over:
        tell(taken_over)
    saved = kind.saved(directory)
    if not saved:
        simulation = kind.simulate(own)
        tell("no frame had been saved: from the beginning")
        _make_room(directory, exports, -1, own, discard, tell)
        go_on(kind, simulation, directory, progress, exports, begin=True)
        return
    usable = [n for n in saved if from_frame is None or n <= from_frame]
    if not usable:
        raise NonstickError(f"{path} has no saved frame up to {from_frame}; the first is {saved[0]}")
    simulation, frame = latest(kind, own, directory, usable, tell)
    simulation.session = 1 + max((int(float(row.get("session") or 0)) for row in directory.rows()), default=0)
    directory.log("resume", f"from frame {frame}")
    _make_room(directory, exports, frame, own, discard, tell)
    go_on(kind, simulation, directory, progress, exports)


def _make_room(
    directory: RunDirectory, exports: Exports, frame: int, scene: Scene, discard: bool, tell: Callable[[str], None]
) -> None:
    """Clear what a killed run left. Frames after `frame` stay until they are made again, or go if that was asked."""
    goal, last = scene.model.time.frames, max([frame, *directory.frames()])
    if discard and last > frame:
        tell(f"{_frames(frame + 1, last)} of {directory.path} {_are(frame + 1, last)} deleted, as --discard says")
        last = frame
    elif last > max(goal, frame):
        start = max(goal, frame) + 1
        tell(
            f"{_frames(start, last)} {_are(start, last)} there already and {_are(start, last)} kept, although the run "
            f"now ends at frame {goal}; --discard deletes them"
        )
    elif last > frame + 1:  # a single frame is what a killed run leaves
        tell(f"{_frames(frame + 1, last)} are made again; each replaces the old one when it is ready")
    directory.drop_after(last)
    exports.drop_after(last)
    directory.again = last
    directory.write_scene(scene.to_toml())


def _frames(first: int, last: int) -> str:
    return f"frame {first}" if first == last else f"frames {first} to {last}"


def _are(first: int, last: int) -> str:
    return "is" if first == last else "are"


def latest(
    kind: Kind, scene: Scene, directory: RunDirectory, usable: Sequence[int], tell: Callable[[str], None]
) -> tuple[AnySimulation, int]:
    """The simulation at the last of the saved frames that is not damaged."""
    bad: NonstickError | None = None
    for frame in reversed(usable):
        simulation = kind.simulate(scene)
        try:
            kind.restore(simulation, directory, frame)
        except NonstickError as error:
            bad = bad or error
            continue
        if bad is not None:
            tell(f"{str(bad).split(';')[0]}; going on from frame {frame} instead")
        return simulation, frame
    raise NonstickError(f"no saved frame of {directory.path} can be used, so start a new run ({bad})")


def summary(directory: RunDirectory) -> dict[str, Any]:
    """Numbers over all steps of a run."""
    rows = directory.rows()
    return kind_of(directory.scene()).summary(rows) if rows else {"steps": 0}


def go_on(
    kind: Kind,
    simulation: AnySimulation,
    directory: RunDirectory,
    progress: Progress | None,
    exports: Exports,
    begin: bool = False,
) -> None:
    frames = simulation.scene.model.time.frames
    simulation.tell = directory.log
    began = time.time()
    directory.write_meta({**directory.meta(), "status": "running"})
    try:
        if begin:
            kind.begin(simulation, directory)
            exports.write(simulation)
        while simulation.frame < frames and not kind.ended(simulation):
            rows = simulation.next_frame()
            kind.save(simulation, directory, rows)
            exports.write(simulation)
            if progress is not None:
                progress(simulation.frame, rows)
        exports.finish(simulation.frame)
    except BaseException as error:
        status = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        alone = directory.alone()
        with suppress(Exception):  # on a full disk this fails too, and the first error says more
            if alone is not None:
                _finish(alone, status, began)
                alone.log(status, f"after frame {simulation.frame}: {error!r}"[:1000])
        raise
    _finish(directory, "done", began)
    made = f"{simulation.frame} frame" + "s" * (simulation.frame != 1)
    directory.log("done", f"equilibrium after {made}" if simulation.frame < frames else made)


def _finish(directory: RunDirectory, status: str, began: float) -> None:
    meta = directory.meta()
    meta["status"] = status
    meta["seconds"] = meta.get("seconds", 0.0) + time.time() - began
    meta["frames"] = max(directory.frames(), default=0)
    meta["summary"] = {**summary(directory), "peak_bytes": peak_bytes()}
    directory.write_meta(meta)


def new_meta(scene: Scene) -> dict[str, Any]:
    from ... import __version__

    return {
        "format": 1,
        "nonstick": __version__,
        "name": scene.name,
        "kind": scene.kind,
        "status": "running",
        "created": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "shape": list(scene.shape),
        "dx": scene.dx,
        "fingerprint": scene.fingerprint(),
        "scene": scene.to_dict(),
        "folder": os.path.abspath(scene.folder),
    }


def _same(meta: dict[str, Any], scene: Scene) -> bool:
    """True if this scene gives the same results as the scene a run was started with.

    The scene in meta.json decides, not only the hash beside it. Older versions included the defaults of heat scenes in
    the hash, so their hash changes with every new key.
    """
    if scene.fingerprint() == meta.get("fingerprint"):
        return True
    return "scene" in meta and Scene(meta["scene"], "meta.json").fingerprint() == scene.fingerprint()


def changed_keys(meta: dict[str, Any], scene: Scene) -> str:
    """The keys in which a scene differs from the scene that a run was started with."""
    now, then = flat(scene.to_dict()), flat(meta.get("scene", {}))
    names = sorted(k for k in now.keys() | then.keys() if now.get(k) != then.get(k))
    names = [n for n in names if n.split(".")[0] not in HARMLESS and n != "time.frames"]
    return ", ".join(names[:5]) or "unknown keys"


def flat(data: Any, path: str = "") -> dict[str, Any]:
    if isinstance(data, dict):
        return {k: v for key, value in data.items() for k, v in flat(value, f"{path}.{key}" if path else key).items()}
    if isinstance(data, list) and any(isinstance(v, dict) for v in data):
        return {k: v for i, value in enumerate(data) for k, v in flat(value, f"{path}.{i}").items()}
    return {path: data}
