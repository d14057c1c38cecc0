"""A geometric multigrid cycle in array operations: the preconditioner of `auto-array`.

A coarse cell stands for a block of 2 cells along every axis, and gives them its value. The coarse operator is made from
the fine one alone. With A = L(w) + diag(e), weights w and row sums e on the free cells:

- a coarse weight is half the sum of its fine weights: its cells are twice as far apart;
- a row sum is the conductance to the free surface. The middle of a whole block is further away from it by half a cell,
  so two conductances are in series: e k/(e + k), where k is that of half a cell. The middle of a block that is filled
  by a half or less is that of its cells, and in between the distance is linear.

This is the problem discretised again, up to cut cells, so a V-cycle is enough: with Galerkin products, which are too
stiff for piecewise constants, coarse grids need more visits, and on a GPU every visit costs launches.

Where a wall divides a block, its coarse cell stands for one of the connected parts (`connected_part`). The
other cells get no coarse correction; smoothing couples them to cells of their own part that do.

Smoothing is a Chebyshev polynomial of D⁻¹A: a product works for all cells, of which a colour of Gauss–Seidel would use
half. The cells of a grid have two colours, so eigenvalues are below 2 for every positive definite A, and those that a
coarse grid does not see begin at 1/d in d dimensions: there is nothing to choose but the degree. The free set is a mask
on the inverse diagonal.

`fmg-array`: full multigrid with projected smoothing on dense fields (Chentanez and Müller 2011, algorithms 1–3).

A coarse level solves for a correction, with the bounds that are left (DownsampleSubtract, eq. 19). Coarse operators are
those of `multigrid`, made from the matrix. The departures are those of `nonstick.solvers.chentanez_muller`: cells that
their residual presses against a bound take no part in the transfer, and a correction is cut to the box and damped if it
would raise the energy. A device is asked once a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, prod
from typing import Any, Protocol

from ..core import rounding
from .library import Array, multiply_add, namespace, repeated
from .problem import SETTINGS, Fields, dot, peak, scale_of
from .stencil import Layout, Stencil

#: one array from two
Combine = Callable[[Array, Array], Array]


class CycleLevel(Protocol):
    """What a cycle asks of a level; x and b are zero outside of the free unknowns."""

    @property
    def A(self) -> Any: ...

    def smoothed(self, b: Array, x: Array | None = None) -> Array:
        """x after smoothing; from zero if x is None."""

    def solved(self, b: Array) -> Array:
        """x ≈ A⁻¹ b, of the coarsest level."""

    def restricted(self, r: Array) -> Array:
        """Pᵀ r, for the next coarser level."""

    def corrected(self, x: Array, coarse: Array) -> Array:
        """x + P coarse"""


@dataclass(frozen=True)
class FieldLevel:
    """One grid: its operator, the inverse diagonal of the free cells, and a 1 where blocks have a say."""

    A: Stencil
    inverse: Array
    carried: Array

    def smoothed(self, b: Array, x: Array | None = None) -> Array:
        return chebyshev(self, b, x, SETTINGS.degree, (1 / len(self.A.layout.shape), 2.0))

    def solved(self, b: Array) -> Array:
        longest = max(self.A.layout.shape)
        return chebyshev(self, b, None, 4 * longest, (longest**-2, 2.0))

    def restricted(self, r: Array) -> Array:
        return block_sums(self.A.layout, self.carried * r)

    def corrected(self, x: Array, coarse: Array) -> Array:
        return multiply_add(x, self.carried, spread(self.A.layout, coarse))


# -- grids -----------------------------------------------------------------------------------------------------


def suited(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A grid of at least this many cells that can be halved often: few cells more, and a small coarsest grid."""
    longest = max(shape)
    depths = [depth for depth in range(20) if longest <= SETTINGS.largest * 2**depth and 2**depth <= longest] or [0]
    sizes = [tuple(_rounded_up(n, depth) for n in shape) for depth in depths]
    return min(sizes, key=lambda s: (prod(s), -halvings(Layout(s))))


