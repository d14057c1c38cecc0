"""An operator on arrays of any library that follows the array API: NumPy, PyTorch, JAX.

Some of these libraries cannot change an array in place. So a vector of this layout holds an array, and a method
replaces it by another array. Iterations that use only the methods of an operator run on these vectors as on any other
layout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .base import Operator

Array = Any  #: an array of any library that follows the array API


def array_namespace(x: Array):
    """The module with the functions of x's library."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__()
    return import_module(type(x).__module__.split(".")[0])  # torch, and NumPy before 2.0


@dataclass
class Held:
    """A vector: it holds an array that can be replaced."""

    array: Array


class ArrayOperator(Operator):
    """A function `matvec` on arrays shaped like `zero`, an array of zeros of the library `xp`."""

    def __init__(self, xp, matvec: Callable[[Array], Array], zero: Array):
        self.xp, self.matvec, self.zero = xp, matvec, zero
        self.n = int(zero.shape[0])

    def apply(self, x, out):
        out.array = self.matvec(x.array)
        return out

    def residual(self, b, x, out):
        out.array = b.array - self.matvec(x.array)
        return out

    def matrix(self):
        raise TypeError("a function has no entries")

    def row_sums(self):
        return self.matvec(1.0 + self.zero)

    def components(self):
        raise TypeError("a function has no entries")

    # -- vectors -------------------------------------------------------------------------------------------

    def zeros(self, dtype=None) -> Any:
        return Held(self.zero)

    def enter(self, x, out=None) -> Any:
        return Held(x)

    def leave(self, vector: Any, out):
        return vector.array

    def dot(self, x: Any, y: Any):
        return float(self.xp.sum(x.array * y.array))

    def peak(self, x: Any):
        return float(self.xp.max(self.xp.abs(x.array)))

    def combine(self, y: Any, x: Any, beta):
        y.array = x.array + beta * y.array if beta else x.array

    def step(self, x: Any, r: Any, p: Any, q: Any, alpha):
        x.array = x.array + alpha * p.array
        r.array = r.array - alpha * q.array
        return self.peak(r)
