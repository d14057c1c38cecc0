"""The loop around `active_set.step`, for libraries that compute at once and for JAX, which compiles it whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from typing import Any

from .active_set import Preconditioner, State, begin, predict, step
from .library import Array, is_host, library_of, namespace, to_numpy
from .multigrid import FieldLevel, GridCycle
from .problem import Fields
from .rows import RowCycle, RowLevel, SparseProduct, SparseRows
from .settings import SETTINGS
from .stencil import Layout, Stencil

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
