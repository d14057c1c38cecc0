"""How nonstick comes to run on many ranks of MPI, and how all of them end.

    under mpiexec or srun     `ranks()` is known from the environment, without loading MPI
    `--ranks N`               `on_ranks` starts mpiexec with the words of this command
    `end_together`            one sentence and one exit code, whichever rank fails, and none that waits for ever

mpiexec's own messages are left out: if a rank is killed, one sentence says so, and the exit code is 2.
"""

from __future__ import annotations

import glob
import io
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from importlib.util import find_spec
from pathlib import Path

from ..core import optional
from ..errors import NonstickError

#: set by Open MPI, by MPICH and Intel MPI, by MVAPICH, by srun
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
#: threads inside one rank; numba and BLAS read these when they load
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
#: exit codes of a rank that has ended in an orderly way: done, interrupted, bad input or not converged
_ORDERLY = (0, 1, 2)
#: the exit code of bad input and of failures
_FAILED = 2
#: seconds that a rank which has failed waits for the others to fail in the same way
_PATIENCE = 2.0


def ranks(environment: Mapping[str, str] = os.environ) -> int:
    """The number of ranks that the launcher started; 1 without a launcher.

    Examples
    --------
    >>> ranks({"OMPI_COMM_WORLD_SIZE": "4"}), ranks({})
    (4, 1)
    """
    names = list(_SIZES)
    if "PMIX_RANK" in environment:  # srun --mpi=pmix
        names.append("SLURM_STEP_NUM_TASKS")
    for name in names:
        value = environment.get(name, "")
        if value.isdigit():
            return int(value)
    return 1


def one_thread_per_rank(environment: MutableMapping[str, str] = os.environ) -> None:
    """Several ranks share a machine: each gets one thread unless the user has said how many. Call it before numba."""
    for name in _THREADS:
        environment.setdefault(name, "1")


def petsc_home(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where Debian keeps PETSc for real numbers; None if there is none, or if PETSC_DIR names another one."""
    found = sorted(glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages/petsc4py"))
    return Path(found[-1]).parents[3] if found and "PETSC_DIR" not in environment else None


def find_petsc(environment: MutableMapping[str, str] = os.environ) -> None:
    """Make Debian's petsc4py for real numbers importable: without the -dev package it has no default."""
    found = petsc_home(environment)
    if found is not None and find_spec("petsc4py") is None:
        environment["PETSC_DIR"] = str(found)
        sys.path.append(str(found / "lib" / "python3" / "dist-packages"))


def on_ranks(count: int, words: list[str] | None = None) -> int:
    """Run `nonstick` with these words (by default those of this process) on `count` ranks; returns the exit code."""
    if count < 1:
        raise NonstickError(f"--ranks must be at least 1, not {count}")
    if ranks() > 1:
        raise NonstickError("--ranks starts the ranks itself: leave it out under mpiexec")
    find_petsc()
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
    one_thread_per_rank(environment)
    # Open MPI refuses to run as root (as in a container) unless two variables allow it
    if hasattr(os, "geteuid") and os.geteuid() == 0:
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


def end_together(command: Callable[[], object]) -> None:
    """Run a command on every rank; only rank 0 speaks, unless another one fails alone.

    If all ranks end with an error, that of rank 0 is shown. If some do not end, they wait for this one: its sentence is
    shown, and all are ended.
    """
    from .comm import world

    comm = world()
    errors = sys.stderr
    if comm.rank:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for the rest of the run
        sys.stderr = io.StringIO()
    code = 0
    try:
        command()
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        code = 1
    if code and not comm.all_come_within(_PATIENCE):
        errors.write(sys.stderr.getvalue() if isinstance(sys.stderr, io.StringIO) else "")
        errors.flush()
        comm.abort(_FAILED)
    raise SystemExit(code)
