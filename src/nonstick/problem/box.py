"""The box problem `min 1/2 x'Ax - b'x, lower <= x <= upper` and its optimality residual.

With `lower = 0, upper = inf` this is the complementarity problem `0 <= x ⟂ A x - b >= 0` of separating
walls; unconstrained rows have bounds ±inf. The gradient is `g = A x - b`.

`WallEdges` are constraints at the wall itself: a polyhedron in place of a box (Chentanez–Müller §3.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core import rounding, validate
from ..core.options import suggesting
from ..core.show import Shown, bound, span
from ..errors import NonstickError
from ..kernels._active_set import kkt_peak
from ..kernels._edges import _edge_values, _project_edges
from ..kernels._vector import peak_and_sum
from ..operators.base import Operator
from ..operators.stencil import as_operator
from .rows import RowError, row_error


@dataclass(frozen=True)
class Bounds:
    """Bounds, and all operations with them that methods need."""

    lower: np.ndarray
    upper: np.ndarray

    @cached_property
    def constrained(self) -> np.ndarray:
        """Rows with at least one finite bound."""
        return np.asarray(np.isfinite(self.lower) | np.isfinite(self.upper))

    @property
    def one_sided(self) -> bool:
        """True if no row has a finite upper bound."""
        return not np.isfinite(self.upper).any()

    def project(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.clip(x, self.lower, self.upper, out=out)

    def split(self, x: np.ndarray, g: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The policy of (x, g): int8 array, -1 clamped at lower, +1 clamped at upper, 0 free.

        A row is clamped where the step -g/d leads strictly out of the box. Equality is free: with
        ties clamped the active set peels one layer of cells per outer iteration.
        """
        with np.errstate(invalid="ignore", over="ignore"):  # what overflows is on the right side all the same
            low = d * (x - self.lower) < g
            high = d * (x - self.upper) > g
        return np.asarray(high.astype(np.int8) - low.astype(np.int8))

    def at(self, active: np.ndarray) -> np.ndarray:
        """The bound each clamped row sits on, 0 on free rows."""
        return np.where(active < 0, self.lower, np.where(active > 0, self.upper, 0.0))

    def clampable(self, active: np.ndarray) -> np.ndarray:
        """An active set without the rows that have no bound to be clamped at: walls move."""
        return np.where(np.isfinite(self.at(active)), active, 0).astype(np.int8)

    def max_step(self, x: np.ndarray, p: np.ndarray) -> float:
        """The largest alpha >= 0 for which x - alpha p stays in the box."""
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(p > 0, (x - self.lower) / p, np.where(p < 0, (x - self.upper) / p, np.inf))
        return float(step.min(initial=np.inf))


