"""A box problem in arrays: an operator, vectors along the last axis, the axes of a batch in front."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .library import Array, namespace


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
