"""`fmg-array`: full multigrid with projected smoothing on dense fields (Chentanez and Müller 2011, algorithms 1–3).

A coarse level solves for a correction, with the bounds that are left (DownsampleSubtract, eq. 19). Coarse operators are
those of `multigrid`, made from the matrix. The departures are those of `nonstick.solvers.chentanez_muller`: cells that
their residual presses against a bound take no part in the transfer, and a correction is cut to the box and damped if it
would raise the energy. A device is asked once a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .library import Array, namespace
from .multigrid import block_sums, coarse_operator, coarser, connected_part, over_blocks, spread
from .problem import Fields, dot, scale_of
from .stencil import Stencil


@dataclass(frozen=True)
class ProjectedGrid:
    """A level: its operator, the unknowns, the inverse diagonals of the colours, the cells that blocks stand for."""

    A: Stencil
    unknown: Array
    sweep: tuple[Array, ...]
    carried: Array | None


def projected_grids(A: Stencil, unknown: Array, jacobi: bool = False) -> list[ProjectedGrid]:
    """The levels, finest first; with `jacobi` a sweep updates all cells at once, damped by 2/3."""
    xp, out = namespace(unknown), []
    while True:
        red, black = (unknown * inverse for inverse in A.sweep())
        sweep = (2 / 3 * (red + black),) if jacobi else (red, black)
        if coarser(A.layout) is None:
            out.append(ProjectedGrid(A, unknown, sweep, None))
            return out
        inner = A.between(unknown)
        carried = connected_part(inner, unknown) * unknown
        out.append(ProjectedGrid(A, unknown, sweep, carried))
        A = coarse_operator(A, inner, unknown, carried)
        unknown = xp.astype(A.diagonal > 0, unknown.dtype)
        A = replace(A, diagonal=xp.where(unknown > 0, A.diagonal, xp.ones_like(A.diagonal)))


def full_cycle(grids: list[ProjectedGrid], problem: Fields, x: Array, pre: int = 4, post: int = 4) -> Array:
    """Algorithm 3: the correction of the coarser level comes from a full cycle there; a V-cycle follows."""
    if len(grids) > 1:
        x = _corrected(grids, problem, x, lambda lower, coarse: full_cycle(lower, coarse, 0 * coarse.b, pre, post))
    return projected_v_cycle(grids, problem, x, pre, post)


def projected_v_cycle(grids: list[ProjectedGrid], problem: Fields, x: Array, pre: int = 4, post: int = 4) -> Array:
    """Algorithm 2."""
    x = _smoothed(grids[0], problem, x, pre)
    if len(grids) > 1:
        x = _corrected(grids, problem, x, lambda low, coarse: projected_v_cycle(low, coarse, 0 * coarse.b, pre, post))
        return _smoothed(grids[0], problem, x, post)
    return _smoothed(grids[0], problem, x, 4 * max(problem.A.layout.shape))


def _smoothed(grid: ProjectedGrid, problem: Fields, x: Array, count: int) -> Array:
    """Projected sweeps."""
    for _ in range(count):
        for inverse in grid.sweep:
            x = problem.clip(x + inverse * grid.A.residual(problem.b, x))
    return x


def _corrected(grids: list[ProjectedGrid], problem: Fields, x: Array, solve) -> Array:
    """x with the correction of the coarser level."""
    xp, (fine, coarse) = namespace(x), grids[:2]
    assert fine.carried is not None
    layout, below = fine.A.layout, coarse.A.layout
    r = problem.residual(x)
    pressed = ((x <= problem.lower) & (r < 0)) | ((x >= problem.upper) & (r > 0))
    zero = xp.zeros_like(x)
    taken = xp.where(pressed, zero, fine.carried + zero)
    far = zero + float("inf")
    lower = xp.where(taken > 0, problem.lower - x, -far)
    upper = xp.where(taken > 0, problem.upper - x, far)
    lower = below.flat(over_blocks(layout, lower, xp.maximum))
    upper = below.flat(over_blocks(layout, upper, xp.minimum))
    b = block_sums(layout, taken * r) * coarse.unknown
    zero = xp.zeros_like(b)
    lower, upper = (xp.where(coarse.unknown > 0, bound, zero) for bound in (lower, upper))
    part = Fields(coarse.A, b, lower, upper, coarse.unknown, scale_of(coarse.A, b, lower, upper))
    step = taken * spread(layout, solve(grids[1:], part))
    step = problem.clip(x + step) - x
    gain, curvature = dot(r, step), dot(step, fine.A @ step)
    one = xp.ones_like(gain)
    alpha = xp.where(curvature > 0, gain / xp.where(curvature > 0, curvature, one), one)
    return x + xp.where(gain > 0, xp.minimum(alpha, one), 0 * one) * step
