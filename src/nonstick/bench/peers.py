"""`nonstick bench peers`: the same problem, tolerance and threads for every other package that is installed.

A peer starts from the assembled matrix (assembling it is not in its time) and is judged like our methods, by
the KKT residual recomputed from the problem. Its iterations are in the unit of that package.

- `pyamg-cg`: smoothed aggregation CG of PyAMG on the linear system, bounds ignored; compare with `mg-cg`
- `pyamg-policy`: policy iteration with `pyamg-cg` as inner solver, on the free submatrix
- `scipy-lbfgsb`: L-BFGS-B of SciPy, in variables scaled to a unit diagonal
- `osqp`: operator splitting, at small sizes
- `petsc-rsls@r`, `petsc-rsls-hypre@r`: PETSc's active-set Newton method on r ranks, CG with incomplete
  Cholesky or BoomerAMG inside; `tao-gpcg@r`, `tao-gpcg-hypre@r`: its gradient-projection CG with the same
- `petsc-cg-icc@r`, `petsc-cg-gamg@r`, `petsc-cg-hypre@r`: its linear solves, bounds ignored

A peer is omitted if its time at the last size predicts that it exceeds the time limit; the row says so.

Also Andersen's figures 9 and 10 on whatever devices are here: minimum-map Newton and PCG on arrays against the
processor.

Figure 9 is CPU time over GPU time by grid size, figure 10 the part of a GPU solve that is spent on bringing data there.
Both solves are `newton-array`; without bounds it takes one step, which is PCG with the same preconditioner.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import cases
from ..arrays import ArrayNewton
from ..core.optional import missing
from ..errors import NonstickError
from ..mpi import petsc_driver
from ..parallel.launch import petsc_home
from ..problem.box import BoxProblem
from ..solvers.base import Method
from .measure import measure, sweep, warm_up
from .registry import Plan, benchmark
from .row import Row


@dataclass(frozen=True)
class PyamgCG(Method):
    """Smoothed aggregation CG on A x = b."""

    linear: ClassVar[bool] = True

    def solve(self, problem, start, monitor):
        import pyamg

        with monitor.setup():
            hierarchy = pyamg.smoothed_aggregation_solver(problem.A.matrix())
        goal = monitor.tolerance
        while not monitor.check(start.x) and goal > 1e-14:
            # PyAMG stops on the 2-norm; if the largest entry is then still too large, the tolerance is tightened.
            monitor.iterations += _pyamg_cg(hierarchy, problem.b, start.x, goal)
            monitor.outer_iterations += 1
            goal /= 10.0


@dataclass(frozen=True)
class PyamgPolicy(Method):
    """Policy iteration, ties free, over smoothed aggregation CG on the free rows."""

    maxiter: int = 100

    def solve(self, problem, start, monitor):
        import pyamg

        x, A, box = start.x, problem.A.matrix(), problem.box
        g = problem.gradient(x)
        while not monitor.check(x, g) and monitor.outer_iterations < monitor.limit(self.maxiter):
            active = box.split(x, g, problem.A.diagonal)
            free = np.flatnonzero(active == 0)
            x[active != 0] = box.at(active)[active != 0]
            if free.size:
                b = problem.b[free] - A[free] @ np.where(active == 0, 0.0, x)
                with monitor.setup():
                    hierarchy = pyamg.smoothed_aggregation_solver(A[free][:, free])
                y = x[free]
                monitor.iterations += _pyamg_cg(hierarchy, b, y, 0.1 * monitor.tolerance)
                x[free] = y
            monitor.outer_iterations += 1
            problem.gradient(x, g)
        box.project(x, out=x)


def _pyamg_cg(hierarchy, b: np.ndarray, x: np.ndarray, tol: float) -> int:
    residuals: list[float] = []
    x[:] = hierarchy.solve(b, x0=x, tol=tol, maxiter=500, accel="cg", residuals=residuals)
    return len(residuals) - 1


@dataclass(frozen=True)
class LBFGSB(Method):
    """L-BFGS-B, scaled so that every diagonal entry is 1 (its stopping test compares x with g)."""

    memory: int = 10

    def solve(self, problem, start, monitor):
        from scipy.optimize import Bounds, minimize

        A, b, box = problem.A, problem.b, problem.box
        root = np.sqrt(A.diagonal)
        g = np.empty(problem.n)

        def energy(y):
            x = y / root
            A.apply(x, g)
            return float(0.5 * (x @ g) - b @ x), (g - b) / root

        def watch(intermediate_result):
            monitor.iterations += 1
            if monitor.iterations % 100 == 0 and monitor.check(np.clip(intermediate_result.x / root, *limits)):
                raise StopIteration

        limits = (box.lower, box.upper)
        options = {
            "maxcor": self.memory,
            "maxiter": monitor.limit(100_000),
            "maxfun": 10**9,
            "ftol": 0.0,
            "gtol": 0.9 * monitor.tolerance * problem.scale / root.max(),
        }
        found = minimize(
            energy,
            start.x * root,
            jac=True,
            method="L-BFGS-B",
            callback=watch,
            options=options,
            bounds=Bounds(box.lower * root, box.upper * root),
        )
        np.clip(found.x / root, *limits, out=start.x)
        monitor.outer_iterations = monitor.iterations


@dataclass(frozen=True)
class OSQP(Method):
    """Operator splitting with polishing, on the scaled problem; needs a factorisation, so only at small sizes."""

    largest: int = 20_000

    def solve(self, problem, start, monitor):
        import osqp
        import scipy.sparse as sp

        if problem.n > self.largest:
            raise NonstickError(f"omitted above {self.largest} unknowns: its factorisation fills in")
        root = np.sqrt(problem.A.diagonal)
        size = float(np.abs(problem.b / root).max()) or 1.0
        solver = osqp.OSQP()
        with monitor.setup():
            # Unit diagonal and b of size 1: the same accuracy is suitable for x and for the gradient.
            scaling = sp.diags_array(1.0 / root)
            P = sp.csc_matrix(sp.triu(scaling @ problem.A.matrix() @ scaling))
            P.indices, P.indptr = P.indices.astype(np.int32), P.indptr.astype(np.int32)
            A, q = sp.csc_matrix(sp.eye_array(problem.n)), -problem.b / root / size
            low, high = problem.box.lower * root / size, problem.box.upper * root / size
            goal, most = 0.1 * monitor.tolerance * problem.scale / (size * root.max()), monitor.limit(100_000)
            options = {"eps_abs": goal, "eps_rel": 0.0, "max_iter": most, "polishing": True, "verbose": False}
            solver.setup(P=P, q=q, A=A, l=low, u=high, **options)
        result = solver.solve(raise_error=False)
        monitor.iterations = monitor.outer_iterations = int(result.info.iter)
        np.clip(result.x * size / root, problem.box.lower, problem.box.upper, out=start.x)


# -- PETSc: SNESVI, TAO and linear CG, on one and on two ranks ------------------------------------------------------
#
# Debian's petsc4py is built for the system's Python and for NumPy 1.x, so it cannot share our environment: it runs in a
# Python of its own. The problem and x are exchanged by files; the residual is recomputed here.

#: numbers of ranks that every peer runs on
RANKS = (1, 2)
_PYTHON = "/usr/bin/python3"
_DRIVER = Path(petsc_driver.__file__)

ADVICE = "petsc4py is not installed for the system's Python; that needs root (Debian: apt-get install python3-petsc4py)"


def petsc_names() -> list[str]:
    """`petsc-rsls@1`, `petsc-rsls@2`, ...: peer and number of ranks."""
    return [f"{name}@{ranks}" for name in petsc_driver.PEERS for ranks in RANKS]


def _environment() -> dict[str, str]:
    """One thread per rank, and the path of Debian's petsc4py, which needs a link that only its -dev package makes."""
    home = {} if (found := petsc_home()) is None else {"PETSC_DIR": str(found)}
    # Open MPI refuses to run as root (as in a container) unless two variables allow it.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    apart = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    return {**apart, **home, **root, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@cache
