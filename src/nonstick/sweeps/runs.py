"""`sweep`: make every run of a plan, and put their numbers into one table.

Who makes the runs of a sweep: child processes, which this machine or the workers of a Dask cluster start.

Each run has a process of its own: a crash or a lack of memory there does not touch the other runs. Whoever wants the
run writes the order as one line into the standard input of the child, and keeps that pipe open. If the pipe closes,
nobody wants the run any more (a worker of a cluster was killed, for example), and the child ends at once: so nobody
writes in the directory when another worker takes the run up again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..core.optional import need
from ..errors import NonstickError
from ..files.atomic import safe_name
from ..files.lock import Lock, held
from ..files.rundir import RunDirectory
from ..scenes.scene import Scene
from ..sim.run.findings import cores
from .plan import FILE, PlannedRun, SweepPlan
from .table import TABLE, SweepTable

#: seconds between looks whether the run is still wanted
ALIVE_EVERY = 0.4
#: characters of a message that is kept
LONGEST = 500
#: seconds until a scheduler must have answered
PATIENCE = 10.0
#: how often a run is given to another worker after its own has died
RETRIES = 3


@dataclass(frozen=True)
class Order:
    """What a child is told: plain values, which any worker can be sent."""

    directory: str
    scene: dict[str, Any]
    where: str
    folder: str
    #: threads of the child
    threads: int
    movie: bool = False


# -- executors ----------------------------------------------------------------------------------------


@contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """Threads that each wait for one child process."""
    executor = ThreadPoolExecutor(jobs, thread_name_prefix="sweep")
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers behind a Dask scheduler; a run whose worker dies is given to another one, which continues it."""
    need("cluster", "distributed")
    from distributed import Client

    try:
        client: Any = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise NonstickError(
            f"no Dask scheduler answers at {address!r}: start one with `dask scheduler`, and workers with `dask worker "
            f"ADDRESS` ({str(error)[:120]})"
        ) from None
    with closing(client):
        if not client.scheduler_info()["workers"]:
            raise NonstickError(
                f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`"
            )
        executor = client.get_executor(pure=False, retries=RETRIES)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)


def error_of(future: Future) -> str:
    """Why a run failed, also where its worker could not even begin it; empty if it is made."""
    error = future.exception()
    if error is None:
        return future.result()
    if type(error).__name__ == "KilledWorker":
        return f"{RETRIES + 1} workers died while they made it; is the memory of a worker enough"
    if isinstance(error, ModuleNotFoundError):
        return f"a worker has no package {error.name!r}: install nonstick where the workers run"
    return f"{type(error).__name__}: {error}"[:LONGEST]


# -- the child ----------------------------------------------------------------------------------------


def make(order: Order, wanted: Callable[[], bool] = lambda: True) -> str:
    """Start a child for the order and wait for its end, or stop it when it is no longer wanted; what went wrong."""
    threads = {name: str(order.threads) for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    child = subprocess.Popen(
        [sys.executable, "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **threads},
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert child.stdin is not None and child.stderr is not None
    told: list[str] = []
    listener = threading.Thread(target=lambda: told.extend(child.stderr or ()), daemon=True)
    listener.start()
    try:
        with suppress(BrokenPipeError):  # it ended already, and stderr says why
            child.stdin.write(json.dumps(asdict(order)) + "\n")
            child.stdin.flush()
        while True:
            try:
                code = child.wait(ALIVE_EVERY)
                break
            except subprocess.TimeoutExpired:
                if not wanted():
                    return "stopped"
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        listener.join(ALIVE_EVERY)
        for pipe in (child.stdin, child.stderr):
            with suppress(OSError):
                pipe.close()
    if code <= 0:
        return f"its process was ended by signal {-code}" if code else ""
    last = [line.strip() for line in told if line.strip()]
    return (last[-1] if last else f"its process ended with exit code {code}")[:LONGEST]


def is_made(directory: Path, scene: Scene) -> bool:
    """True if a directory holds the finished run of a scene."""
    if not (directory / "meta.json").is_file():
        return False
    opened = RunDirectory.open(directory)
    enough = opened.scene().model.time.frames >= scene.model.time.frames
    return enough and opened.status() == "done"


def _run(order: Order) -> None:
    """Make the run of an order, or continue it."""
    from ..sim.run.loop import resume, run

    scene: Scene = Scene(order.scene, order.where, Path(order.folder))
    directory = Path(order.directory)
    if (directory / "meta.json").is_file():
        if not is_made(directory, scene):
            resume(directory, scene=scene)
    else:
        run(scene, directory)
    if order.movie and not (directory / "preview.mp4").exists():
        from ..sim.run.preview import render

        render(directory)


def main() -> int:
    """The child: read the order, make the run; one sentence on stderr if that fails."""
    order = Order(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_the_pipe, daemon=True).start()
    try:
        _run(order)
        return 0
    except NonstickError as error:
        message = str(error)
    except MemoryError:
        message = "there was not enough memory for a run of this size"
    except OSError as error:
        message = f"cannot use {error.filename or order.directory}: {error.strerror or error}"
    except KeyboardInterrupt:
        message = "interrupted"
    print(message, file=sys.stderr)
    return 2


def _end_with_the_pipe() -> None:
    sys.stdin.read()
    os._exit(1)  # a run may be ended at any moment; it is continued from its last frame


if __name__ == "__main__":
    raise SystemExit(main())


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
