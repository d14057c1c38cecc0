"""`nonstick.Solver`: one matrix, many right-hand sides and bounds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import numpy as np

from . import registry
from .api import Run, in_words_of_a_minimum, solve_columns
from .core.door import read_bounds, read_options
from .core.options import suggesting
from .core.show import Shown
from .errors import NonstickError, brief
from .operators.base import Operator
from .problem.box import BoxProblem
from .problem.given import Given, Modes
from .problem.solution import Solution, columns
from .solvers.base import Method
from .solvers.sequence import Again, keeping

#: the largest change of a coupling a_ij / sqrt(a_ii a_jj) with which coarse levels are kept by `update`
DRIFT = 0.1


class Solver(Shown):
    """Solves `min ½ xᵀA x − bᵀx`, `lower ≤ x ≤ upper`, for one A and many b and bounds.

    A is checked, converted and set up once. Hierarchies and factors are kept from solve to solve and refreshed.

    Several threads may use one Solver: it does one solve at a time, and the others wait. The kernels of a solve use all
    cores anyway. For solves at the same time, make a Solver for each thread.

    Parameters
    ----------
    A : scipy.sparse matrix, 2-D array, nonstick operator or scipy.sparse.linalg.LinearOperator
        As for `nonstick.solve`, n × n. It is copied; `update` changes its numbers.
    cells : array_like of int, optional
        n × 2 or n × 3 grid coordinates of the unknowns, as for `nonstick.solve`.
    method : str or Method
        A name from `nonstick.methods()`, or a method object.
    diagonal : array_like, optional
        The diagonal of A, if A is a LinearOperator.
    warm : bool
        True: a solve without `x0` starts from the last solution if its residual is smaller than that of zero. Answers
        then agree to the tolerance, but their last digits depend on the solves before. False: every solve starts alike,
        and equal problems have equal answers.
    near_null, nodes, block
        As for `nonstick.solve`: what A of a vector problem nearly annihilates.

    Examples
    --------
    A string over a table, pulled down more and more:

    >>> import numpy as np, scipy.sparse as sp, nonstick
    >>> n = 99
    >>> A = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    >>> held = np.zeros(n)
    >>> held[[0, -1]] = 0.5
    >>> solver = nonstick.Solver(A)
    >>> [int((solver.solve(held - load).x > 1e-6).sum()) for load in (0.0, 0.001, 0.002)]
    [99, 62, 42]
    """

    @suggesting
    def __init__(
        self,
        A: Any,
        *,
        cells: Any = None,
        method: str | Method = "auto",
        diagonal: Any = None,
        warm: bool = True,
        near_null: Any = None,
        nodes: Any = None,
        block: int | None = None,
    ):
        recipe, self.name = registry.named(method)
        if not isinstance(warm, (bool, np.bool_)):
            raise NonstickError(f"warm must be True or False, not {brief(warm)}")
        self.warm = bool(warm)
        #: the last solution in the order of the operator
        self._last: Solution | None = None
        #: the way of a sequence, once a solve has met no difficulty
        self._again: Again | None = None
        self._given = Given(A, cells, diagonal, modes=Modes.of(near_null, nodes, block))
        self._lock = threading.RLock()
        self._busy = False
        self._keep(recipe)

    def _keep(self, method: Method) -> None:
        """Set-ups of this method are kept from now on; what was kept is forgotten."""
        self._alike = WeakSet([self._given.operator])
        self._recipe, self._method = method, keeping(method, self._alike)
        #: what the method selects for this matrix, once it has
        self._chosen: Method | None = None
        self._again = None
        self._coarsened = self._given

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        start = "from the last solution" if self.warm and self._last is not None else "from zero"
        return {"unknowns": self.n, "A": type(self.A).__name__, "method": self.name, "next solve": start}

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self._given.n

    @property
    def A(self) -> Operator:
        """The matrix as methods see it; unknowns on a grid are in C order."""
        return self._given.operator

    @suggesting
    def solve(
        self,
        b: Any,
        lower: Any = 0.0,
        upper: Any = np.inf,
        *,
        bounds: Any = None,
        x0: Any = None,
        active: Any = None,
        options: Mapping[str, Any] | None = None,
        **stopping: Any,
    ) -> Any:
        """Solve for one right-hand side and one pair of bounds, or for k of them.

        Parameters
        ----------
        b : array_like
            n numbers; or n × k numbers for k problems, which are solved on all cores, each from its own start.
        lower, upper : float or array_like
            Bounds on x; `-inf`, `inf` or None where there is none; n × k for k problems.
        bounds : scipy.optimize.Bounds, n pairs (low, high) or (lower, upper), optional
            The bounds in the forms of SciPy, in place of `lower` and `upper`.
        x0 : array_like, optional
            Where to start. If not given, the Solver decides (`warm`).
        active : array_like, optional
            The `active` of an earlier solution: methods that work with sets begin with it.
        rtol, atol, maxiter, callback, time_limit, criterion, options
            As for `nonstick.solve`.

        Returns
        -------
        Solution
            As from `nonstick.solve`; a `Batch` for k problems.

        Examples
        --------
        >>> import nonstick
        >>> solver = nonstick.Solver([[2.0, -1.0], [-1.0, 2.0]])
        >>> solver.solve([1.0, -3.0]).x.round(6)
        array([0.5, 0. ])
        >>> solver.solve([1.0, -3.0], lower=-1.0).x.round(6)
        array([ 0., -1.])
        """
        if self._again is not None and bounds is None and x0 is None and active is None and options is None:
            with self._alone():
                solution = self._again.solve(b, lower, upper, stopping)
                if solution is not None:
                    self._last = solution
                    return solution
        stop = read_options(options, stopping)
        with self._alone():
            run, given = Run(self._method, self.name, stop, time.perf_counter(), self._chosen), self._given
            lower, upper = read_bounds(bounds, lower, upper, given.n)
            k = columns(given.n, b, lower, upper, x0, active)
            if k is not None:
                return solve_columns(replace(run, method=self._recipe), given, k, b, lower, upper, x0, active)
            problem = given.problem(b, lower, upper)
            x0, active = self._start(problem) if x0 is None and active is None else given.start(x0, active)
            if self._chosen is None:
                self._chosen = run.choose(problem)
                run = replace(run, chosen=self._chosen)
            inner = run.solve(problem, x0, active, given.back)
            self._last = inner if np.isfinite(inner.x).all() else None
            self._again = self._sequence(inner)
            return in_words_of_a_minimum(given.solution(inner))

    def update(self, values: Any) -> None:
        """Give A other numbers in the same places.

        Coarse levels of `auto` are filled again and not chosen again, unless a coupling a_ij / sqrt(a_ii a_jj) has
        changed by more than 0.1. Solutions found before keep the matrix that they were found for.

        Parameters
        ----------
        values : scipy.sparse matrix, 2-D array or array_like
            A matrix with the same pattern, or its entries: the `data` of the CSR form without duplicates.

        Examples
        --------
        >>> import numpy as np, scipy.sparse as sp, nonstick
        >>> A = sp.csr_array([[2.0, -1.0], [-1.0, 2.0]])
        >>> solver = nonstick.Solver(A)
        >>> solver.update(2.0 * A)
        >>> solver.solve([2.0, -6.0]).x.round(6)
        array([0.5, 0. ])
        >>> solver.update([4.0, -1.0, -1.0, 4.0])
        >>> solver.solve([2.0, -6.0]).x.round(6)
        array([0.5, 0. ])
        """
        with self._alone():
            self._given = self._given.updated(values)
            self._alike.add(self._given.operator)
            self._chosen = self._again = None
            if self._coarsened.drift(self._given) > DRIFT:
                self._keep(self._recipe)

    def forget(self) -> None:
        """Forget the last solution: the next solve starts from zero unless it gets an `x0`."""
        with self._alone():
            self._last = self._again = None

    def _sequence(self, last: Solution) -> Again | None:
        """The way of a sequence that follows a solution, if it met no difficulty and the method has such a way."""
        assert self._chosen is not None
        remarks = ";" in last.message + last.path
        if not self.warm or remarks or self._given.order is not None or last.status != "converged":
            return None
        quick = self._chosen.quick_solves(self.A)
        return None if quick is None else Again(quick, last)

    def _start(self, problem: BoxProblem) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The last solution and its active set, if they are a better start than zero."""
        last = self._last
        if last is None or not self.warm:
            return None, None
        x = problem.box.project(last.x.copy())
        zero = problem.box.project(np.zeros(self.n))
        return (x, last.active) if problem.kkt(x) < problem.kkt(zero) else (None, None)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One solve at a time; a callback that would start another one in the middle of it is told so."""
        with self._lock:
            if self._busy:
                raise NonstickError("a callback cannot use the Solver that called it; make another Solver for it")
            self._busy = True
            try:
                yield
            except BaseException:
                self._keep(self._recipe)  # a set-up that was interrupted is not used again
                raise
            finally:
                self._busy = False
