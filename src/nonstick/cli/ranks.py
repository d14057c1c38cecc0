"""Commands on many ranks: start them, let rank 0 alone speak, and end all of them when one fails."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ..errors import NonstickError
from ..mpi import launched
from .terminal import BAD_INPUT, fail, plain

RANKS = typer.Option(
    None, "--ranks", min=1, help="Run on this many ranks, started by mpiexec (see make mpi).", show_default=False
)
#: seconds that a rank which failed waits for rank 0 to fail with the same sentence
PATIENCE = 3.0


def start(ranks: int | None) -> None:
    """If ranks were asked for and this is not one of them: start them, wait, and leave with their exit code."""
    if ranks is None or ranks == 1 or launched.ranks() > 1:
        return
    launcher = shutil.which("mpiexec.openmpi") or shutil.which("mpiexec")
    if launcher is None:
        fail("--ranks needs mpiexec, which is not installed; get it with an MPI library, for example Open MPI")
    words = iter(sys.argv[1:])
    mine = []
    for word in words:
        if word == "--ranks":
            next(words, None)
        elif not word.startswith("--ranks="):
            mine.append(word)
    environment = dict(os.environ)
    launched.find_petsc(environment)
    launched.one_thread_per_rank(environment)
    extra = ["-q", "--oversubscribe", "--bind-to", "none"] if launcher.endswith("openmpi") else []
    done = subprocess.run(
        [launcher, *extra, "-n", str(ranks), sys.executable, "-m", "nonstick", *mine], env=environment
    )
    code = done.returncode
    if code not in (0, 1, BAD_INPUT):
        number = -code if code < 0 else code - 128
        why = f"signal {number}" if number in {s.value for s in signal.Signals} else f"exit code {code}"
        fail(f"a rank was ended from outside or broke down ({why}); whole frames are kept: go on with nonstick resume")
    raise SystemExit(code)


@contextmanager
def together() -> Iterator[bool]:
    """A block that all ranks run; the result says whether this process may speak: rank 0, or one process alone.

    An error may happen on one rank or on all, and the ranks cannot ask each other any more. Rank 0 speaks at once and
    ends all ranks. Another rank waits a little for that, and if it is alone with its error, it speaks and ends all.
    """
    if launched.ranks() == 1:
        yield True
        return
    from ..mpi.comm import world

    comm = world()
    try:
        if comm.rank:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (for the rest of the process)
        yield comm.rank == 0
    except (NonstickError, OSError, MemoryError, AssertionError, ValueError) as error:
        if comm.rank:
            time.sleep(PATIENCE)
        where = f"rank {comm.rank} of {comm.size}: " if comm.rank else ""
        print(f"nonstick: {where}{plain(str(error) or repr(error))}", file=sys.stderr, flush=True)
        comm.mpi.Abort(BAD_INPUT)  # type: ignore[attr-defined]
