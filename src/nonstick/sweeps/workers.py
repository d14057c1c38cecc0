"""Who makes the runs of a sweep: child processes, which this machine or the workers of a Dask cluster start.

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
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..core.optional import need
from ..errors import NonstickError
from ..files.rundir import RunDirectory
from ..scenes.scene import Scene

#: seconds between looks whether the run is still wanted
BEAT = 0.4
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
                code = child.wait(BEAT)
                break
            except subprocess.TimeoutExpired:
                if not wanted():
                    return "stopped"
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        listener.join(BEAT)
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
