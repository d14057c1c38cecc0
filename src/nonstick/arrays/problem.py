"""A box problem in arrays: an operator, vectors along the last axis, the axes of a batch in front.

Numbers tuned by hand for solves on arrays; docs/explanation/settings.md says what each is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .library import Array, namespace


@dataclass(frozen=True)
class ArraySettings:
    """What the loop, its two cycles and the corrections of a method on arrays are tuned by."""

    #: steps between two questions to a device
    stride: int = 10
    #: steps on every coarser level of a prediction, and the cells along the longest axis, or the unknowns of a sparse
    #: matrix, up to which there is none
    predicted: int = 4
    small: int = 16
    #: an axis of the coarsest grid has at most so many cells
    largest: int = 10
    #: cells of a block are one part if they are coupled by more than this part of a cell's mean weight
    weak: float = 0.05
    #: cells whose surface outweighs their couplings by this factor have no coarse value
    held: float = 10.0
    #: the degree of smoothing, on grids and on sparse matrices
    degree: int = 3
    #: the least eigenvalue that smoothing of a sparse matrix damps, where the largest is 2, and that of its coarsest
    #: level, which has at most `bottom` unknowns where the matrix can be coarsened so far
    damped: float = 0.5
    lowest: float = 0.02
    bottom: int = 20
    #: iterations on a grid after which its blocks stand for too little, and the sparse matrix takes over
    grid: int = 30
    #: vectors of GMRES before it begins again
    restart: int = 20


SETTINGS = ArraySettings()


class ArrayOperator(Protocol):
    """A symmetric positive (semi)definite matrix."""

    @property
    def diagonal(self) -> Array: ...

    def __matmul__(self, x: Array) -> Array:
        """A x"""

    def residual(self, b: Array, x: Array) -> Array:
        """b - A x"""

    def sweep(self) -> tuple[Array, ...]:
        """Inverse diagonals: a relaxation sweep is a step `x += inverse (b - A x)` with each."""


@dataclass(frozen=True)
class Fields:
    """`min ½ xᵀA x − bᵀx, lower ≤ x ≤ upper`, or a batch of such problems.

    Places that are no unknown have `unknown` 0, b and both bounds 0.
    """

    A: Any
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


def peak(x: Array) -> Array:
    """max|x| of every item."""
    xp = namespace(x)
    return xp.max(xp.abs(x), axis=-1, keepdims=True)


def dot(x: Array, y: Array) -> Array:
    xp = namespace(x)
    return xp.sum(x * y, axis=-1, keepdims=True)


def scale_of(A: ArrayOperator, b: Array, lower: Array, upper: Array) -> Array:
    """max|b| of every item, or the distance of 0 from the box if b is 0: the unit of residuals."""
    xp = namespace(b)
    own, zero = peak(b), xp.zeros_like(b + lower)
    other = peak(A.diagonal * xp.minimum(xp.maximum(zero, lower), upper))
    return xp.where(own > 0, own, xp.where(other > 0, other, xp.ones_like(other)))
