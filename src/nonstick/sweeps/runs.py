"""`sweep`: make every run of a plan, and put their numbers into one table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import NonstickError
from ..files.atomic import safe_name
from ..files.lock import Lock, held
from ..scenes.scene import Scene
from ..sim.run.findings import cores
from .plan import FILE, PlannedRun, SweepPlan
from .table import TABLE, SweepTable
from .workers import Order, cluster, error_of, is_made, make, processes

#: seconds between reports of progress
BEAT = 0.5


@dataclass(frozen=True)
class SweepReport:
    """How far a sweep is: frames of all runs, and the run that has just ended, if one has."""

    frames: int
    of: int
    runs: int
    ended: PlannedRun | None = None
    error: str = ""


def sweep(
    scene: Scene | str | Path,
    vary: Mapping[str, Sequence[Any]] | None = None,
    out: str | Path | None = None,
    *,
    jobs: int | None = None,
    threads: int | None = None,
    scheduler: str | None = None,
    movie: bool = False,
    progress: Callable[[SweepReport], None] | None = None,
) -> SweepTable:
    """Run a scene with every combination of the values of some keys.

    Every combination is a run directory in `out`. Runs that are finished are not made again, and runs that were
    interrupted are continued, so the same call goes on where the last one stopped. A run that fails does not stop the
    others; its row says why.

    Parameters
    ----------
    scene : Scene, str or Path
        A scene, its file or the name of a built-in one; or the directory of a sweep, to continue it.
    vary : mapping, optional
        Dotted key to the values that it takes, for example `{"domain.resolution": [32, 64]}`. It may be left out where
        `scene` is the directory of a sweep.
    out : str or Path, optional
        The directory of the sweep (default: sweeps/NAME).
    jobs : int, optional
        Runs at a time on this machine (default: one per core).
    threads : int, optional
        Threads of each run (default: the cores shared by the jobs; 1 on a cluster).
    scheduler : str, optional
        The address of a Dask scheduler, whose workers then make the runs. They must see `out` under the same path.
    movie : bool
        Make the movie of every run.
    progress : callable, optional
        Called with a `SweepReport` about twice a second and at the end of every run.

    Returns
    -------
    SweepTable
        A row for every run; also in `sweep.csv`.

    Examples
    --------
    >>> import tempfile
    >>> import nonstick
    >>> scene = nonstick.Scene.load("still", {"domain.resolution": 8, "time.frames": 1})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = nonstick.sweep(scene, {"domain.resolution": [8, 12]}, folder)
    >>> table["domain.resolution"], table["status"]
    (array([ 8., 12.]), array(['done', 'done'], dtype=object))
    """
    plan, directory = _planned(scene, vary, out)
    if jobs is not None and scheduler is not None:
        raise NonstickError("jobs counts processes of this machine, and a scheduler has its own workers: leave one out")
    for name, value in (("jobs", jobs), ("threads", threads)):
        if value is not None and value < 1:
            raise NonstickError(f"{name} must be at least 1, but is {value}")
    directory.mkdir(parents=True, exist_ok=True)
    with Lock(directory):
        plan.save(directory)
        errors = _make_all(plan, directory, jobs, threads, scheduler, movie, progress or (lambda report: None))
        table = SweepTable.read(plan, directory, errors)
        table.write(directory / TABLE)
    return table


def _planned(scene: Scene | str | Path, vary: Mapping[str, Sequence[Any]] | None, out: str | Path | None):
    if not isinstance(scene, Scene) and (Path(scene) / FILE).is_file():
        old = SweepPlan.load(scene)
        if out is not None and Path(out) != Path(scene):
            raise NonstickError(f"{scene} is a sweep, which goes on in its own directory: leave out --out")
        return (old if vary is None else SweepPlan(old.scene, vary).joined(Path(scene))), Path(scene)
    loaded = scene if isinstance(scene, Scene) else Scene.load(scene)
    plan = SweepPlan(loaded, vary or {})
    directory = Path("sweeps") / safe_name(loaded.name) if out is None else Path(out)
    if directory.exists() and not directory.is_dir():
        raise NonstickError(f"{directory} is a file, but a sweep needs a directory")
    if directory.is_dir() and any(directory.iterdir()) and not (directory / FILE).exists():
        raise NonstickError(f"{directory} is not empty, and its contents are not a sweep: choose another --out")
    return plan.joined(directory), directory


def _make_all(
    plan: SweepPlan,
    directory: Path,
    jobs: int | None,
    threads: int | None,
    scheduler: str | None,
    movie: bool,
    progress: Callable[[SweepReport], None],
) -> dict[str, str]:
    """Make what is missing; the sentences of the runs that failed, by name."""
    todo = [part for part in plan.parts if not is_made(directory / part.name, part.scene)]
    errors: dict[str, str] = {}
    goal = sum(part.scene.model.time.frames for part in plan.parts)

    def report(ended: PlannedRun | None = None, error: str = "") -> None:
        made = sum(_frames(directory / part.name) for part in plan.parts)
        left = sum(part is not ended for part in waiting.values())
        progress(SweepReport(min(made, goal), goal, len(plan.parts) - left, ended, error))

    waiting: dict[Future, PlannedRun] = {}
    if not todo:
        report()
        return errors
    if scheduler is None:
        jobs = min(jobs or cores(), len(todo))
        engine, each = processes(jobs), threads or max(1, cores() // jobs)
    else:
        engine, each = cluster(scheduler), threads or 1
    wanted = partial(held, directory.absolute())  # as long as this sweep holds the lock; it can be sent to a worker
    with engine as executor:
        try:
            for part in todo:
                waiting[executor.submit(make, _order(part, directory, each, movie), wanted)] = part
            while waiting:
                ended, _ = wait(waiting, BEAT, FIRST_COMPLETED)
                for future in ended:
                    part, error = waiting.pop(future), error_of(future)
                    if error:
                        errors[part.name] = error
                    SweepTable.read(plan, directory, errors).write(directory / TABLE)
                    report(part, error)
                if not ended:
                    report()
        finally:
            for future in waiting:
                future.cancel()
            if waiting:  # nobody wants the rest: the children look for the lock
                (directory / "lock").unlink(missing_ok=True)
    return errors


def _order(part: PlannedRun, directory: Path, threads: int, movie: bool) -> Order:
    scene = part.scene
    where = os.path.abspath(directory / part.name)
    return Order(where, scene.to_dict(), scene.where, os.path.abspath(scene.folder), threads, movie)


def _frames(run: Path) -> int:
    """Frames that a run has made, by a look at its folder: it is asked often."""
    try:
        return max(
            sum(name.endswith(".npz") and not name.startswith(".") for name in os.listdir(run / "frames")) - 1, 0
        )
    except OSError:
        return 0