def petsc_version() -> str | None:
    """PETSc's version, or None if it is not installed."""
    if not os.path.exists(_PYTHON):
        return None
    ask = "import petsc4py; petsc4py.init([]); from petsc4py import PETSc; print(*PETSc.Sys.getVersion(), sep='.')"
    run = subprocess.run([_PYTHON, "-c", ask], env=_environment(), capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else None


def measure_petsc(case: str, n: int, name: str, problem: BoxProblem, rtol: float, time_limit: float) -> Row:
    """Solve by `name` (as from `petsc_names`) and judge x by the problem."""
    row = Row(case, n, problem.n, name)
    found = run_petsc(name, problem, rtol, time_limit)
    if isinstance(found, str):
        return replace(row, reason=found)
    x = found["x"]
    residual = problem.linear_residual(x) if petsc_driver.PEERS[name.partition("@")[0]][0] == "ksp" else problem.kkt(x)
    converged = bool(residual <= rtol)
    keys = ("seconds", "iterations", "outer_iterations", "cpu_seconds")
    figures = {key: found[key].item() for key in keys} | {"peak_bytes": found["peak_bytes"].item() or None}
    figures |= {"kkt": problem.kkt(x), "threads": found["ranks"]}
    reason = None if converged else f"residual {residual:.1e} at the end"
    return replace(row, **figures, converged=converged, reason=reason)


def run_petsc(name: str, problem: BoxProblem, rtol: float, time_limit: float) -> dict[str, Any] | str:
    """x and the figures of `petsc_driver`, and the number of ranks; or why there are none."""
    peer, _, ranks = name.partition("@")
    if petsc_version() is None:
        return ADVICE
    if int(ranks) > 1 and shutil.which("mpiexec") is None:
        return "mpiexec is not installed"
    launch = ["mpiexec", "--oversubscribe", "-n", ranks] if int(ranks) > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "problem.npz"), Path(folder, "result.npz")
        np.savez(source, **petsc_driver.arrays(problem))
        command = [*launch, _PYTHON, str(_DRIVER), str(source), str(target), peer, repr(rtol)]
        code, errors = _run(command, time_limit + 60.0)
        if code is None:
            return f"stopped after {time_limit:g} s"
        if code or not target.exists():
            return f"PETSc failed: {(errors.strip().splitlines() or ['no message'])[-1]}"
        with np.load(target) as result:
            return {**result, "x": np.ascontiguousarray(result["x"]), "ranks": int(ranks)}


