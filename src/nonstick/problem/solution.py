"""The result of a solve.

No solver grades itself: `Solution.kkt()` and `Solution.row_error()` compute the residuals again from the problem, and
`converged` compares these numbers, not the solver's own, with the tolerance asked for. A linear baseline (`no-lcp`)
ignores the bounds: it has converged when `A x = b` holds, and its `kkt()` is still the true residual of the box
problem.

k problems with one matrix: their solutions side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core import validate
from ..core.show import Shown, span
from ..errors import NonstickError
from .box import BoxProblem
from .constraints import LinearConstraints
from .derivative import Derivative, FaceSolver, Gradient
from .monitor import ADVICE, History, Monitor
from .rows import RowError

#: a residual this many times larger than the first one (and max|b|) at the iteration limit counts as divergence
_RUNAWAY = 1e6


@dataclass(repr=False)
class Solution(Shown):
    """The answer, and how it was reached.

    Attributes
    ----------
    x : ndarray
        The solution.
    dual : ndarray
        A x − b: the divergence left after a pressure update; not negative where x sits at its lower bound.
    method : str
        The name that was given, or the `repr` of the method.
    converged : bool
        The KKT residual, recomputed from the problem, is at most rtol, and the error of every row at most 10 rtol (with
        `criterion="papers"`: the KKT residual alone).
    status, message : str
        A word, and a sentence; the sentence gives advice if the method did not converge.
    iterations, outer_iterations : int
        The unit that the method's paper counts (V-cycles, CG iterations, sweeps), and how often the set or the system
        changed.
    history : History
        A list of the residual after every outer iteration; `history.iterations`, `history.outer_iterations` and
        `history.seconds` say when each was reached.
    seconds, setup_seconds : float
        The total time with all checks, and the part of it spent on building hierarchies and preconditioners.
    notes : dict
        Counters particular to a method: steps by kind, levels, …
    path : str
        What was tried, in one line: the method, and what took over from it, when and why.
    multipliers : ndarray, optional
        With linear constraints: one number y for each row of C, positive where C x is at its lower bound, negative
        where it is at its upper bound. `dual` is then A x − b − Cᵀy, and `kkt()` includes y.

    SciPy's names are there too: `success`, `fun`, `jac`, `nit`, `optimality`, `active_mask`, and `solution["x"]`.

    Examples
    --------
    >>> import nonstick
    >>> solution = nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0])
    >>> solution.status, solution.active  # -1: at its lower bound
    ('converged', array([ 0, -1], dtype=int8))
    """

    problem: BoxProblem = field(repr=False)
    x: np.ndarray = field(repr=False)
    #: A x - b: the divergence left after the pressure update; >= 0 where x sits at its lower bound
    dual: np.ndarray = field(repr=False)
    method: str
    converged: bool
    status: str
    message: str
    #: in the unit of the method's paper: V-cycles, CG iterations, sweeps
    iterations: int
    outer_iterations: int
    #: KKT residual after every outer iteration (linear baselines: max|A x - b| / max|b|)
    history: History = field(repr=False)
    seconds: float
    setup_seconds: float
    #: counters particular to a method (steps by kind, line-search steps, levels, ...)
    notes: dict[str, Any] = field(default_factory=dict, repr=False)
    #: y of the linear constraints, one for each row of C; None without constraints
    multipliers: np.ndarray | None = field(default=None, repr=False)
    path: str = ""
    #: the linear constraints, in the order of x; None without constraints
    constraints: LinearConstraints | None = field(default=None, repr=False)
    #: what solves linear systems on the free rows, for derivatives
    face_solver: FaceSolver | None = field(default=None, repr=False)

    def kkt(self) -> float:
        """The optimality residual of `x` against max|b|, recomputed: the number of the papers."""
        return self.problem.kkt(self.x)

    @property
    def residual(self) -> float:
        """`kkt()`, or that of the problem made compatible if the given one has no solution."""
        return float(self.notes.get("corrected_kkt") or self.kkt())

    def row_error(self) -> float:
        """The largest error of a row in its own units, recomputed (`BoxProblem.row_error`)."""
        return self.problem.row_error(self.x).value

    @property
    def worst_row(self) -> int:
        """The row with the largest error, -1 if every row holds to the last digit."""
        return self.problem.row_error(self.x).row

    @property
    def active(self) -> np.ndarray:
        """The policy at the solution, to warm-start the next solve: -1 lower, +1 upper, 0 free."""
        return self.problem.box.split(self.x, self.dual, self.problem.A.diagonal)

    def vjp(self, x: Any, *, rtol: float = 1e-10) -> Gradient:
        """The gradient of a number with respect to b, the bounds, the matrix and the constraints, from that to x.

        One linear solve on the free rows, with the multigrid of `auto`; with linear constraints one more for each that
        holds with equality. It is exact while the active set does not change. At a tie (x on its bound, zero dual) the
        row counts as free: the derivative is that of the side on which it leaves the bound.

        Parameters
        ----------
        x : array_like
            The gradient of the number with respect to x: n numbers.
        rtol : float
            Tolerance of the linear solve.

        Returns
        -------
        Gradient
            `b`, `lower`, `upper`; `matrix(A)` for the entries of A; `constraint_lower`, `constraint_upper` and
            `constraint_matrix(C)`.

        Examples
        --------
        >>> import nonstick
        >>> A = [[2.0, -1.0], [-1.0, 2.0]]
        >>> solution = nonstick.solve(A, [1.0, -3.0])  # x = (0.5, 0), the second at its lower bound
        >>> gradient = solution.vjp([1.0, 0.0])  # of the first unknown
        >>> gradient.b, gradient.lower
        (array([0.5, 0. ]), array([0. , 0.5]))
        >>> gradient.matrix(A).data  # of the four entries
        array([-0.25,  0.  ,  0.  ,  0.  ])
        """
        return self._derivative(rtol).cotangent(x)

    def jvp(
        self, b: Any = None, lower: Any = None, upper: Any = None, A: Any = None, C: Any = None, *, rtol: float = 1e-10
    ) -> np.ndarray:
        """How x changes if b, the bounds, A or the constraints change: the directional derivative, as exact as `vjp`.

        Parameters
        ----------
        b, lower, upper : array_like, optional
            Changes of b and of the bounds.
        A : matrix, optional
            The change of A.
        C : tuple, optional
            `(dC, de)`: the changes of the matrix of the linear constraints (or None) and of the bounds of its rows.
        rtol : float
            Tolerance of the linear solve.

        Examples
        --------
        >>> import nonstick
        >>> solution = nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0])
        >>> solution.jvp(b=[1.0, 0.0], lower=[0.0, 1.0])
        array([1., 1.])
        """
        return self._derivative(rtol).tangent(b, lower, upper, A, C)

    def _derivative(self, rtol: float) -> Derivative:
        if self.face_solver is None:
            raise NonstickError("only a solution from nonstick.solve or a problem's solve has a derivative")
        if not self.converged:
            raise NonstickError(
                f"only a converged solution has a derivative, and this solve ended with {self.status!r}"
            )
        given = self.problem, self.x, self.active, self.face_solver
        return Derivative(*given, self.constraints, self.multipliers, rtol)

    # -- the names of scipy.optimize.OptimizeResult -----------------------------------------------------------

    @property
    def success(self) -> bool:
        """`converged`."""
        return self.converged

    @property
    def fun(self) -> float:
        """½xᵀA x − bᵀx, without the terms of linear constraints; NaN if A is not symmetric: nothing is minimised."""
        if not self.problem.A.symmetric:
            return float("nan")
        # With constraints, the b of the problem that x solves includes their forces.
        return float(self.notes.get("objective", self.problem.objective(self.x)))

    @property
    def jac(self) -> np.ndarray:
        """`dual`: the gradient A x − b."""
        return self.dual

    @property
    def nit(self) -> int:
        """`iterations`."""
        return self.iterations

    @property
    def optimality(self) -> float:
        """The KKT residual in the units of b, recomputed."""
        return self.kkt() * self.problem.scale

    @property
    def active_mask(self) -> np.ndarray:
        """`active`."""
        return self.active

    def keys(self) -> tuple[str, ...]:
        """The names that `solution[name]` knows: `scipy.optimize.OptimizeResult(**solution)` works."""
        return ("x", "success", "status", "message", "fun", "jac", "nit", "optimality", "active_mask")

    def __getitem__(self, name: str) -> Any:
        """`solution["x"]`, as with SciPy's results."""
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        touching = int(np.count_nonzero(self.active))
        # On many ranks a residual takes them all, and one rank alone may print: the message has the number.
        alone = self.problem.A.comm.size == 1
        residuals = {"KKT": f"{self.kkt():.2e}", "row error": f"{self.row_error():.2e}"} if alone else {}
        return {
            "method": self.method,
            "status": self.status,
            **residuals,
            "iterations": f"{self.iterations} ({self.outer_iterations} outer)",
            "seconds": f"{self.seconds:.3g} ({self.setup_seconds:.3g} set-up)",
            "x": span(self.x),
            "at a bound": f"{touching} of {self.x.size}",
            "path": self.path,
            "message": self.message,
        }

    def plot(self, path: Any = None) -> Any:
        """Draw how the solve converged and, where the unknowns are cells of a line or a plane, x and its contact set.

        Parameters
        ----------
        path : str or Path, optional
            Where the picture goes: `.png`, `.pdf`, `.svg`.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, to change or to show. matplotlib comes with the extra `pictures`.

        Examples
        --------
        >>> import nonstick
        >>> solution = nonstick.solve_problem(nonstick.cases.build("obstacle2d", 21).problem)
        >>> figure = solution.plot("obstacle.png")
        >>> len(figure.axes)  # the history, x, and the colour bar
        3
        """
        from .plot import draw

        return draw(self, path)

    @classmethod
    def of(cls, problem: BoxProblem, x: np.ndarray, method: str, monitor: Monitor) -> Solution:
        dual = problem.gradient(x)
        residual = monitor.measure(x, dual)
        rows = RowError(0.0, -1)
        if monitor.stopping.criterion == "rows":
            rows = monitor.row_error(x, dual, enough=monitor.stopping.row_rtol)
        small, sound = bool(residual <= monitor.asked), bool(rows.value <= monitor.stopping.row_rtol)
        least = not small and monitor.exhausted(x, dual)
        small, sound = small or least, sound or least
        status = monitor.status or "maxiter"
        if small and sound:
            status = "converged"
        elif status == "converged":
            status = "stagnated"
        elif status == "maxiter" and residual > _RUNAWAY * max([1.0, *monitor.history[:1]]) and not monitor.message:
            status = "diverged"  # the advice of "maxiter", to raise it, would not help
        if monitor.progress.negative and not (small and sound):
            status = "indefinite"
            monitor.message = ""
        name = "linear residual" if monitor.linear else "KKT"
        message = monitor.message or ADVICE[status]
        if status == "converged" or not monitor.message:
            reached = "every row holds to its last digit: rounding allows no smaller KKT residual"
            message = f"{reached if least else ADVICE[status]} ({name} {residual:.2e}, asked {monitor.asked:.1e})"
        if small and not sound:
            message += f"; row {rows.row} fails the row test: it is off by {rows.value:.1e} of its own terms or box"
        if monitor.linear and problem.box.constrained.any():
            message += f"; the bounds were ignored, KKT of the box problem {problem.kkt(x, dual):.2e}"
        if monitor.progress.negative and status == "converged":
            monitor.remark("A is not positive definite: x satisfies the conditions, but it may be no minimum")
        message = "; ".join([message, *monitor.progress.remarks])
        counts = monitor.iterations, monitor.outer_iterations, monitor.history
        times, path = (monitor.seconds, monitor.progress.setup_seconds), "; ".join(monitor.progress.path)
        given, end = (problem, x, dual, method), (status == "converged", status, message)
        return cls(*given, *end, *counts, *times, monitor.notes, path=path)


