"""Inverses that outlive a solve: the next solve with the same matrix refreshes them and does not build them again."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakSet

import numpy as np

from ..operators.base import Operator
from .base import Inverse, Recipe


@dataclass
class InverseCache:
    """The last inverse that a recipe made for `core`, and what it was made for."""

    #: operators whose entries are in the same places
    alike: WeakSet[Operator]
    core: Operator | None = None
    inverse: Inverse | None = None
    free: np.ndarray | None = None
    shift: np.ndarray | None = None

    def matches(self, operator: Operator) -> bool:
        """True if the entries of the operator are in the same places."""
        stencil = operator.core.stencil
        same = (A.stencil.rows is stencil.rows for A in self.alike if A.stencil is not None and stencil is not None)
        return operator.core in self.alike or any(same)

    def put(self, operator: Operator, inverse: Inverse) -> None:
        free, shift = operator.free, operator.shift
        self.core, self.inverse = operator.core, inverse
        self.free, self.shift = (None if part is None else part.copy() for part in (free, shift))

    def ready(self, operator: Operator) -> bool:
        """True if the inverse can be used as it is. A hierarchy that shares its levels must be refreshed first."""
        if self.inverse is None or self.core is not operator.core:
            return False
        if self.inverse.hierarchy is not None:
            return False
        return _same(self.free, operator.free) and _same(self.shift, operator.shift)


@dataclass(frozen=True)
class Cached(Recipe):
    """`recipe`; the first `setup` of a solve begins with the last inverse of the solve before.

    Parameters
    ----------
    recipe : Recipe
        What makes the inverses.
    cache : InverseCache
        Where the last one is. One solve at a time may use it.
    """

    recipe: Recipe
    cache: InverseCache = field(compare=False, repr=False)

    def setup(self, operator, reuse=None):
        cache = self.cache
        if not cache.matches(operator):  # the coarse problem of a prediction, for example
            return self.recipe.setup(operator, reuse)
        if reuse is None and cache.ready(operator):
            assert cache.inverse is not None
            return cache.inverse
        inverse = self.recipe.setup(operator, cache.inverse if reuse is None else reuse)
        cache.put(operator, inverse)
        return inverse

    def following(self, operator, step):
        inverse = self.recipe.following(operator, step)
        if inverse is not None and self.cache.matches(operator):
            self.cache.put(operator, inverse)
        return inverse

    @property
    def label(self):
        return self.recipe.label

    @property
    def general(self) -> bool:
        return self.recipe.general

    def fits(self, operator):
        return self.recipe.fits(operator)

    def chosen(self, operator):
        return Cached(self.recipe.chosen(operator), self.cache)


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
