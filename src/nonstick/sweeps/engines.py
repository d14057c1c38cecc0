"""Who makes the runs of a sweep: processes of this machine, or the workers of a Dask cluster.

Both are executors of `concurrent.futures`, so a sweep does not know which one it has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.optional import need
from ..errors import NonstickError
from ..files.lock import held
from .child import Outcome

#: seconds until a scheduler must have answered
PATIENCE = 10.0
#: how often a run is given to another worker after its own has died
RETRIES = 3


class Wanted:
    """True as long as the sweep that ordered a run goes on: it holds the lock of its directory.

    It is a class and no closure, so that it can be sent to a worker.
    """

    def __init__(self, directory: Path):
        self.directory = str(directory)

    def __call__(self) -> bool:
        return held(Path(self.directory))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    try:
        if not client.scheduler_info()["workers"]:
            raise NonstickError(
                f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`"
            )
        executor = client.get_executor(pure=False, retries=RETRIES)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False)
    finally:
        client.close()


def outcome_of(future: Any) -> Outcome:
    """The outcome of a run, also where its worker could not even begin it."""
    error = future.exception()
    if error is None:
        return future.result()
    name = type(error).__name__
    if name == "KilledWorker":
        return Outcome(f"{RETRIES + 1} workers died while they made it; is the memory of a worker enough")
    if isinstance(error, ModuleNotFoundError):
        return Outcome(f"a worker has no package {error.name!r}: install nonstick where the workers run")
    return Outcome(f"{name}: {error}"[:500])