def _run(command: list[str], seconds: float) -> tuple[int | None, str]:
    """Exit code (None: it took too long) and the text on stderr."""
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=_environment(), start_new_session=True, **pipes) as process:
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)  # stop the ranks too
            process.kill()
            process.communicate()
            return None, ""
    return process.returncode, errors


# -- the table ---------------------------------------------------------------------------------------------------

#: name → package it needs, method
PEERS: dict[str, tuple[str, Method]] = {
    "pyamg-cg": ("pyamg", PyamgCG()),
    "pyamg-policy": ("pyamg", PyamgPolicy()),
    "scipy-lbfgsb": ("scipy", LBFGSB()),
    "osqp": ("osqp", OSQP()),
}


def names() -> list[str]:
    """Every peer, installed or not."""
    return [*PEERS, *petsc_names()]


def assembled(n: int) -> BoxProblem:
    """sphere3d with its matrix, from which peers start."""
    problem = cases.build("sphere3d", n).problem
    problem.A.matrix()
    return problem


@benchmark("peers", "sphere3d with other packages, where they are installed", sizes=(32, 64), methods=("auto", "mg-cg"))
def run(plan: Plan) -> Iterator[Row]:
    yield from sweep("peers", lambda n: cases.build("sphere3d", n).problem, plan)
    for name in names():
        yield from rows_of(name, plan)


