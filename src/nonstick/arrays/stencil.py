"""The pressure operator on dense arrays of any library: `(A x)_c = d_c x_c - sum_f w_f x_n` by shifted slices.

A field is flat along its last axis, in C order over the grid; axes in front of it are a batch. The neighbour of cell t
in direction a is then t + stride_a, so a product is a few slices of one padded array: no gather, no index, one fused
kernel where the library compiles (JAX), eight passes where it does not. A weight is zero where there is no neighbour,
so nothing wraps around. Cells that are no unknown have zero weights and the diagonal 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from .library import Array, device_of, multiply_add, namespace, stored


@dataclass(frozen=True)
class Layout:
    """The grid of flat fields: the number of cells along each axis."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of neighbours along each axis in a flat field."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    @property
    def reach(self) -> int:
        """The largest stride: zeros in front of and behind a padded field."""
        return max(self.strides)

    def grid(self, field: Array) -> Array:
        """The field with an axis for each axis of the grid."""
        return namespace(field).reshape(field, (*field.shape[:-1], *self.shape))

    def flat(self, field: Array) -> Array:
        """A field over the grid, flat along its last axis."""
        return namespace(field).reshape(field, (*field.shape[: field.ndim - len(self.shape)], self.size))

    def padded(self, field: Array) -> Array:
        """The field with `reach` zeros in front and behind."""
        xp = namespace(field)
        zeros = xp.zeros_like(field[..., : min(self.reach, self.size)])
        while zeros.shape[-1] < self.reach:  # a grid of one plane
            zeros = xp.concat([zeros, zeros], axis=-1)
        zeros = zeros[..., : self.reach]
        return stored(xp.concat([zeros, field, zeros], axis=-1))

    def shifted(self, padded: Array, by: int) -> Array:
        """The values `by` places further on, from a padded field."""
        return padded[..., self.reach + by : self.reach + by + self.size]

    def along_axes(self, like: Array, value: Callable[[int, Array], Array]) -> Array:
        """A field from `value(axis, index)`, summed over the axes; in the precision of `like`."""
        xp, total = namespace(like), None
        for axis, n in enumerate(self.shape):
            at = value(axis, xp.arange(n, device=device_of(like)))
            at = xp.reshape(at, (1,) * axis + (n,) + (1,) * (len(self.shape) - axis - 1))
            total = at if total is None else total + at
        return xp.astype(xp.reshape(total, (self.size,)), like.dtype)


@dataclass(frozen=True)
class Stencil:
    """A symmetric operator on a grid: the weight of the face in direction +a for each axis a, and a diagonal.

    `weights[a][t] >= 0` couples cell t with cell t + stride_a.
    """

    layout: Layout
    #: padded (`Layout.padded`), so that the weights of faces in direction -a are a slice too
    weights: tuple[Array, ...]
    diagonal: Array

    @classmethod
    def of(cls, layout: Layout, weights: tuple[Array, ...], diagonal: Array) -> Stencil:
        """From flat weights that are not padded."""
        return cls(layout, tuple(layout.padded(w) for w in weights), diagonal)

    def mapped(self, function: Callable[[Array], Array], diagonal: Array) -> Stencil:
        """With another diagonal, and a function of the weights."""
        return Stencil(self.layout, tuple(function(w) for w in self.weights), diagonal)

    def upper(self, axis: int) -> Array:
        """Weights of the faces in direction +axis."""
        return self.layout.shifted(self.weights[axis], 0)

    def lower(self, axis: int) -> Array:
        """Weights of the faces in direction -axis."""
        return self.layout.shifted(self.weights[axis], -self.layout.strides[axis])

    def __matmul__(self, x: Array) -> Array:
        """A x"""
        return self.diagonal * x - self.neighbours(x)

    def residual(self, b: Array, x: Array) -> Array:
        """b - A x"""
        return multiply_add(self.neighbours(x, b), self.diagonal, x, -1.0)

    def sweep(self) -> tuple[Array, Array]:
        """The inverse diagonals of the red and of the black cells: a Gauss–Seidel sweep is a step with each."""
        xp, d = namespace(self.diagonal), self.diagonal
        black = self.layout.along_axes(d, lambda axis, at: at % 2)
        black = black - 2 * xp.floor(0.5 * black)
        d = xp.where(d > 0, d, xp.ones_like(d))
        return (1 - black) / d, black / d

    def neighbours(self, x: Array, total: Array | None = None) -> Array:
        """sum_f w_f x_n, plus a total that may be there already"""
        layout = self.layout
        wide = layout.padded(x)
        for axis, stride in enumerate(layout.strides):
            for weight, by in ((self.upper(axis), stride), (self.lower(axis), -stride)):
                there = layout.shifted(wide, by)
                total = weight * there if total is None else multiply_add(total, weight, there)
        return total

    def between(self, marked: Array) -> Stencil:
        """The same with the weights between marked cells only (1, else 0); the diagonal stays."""
        layout, wide = self.layout, self.layout.padded(marked)
        pairs = (marked * layout.shifted(wide, stride) for stride in layout.strides)
        return Stencil.of(layout, tuple(self.upper(axis) * pair for axis, pair in enumerate(pairs)), self.diagonal)

    def sums(self) -> Array:
        """The sum of the weights of every cell."""
        total = None
        for axis in range(len(self.weights)):
            both = self.upper(axis) + self.lower(axis)
            total = both if total is None else total + both
        return total
