"""Box problems over a grid in the arrays of a user: any library, any device, any number of leading batch axes.

    problem = GridProblem(weights, diagonal, b, lower, upper)
    result = solve_grid(problem)                    # result.x has the shape of b

`weights[a]` has the shape of the grid and couples a cell with its neighbour in direction +a; what it says of the last
cells along a is not read. Cells whose diagonal is not positive are no unknowns, and x is 0 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod
from typing import Any

from ..errors import NonstickError
from .active_set import solve_fields
from .library import Array, device_of, library_of, memory_of, namespace, one_kind, to_numpy
from .multigrid import suited
from .problem import Fields, scale_of
from .stencil import Layout, Stencil


@dataclass(frozen=True)
class GridProblem:
    """`min ½ xᵀA x − bᵀx, lower ≤ x ≤ upper` over a grid, or a batch of such problems.

    Parameters
    ----------
    weights : tuple of arrays
        One for each axis of the grid.
    diagonal, b : array
        Over the grid. All arrays may have leading axes of a batch, as they broadcast.
    lower, upper : float or array
        Bounds.
    """

    weights: tuple[Array, ...]
    diagonal: Array
    b: Array
    lower: Any = 0.0
    upper: Any = inf

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells along every axis."""
        return tuple(self.diagonal.shape[self.diagonal.ndim - len(self.weights) :])

    def checked(self) -> GridProblem:
        """The same, or an error with one sentence."""
        named = {f"weights[{a}]": w for a, w in enumerate(self.weights)}
        if library_of(self.b) is not None:
            one_kind(b=self.b, **named, diagonal=self.diagonal, lower=self.lower, upper=self.upper)
        if not 1 <= len(self.weights) <= 3:
            raise NonstickError(f"weights must be one array for each axis of the grid, 1 to 3, not {len(self.weights)}")
        for name, value in (*named.items(), ("b", self.b)):
            if tuple(value.shape[value.ndim - len(self.weights) :]) != self.shape:
                raise NonstickError(f"{name} must be over the grid {self.shape}, not of shape {tuple(value.shape)}")
        return self

    def fields(self) -> Fields:
        """Flat fields on a grid that can be halved often."""
        shape, xp = self.shape, namespace(self.b)
        layout = Layout(suited(shape))
        there = xp.astype(self.diagonal > 0, self.b.dtype)
        unknown = _grown(there, layout)
        one, zero = xp.ones_like(unknown), xp.zeros_like(unknown)
        diagonal = xp.where(unknown > 0, _grown(self.diagonal, layout), one)
        b = _grown(self.b, layout) * unknown
        bounds = []
        for bound in (self.lower, self.upper):
            full = _grown(bound if len(getattr(bound, "shape", ())) else xp.zeros_like(there) + bound, layout)
            bounds.append(xp.where(unknown > 0, full, zero))
        weights = tuple(_grown(w * _not_last(w, a - len(shape)), layout) for a, w in enumerate(self.weights))
        A = Stencil.of(layout, weights, diagonal)
        return Fields(A, b, bounds[0], bounds[1], unknown, scale_of(A, b, bounds[0], bounds[1]))


@dataclass(frozen=True)
class GridResult:
    """What a solve over a grid has found; every array has the axes of the batch in front."""

    #: the solution, and A x − b
    x: Array
    dual: Array
    #: -1 at the lower, 1 at the upper bound, 0 in free cells: the `active` of the next solve
    active: Array
    #: KKT residual, iterations, and whether it is small enough, for every item
    kkt: Array
    iterations: Array
    converged: Array


