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
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .library import Array, device_of, multiply_add, namespace, repeated
from .stencil import Layout, Stencil

#: a grid with no longer axis is the coarsest, and an axis of it has at most so many cells
SMALLEST, LARGEST = 2, 10
#: cells of a block are one part if they are coupled by more than this part of a cell's mean weight
WEAK = 0.05
#: the degree of smoothing
DEGREE = 3
#: row sums below this part of the diagonal are rounding
ROUNDING = 1e-6


@dataclass(frozen=True)
class FieldLevel:
    """One grid: its operator, the inverse diagonal of the free cells, and a 1 where blocks have a say."""

    A: Stencil
    inverse: Array
    carried: Array


# -- grids -----------------------------------------------------------------------------------------------------


def suited(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A grid of at least this many cells that can be halved often: few cells more, and a small coarsest grid."""
    longest = max(shape)
    depths = [depth for depth in range(20) if longest <= LARGEST * 2**depth and 2**depth <= longest] or [0]
    sizes = [tuple(_rounded_up(n, depth) for n in shape) for depth in depths]
    return min(sizes, key=lambda s: (prod(s), -halvings(Layout(s))))


def _rounded_up(n: int, depth: int) -> int:
    step = 2 ** min(depth, (n - 1).bit_length())
    return -(-n // step) * step


def coarser(layout: Layout) -> Layout | None:
    """The grid of blocks; None if this one is the coarsest."""
    shape = layout.shape
    if max(shape) <= SMALLEST or any(n % 2 and n > 1 for n in shape):
        return None
    return Layout(tuple(max(n // 2, 1) for n in shape))


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


def over_blocks(layout: Layout, field: Array, combine, skip: int | None = None) -> Array:
    """Cells of a block combined by a function of two arrays, over the grid; along axis `skip` none are."""
    grid = layout.grid(field)
    for axis in _grid_axes(layout):
        if axis != skip and layout.shape[axis] > 1:
            grid = combine(*_halves(grid, axis))
    return grid


def block_sums(layout: Layout, below: Layout, field: Array) -> Array:
    """The sum over every block, as a field of the coarse grid: the transpose of `spread`."""
    return below.flat(over_blocks(layout, field, lambda a, b: a + b))


def spread(layout: Layout, below: Layout, field: Array) -> Array:
    """Values of blocks as a field over their cells."""
    xp, grid = namespace(field), below.grid(field)
    lead = grid.shape[: grid.ndim - len(layout.shape)]
    apart, whole = [*lead], [*lead]
    for fine, coarse in zip(layout.shape, below.shape):
        apart += [coarse, 1]
        whole += [coarse, fine // coarse]
    return xp.reshape(xp.broadcast_to(xp.reshape(grid, tuple(apart)), tuple(whole)), (*lead, layout.size))


def along_axes(layout: Layout, like: Array, value) -> Array:
    """A field from `value(axis, index)`, summed over the axes; in the precision of `like`."""
    xp, total = namespace(like), None
    for axis, n in enumerate(layout.shape):
        at = value(axis, xp.arange(n, device=device_of(like)))
        at = xp.reshape(at, (1,) * axis + (n,) + (1,) * (len(layout.shape) - axis - 1))
        total = at if total is None else total + at
    return xp.astype(xp.reshape(total, (layout.size,)), like.dtype)


def colours(layout: Layout, like: Array) -> tuple[Array, Array]:
    """1 in red cells and 1 in black cells."""
    black = along_axes(layout, like, lambda axis, at: at % 2)
    black = black - 2 * namespace(like).floor(0.5 * black)
    return 1 - black, black


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
    below = coarser(A.layout)
    if below is None:
        return finest(A, free, free), None, free
    inner = A.between(free)
    if carried is None:
        carried = connected_part(inner, free, below)
    level = finest(A, free, carried)
    coarse = coarse_operator(A, inner, free, level.carried, below)
    there = namespace(free).astype(coarse.diagonal > 0, free.dtype)
    return level, coarse, there


def coarse_operator(A: Stencil, inner: Stencil, free: Array, carried: Array, below: Layout) -> Stencil:
    """The operator on blocks; `inner` has the weights between free cells."""
    xp, layout = namespace(free), A.layout
    zero, sums = xp.zeros_like(free), inner.sums()
    excess = (A.diagonal - sums) * free
    excess = xp.where(excess > ROUNDING * A.diagonal, excess, zero)
    half = sums / len(layout.shape)
    filled = spread(layout, below, block_sums(layout, below, carried)) * (below.size / layout.size)
    further = xp.maximum(2 * filled - 1, zero) * excess
    total = half * filled + further
    there = total > 0
    series = xp.where(there, half * filled * excess / xp.where(there, total, xp.ones_like(total)), zero)
    excess = block_sums(layout, below, series * carried)
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


def connected_part(A: Stencil, unknown: Array, below: Layout) -> Array:
    """1 in cells of the connected part that stands for their block.

    It is the part of the first cell that has half of the most weight: so blocks one after the other between parallel
    walls stand for the same corridor, and slivers stand for nothing.
    """
    xp, layout = namespace(unknown), A.layout
    sums, zero = A.sums(), xp.zeros_like(unknown)
    most = spread(layout, below, below.flat(over_blocks(layout, sums * unknown, xp.maximum)))
    place = along_axes(layout, unknown, lambda axis, at: 2**axis * (at % 2))
    place = xp.where((2 * sums * unknown >= most) & (unknown > 0), place + zero, zero + 2.0 ** len(layout.shape))
    first = spread(layout, below, below.flat(over_blocks(layout, place, xp.minimum)))
    part = xp.astype((place == first) & (unknown > 0), unknown.dtype)
    weak = layout.padded(WEAK / (2 * len(layout.shape)) * sums)
    inside = []
    for axis, stride in enumerate(layout.strides):
        w, pair = A.upper(axis), along_axes(layout, unknown, lambda a, at, axis=axis: int(a == axis) * ((at + 1) % 2))
        strong = (w > layout.shifted(weak, 0)) & (w > layout.shifted(weak, stride)) & (pair > 0)
        inside.append(xp.where(strong, xp.ones_like(w), xp.zeros_like(w)))
    graph = Stencil.of(layout, tuple(inside), unknown)
    longest = 2 ** (len(layout.shape) - 1) + 1  # the way through a block with walls, for all but a few
    return repeated(part, longest, lambda part: xp.astype(part + graph.neighbours(part) > 0, unknown.dtype), part)


# -- the cycle -------------------------------------------------------------------------------------------------


def v_cycle(levels: tuple[FieldLevel, ...], b: Array, k: int = 0) -> Array:
    """x ≈ A⁻¹ b on the free cells: one cycle from zero, symmetric and positive definite."""
    level = levels[k]
    layout = level.A.layout
    if k + 1 == len(levels):
        longest = max(layout.shape)
        return smoothed(level, b, None, 4 * longest, longest**-2)
    below, lowest = levels[k + 1].A.layout, 1 / len(layout.shape)
    x = smoothed(level, b, None, DEGREE, lowest)
    r = level.carried * level.A.residual(b, x)
    correction = v_cycle(levels, block_sums(layout, below, r), k + 1)
    x = multiply_add(x, level.carried, spread(layout, below, correction))
    return smoothed(level, b, x, DEGREE, lowest)


def smoothed(level: FieldLevel, b: Array, x: Array | None, degree: int, lowest: float) -> Array:
    """Chebyshev steps for eigenvalues of D⁻¹A from `lowest` to 2; from zero, with one product less, if x is None."""
    middle, half = 1 + lowest / 2, 1 - lowest / 2
    step = level.inverse * (b if x is None else level.A.residual(b, x)) * (1 / middle)
    x = step if x is None else x + step

    def another(state: tuple) -> tuple:
        x, step, rho = state
        new = 1 / (2 * middle / half - rho)
        step = multiply_add(rho * new * step, level.inverse, level.A.residual(b, x), 2 * new / half)
        return x + step, step, new

    return repeated(x, degree - 1, another, (x, step, half / middle))[0]
