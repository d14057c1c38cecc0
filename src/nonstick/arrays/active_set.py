"""`auto-array`: active-set CG over multigrid without a branch on a number of the device.

The method is that of `nonstick.solvers.auto`: the set of free cells is updated after every preconditioned CG step.

    z = M r on the free cells             M: one V-cycle truncated to them, in single precision
    one CG step along p = z + β p         β = -zᵀA p / pᵀA p: p is kept if the set changes, without clamped cells
    the set from (x, r); clamped cells go to their bounds, the others into their box; r = b - A x

Every number stays on the device, masks take the place of branches, and items of a batch that are done no longer move.
So a device is asked once in ten steps whether all are done. At the same time it says whether a set has changed, because
while sets change a step does more (`settle`): a projected sweep after the CG step, and coarse operators for the new
set. The start is a prediction: a few such steps on every coarser grid, coarsest first.

Sets may repeat, since inexact updates have no proof. After `PATIENCE` changes an item changes its set only where its
linear problem is solved: that is policy iteration, which on M-matrices ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .library import Array, namespace, repeated
from .multigrid import FieldLevel, block_sums, coarse_operator, coarser, colours, finest, hierarchy, spread, v_cycle
from .stencil import Stencil

#: changes of the set after which it waits for the linear problem
PATIENCE = 40
#: cells closer to a tie than this part of the tolerance keep their policy
SLACK = 0.1
#: steps between two questions to the device
STRIDE = 10
#: steps on every coarser grid of a prediction, and the cells along its longest axis below which there is none
PREDICTED, SMALL = 4, 16


@dataclass(frozen=True)
class Fields:
    """A box problem on a grid; all fields are flat, with the axes of a batch in front (`Stencil`).

    Cells that are no unknown have `unknown` 0, b and both bounds 0.
    """

    A: Stencil
    b: Array
    lower: Array
    upper: Array
    unknown: Array
    #: the unit of residuals of every item, with an axis of length 1 (`scale_of`)
    scale: Array

    def clip(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.minimum(xp.maximum(x, self.lower), self.upper)

    def residual(self, x: Array) -> Array:
        """b - A x in the unknowns, 0 elsewhere."""
        return self.unknown * self.A.residual(self.b, x)

    def natural_residual(self, x: Array, r: Array) -> Array:
        """d·(x - clip(x - g/d, lower, upper)) with g = -r, as in `BoxProblem.natural_residual`."""
        xp, d = namespace(x), self.A.diagonal
        return xp.maximum(xp.minimum(-r, d * (x - self.lower)), d * (x - self.upper))


@dataclass(frozen=True)
class Preconditioner:
    """What a cycle needs beside the free cells: the operator in its own precision, and the parts of blocks."""

    A: Stencil
    parts: tuple[Array, ...]
    #: the inverse diagonal of the unknowns
    inverse: Array

    @classmethod
    def of(cls, A: Stencil, unknown: Array, parts: tuple[Array, ...]) -> Preconditioner:
        """For an operator in the precision of the cycle."""
        return cls(A, parts, finest(A, unknown, unknown).inverse)

    def levels(self, free: Array) -> tuple[FieldLevel, ...]:
        xp = namespace(free)
        return hierarchy(self.A, xp.astype(free, self.A.diagonal.dtype), self.parts)

    def apply(self, levels: tuple[FieldLevel, ...], free: Array, r: Array) -> Array:
        """z = M r on the free cells; `levels` may have been made for a set that differs a little."""
        xp, dtype = namespace(r), self.A.diagonal.dtype
        size = peak(r)
        size = xp.where(size > 0, size, xp.ones_like(size))
        mask = xp.astype(free, dtype)
        top = FieldLevel(self.A, self.inverse * mask, self.parts[0] * mask)
        z = v_cycle((top, *levels[1:]), xp.astype(r * free / size, dtype))
        return xp.astype(z, r.dtype) * size


@dataclass(frozen=True)
class State:
    """Where the iteration is: fields, and numbers of every item with an axis of length 1."""

    x: Array
    r: Array
    p: Array
    q: Array
    curvature: Array
    #: 1 in free cells; -1 and 1 in `side` at the lower and the upper bound
    free: Array
    side: Array
    kkt: Array
    changes: Array
    #: changes since the device was asked last
    recent: Array
    iterations: Array


def peak(x: Array) -> Array:
    """max|x| of every item."""
    xp = namespace(x)
    return xp.max(xp.abs(x), axis=-1, keepdims=True)


def dot(x: Array, y: Array) -> Array:
    xp = namespace(x)
    return xp.sum(x * y, axis=-1, keepdims=True)


def scale_of(A: Stencil, b: Array, lower: Array, upper: Array) -> Array:
    """max|b| of every item, or the distance of 0 from the box if b is 0: the unit of residuals."""
    xp = namespace(b)
    own, zero = peak(b), xp.zeros_like(b + lower)
    other = peak(A.diagonal * xp.minimum(xp.maximum(zero, lower), upper))
    return xp.where(own > 0, own, xp.where(other > 0, other, xp.ones_like(other)))


def preconditioner(problem: Fields, dtype: Any) -> Preconditioner:
    """The cycle of a problem in a precision, for any free cells."""
    xp, A = namespace(problem.b), problem.A
    # The diagonal may have any unit: float32 has no room for all of them.
    top = peak(A.diagonal * problem.unknown)
    top = xp.where(top > 0, top, xp.ones_like(top))
    diagonal = xp.where(problem.unknown > 0, A.diagonal / top, xp.ones_like(A.diagonal))
    weights = tuple(xp.astype(w / top, dtype) for w in A.weights)
    scaled = Stencil(A.layout, weights, xp.astype(diagonal, dtype))
    unknown = xp.astype(problem.unknown, dtype)
    return Preconditioner.of(scaled, unknown, tuple(level.carried for level in hierarchy(scaled, unknown)))


# -- sets ------------------------------------------------------------------------------------------------------


def _policy(problem: Fields, x: Array, r: Array, side: Array, slack: Array, allowed: Array) -> Array:
    """-1 where the lower, 1 where the upper bound holds, 0 in free cells; ties, and near ties, keep their policy."""
    xp, d = namespace(x), problem.A.diagonal
    down, up = d * (x - problem.lower) + r, d * (x - problem.upper) + r  # < 0: clamped below, > 0: clamped above
    one, zero = xp.ones_like(side), xp.zeros_like(side)
    low = xp.where(side < 0, down < slack, down < -slack)
    high = xp.where(side > 0, up > -slack, up > slack)
    wanted = xp.where(low, -one, xp.where(high, one, zero)) * problem.unknown
    return xp.where(allowed, wanted, side)


def _placed(problem: Fields, x: Array, side: Array) -> Array:
    """Clamped cells on their bounds, the others in their box."""
    xp = namespace(x)
    return xp.where(side < 0, problem.lower, xp.where(side > 0, problem.upper, problem.clip(x)))


def _sweep(problem: Fields, x: Array) -> Array:
    """One projected red-black Gauss–Seidel sweep."""
    xp, d = namespace(x), problem.A.diagonal
    for colour in colours(problem.A.layout, problem.b):
        step = colour * problem.residual(x) / xp.where(d > 0, d, xp.ones_like(d))
        x = problem.clip(x + step)
    return x


# -- steps -----------------------------------------------------------------------------------------------------


def begin(problem: Fields, x: Array, side: Array | None = None, tolerance: float = 0.0) -> State:
    """The first state: from x, or from x and a set that is known."""
    xp = namespace(x)
    scale = problem.scale
    if side is None:
        x = _sweep(problem, _sweep(problem, problem.clip(x)))
        r = problem.residual(x)
        side = _policy(problem, x, r, xp.zeros_like(x), 0.0 * scale, scale > 0)
    x = _placed(problem, x, side)
    r = problem.residual(x)
    zero, none = xp.zeros_like(r), xp.zeros_like(scale + r[..., :1])
    kkt = peak(problem.natural_residual(x, r)) / scale
    free = problem.unknown * (1 - side * side)
    return State(x, r, zero, zero, none, free, side, kkt + none, none, none + 1, none)


def _relaxed(problem: Fields, x: Array, allowed: Array) -> tuple[Array, Array]:
    x = namespace(x).where(allowed, _sweep(problem, problem.clip(x)), x)
    return x, problem.residual(x)


def chosen(flag: Any, yes: Any, no: Any) -> Any:
    """yes() or no(): here for a flag of Python, on the device for one that JAX traces."""
    if isinstance(flag, bool):
        return yes() if flag else no()
    import jax

    return jax.lax.cond(flag, yes, no)


def step(problem: Fields, M: Preconditioner, levels, s: State, tolerance: Array, settle: Any) -> State:
    """One CG step and one update of the set; `settle` if sets change."""
    xp, scale = namespace(s.x), problem.scale
    live = s.kkt > tolerance
    zero, one = xp.zeros_like(s.curvature), xp.ones_like(s.curvature)
    z = M.apply(levels, s.free, s.r)
    usable = s.curvature > 0
    beta = xp.where(usable, -dot(z, s.q) / xp.where(usable, s.curvature, one), zero)
    p = s.free * (z + beta * s.p)
    along = dot(s.r, p)
    p = xp.where(along > 0, p, z)
    along = xp.where(along > 0, along, dot(s.r, z))
    q = problem.A @ p
    curvature = dot(p, q)
    usable = live & (curvature > 0)
    alpha = xp.where(usable, along / xp.where(usable, curvature, one), zero)
    x, r = s.x + alpha * p, s.r - alpha * problem.unknown * q
    slack = SLACK * tolerance * scale
    solved = peak(s.free * r) <= slack
    allowed = live & ((s.changes < PATIENCE) | solved)
    x, r = chosen(settle, lambda: _relaxed(problem, x, allowed), lambda: (x, r))
    side = _policy(problem, x, r, s.side, slack, allowed)
    x = xp.where(live, _placed(problem, x, side), s.x)
    r = problem.residual(x)
    kkt = xp.where(live, peak(problem.natural_residual(x, r)) / scale, s.kkt)
    flips = xp.astype(peak(side - s.side) > 0, s.kkt.dtype)
    free = problem.unknown * (1 - side * side)
    return State(
        x,
        r,
        p,
        q,
        curvature,
        free,
        side,
        kkt,
        s.changes + flips,
        s.recent + flips,
        s.iterations + xp.astype(live, kkt.dtype),
    )


def predict(problem: Fields, M: Preconditioner) -> Array:
    """A first guess: the solution of the problem on the next coarser grid, which begins with its own prediction."""
    xp, layout = namespace(problem.b), problem.A.layout
    zero = xp.zeros_like(problem.b + problem.lower)
    below = coarser(layout)
    if below is None or max(layout.shape) <= SMALL:
        return zero
    unknown = problem.unknown
    carried = xp.astype(M.parts[0], unknown.dtype) * unknown
    A = coarse_operator(problem.A, problem.A, unknown, carried, below)
    there = xp.astype(A.diagonal > 0, unknown.dtype)
    A = replace(A, diagonal=xp.where(there > 0, A.diagonal, xp.ones_like(A.diagonal)))
    b = block_sums(layout, below, carried * problem.b) * there
    bounds = []
    for bound, far in ((problem.lower, -1.0), (problem.upper, 1.0)):
        has = xp.isfinite(bound) & (carried > 0)
        count = block_sums(layout, below, xp.astype(has, unknown.dtype))
        total = block_sums(layout, below, xp.where(has, bound, xp.zeros_like(bound)))
        mean = total / xp.where(count > 0, count, xp.ones_like(count))
        bounds.append(
            xp.where(there > 0, xp.where(count > 0, mean, xp.ones_like(mean) * (far * float("inf"))), 0 * mean)
        )
    lower, upper = xp.minimum(*bounds), bounds[1]
    coarse = Fields(A, b, lower, upper, there, scale_of(A, b, lower, upper))
    dtype = M.A.diagonal.dtype
    own = Preconditioner.of(Stencil(below, *_cast(A, dtype)), xp.astype(there, dtype), M.parts[1:])
    s = begin(coarse, predict(coarse, own))
    tolerance = xp.zeros_like(s.kkt) + 1e-4
    s = repeated(zero, PREDICTED, lambda s: step(coarse, own, own.levels(s.free), s, tolerance, True), s)
    return problem.clip(spread(layout, below, s.x)) * unknown


def _cast(A: Stencil, dtype: Any) -> tuple[tuple[Array, ...], Array]:
    xp = namespace(A.diagonal)
    return tuple(xp.astype(w, dtype) for w in A.weights), xp.astype(A.diagonal, dtype)
