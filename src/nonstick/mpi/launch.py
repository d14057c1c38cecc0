"""Start a command of nonstick on many ranks of this machine: `--ranks N`.

mpiexec is started with the words of this command. Its own messages are left out: if a rank is killed, one sentence says
so, and the exit code is 2.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from .. import optional
from ..errors import NonstickError
from . import launched

#: exit codes of a rank that has ended in an orderly way: done, interrupted, bad input or not converged
_ORDERLY = (0, 1, 2)


def on_ranks(count: int, words: list[str] | None = None) -> int:
    """Run `nonstick` with these words (by default those of this process) on `count` ranks; returns the exit code."""
    if count < 1:
        raise NonstickError(f"--ranks must be at least 1, not {count}")
    if launched.ranks() > 1:
        raise NonstickError("--ranks starts the ranks itself: leave it out under mpiexec")
    launched.find_petsc()
    optional.need("mpi", "mpi4py", "petsc4py")
    mpiexec = shutil.which("mpiexec.openmpi") or shutil.which("mpiexec")
    if mpiexec is None:
        raise NonstickError("mpiexec is not installed; install an MPI (Debian: apt-get install openmpi-bin)")
    command = [mpiexec, "-n", str(count)]
    if _is_open_mpi(mpiexec):
        command[1:1] = ["--quiet", "--oversubscribe"]
    words = _without_ranks(sys.argv[1:] if words is None else words)
    done = subprocess.run([*command, sys.executable, "-m", "nonstick", *words], env=_environment(), check=False)
    if done.returncode not in _ORDERLY:
        signal = done.returncode - 128 if done.returncode > 128 else -done.returncode
        raise NonstickError(_killed(signal, words))
    return done.returncode


def _killed(signal: int, words: list[str]) -> str:
    """The sentence for a rank that something else has ended."""
    runs = {"run", "resume"} & set(words)
    again = "; nonstick resume goes on from the last checkpoint, on any number of ranks" if runs else ""
    return (
        f"a rank was killed (signal {signal}), so all ranks were ended{again}; a rank that needs more memory than "
        f"there is ends like this: take more machines, or a smaller {'scene' if runs else 'problem'}"
    )


def _is_open_mpi(mpiexec: str) -> bool:
    asked = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False)
    return "Open MPI" in asked.stdout or "OpenRTE" in asked.stdout


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    launched.one_thread_per_rank(environment)
    if os.geteuid() == 0:  # Open MPI refuses to run as root (as in a container) unless two variables allow it
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return environment


def _without_ranks(words: list[str]) -> list[str]:
    """The command line without `--ranks N`."""
    out, skip = [], False
    for word in words:
        if skip or word.startswith("--ranks="):
            skip = False
        elif word == "--ranks":
            skip = True
        else:
            out.append(word)
    return out