class BoxProblem(Shown):
    """Data of a bound-constrained quadratic problem. A problem knows its residual, but not how to solve itself.

    Parameters
    ----------
    A : Operator, scipy.sparse matrix or 2-D array
        Symmetric, positive definite or semidefinite; or a P-matrix that is not symmetric. A matrix or array is checked,
        as in `nonstick.solve`.
    b : array_like
        The right-hand side.
    lower, upper : float or array_like
        Bounds, ±inf or None where there is none.
    coarser : callable, optional
        Returns the same problem on a grid twice as coarse; problems made from geometry have one, bare matrices do not.
    edges : WallEdges, optional
        Constraints on the values at the wall in place of bounds; a problem has either bounds or edges.

    Examples
    --------
    >>> import nonstick
    >>> problem = nonstick.BoxProblem([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0])
    >>> solution = nonstick.solve_problem(problem)
    >>> solution.x.round(6), problem.kkt(solution.x) < 1e-6
    (array([0.5, 0. ]), True)
    """

    #: False if parts without a free surface need no special treatment (viscosity: the system is always consistent)
    may_float = True

    @suggesting
    def __init__(
        self,
        A: Any,
        b: np.ndarray,
        lower: np.ndarray | float | None = 0.0,
        upper: np.ndarray | float | None = np.inf,
        coarser: Callable[[], BoxProblem] | None = None,
        edges: WallEdges | None = None,
    ):
        if not isinstance(A, Operator):
            A = validate.matrix(A)
            A = as_operator(A, symmetric=validate.symmetric(A))
            b, (lower, upper) = validate.vector(b, A.n), validate.bounds(lower, upper, A.n)
        lower, upper = validate.no_bound(lower, -np.inf), validate.no_bound(upper, np.inf)
        self.A: Operator = A
        self.b = np.ascontiguousarray(b, dtype=np.float64)
        self.box = Bounds(_spread(lower, A.n), _spread(upper, A.n))
        self.scale = A.comm.largest(peak_and_sum(self.b)[0]) or self._scale_of_bounds()
        self.coarser = coarser
        self.edges = edges
        if edges is not None and self.box.constrained.any():
            raise NonstickError(
                "a problem with constraints on the edges of a wall cannot have other bounds; remove lower and upper"
            )

    @classmethod
    def of_checked(cls, A: Operator, b: np.ndarray, box: Bounds, scale: float) -> BoxProblem:
        """A problem of vectors that are checked already, with max|b|."""
        problem = cls.__new__(cls)
        problem.A, problem.b, problem.box, problem.scale = A, b, box, scale
        problem.coarser = problem.edges = None
        return problem

    @cached_property
    def _work(self) -> np.ndarray:
        return np.empty(self.n)

    @property
    def n(self) -> int:
        return self.A.n

    def without_bounds(self) -> BoxProblem:
        """The linear system A x = b, with the same scale of residuals."""
        out = BoxProblem(self.A, self.b, -np.inf, np.inf, self.coarser, self.edges)
        out.scale, out.may_float = self.scale, self.may_float
        return out

    def _scale_of_bounds(self) -> float:
        """The scale of residuals if b = 0: how far zero lies outside the box, in the units of b."""
        outside = np.abs(self.A.diagonal * self.box.project(np.zeros(self.n)))
        return float(self.A.comm.largest(outside.max(initial=0.0))) or 1.0

    def gradient(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """g = A x - b"""
        out = np.empty(self.n) if out is None else out
        self.A.apply(x, out)
        out -= self.b
        return out

    def natural_residual(self, x: np.ndarray, g: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """d·(x - clip(x - g/d, lower, upper)), in the units of b; for x >= 0 this is min(d·x, g)."""
        # Written as clip(g, d(x - upper), d(x - lower)): the same number, and d = 0 needs no special case.
        out = np.empty(self.n) if out is None else out
        d = self.A.diagonal
        if self.edges is not None:
            return self._edge_residual(x, g, out)
        with np.errstate(invalid="ignore"):
            np.minimum(g, np.where(np.isfinite(self.box.lower), d * (x - self.box.lower), np.inf), out=out)
            np.maximum(out, np.where(np.isfinite(self.box.upper), d * (x - self.box.upper), -np.inf), out=out)
        return out

    def _edge_residual(self, x: np.ndarray, g: np.ndarray, out: np.ndarray) -> np.ndarray:
        """d·(x - P(x - g/d)) with P the projection onto the polyhedron of the edges instead of the box.

        It vanishes where every wall value is >= 0 and g = D C' push, push >= 0, zero where the wall value is
        not. The metric is the paper's, plain least squares: with the metric of the energy (g = C' push), a nearly
        closed solid cell would take the whole push, and the liquid next to it would continue to stick.
        """
        assert self.edges is not None
        d = self.A.diagonal
        moved = x - np.divide(g, d, out=np.zeros(self.n), where=d > 0)
        np.subtract(x, self.edges.project(moved), out=out)
        out *= d
        np.copyto(out, g, where=d <= 0)
        return out

    def kkt(self, x: np.ndarray, g: np.ndarray | None = None) -> float:
        """max|natural residual| / max|b|: the number of the papers; `row_error` judges every row in its own units."""
        g = self.gradient(x, self._work) if g is None else g
        if self.edges is not None:
            return float(np.abs(self.natural_residual(x, g)).max(initial=0.0)) / self.scale
        peak = kkt_peak(x, g, self.A.diagonal, self.box.lower, self.box.upper)
        return float(self.A.comm.largest(peak)) / self.scale

    def row_error(self, x: np.ndarray, g: np.ndarray | None = None) -> RowError:
        """The largest error of a row, each in its own units, and the number of that row (`problem.rows`)."""
        return row_error(self, x, self.gradient(x) if g is None else g)

    def linear_residual(self, x: np.ndarray, g: np.ndarray | None = None) -> float:
        """max|A x - b| / max|b|: what a solve that ignores the bounds makes small."""
        g = self.gradient(x, self._work) if g is None else g
        return float(self.A.comm.largest(peak_and_sum(g)[0])) / self.scale

    def objective(self, x: np.ndarray) -> float:
        return float(0.5 * (x @ (self.A @ x)) - self.b @ x)

    @property
    def can_coarsen(self) -> bool:
        return self.coarser is not None

    def require_coarser(self) -> None:
        """Raise an error with one sentence if there is no coarser problem."""
        if self.coarser is None and not self.A.has_entries:
            self.A.matrix()  # says which methods need products only
        if self.coarser is None:
            raise NonstickError(
                "discretises the problem again on coarser grids, which a bare matrix cannot do: pass a "
                "nonstick.PressureProblem, or take another method"
            )

    def coarsen(self) -> BoxProblem:
        """The same problem, discretised on a grid twice as coarse."""
        self.require_coarser()
        assert self.coarser is not None
        return self.coarser()

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        stencil = self.A.stencil
        grid = (
            "" if stencil is None else f" on {' × '.join(map(str, stencil.rows.shape[3 - stencil.rows.dimension :]))}"
        )
        return {
            "unknowns": self.n,
            "A": f"{type(self.A).__name__}{grid}",
            "b": span(self.b),
            "lower": bound(self.box.lower),
            "upper": bound(self.box.upper),
        } | ({} if self.edges is None else {"constraints at the wall": self.edges.count})

    @property
    def traits(self) -> frozenset[str]:
        """The features, besides bounds on the unknowns, that a method must be able to treat (`Method.treats`)."""
        present = {
            "edges": self.edges is not None,
            "bodies": self.A.bodies is not None,
            "nonsymmetric": not self.A.symmetric,
        }
        return frozenset(name for name, there in present.items() if there)


def _spread(bound: np.ndarray | float, n: int) -> np.ndarray:
    """A writable vector. Kernels would be compiled a second time for read-only vectors."""
    values = np.asarray(bound, dtype=np.float64)
    if values.shape == (n,) and values.flags.writeable:
        return np.ascontiguousarray(values)
    return np.broadcast_to(values, (n,)).copy()


class WallEdges:
    """Constraints at the wall itself (Chentanez–Müller §3.1): `(1 - theta) x_a + theta x_b >= 0`.

    Edge e joins unknowns a[e] (liquid side) and b[e] (solid side); the wall cuts it at the fraction
    theta[e] of the way. This is a polyhedron, not a box, so only sweeps with a projection handle it.
    """

    def __init__(self, a: np.ndarray, b: np.ndarray, theta: np.ndarray):
        self.a, self.b = (np.ascontiguousarray(v, dtype=np.int64) for v in (a, b))
        self.theta = np.ascontiguousarray(theta, dtype=np.float64)
        if not self.a.shape == self.b.shape == self.theta.shape:
            raise NonstickError("the edges of a wall need arrays a, b and theta of one length")
        if not ((self.theta >= 0.0) & (self.theta <= 1.0)).all() or (self.a == self.b).any():
            raise NonstickError("an edge of a wall joins two unknowns and is cut at a fraction between 0 and 1")
        near_b = self.theta > 0.5
        hub, leaf = np.where(near_b, self.b, self.a), np.where(near_b, self.a, self.b)
        small = np.minimum(self.theta, 1.0 - self.theta)
        order = np.argsort(hub, kind="stable")
        hubs, first = np.unique(hub[order], return_index=True)
        #: the edges sorted by hub, as `kernels._edges` wants them; where the wall goes through a centre, the
        #: leaf has no weight, and the edge counts as one without it
        self.grouped = (
            hubs,
            np.append(first, hub.size).astype(np.int64),
            leaf[order],
            np.maximum(small / (1.0 - small), rounding.PIVOT)[order],
        )
        self._last = self.no_push()

    @property
    def count(self) -> int:
        return self.a.size

    def no_push(self) -> tuple[np.ndarray, np.ndarray]:
        """Zero pushes on hubs and leaves: where a projection starts."""
        return np.zeros(self.grouped[0].size), np.zeros(self.count)

    def values(self, x: np.ndarray) -> np.ndarray:
        """x interpolated at the wall, one number per edge."""
        out = np.empty(self.count)
        _edge_values(out, x, self.a, self.b, self.theta)
        return out

    def project(self, x: np.ndarray, passes: int = 20_000, rtol: float = 1e-15) -> np.ndarray:
        """Move x, in place, to the nearest point with every wall value >= 0.

        Hildreth's method: it passes over the hubs, remembers all pushes, and stops when nothing moves. It reaches the
        same point from any initial pushes, so it starts from the pushes of the last projection.
        """
        hub, _, leaf, _ = self.grouped
        hub_push, leaf_push = self._last
        moved, one = np.zeros_like(x), np.ones_like(x)
        small = rtol * np.abs(x).max(initial=0.0)
        x[hub] += hub_push
        np.add.at(x, leaf, leaf_push)
        for _ in range(passes):
            if _project_edges(x, moved, hub_push, leaf_push, *self.grouped, one) <= small:
                break
        if not np.isfinite(x).all():
            self._last = self.no_push()
        return x
