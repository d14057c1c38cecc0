"""Methods for the registry that compute with the arrays of a library, on one of its devices.

A method gets a `BoxProblem` of NumPy arrays on the host, brings it to the device as dense fields, and brings x back.
If the device computes in single precision, the problem of the correction is solved there until x is as exact as asked:
residuals are those of the host.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import NonstickError
from ..operators.rows import Rows
from ..problem.box import BoxProblem
from ..problem.monitor import PATIENCE, Monitor, Start
from ..solvers.andersen import MinimumMap, NewtonResult, minimum_map_newton
from ..solvers.base import Method
from ..solvers.bodies_apart import solve_apart
from .active_set import STRIDE, Fields, State, peak
from .cycles import full_cycle, projected_grids
from .krylov import PRECONDITIONERS, SOLVERS, on_rows
from .library import (
    DTYPES,
    double_precision,
    find_device,
    is_host,
    memory_of,
    namespace,
    to_library,
    to_numpy,
)
from .loop import solve_fields
from .multigrid import suited
from .stencil import Layout, Stencil

#: what a solve on the device may ask for at most: below this part of the residual it began with, rounding decides
LEAST = {"float64": 1e-11, "float32": 1e-4}
#: solves for corrections at most
ROUNDS = 20


class OnGrid:
    """Where the unknowns of a stencil operator are in dense fields: over the box that holds them, and a few cells more,
    so that it can be halved often."""

    def __init__(self, rows: Rows):
        cells = rows.coordinates()
        low = cells.min(axis=0, initial=np.iinfo(cells.dtype).max) if rows.n else np.zeros(rows.dimension, int)
        shape = (cells - low).max(axis=0, initial=0) + 1
        self.layout = Layout(suited(tuple(int(n) for n in shape)))
        self.index = np.ravel_multi_index(tuple((cells - low).T), self.layout.shape)

    def field(self, values: np.ndarray | float, elsewhere: float = 0.0) -> np.ndarray:
        """A vector over the unknowns as a flat field."""
        out = np.full(self.layout.size, elsewhere)
        out[self.index] = values
        return out

    def vector(self, field: np.ndarray) -> np.ndarray:
        """The vector over the unknowns of a flat field."""
        return field[self.index]


@dataclass(frozen=True)
class ArrayMethod(Method):
    """The library, the device and the precision of a method on arrays.

    Parameters
    ----------
    array : str
        "numpy", "torch", "jax", "cupy", or "strict", the reference implementation of the array API.
    device : str, optional
        A device of the library, for example "cuda:0"; its default if not given.
    dtype : str
        "float64" or "float32".
    """

    array: str = "numpy"
    device: str | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise NonstickError(f"dtype must be {' or '.join(DTYPES)}, not {self.dtype!r}")

    def check(self, problem: BoxProblem) -> None:
        super().check(problem)
        try:
            find_device(self.array, self.device)
        except NonstickError as error:
            raise NonstickError(f"cannot compute here: {error}") from None

    def precision(self) -> Any:
        """What must be set while this method computes."""
        if self.array != "jax" or self.dtype != "float64":
            return nullcontext()
        return double_precision()


@dataclass(frozen=True)
class GridMethod(ArrayMethod):
    """A method on dense fields: brings a problem to its device and corrects x until the host is content."""

    def check(self, problem: BoxProblem) -> None:
        super().check(problem)
        if problem.A.stencil is None and problem.A.bodies is None:
            problem.A.matrix()  # products alone are refused in words of their own
            raise NonstickError(
                "works on fields over a grid, where A couples cells that share a face: pass the cells of the unknowns, "
                "or take 'auto'"
            )

    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        if problem.A.bodies is not None:
            solve_apart(self, problem, start, monitor)
            return
        with memory_of(self.array, self.device), self.precision():
            self._solve(problem, start, monitor)

    def _solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        A = problem.A.stencil
        assert A is not None
        device, dimension = find_device(self.array, self.device), A.rows.dimension
        place = OnGrid(A.rows)

        def enter(values: Any, elsewhere: float = 0.0) -> Any:
            return to_library(place.field(values, elsewhere), self.array, device, self.dtype)

        with monitor.setup():
            unit = float(A.diagonal.max(initial=0.0)) or 1.0  # single precision has no room for every unit
            weights = tuple(enter(w / unit) for w in A.weights[3 - dimension :])
            stencil = Stencil.of(place.layout, weights, enter(A.diagonal / unit, 1.0))
            unknown, one = enter(1.0), to_library(np.ones(1), self.array, device, self.dtype)
        monitor.describe(f"{self.words} in arrays of {self.array}")
        x, base = start.x, np.zeros(problem.n)
        limit = monitor.limit(self.maxiter)
        guess, side = (None if start.cold else x.copy()), start.active
        for _ in range(ROUNDS):
            if monitor.check(x):
                return
            if monitor.iterations >= limit:
                break
            r = problem.b - (problem.A @ base if base.any() else 0.0)
            size = problem.scale * (monitor.measure(base, -r) if base.any() else 1.0)  # what is to be corrected
            lower, upper = (enter((v - base) * (unit / size)) for v in (problem.box.lower, problem.box.upper))
            fields = Fields(stencil, enter(r / size), lower, upper, unknown, one)
            goal = max(0.5 * monitor.tolerance * problem.scale / size, LEAST[self.dtype])
            first = None if guess is None else enter((guess - base) * (unit / size))
            done = self.run(fields, goal, first, None if side is None else enter(side.astype(float)), monitor, limit)
            base = base + place.vector(to_numpy(done.x).astype(float)) * (size / unit)
            problem.box.project(base, out=base)
            x[:] = base
            guess, side = base, place.vector(to_numpy(done.side)).astype(np.int8)
            if monitor.status:
                return
            if not np.isfinite(base).all():
                monitor.stop("diverged")
                return
        else:
            if not monitor.check(x):
                monitor.stop("stagnated")

    @abstractmethod
    def run(self, fields: Fields, goal: float, x: Any, side: Any, monitor: Monitor, limit: int) -> Any:
        """Solve on the device until the KKT residual is at most `goal`; returns an object with `x` and `side`."""

    #: what the path of a solution says
    words: ClassVar[str]
    #: the limit of iterations if the caller has none
    maxiter: ClassVar[int] = 1000


@dataclass(frozen=True)
class ArrayActiveSet(GridMethod):
    """`auto-array`: active-set CG over multigrid on dense fields.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.arrays import ArrayActiveSet
    >>> problem = nonstick.cases.build("circle2d", 24).problem
    >>> nonstick.solve_problem(problem, ArrayActiveSet("numpy")).converged
    True
    """

    words = "active-set CG over multigrid"

    def run(self, fields: Fields, goal: float, x: Any, side: Any, monitor: Monitor, limit: int) -> State:
        before = monitor.iterations
        best, best_at = np.inf, 0

        def watch(kkt: Any, count: int) -> bool:
            nonlocal best, best_at
            monitor.iterations = before + count
            reached = float(to_numpy(kkt).max())
            if reached < 0.5 * best:
                best, best_at = reached, count
            # In single precision rounding may be the end of it: the correction goes on from there.
            return monitor.interrupted() or (self.dtype == "float32" and count - best_at >= STRIDE)

        state = solve_fields(fields, goal, x0=x, side=side, maxiter=limit - before, watch=watch)
        monitor.iterations = before + int(to_numpy(state.iterations).max())
        monitor.outer_iterations += int(to_numpy(state.changes).max())
        return state


@dataclass(frozen=True)
class ArrayCycles(GridMethod):
    """`fmg-array`: Chentanez–Müller full cycles with projected smoothing on dense fields.

    Parameters
    ----------
    pre, post : int
        Sweeps before and after the coarse levels.
    jacobi : bool
        Projected Jacobi sweeps, damped, in place of red-black ones.
    """

    pre: int = 4
    post: int = 4
    jacobi: bool = False
    words = "full multigrid cycles with projected smoothing"

    def run(self, fields: Fields, goal: float, x: Any, side: Any, monitor: Monitor, limit: int) -> Reached:
        xp = namespace(fields.b)
        grids = projected_grids(fields.A, fields.unknown, self.jacobi)
        x = fields.clip(xp.zeros_like(fields.b) if x is None else x)
        best, since = np.inf, 0
        while True:
            r = fields.residual(x)
            kkt = float(to_numpy(peak(fields.natural_residual(x, r)))[0])
            best, since = (kkt, 0) if kkt < 0.5 * best else (best, since + 1)
            if kkt <= goal or monitor.iterations >= limit or since >= PATIENCE.cycles or monitor.interrupted():
                return Reached(x, xp.zeros_like(x))
            x = full_cycle(grids, fields, x, self.pre, self.post)
            monitor.iterations += 1
            monitor.outer_iterations += 1


@dataclass(frozen=True)
class ArrayNewton(GridMethod):
    """`newton-array`: Andersen's minimum-map Newton on dense fields.

    Parameters
    ----------
    inner : str
        The sub-solver: "cg", "cr", "bicgstab" or "gmres".
    precond : str
        "jacobi", "chebyshev" or "ainv" (Bridson's approximate inverse in the pattern of the stencil).
    """

    inner: str = "cg"
    precond: str = "ainv"
    treats = frozenset()
    words = "minimum-map Newton"
    maxiter = PATIENCE.work

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value, known in (("inner", self.inner, SOLVERS), ("precond", self.precond, PRECONDITIONERS)):
            if value not in known:
                raise NonstickError(f"{name} must be one of {', '.join(known)}, not {value!r}")

    def run(self, fields: Fields, goal: float, x: Any, side: Any, monitor: Monitor, limit: int) -> Reached:
        xp, before = namespace(fields.b), monitor.iterations
        M, every = PRECONDITIONERS[self.precond](fields.A), 1 if is_host(fields.b) else STRIDE

        def most() -> int:
            return min(5000, max(1, limit - monitor.iterations))

        def check(x: Any, g: Any, reached: NewtonResult) -> bool:
            monitor.iterations = before + reached.inner_iterations + reached.line_search_steps
            kkt = float(to_numpy(peak(fields.natural_residual(x, -g * fields.unknown)))[0])
            return kkt <= goal or monitor.iterations >= limit or monitor.interrupted()

        subsolve = on_rows(SOLVERS[self.inner], fields.A.__matmul__, M, most, every)
        H_of = MinimumMap(fields.A.__matmul__, fields.b, fields.lower, fields.upper, fields.A.diagonal)
        known = None if side is None else side == 0
        found = minimum_map_newton(H_of, x, subsolve=subsolve, check=check, rtol=goal, enforced=known)
        monitor.iterations = before + found.inner_iterations + found.line_search_steps
        monitor.outer_iterations += found.newton_steps
        return Reached(found.x, xp.zeros_like(found.x))


@dataclass(frozen=True)
class Reached:
    """What a run on the device has reached."""

    x: Any
    side: Any