class Batch(Shown, Sequence[Solution]):
    """The solutions of k problems: a sequence of `Solution`, and arrays of what they hold.

    Attributes
    ----------
    x, dual, active : ndarray
        n × k, a column for each problem.
    converged, success, iterations, nit, fun : ndarray
        k numbers.
    status, message : list of str
        One for each problem.
    seconds : float
        The time of all solves together.

    Examples
    --------
    >>> import nonstick
    >>> batch = nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [[1.0, 3.0], [-3.0, 0.0]])
    >>> batch.x.round(6)
    array([[0.5, 2. ],
           [0. , 1. ]])
    >>> batch.status, batch[0].active
    (['converged', 'converged'], array([ 0, -1], dtype=int8))
    """

    def __init__(self, solutions: list[Solution], seconds: float):
        self._solutions, self.seconds = solutions, seconds

    def __len__(self) -> int:
        return len(self._solutions)

    def __getitem__(self, j: Any) -> Any:
        return self._solutions[j]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self._solutions)

    def _columns(self, name: str) -> np.ndarray:
        return np.stack([getattr(solution, name) for solution in self], axis=-1)

    @property
    def x(self) -> np.ndarray:
        return self._columns("x")

    @property
    def dual(self) -> np.ndarray:
        return self._columns("dual")

    jac = dual

    @property
    def active(self) -> np.ndarray:
        return self._columns("active")

    @property
    def converged(self) -> np.ndarray:
        return self._columns("converged")

    success = converged

    @property
    def iterations(self) -> np.ndarray:
        return self._columns("iterations")

    nit = iterations

    @property
    def fun(self) -> np.ndarray:
        return self._columns("fun")

    @property
    def status(self) -> list[str]:
        return [solution.status for solution in self]

    @property
    def message(self) -> list[str]:
        return [solution.message for solution in self]

    def kkt(self) -> np.ndarray:
        """The optimality residual of each problem, recomputed."""
        return np.array([solution.kkt() for solution in self])

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        done = int(np.count_nonzero(self.converged))
        counts = span(self.iterations)
        return {"problems": len(self), "converged": done, "iterations": counts, "seconds": f"{self.seconds:.3g}"}


def columns(n: int, b: Any, lower: Any, upper: Any, x0: Any = None, active: Any = None) -> int | None:
    """The number of problems that these arrays describe; None for one problem, whose arrays are vectors.

    An array of shape (n, 1) is a vector.
    """
    wide = {}
    for name, values in (("b", b), ("lower", lower), ("upper", upper), ("x0", x0), ("active", active)):
        shape = validate.shape(values)
        if len(shape) == 2 and shape[0] == n and shape[1] > 1:
            wide[name] = shape[1]
    if not wide:
        return None
    if len(set(wide.values())) > 1:
        sizes = ", ".join(f"{name} has {count}" for name, count in wide.items())
        raise NonstickError(f"the numbers of columns differ: {sizes}; give each array one column a problem")
    return int(next(iter(wide.values())))