def rows_of(name: str, plan: Plan) -> Iterator[Row]:
    """One peer at every size of the plan."""
    package, method = PEERS.get(name, ("", None))
    absent = missing("bench", package) if method is not None else None if petsc_version() else ADVICE
    if absent is not None:
        yield from (Row("peers", n, None, name, reason=absent) for n in plan.sizes)
        return
    if method is not None:
        plan.announce(name)
        warm_up(method, partial(assembled, 8), plan)
    last: Row | None = None
    for n in plan.sizes:
        plan.announce(f"{name} at {n}")
        guess = _expected_seconds(last, n)
        if guess > plan.time_limit:
            yield Row("peers", n, None, name, reason=f"omitted: it would take about {guess:.0f} s")
            continue
        if method is None:
            last = measure_petsc("peers", n, name, assembled(n), plan.rtol, plan.time_limit)
        else:
            last = measure("peers", n, method, partial(assembled, n), plan, label=name)
        yield last


def _expected_seconds(last: Row | None, n: int) -> float:
    """Time at size n if it grows like unknowns^(4/3), as CG with a one-level preconditioner does in 3D."""
    if last is None or last.seconds is None:
        return 0.0
    return last.seconds * (n / last.n) ** 4.0


def here() -> list[tuple[str, str | None]]:
    """Libraries and their devices on this computer, NumPy first."""
    found: list[tuple[str, str | None]] = [("numpy", None)]
    if find_spec("torch") is not None:
        import torch

        found += [("torch", "cpu"), *(("torch", f"cuda:{k}") for k in range(torch.cuda.device_count()))]
    if find_spec("jax") is not None:
        import jax

        found += [("jax", f"{device.platform}:{device.id}") for device in jax.devices() if device.platform != "cpu"]
    if find_spec("cupy") is not None:
        import cupy

        found += [("cupy", f"cuda:{k}") for k in range(cupy.cuda.runtime.getDeviceCount())]
    return found


def _circle(n: int, name: str) -> BoxProblem:
    problem = cases.build("circle2d", n).problem
    return problem if name == "newton" else problem.without_bounds()


def _newton(plan: Plan, case: str, devices: Sequence[tuple[str, str | None]]) -> Iterator[tuple[str, Row]]:
    """Solves with and without bounds on each device, and which of the two a row is."""
    for n in plan.sizes:
        for name in ("newton", "pcg"):
            for library, device in devices:
                label = f"{name} {library} {device or 'cpu'}"
                plan.announce(f"{label}, {n}")
                yield name, measure(case, n, ArrayNewton(library, device), partial(_circle, n, name), plan, label)


@benchmark(
    "andersen-figure9",
    "Newton and PCG on arrays of every device here, against NumPy (Andersen, figure 9)",
    sizes=(64, 128, 256),
    methods=(),
)
def figure9(plan: Plan) -> Iterator[Row]:
    host: dict[tuple[int, str], float | None] = {}
    for name, row in _newton(plan, "andersen-figure9", here()):
        first = host.setdefault((row.n, name), row.seconds)
        yield replace(row, extra={**row.extra, "speed-up": first / row.seconds}) if first and row.seconds else row


@benchmark(
    "andersen-figure10",
    "the parts of a solve of Newton and PCG on the last device here: set-up, computation (Andersen, figure 10)",
    sizes=(64, 128, 256),
    methods=(),
)
def figure10(plan: Plan) -> Iterator[Row]:
    for _, row in _newton(plan, "andersen-figure10", here()[-1:]):
        if row.seconds and row.setup_seconds is not None:
            row = replace(row, extra={**row.extra, "set-up %": 100.0 * row.setup_seconds / row.seconds})
        yield row
