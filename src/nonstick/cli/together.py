"""Commands on many ranks: start them, let rank 0 alone speak, and end all of them when one fails."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ..errors import NonstickError
from ..mpi import launched
from .terminal import BAD_INPUT, plain

RANKS = typer.Option(
    None, "--ranks", min=1, help="Run on this many ranks, started by mpiexec (see make mpi).", show_default=False
)
#: seconds that a rank which failed waits for rank 0 to fail with the same sentence
PATIENCE = 3.0


def start(ranks: int | None) -> None:
    """If ranks were asked for and this is not one of them: start them, wait, and leave with their exit code."""
    if ranks is None or ranks == 1 or launched.ranks() > 1:
        return
    from ..mpi.launch import on_ranks

    raise SystemExit(on_ranks(ranks))


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
