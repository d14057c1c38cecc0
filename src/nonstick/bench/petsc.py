"""PETSc as a peer: SNESVI, TAO and linear CG, on one and on two ranks, in a Python of their own.

Debian's petsc4py is built for the system's Python and for NumPy 1.x, so it cannot share our environment. The problem
and x are exchanged by files; the residual is recomputed here.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from ..parallel.launch import petsc_home
from ..problem.box import BoxProblem
from .petsc_driver import PEERS
from .row import Row

#: numbers of ranks that every peer runs on
RANKS = (1, 2)
_PYTHON = "/usr/bin/python3"
_DRIVER = Path(__file__).with_name("petsc_driver.py")

ADVICE = "petsc4py is not installed for the system's Python; that needs root (Debian: apt-get install python3-petsc4py)"


def names() -> list[str]:
    """`petsc-rsls@1`, `petsc-rsls@2`, ...: peer and number of ranks."""
    return [f"{name}@{ranks}" for name in PEERS for ranks in RANKS]


def environment() -> dict[str, str]:
    """One thread per rank, and the path of Debian's petsc4py, which needs a link that only its -dev package makes."""
    found = petsc_home()
    home = {} if found is None else {"PETSC_DIR": str(found)}
    # Open MPI refuses to run as root (as in a container) unless two variables allow it.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    apart = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    return {**apart, **home, **root, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@cache
def version() -> str | None:
    """PETSc's version, or None if it is not installed."""
    if not os.path.exists(_PYTHON):
        return None
    ask = "import petsc4py; petsc4py.init([]); from petsc4py import PETSc; print(*PETSc.Sys.getVersion(), sep='.')"
    run = subprocess.run([_PYTHON, "-c", ask], env=environment(), capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else None


def missing() -> str | None:
    """A sentence on how to get PETSc; None if it is installed."""
    return ADVICE if version() is None else None


def measure(case: str, n: int, name: str, problem: BoxProblem, rtol: float, time_limit: float) -> Row:
    """Solve by `name` (as from `names()`) and judge x by the problem."""
    peer, _, ranks = name.partition("@")
    if version() is None:
        return Row(case, n, problem.n, name, reason=ADVICE)
    if int(ranks) > 1 and shutil.which("mpiexec") is None:
        return Row(case, n, problem.n, name, reason="mpiexec is not installed")
    launch = ["mpiexec", "--oversubscribe", "-n", ranks] if int(ranks) > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "result.npz")
        write(source, problem)
        command = [*launch, _PYTHON, str(_DRIVER), str(source), str(target), peer, repr(rtol)]
        code, errors = _run(command, time_limit + 60.0)
        if code is None:
            return Row(case, n, problem.n, name, reason=f"stopped after {time_limit:g} s")
        if code or not target.exists():
            last = (errors.strip().splitlines() or ["no message"])[-1]
            return Row(case, n, problem.n, name, reason=f"PETSc failed: {last}")
        with np.load(target) as result:
            x = np.ascontiguousarray(result["x"])
            seconds, iterations, outer = (result[key].item() for key in ("seconds", "iterations", "outer_iterations"))
            peak_bytes, cpu = result["peak_bytes"].item(), result["cpu_seconds"].item()
    linear = PEERS[peer][0] == "ksp"
    residual = problem.linear_residual(x) if linear else problem.kkt(x)
    return Row(
        case, n, problem.n, name, iterations=iterations, outer_iterations=outer, seconds=seconds, kkt=problem.kkt(x),
        peak_bytes=peak_bytes or None, cpu_seconds=cpu,
        converged=bool(residual <= rtol), threads=int(ranks),
        reason=None if residual <= rtol else f"residual {residual:.1e} at the end",
    )  # fmt: skip


def _run(command: list[str], seconds: float) -> tuple[int | None, str]:
    """Exit code (None: it took too long) and the text on stderr."""
    with subprocess.Popen(
        command, env=environment(), text=True, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # stop the ranks too
            process.communicate()
            return None, ""
    return process.returncode, errors


def write(path: Path, problem: BoxProblem) -> None:
    """The problem in CSR form, for the driver."""
    M = problem.A.matrix()
    np.savez(
        path, A_data=M.data, A_indices=M.indices, A_indptr=M.indptr, b=problem.b, lower=problem.box.lower,
        upper=problem.box.upper, diagonal=problem.A.diagonal,
    )  # fmt: skip
