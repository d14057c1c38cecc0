"""How a run on many ranks ends: one sentence, one exit code, whichever rank fails, and none that waits for ever."""

from __future__ import annotations

import io
import os
import sys
import time
import traceback
from collections.abc import Callable

from .comm import world

#: seconds that a rank which has failed waits for the others to fail in the same way
PATIENCE = 2.0
#: the exit code of bad input and of failures
FAILED = 2


def ending_together(command: Callable[[], object]) -> None:
    """Run a command on every rank; only rank 0 speaks, unless another one fails alone.

    If all ranks end with an error, that of rank 0 is shown. If some do not end, they wait for this one: its sentence is
    shown, and all are ended.
    """
    comm = world()
    errors = sys.stderr
    if comm.rank:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # for the rest of the run
        sys.stderr = io.StringIO()
    code = 0
    try:
        command()
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        code = 1
    if code and not _all_here(comm):
        errors.write(sys.stderr.getvalue() if isinstance(sys.stderr, io.StringIO) else "")
        errors.flush()
        comm.mpi.Abort(FAILED)  # type: ignore[attr-defined]
    raise SystemExit(code)


def _all_here(comm) -> bool:
    """True if every rank has come here in time."""
    request = comm.mpi.Ibarrier()
    end = time.monotonic() + PATIENCE
    while not request.Test():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
