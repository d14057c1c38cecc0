"""Whether mpiexec or srun started this process, known without loading MPI."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Mapping, MutableMapping
from importlib.util import find_spec
from pathlib import Path

#: set by Open MPI, by MPICH and Intel MPI, by MVAPICH, by srun
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
#: threads inside one rank; numba and BLAS read these when they load
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


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