def _rounded_up(n: int, depth: int) -> int:
    step = 2 ** min(depth, (n - 1).bit_length())
    return -(-n // step) * step


def coarser(layout: Layout) -> Layout | None:
    """The grid of blocks; None if this one is the coarsest."""
    shape = layout.shape
    if max(shape) <= 2 or any(n % 2 and n > 1 for n in shape):
        return None
    return Layout(tuple(max(n // 2, 1) for n in shape))


def blocks(layout: Layout) -> Layout:
    """The grid of blocks of a grid that is not the coarsest."""
    below = coarser(layout)
    assert below is not None
    return below


def halvings(layout: Layout | None) -> int:
    """The number of coarser grids."""
    count = -1
    while layout is not None:
        layout, count = coarser(layout), count + 1
    return count


def _grid_axes(layout: Layout) -> range:
    return range(-len(layout.shape), 0)


def _halves(grid: Array, axis: int) -> tuple[Array, Array]:
    """The first and the second cell of every pair along an axis."""
    first = [slice(None)] * grid.ndim
    second = list(first)
    first[axis], second[axis] = slice(0, None, 2), slice(1, None, 2)
    return grid[tuple(first)], grid[tuple(second)]


def over_blocks(
    layout: Layout, field: Array, combine: Callable[[Array, Array], Array], skip: int | None = None
) -> Array:
    """Cells of a block combined by a function of two arrays, over the grid; along axis `skip` none are."""
    grid = layout.grid(field)
    for axis in _grid_axes(layout):
        if axis != skip and layout.shape[axis] > 1:
            grid = combine(*_halves(grid, axis))
    return grid


def block_sums(layout: Layout, field: Array) -> Array:
    """The sum over every block, as a field of the coarse grid: the transpose of `spread`."""
    return blocks(layout).flat(over_blocks(layout, field, lambda a, b: a + b))


def spread(layout: Layout, field: Array) -> Array:
    """Values of blocks as a field over their cells."""
    xp, below = namespace(field), blocks(layout)
    grid = below.grid(field)
    lead = grid.shape[: grid.ndim - len(layout.shape)]
    apart, whole = [*lead], [*lead]
    for fine, coarse in zip(layout.shape, below.shape):
        apart += [coarse, 1]
        whole += [coarse, fine // coarse]
    return xp.reshape(xp.broadcast_to(xp.reshape(grid, tuple(apart)), tuple(whole)), (*lead, layout.size))


# -- levels ----------------------------------------------------------------------------------------------------


def hierarchy(A: Stencil, free: Array, parts: tuple[Array, ...] | None = None) -> tuple[FieldLevel, ...]:
    """The levels for A on the free cells (1, else 0), finest first; `parts` are the `carried` of all cells."""
    levels: list[FieldLevel] = []
    below: Stencil | None = A
    while below is not None:
        level, below, free = _level_and_below(below, free, None if parts is None else parts[len(levels)])
        levels.append(level)
    return tuple(levels)


def finest(A: Stencil, free: Array, carried: Array) -> FieldLevel:
    """The finest level for other free cells."""
    xp = namespace(free)
    positive = A.diagonal > 0
    inverse = xp.where(positive, free / xp.where(positive, A.diagonal, xp.ones_like(A.diagonal)), xp.zeros_like(free))
    return FieldLevel(A, inverse, carried * free)


def _level_and_below(A: Stencil, free: Array, carried: Array | None) -> tuple[FieldLevel, Stencil | None, Array]:
    if coarser(A.layout) is None:
        return finest(A, free, free), None, free
    inner = A.between(free)
    if carried is None:
        carried = connected_part(inner, free)
    level = finest(A, free, carried)
    coarse = coarse_operator(A, inner, free, level.carried)
    there = namespace(free).astype(coarse.diagonal > 0, free.dtype)
    return level, coarse, there


def coarse_operator(A: Stencil, inner: Stencil, free: Array, carried: Array) -> Stencil:
    """The operator on blocks; `inner` has the weights between free cells."""
    xp, layout, below = namespace(free), A.layout, blocks(A.layout)
    zero, sums = xp.zeros_like(free), inner.sums()
    excess = (A.diagonal - sums) * free
    excess = xp.where(excess > rounding.SINGLE * A.diagonal, excess, zero)
    # A cell without a say hands its surface on to its neighbours, as if it were eliminated.
    diagonal = xp.where(A.diagonal > 0, A.diagonal, xp.ones_like(free))
    excess = excess + carried * inner.neighbours((free - carried) * excess / diagonal)
    half = sums / len(layout.shape)
    filled = spread(layout, block_sums(layout, carried)) * (below.size / layout.size)
    further = xp.maximum(2 * filled - 1, zero) * excess
    total = half * filled + further
    there = total > 0
    series = xp.where(there, half * filled * excess / xp.where(there, total, xp.ones_like(total)), zero)
    excess = block_sums(layout, series * carried)
    both = inner.between(carried)
    weights = []
    for axis in _grid_axes(layout):
        if layout.shape[axis] == 1:
            weights.append(xp.zeros_like(excess))
            continue
        faces = over_blocks(layout, both.upper(axis), lambda a, b: a + b, skip=axis)
        weights.append(0.5 * below.flat(_halves(faces, axis)[1]))
    bare = Stencil.of(below, tuple(weights), excess)
    return Stencil(below, bare.weights, bare.sums() + excess)


def connected_part(A: Stencil, unknown: Array) -> Array:
    """1 in cells of the connected part that stands for their block.

    It is the part of the first cell that has half of the most weight: so blocks one after the other between parallel
    walls stand for the same corridor, and slivers stand for nothing. Cells that the surface holds far more than their
    neighbours do belong to none: they stay where they are, and a coarse value would cost them more than smoothing can
    take back.
    """
    xp, layout, below = namespace(unknown), A.layout, blocks(A.layout)
    sums, zero = A.sums(), xp.zeros_like(unknown)
    unknown = unknown * xp.astype(A.diagonal - sums <= SETTINGS.held * sums, unknown.dtype)
    most = spread(layout, below.flat(over_blocks(layout, sums * unknown, xp.maximum)))
    place = layout.along_axes(unknown, lambda axis, at: 2**axis * (at % 2))
    place = xp.where((2 * sums * unknown >= most) & (unknown > 0), place + zero, zero + 2.0 ** len(layout.shape))
    first = spread(layout, below.flat(over_blocks(layout, place, xp.minimum)))
    part = xp.astype((place == first) & (unknown > 0), unknown.dtype)
    weak = layout.padded(SETTINGS.weak / (2 * len(layout.shape)) * sums)
    inside = []
    for axis, stride in enumerate(layout.strides):
        w, pair = A.upper(axis), 1 - layout.along_axes(unknown, partial(_second, axis))
        strong = (w > layout.shifted(weak, 0)) & (w > layout.shifted(weak, stride)) & (pair > 0)
        inside.append(xp.where(strong, xp.ones_like(w), xp.zeros_like(w)))
    graph = Stencil.of(layout, tuple(inside), unknown)
    longest = 2 ** (len(layout.shape) - 1) + 1  # the way through a block with walls, for all but a few
    return repeated(
        part, longest, lambda part: unknown * xp.astype(part + graph.neighbours(part) > 0, unknown.dtype), part
    )


def _second(axis: int, other: int, at: Array) -> Array:
    """1 in the second cells of pairs along an axis."""
    return int(other == axis) * (at % 2)


# -- the cycle -------------------------------------------------------------------------------------------------


def v_cycle(levels: Sequence[CycleLevel], b: Array) -> Array:
    """x ≈ A⁻¹ b on the free unknowns: one cycle from zero, symmetric and positive definite."""
    level, *below = levels
    if not below:
        return level.solved(b)
    x = level.smoothed(b)
    x = level.corrected(x, v_cycle(below, level.restricted(level.A.residual(b, x))))
    return level.smoothed(b, x)


def chebyshev(level: Any, b: Array, x: Array | None, degree: int, interval: tuple[Any, Any]) -> Array:
    """Chebyshev steps for eigenvalues of D⁻¹A in an interval; from zero, with one product less, if x is None."""
    low, high = interval
    middle, half = (high + low) / 2, (high - low) / 2
    step = level.inverse * (b if x is None else level.A.residual(b, x)) * (1 / middle)
    x = step if x is None else x + step

    def another(state: tuple) -> tuple:
        x, step, rho = state
        new = 1 / (2 * middle / half - rho)
        step = multiply_add(rho * new * step, level.inverse, level.A.residual(b, x), 2 * new / half)
        return x + step, step, new

    return repeated(x, degree - 1, another, (x, step, half / middle))[0]


def in_cycle(levels: Sequence[Any], r: Array) -> Array:
    """A cycle for r of any unit and precision, in the precision of the levels."""
    xp, dtype = namespace(r), levels[0].inverse.dtype
    size = peak(r)
    size = xp.where(size > 0, size, xp.ones_like(size))
    return xp.astype(v_cycle(levels, xp.astype(r / size, dtype)), r.dtype) * size


@dataclass(frozen=True)
class GridCycle:
    """The cycle of a problem on a grid, for any free cells."""

    #: the operator in the precision of the cycle
    A: Stencil
    #: the connected parts of blocks on every level
    parts: tuple[Array, ...]
    #: the inverse diagonal of the unknowns
    inverse: Array

    @classmethod
    def of(cls, A: Stencil, unknown: Array, parts: tuple[Array, ...]) -> GridCycle:
        """For an operator in the precision of the cycle."""
        return cls(A, parts, finest(A, unknown, unknown).inverse)

    @classmethod
    def for_problem(cls, problem: Fields) -> GridCycle:
        """The cycle of a problem, in single precision."""
        xp, A = namespace(problem.b), problem.A
        # The diagonal may have any unit: float32 has no room for all of them.
        top = peak(A.diagonal * problem.unknown)
        top = xp.where(top > 0, top, xp.ones_like(top))
        diagonal = xp.where(problem.unknown > 0, A.diagonal / top, xp.ones_like(A.diagonal))
        scaled = A.mapped(lambda w: xp.astype(w / top, xp.float32), xp.astype(diagonal, xp.float32))
        unknown = xp.astype(problem.unknown, xp.float32)
        return cls.of(scaled, unknown, tuple(level.carried for level in hierarchy(scaled, unknown)))

    def levels(self, free: Array) -> tuple[FieldLevel, ...]:
        return hierarchy(self.A, namespace(free).astype(free, self.inverse.dtype), self.parts)

    def apply(self, levels: tuple[FieldLevel, ...], free: Array, r: Array) -> Array:
        mask = namespace(r).astype(free, self.inverse.dtype)
        top = FieldLevel(self.A, self.inverse * mask, self.parts[0] * mask)
        return in_cycle((top, *levels[1:]), r * free)

    def below(self, problem: Fields) -> tuple[Fields, GridCycle] | None:
        """The problem on the grid of blocks, whose bounds are the means of those of their cells."""
        xp, layout, unknown = namespace(problem.b), problem.A.layout, problem.unknown
        if coarser(layout) is None or max(layout.shape) <= SETTINGS.small:
            return None
        carried = xp.astype(self.parts[0], unknown.dtype) * unknown
        A = coarse_operator(problem.A, problem.A, unknown, carried)
        there = xp.astype(A.diagonal > 0, unknown.dtype)
        A = replace(A, diagonal=xp.where(there > 0, A.diagonal, xp.ones_like(A.diagonal)))
        b = block_sums(layout, carried * problem.b) * there
        lower, upper = (
            xp.where(there > 0, _mean_bound(layout, bound, carried, far), xp.zeros_like(b))
            for bound, far in ((problem.lower, -inf), (problem.upper, inf))
        )
        lower = xp.minimum(lower, upper)
        dtype = self.inverse.dtype
        single = A.mapped(lambda w: xp.astype(w, dtype), xp.astype(A.diagonal, dtype))
        own = GridCycle.of(single, xp.astype(there, dtype), self.parts[1:])
        return Fields(A, b, lower, upper, there, scale_of(A, b, lower, upper)), own

    def interpolated(self, x: Array) -> Array:
        return spread(self.A.layout, x)


def _mean_bound(layout: Layout, bound: Array, carried: Array, far: float) -> Array:
    """The mean of the finite bounds of the cells of every block; `far` where there is none."""
    xp = namespace(carried)
    has = xp.isfinite(bound) & (carried > 0)
    count = block_sums(layout, xp.astype(has, carried.dtype))
    total = block_sums(layout, xp.where(has, bound, xp.zeros_like(bound)))
    mean = total / xp.where(count > 0, count, xp.ones_like(count))
    return xp.where(count > 0, mean, xp.ones_like(mean) * far)


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
