"""The couplings of a matrix, from a stencil or from rows of entries.

Aggregation uses this one interface: it compares couplings, merges unknowns, cuts parts that are held together too
weakly, and forms `scale PᵀFAFP`. The pattern of that matrix is found once, and its values are filled in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ....kernels._components import _flatten
from ....operators.base import Operator
from ....operators.rows import Rows
from ..grid.level import one_group
from . import _coarse_matrix as kernels
from . import _strength as strength
from ._coarse_matrix import _join, _links_of_stencil, _strongest


class Product(NamedTuple):
    """scale PᵀFAFP: the parents, the excess of the rows of A, and the pattern; F are the rows that are not closed."""

    parent: np.ndarray
    excess: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    scale: float


class Couplings(ABC):
    """The off-diagonals of a matrix of n rows. `entries` are the arguments of the kernels."""

    n: int
    entries: tuple
    dtype: np.dtype

    @property
    @abstractmethod
    def links(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The couplings as rows of entries, of which those to later unknowns are looked at."""

    def strongest(self) -> np.ndarray:
        """The largest coupling of each unknown; zero for an unknown without couplings."""
        out = np.empty(self.n, self.dtype)
        _strongest(out, *self.links)
        return out

    def join(self, strongest: np.ndarray, block: np.ndarray, theta: float) -> np.ndarray:
        """Merge unknowns that are strongly coupled inside a block; returns the first unknown of each one's part."""
        root = np.empty(self.n, np.int32)
        _join(root, strongest, block, theta, *self.links)
        _flatten(root)
        return root

    def cut(self, root: np.ndarray, cut: float) -> None:
        """Cut parts that are held together too weakly (`_strength`)."""
        n = self.n
        links, weakest, outside = np.zeros(n, np.int32), np.full(n, np.inf), np.zeros(n)
        strength._survey(links, weakest, outside, root, *self.links)
        slot = np.empty(n, np.int32)
        count = strength._doubtful(slot, root, links, weakest, outside, cut)
        if count == 0:
            return
        chosen = links[slot >= 0]  # members of each doubtful part
        member, place = np.empty(int(chosen.sum()), np.int64), np.empty(n, np.int32)
        first = np.empty((count + 1, 2), np.int64)
        strength._members(member, place, first, slot, root, links)
        inside, rim = np.zeros(first[-1, 1]), np.zeros(first[-1, 0])
        strength._gather(inside, rim, slot, root, place, first, *self.links)
        strength._split_parts(root, member, first, inside, rim, cut)
        _flatten(root)

    @abstractmethod
    def graph(self, slot: np.ndarray, over_i: np.ndarray, over_j: np.ndarray, parent: np.ndarray) -> int:
        """Neighbours of aggregates, into slots and an overflow list; returns the length it needs."""

    @abstractmethod
    def fill(self, data: np.ndarray, excess: np.ndarray, closed: np.ndarray, product: Product) -> None:
        """Add the weights and the excess of a product to zeros."""


class StencilCouplings(Couplings):
    """Of a seven-point matrix on a row layout; aggregates that lie inside `groups` of rows are filled in parallel."""

    def __init__(self, rows: Rows, weights, groups: np.ndarray | None = None):
        self.n, self.dtype = rows.n, weights[0].dtype
        self.entries = (*weights, rows.start, rows.offset)
        self.groups = one_group(rows) if groups is None else groups

    @cached_property
    def links(self):
        data, indices = np.empty(3 * self.n, self.dtype), np.empty(3 * self.n, np.int32)
        indptr = np.empty(self.n + 1, np.int32)
        count = _links_of_stencil(data, indices, indptr, *self.entries)
        return data[:count], indices[:count], indptr

    def graph(self, slot, over_i, over_j, parent):
        return kernels._graph_of_stencil(slot, over_i, over_j, parent, *self.entries)

    def fill(self, data, excess, closed, product):
        kernels._fill_from_stencil(data, excess, closed, *product, *self.entries, self.groups)

    def toggle(self, data, excess, closed, toggled: np.ndarray, product: Product) -> None:
        """Correct the values for cells that enter or leave the free set; updates `closed`."""
        kernels._toggle(data, excess, closed, toggled, *product, *self.entries)


class MatrixCouplings(Couplings):
    """Of a matrix in CSR form; `sign` times its entries are weights."""

    def __init__(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, sign: float):
        self.n, self.dtype = indptr.size - 1, data.dtype
        self.entries = data, indices, indptr
        self.sign = data.dtype.type(sign)

    @property
    def links(self):
        return self.entries

    def graph(self, slot, over_i, over_j, parent):
        return kernels._graph_of_csr(slot, over_i, over_j, parent, *self.entries[1:])

    def fill(self, data, excess, closed, product):
        product = product._replace(scale=self.dtype.type(product.scale))
        kernels._fill_from_csr(data, excess, closed, *product, *self.entries, self.sign)


def couplings_of(A: Operator) -> Couplings:
    """The couplings of an operator."""
    stencil = A.stencil
    if stencil is not None:
        return StencilCouplings(stencil.rows, stencil.weights)
    M = A.matrix()
    return MatrixCouplings(M.data, M.indices, M.indptr, -1.0)


def coarse_pattern(
    couplings: Couplings, parent: np.ndarray, count: int, diagonal: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Columns and row starts of PᵀAP: most neighbours fit into six slots, the others into a list.

    `diagonal` gives every row a place for its diagonal.
    """
    slot = np.empty((count, 7 if diagonal else 6), np.int32)
    if diagonal:
        slot[:, 6] = np.arange(count)
    room, none = 1024, np.empty(0, np.int32)
    while True:
        more = np.empty(room, np.int32), np.empty(room, np.int32)
        used = couplings.graph(slot, *more, parent)
        if used <= room:
            break
        room = used
    indptr = np.empty(count + 1, np.int32)
    size = kernels._graph_to_csr(indptr, none, slot, *more, used, none)
    indices = np.empty(size, np.int32)
    if size:
        size = kernels._graph_to_csr(indptr, indices, slot, *more, used, np.empty(count, np.int32))
    return indices[:size].copy(), indptr
