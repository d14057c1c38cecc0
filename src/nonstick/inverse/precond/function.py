"""A preconditioner made from a plain function of arrays, for an `ArrayOperator`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...operators.array_library import Array
from ..base import Inverse, Recipe


@dataclass(frozen=True)
class Function(Recipe):
    """z = function(r)"""

    function: Callable[[Array], Array]

    def setup(self, operator, reuse=None):
        return _Function(self.function)


class _Function(Inverse):
    def __init__(self, function: Callable[[Array], Array]):
        self.function = function

    def apply(self, r, out):
        out.array = self.function(r.array)
        return out
