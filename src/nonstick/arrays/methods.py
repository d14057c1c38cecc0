"""Methods for the registry that compute with the arrays of a library, on one of its devices.

A method gets a `BoxProblem` of NumPy arrays on the host, brings it to the device, as dense fields or as the rows of a
sparse matrix, and brings x back.
If the device computes in single precision, the problem of the correction is solved there until x is as exact as asked:
residuals are those of the host.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..core import rounding
from ..errors import NonstickError
from ..inverse.multigrid.grid.blocks import Blocks
from ..operators.base import Operator
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..problem.monitor import PATIENCE, Monitor, Start
from ..solvers.andersen import MinimumMap, NewtonResult, minimum_map_newton
from ..solvers.base import Method
from ..solvers.bodies_apart import solve_apart
from ..solvers.safeguards.refinement import SETTINGS as REFINEMENT
from .active_set import State, solve_fields
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
from .multigrid import full_cycle, projected_grids, suited
from .problem import SETTINGS, Fields, peak
from .rows import InRows, in_rows
from .stencil import Layout, Stencil


class OnGrid:
    """Where the unknowns of a stencil operator are in dense fields: over the box that holds them, and a few cells more,
    so that it can be halved often."""

    def __init__(self, A: StencilOperator):
        self.stencil, rows = A, A.rows
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

    def matrix(self, unit: float, enter: Callable[[np.ndarray], Any]) -> Stencil:
        """A / unit on a device."""
        A, first = self.stencil, 3 - self.stencil.rows.dimension
        weights = tuple(enter(self.field(w / unit)) for w in A.weights[first:])
        return Stencil.of(self.layout, weights, enter(self.field(A.diagonal / unit, 1.0)))

    def cycle(self, enter: Callable[[np.ndarray], Any]) -> None:
        """It is made from the matrix on the device."""


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
class CorrectedMethod(ArrayMethod):
    """A method that brings a problem to its device and corrects x until the host is content."""

    #: what the path of a solution says
    words: ClassVar[str]
    #: the limit of iterations if the caller has none
    maxiter: int = 1000

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

    def place(self, A: Operator) -> OnGrid | InRows:
        """Where the unknowns of an operator are on the device."""
        assert A.stencil is not None
        return OnGrid(A.stencil)

    def _solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        device = find_device(self.array, self.device)

        def bring(values: np.ndarray, dtype: str = self.dtype) -> Any:
            return to_library(values, self.array, device, dtype)

        def enter(values: Any) -> Any:
            return bring(place.field(values))

        with monitor.setup():
            place = self.place(problem.A)
            unit = float(problem.A.diagonal.max(initial=0.0)) or 1.0  # single precision has no room for every unit
            A, M = place.matrix(unit, bring), place.cycle(partial(bring, dtype="float32"))
            unknown, one = enter(1.0), bring(np.ones(1))
        monitor.describe(f"{self.words} in arrays of {self.array}")
        x, base = start.x, np.zeros(problem.n)
        limit = monitor.limit(self.maxiter)
        guess, side = (None if start.cold else x.copy()), start.active
        for _ in range(REFINEMENT.solves):
            if monitor.check(x):
                return
            if monitor.iterations >= limit:
                break
            r = problem.b - (problem.A @ base if base.any() else 0.0)
            size = problem.scale * (monitor.measure(base, -r) if base.any() else 1.0)  # what is to be corrected
            lower, upper = (enter((v - base) * (unit / size)) for v in (problem.box.lower, problem.box.upper))
            fields = Fields(A, enter(r / size), lower, upper, unknown, one)
            least = rounding.TOTAL if self.dtype == "float64" else rounding.SINGLE_SOLVE
            goal = max(0.5 * monitor.tolerance * problem.scale / size, least)
            first = None if guess is None else enter((guess - base) * (unit / size))
            side = None if side is None else enter(side)
            done = self.run(fields, M, goal, Reached(first, side), monitor, limit)
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
    def run(self, fields: Fields, M: Any, goal: float, start: Reached, monitor: Monitor, limit: int) -> Any:
        """Solve on the device until the KKT residual is at most `goal`; returns an object with `x` and `side`.

        M is the cycle that the processor has chosen, if it has. `start` may hold a first x and its set.
        """


@dataclass(frozen=True)
class ArrayActiveSet(CorrectedMethod):
    """Active-set CG over multigrid: on dense fields, or on the rows of a sparse matrix.

    `auto-array` solves on fields where there is a grid. Where blocks of cells stand for too little (corridors as thin
    as a cell, couplings that differ from face to face or from axis to axis), the rows take over.

    Parameters
    ----------
    rows : bool
        Solve on the rows of the matrix, with a hierarchy that the processor chooses. It needs no grid.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.arrays import ArrayActiveSet
    >>> problem = nonstick.cases.build("circle2d", 24).problem
    >>> nonstick.solve_problem(problem, ArrayActiveSet("numpy")).converged
    True
    """

    rows: bool = False
    words = "active-set CG over multigrid"

    def check(self, problem: BoxProblem) -> None:
        if self.rows:
            ArrayMethod.check(self, problem)
            problem.A.matrix()
        else:
            super().check(problem)

    def place(self, A: Operator) -> OnGrid | InRows:
        return in_rows(A) if self.rows else super().place(A)

    def run(self, fields: Fields, M: Any, goal: float, start: Reached, monitor: Monitor, limit: int) -> State:
        before = monitor.iterations
        best, best_at = np.inf, 0

        def watch(kkt: Any, count: int) -> bool:
            nonlocal best, best_at
            monitor.iterations = before + count
            reached = float(to_numpy(kkt).max())
            if reached < 0.5 * best:
                best, best_at = reached, count
            # In single precision rounding may be the end of it: the correction goes on from there.
            return monitor.interrupted() or (self.dtype == "float32" and count - best_at >= SETTINGS.stride)

        state = solve_fields(fields, goal, M, x0=start.x, side=start.side, maxiter=limit - before, watch=watch)
        monitor.iterations = before + int(to_numpy(state.iterations).max())
        monitor.outer_iterations += int(to_numpy(state.changes).max())
        return state


@dataclass(frozen=True)
class WithBlocks:
    """A condition: a grid whose cells are coupled alike along all axes, so that blocks of them can stand for them."""

    def holds(self, problem: BoxProblem) -> bool:
        """True if the grid of the problem is like that."""
        A = problem.A
        return A.bodies is not None or Blocks().fits(A)


@dataclass(frozen=True)
class ArrayCycles(CorrectedMethod):
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

    def run(self, fields: Fields, M: Any, goal: float, start: Reached, monitor: Monitor, limit: int) -> Reached:
        xp = namespace(fields.b)
        grids = projected_grids(fields.A, fields.unknown, self.jacobi)
        x = fields.clip(xp.zeros_like(fields.b) if start.x is None else start.x)
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
class ArrayNewton(CorrectedMethod):
    """`newton-array`: Andersen's minimum-map Newton on dense fields.

    Parameters
    ----------
    inner : str
        The sub-solver: "cg", "cr", "bicgstab" or "gmres".
    precond : str
        "jacobi", "chebyshev" or "ainv" (Bridson's approximate inverse in the pattern of the stencil).
    """

    maxiter: int = PATIENCE.work
    inner: str = "cg"
    precond: str = "ainv"
    treats = frozenset()
    words = "minimum-map Newton"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value, known in (("inner", self.inner, SOLVERS), ("precond", self.precond, PRECONDITIONERS)):
            if value not in known:
                raise NonstickError(f"{name} must be one of {', '.join(known)}, not {value!r}")

    def run(self, fields: Fields, M: Any, goal: float, start: Reached, monitor: Monitor, limit: int) -> Reached:
        xp, before = namespace(fields.b), monitor.iterations
        inverse, every = PRECONDITIONERS[self.precond](fields.A), 1 if is_host(fields.b) else SETTINGS.stride

        def most() -> int:
            return min(5000, max(1, limit - monitor.iterations))

        def check(x: Any, g: Any, reached: NewtonResult) -> bool:
            monitor.iterations = before + reached.inner_iterations + reached.line_search_steps
            kkt = float(to_numpy(peak(fields.natural_residual(x, -g * fields.unknown)))[0])
            return kkt <= goal or monitor.iterations >= limit or monitor.interrupted()

        subsolve = on_rows(SOLVERS[self.inner], fields.A.__matmul__, inverse, most, every)
        H_of = MinimumMap(fields.A.__matmul__, fields.b, fields.lower, fields.upper, fields.A.diagonal)
        known = None if start.side is None else start.side == 0
        found = minimum_map_newton(H_of, start.x, subsolve=subsolve, check=check, rtol=goal, enforced=known)
        monitor.iterations = before + found.inner_iterations + found.line_search_steps
        monitor.outer_iterations += found.newton_steps
        return Reached(found.x, xp.zeros_like(found.x))


@dataclass(frozen=True)
class Reached:
    """A point on the device, and the bounds at which it is held (-1, 1)."""

    x: Any
    side: Any
