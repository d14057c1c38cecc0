"""`auto-array`: active-set CG over multigrid without a branch on a number of the device.

The method is that of `nonstick.solvers.auto`: the set of free cells is updated after every preconditioned CG step.

    z = M r on the free cells             M: one V-cycle truncated to them, in single precision
    one CG step along p = z + β p         β = -zᵀA p / pᵀA p: p is kept if the set changes, without clamped cells
    the set from (x, r); clamped cells go to their bounds, the others into their box; r = b - A x

Every number stays on the device, masks take the place of branches, and items of a batch that are done no longer move.
So a device is asked once in ten steps whether all are done. At the same time it says whether a set has changed, because
while sets change a step does more (`settle`): a projected sweep after the CG step, and coarse operators for the new
set. The start is a prediction: a few such steps on every coarser grid, coarsest first.

Sets may repeat, since inexact updates have no proof. After `PATIENCE.changes` changes an item changes its set only
where its linear problem is solved: that is policy iteration, which on M-matrices ends.

The loop around `active_set.step`, for libraries that compute at once and for JAX, which compiles it whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Protocol

from ..core import rounding
from ..problem.monitor import PATIENCE
from .library import Array, is_host, library_of, namespace, repeated, to_numpy
from .multigrid import FieldLevel, GridCycle
from .problem import SETTINGS, Fields, dot, peak
from .rows import RowCycle, RowLevel, SparseProduct, SparseRows
from .stencil import Layout, Stencil


class Preconditioner(Protocol):
    """A cycle, truncated to any free unknowns, and the next coarser problem for a prediction."""

    def levels(self, free: Array) -> tuple[Any, ...]:
        """The levels for these free unknowns (1, else 0)."""

    def apply(self, levels: tuple[Any, ...], free: Array, r: Array) -> Array:
        """z = M r on the free unknowns; `levels` may have been made for a set that differs a little."""

    def below(self, problem: Fields) -> tuple[Fields, Preconditioner] | None:
        """The problem of the next coarser level; None if a prediction should not go further down."""

    def interpolated(self, x: Array) -> Array:
        """A vector of the coarser problem as one of this problem."""


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
    """One projected relaxation sweep."""
    for inverse in problem.A.sweep():
        x = problem.clip(x + inverse * problem.residual(x))
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
    slack = tolerance * scale  # unknowns closer to a tie keep their policy
    solved = peak(s.free * r) <= slack
    allowed = live & ((s.changes < PATIENCE.changes) | solved)
    x, r = chosen(settle, lambda: _relaxed(problem, x, allowed), lambda: (x, r))
    side = _policy(problem, x, r, s.side, slack, allowed)
    x = xp.where(allowed, _placed(problem, x, side), x)  # while a set waits, its linear solution may leave the box
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
    """A first guess: the solution of the problem on the next coarser level, which begins with its own prediction."""
    zero, below = namespace(problem.b).zeros_like(problem.b + problem.lower), M.below(problem)
    if below is None:
        return zero
    coarse, own = below
    s = begin(coarse, predict(coarse, own))
    tolerance = namespace(zero).zeros_like(s.kkt) + rounding.SINGLE_SOLVE
    s = repeated(zero, SETTINGS.predicted, lambda s: step(coarse, own, own.levels(s.free), s, tolerance, True), s)
    return problem.clip(M.interpolated(s.x)) * problem.unknown


#: (kkt of every item, iterations of the slowest) -> True to end; it is called each time the device is asked
Watch = Callable[[Any, int], bool]


def solve_fields(
    problem: Fields,
    tolerance: Any,
    M: Preconditioner | None = None,
    *,
    x0: Array | None = None,
    side: Array | None = None,
    maxiter: int = 1000,
    watch: Watch | None = None,
    ask_every: int | None = None,
) -> State:
    """Solve a box problem, or a batch of them; ends when the KKT residual of every item is small enough.

    M is the cycle of a grid unless another one is given. `tolerance` may differ from item to item. With `x0` or `side`
    (-1 and 1 at the bounds) there is no prediction.
    """
    if library_of(problem.b) == "jax":
        return _solve_compiled(problem, tolerance, M, x0, side, maxiter, watch)
    xp = namespace(problem.b)
    every = ask_every or (1 if is_host(problem.b) else SETTINGS.stride)
    M = GridCycle.for_problem(problem) if M is None else M
    s = begin(problem, predict(problem, M) if x0 is None else x0, side)
    tolerance = xp.zeros_like(s.kkt) + tolerance
    levels = None
    while True:
        worst, recent, count = (float(v) for v in to_numpy(_summary(s, tolerance)))
        done = not worst > 0.0
        if done or count >= maxiter or (watch is not None and watch(s.kkt, int(count))):
            return s
        s = replace(s, recent=xp.zeros_like(s.recent))
        for _ in range(every):
            if recent > 0 or levels is None:
                levels = M.levels(s.free)
            s = step(problem, M, levels, s, tolerance, recent > 0)


def _summary(s: State, tolerance: Array) -> Array:
    """What the loop asks for: the largest excess over the tolerance, recent changes, and iterations."""
    xp = namespace(s.kkt)
    left = xp.where(s.kkt > tolerance, xp.ones_like(s.kkt), xp.zeros_like(s.kkt))
    left = xp.where(xp.isnan(s.kkt), xp.zeros_like(s.kkt), left)  # what is not a number stays that
    return xp.stack([xp.max(left), xp.max(s.recent), xp.max(s.iterations)])


# -- JAX -------------------------------------------------------------------------------------------------------


@cache
def register_trees() -> None:
    """Tell JAX which parts of our classes are arrays."""
    from jax.tree_util import register_dataclass

    register_dataclass(Stencil, ["weights", "diagonal"], ["layout"])
    for kind in (FieldLevel, Fields, GridCycle, RowCycle, RowLevel, SparseProduct, SparseRows, State):
        register_dataclass(kind, [f.name for f in fields(kind)], [])
    assert Layout.__hash__ is not None  # it is part of what is compiled for


@cache
def _compiled() -> tuple[Any, Any]:
    import jax

    register_trees()
    return jax.jit(prepared, static_argnames=("warm", "known")), jax.jit(advanced)


def prepared(
    problem: Fields, M: Preconditioner | None, x0: Array, side: Array, warm: bool, known: bool
) -> tuple[Preconditioner, State]:
    """The preconditioner and the first state, as a function that JAX can transform."""
    M = GridCycle.for_problem(problem) if M is None else M
    return M, begin(problem, x0 if warm else predict(problem, M), side if known else None)


def advanced(problem: Fields, M: Preconditioner, s: State, tolerance: Array, count: Any) -> State:
    """At most `count` more steps; fewer if all items are done. JAX can compile, map and shard it."""
    import jax
    import jax.numpy as jnp

    def settled(carry: Any) -> Any:
        levels, s, left = carry
        changed = jnp.any(s.recent > 0)
        levels = jax.lax.cond(changed, lambda: M.levels(s.free), lambda: levels)
        s = replace(s, recent=jnp.zeros_like(s.recent))
        return levels, step(problem, M, levels, s, tolerance, changed), left - 1

    def unfinished(carry: Any) -> Any:
        _, s, left = carry
        return (left > 0) & jnp.any(s.kkt > tolerance)

    return jax.lax.while_loop(unfinished, settled, (M.levels(s.free), s, count))[1]


def _solve_compiled(
    problem: Fields,
    tolerance: Any,
    M: Preconditioner | None,
    x0: Array | None,
    side: Array | None,
    maxiter: int,
    watch: Watch | None,
) -> State:
    import jax.numpy as jnp

    prepare, advance = _compiled()
    zero = jnp.zeros_like(problem.b + problem.lower)
    given = zero if x0 is None else x0, zero if side is None else side
    M, s = prepare(problem, M, *given, warm=x0 is not None, known=side is not None)
    tolerance = jnp.zeros_like(s.kkt) + tolerance
    while True:
        worst, _, count = (float(v) for v in to_numpy(_summary(s, tolerance)))
        if not worst > 0.0 or count >= maxiter or (watch is not None and watch(s.kkt, int(count))):
            return s
        s = advance(problem, M, s, tolerance, min(SETTINGS.stride, maxiter - int(count)))