def solve_grid(
    problem: GridProblem,
    *,
    rtol: float = 1e-8,
    x0: Array | None = None,
    active: Array | None = None,
    maxiter: int = 1000,
) -> GridResult:
    """Solve a problem over a grid, or all problems of a batch at once, on the device of its arrays.

    Parameters
    ----------
    problem : GridProblem
        What to solve.
    rtol : float
        KKT residual to reach, relative to max|b| of each item.
    x0, active : array, optional
        A start and an active set, from an earlier result.
    maxiter : int
        Limit of iterations.

    Examples
    --------
    Three loads on a sheet that is held at its rim, at once:

    >>> import numpy as np
    >>> from nonstick.arrays import GridProblem, solve_grid
    >>> ones = np.ones((8, 8))
    >>> load = np.array([-0.1, 0.05, 0.2])[:, None, None] * ones
    >>> result = solve_grid(GridProblem((ones, ones), 4 * ones, load, -0.2, 0.5))
    >>> result.converged, result.x.min(axis=(1, 2)).round(2), result.x.max(axis=(1, 2)).round(2)
    (array([ True,  True,  True]), array([-0.2 ,  0.06,  0.2 ]), array([-0.09,  0.29,  0.5 ]))
    """
    shape = problem.checked().shape
    with memory_of(library_of(problem.b) or "numpy", getattr(problem.b, "device", None)):
        fields = problem.fields()
        layout = fields.A.layout
        first = None if x0 is None else _grown(x0, layout)
        side = None if active is None else _grown(namespace(problem.b).astype(active, problem.b.dtype), layout)
        if first is None and side is not None:
            first = 0 * fields.b
        s = solve_fields(fields, rtol, x0=first, side=side, maxiter=maxiter)
    lead = s.x.shape[:-1]
    xp = namespace(s.x)
    x, r, own = (_cut(layout, v, shape) for v in (s.x, s.r, s.side))
    small = [xp.reshape(v, lead) for v in (s.kkt, s.iterations)]
    return GridResult(x, -r, own, small[0], xp.astype(small[1], xp.int32), small[0] <= rtol)


def product(weights: tuple[Array, ...], diagonal: Array, x: Array) -> Array:
    """A x over a grid, by functions that libraries differentiate."""
    xp, out = namespace(x), diagonal * x
    for axis, w in enumerate(weights, -len(weights)):
        rest = [slice(None)] * (-axis - 1)
        lower, upper, edge = ((..., part, *rest) for part in (slice(None, -1), slice(1, None), slice(1)))
        none = xp.zeros_like(out[edge])
        out = out - xp.concat([w[lower] * x[upper], none], axis=axis)
        out = out - xp.concat([none, w[lower] * x[lower]], axis=axis)
    return out


def _not_last(w: Array, axis: int) -> Array:
    """1, and 0 in the last cells along an axis."""
    xp, n = namespace(w), w.shape[axis]
    at = xp.astype(xp.arange(n, device=device_of(w)) < n - 1, w.dtype)
    return xp.reshape(at, (n,) + (1,) * (-axis - 1))


def _grown(field: Array, layout: Layout) -> Array:
    """A field over a grid as a flat one over a larger grid, 0 in its new cells."""
    xp, d = namespace(field), len(layout.shape)
    for axis in range(-d, 0):
        more = layout.shape[axis] - field.shape[axis]
        if more:
            shape = list(field.shape)
            shape[field.ndim + axis] = more
            zeros = xp.zeros(tuple(shape), dtype=field.dtype, device=device_of(field))
            field = xp.concat([field, zeros], axis=axis)
    return xp.reshape(field, (*field.shape[:-d], prod(layout.shape)))


def _cut(layout: Layout, field: Array, shape: tuple[int, ...]) -> Array:
    """The first cells of a flat field, over the grid of a user."""
    return layout.grid(field)[(..., *(slice(n) for n in shape))]


def all_converged(result: GridResult, rtol: float) -> None:
    """Raise an error with one sentence unless every item has converged."""
    kkt = to_numpy(result.kkt)
    if not (kkt <= rtol).all():
        worst = kkt.reshape(-1).argmax()
        where = f"item {worst} of the batch" if kkt.ndim else "the problem"
        raise NonstickError(
            f"{where} ended at a KKT residual of {kkt.max():.1e}, asked {rtol:.0e}: raise rtol or maxiter, or compute "
            "in double precision"
        )
